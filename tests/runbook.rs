//! The embedded runbook is complete, its rules match their examples, and it has no statement that the kubelet's source
//! contradicts.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use kpodtrace::runbook::{Effect, Runbook, Vars};
use regex::Regex;

/// Every cause id and its stage; an id is for good.
const CAUSES: &str = include_str!("fixtures/causes.tsv");

/// Causes that code decides alone, from where a pod stands.
const WITHOUT_RULE: &[&str] = &["none.healthy"];

#[test]
fn every_rule_matches_its_examples_and_not_its_near_misses() {
    let wrong = Runbook::with(&[]).unwrap().check();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_cause_has_an_entry_at_its_stage_and_is_proved_by_a_rule() {
    let book = Runbook::builtin();
    let mut wrong = Vec::new();
    for line in CAUSES.lines() {
        let (id, stage) = line.split_once('\t').unwrap();
        let Some(cause) = book.causes().find(|c| c.id == id) else {
            wrong.push(format!("{id}: no entry"));
            continue;
        };
        if cause.place.name() != stage && !(id.starts_with("none.") && cause.place.name() == "any") {
            wrong.push(format!("{id}: stage {}, not {stage}", cause.place.name()));
        }
        if !book.rules().iter().any(|r| r.cause == id) && !WITHOUT_RULE.contains(&id) {
            wrong.push(format!("{id}: no rule proves it"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All texts for readers: entries with the defaults of their placeholders, and the documents.
fn reader_texts() -> Vec<(String, String)> {
    let none = Vars::new();
    let mut all = Vec::new();
    for cause in Runbook::builtin().causes() {
        let mut text = format!("{} {}", cause.title.fill(&none), cause.explanation.fill(&none));
        for step in &cause.steps {
            text += &format!(
                " {} {}",
                step.text.fill(&none),
                step.run.as_ref().map(|r| r.command(&none)).unwrap_or_default()
            );
        }
        all.push((cause.id.clone(), text));
    }
    for rule in Runbook::builtin().rules() {
        all.extend(rule.explanation.as_ref().map(|e| (rule.id.clone(), e.fill(&none))));
    }
    for doc in ["README.md", "docs/json.md"] {
        all.push((doc.into(), std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(doc)).unwrap()));
    }
    all
}

/// Widespread wrong statements about the kubelet, each with the fact from its source.
const WRONG: &[(&str, &str)] = &[
    (r"housekeeping.{0,40}(2|two)[ -]?min", "housekeeping runs every 2 s"),
    (r"syncFrequency.{0,30}\b(1s|10s|10 s|10 seconds|1 second)\b", "syncFrequency is 1m"),
    (r"full sync (of all pods )?every 10", "the retry after an error is 10 s, the sync 1 to 1.5 min"),
    (r"static pods (are|come|get) .{0,20}first", "pods are sorted by creation time alone"),
    (
        r"(evict\w*|kill\w*) .{0,40}(lowest QoS|BestEffort (pods )?first|by QoS|in order of QoS)",
        "usage over request, priority, excess; QoS is no key",
    ),
    (r"imageGC\w+Percent.{0,6}8[05]%", "the field is an integer"),
    (r"CrashLoopBackOff (means|is when) .{0,40}(failed|cannot|could not) (to )?start", "it exited again and again"),
    (r"(wait|after|for) (5|five) minutes .{0,30}NotReady", "50 s to NotReady, then 300 s of toleration"),
    (r"NotReady .{0,20}after (5|five) minutes", "50 s to NotReady"),
    (r"port (80|below 1024).{0,120}run\w* as (a )?non-?root", "NET_BIND_SERVICE, the sysctl or another port"),
    (r"(run|set) .{0,20}runAsNonRoot.{0,60}(bind|port 80)", "the opposite is the cause"),
    (r"PodSecurityPolicy|policy/v1beta1", "gone since 1.25: Pod Security admission"),
    (r"localhost:10248/debug|10248/pprof", "pprof is on 10250"),
    (r"kubelet_container_start_time_seconds|\brelist_duration\b", "no such metric"),
    (r"hairpin", "a dead field"),
    (r"(?-i:imagePullBackOff:)", "no such field"),
    (r"v1beta3", "removed in 1.29"),
    (r"parallel (image )?pulls? (is|are) (the )?default", "serial is the default"),
    (r"pulls? the image.{0,40}(before|then) .{0,20}(mount|sandbox|network)", "volumes, sandbox, then images"),
    (r"dockershim (is|as) the runtime", "gone since 1.24"),
    (r"kubectl patch pod (?!.*--subresource resize)", "a resize needs --subresource resize"),
];

#[test]
fn nothing_that_is_widely_repeated_and_wrong() {
    let mut found = Vec::new();
    for (pattern, right) in WRONG {
        // The regex crate has no look-ahead: the one pattern that needs it is asked in two steps.
        let (pattern, unless) = match pattern.split_once("(?!.*") {
            Some((head, tail)) => (head.to_owned(), Some(tail.trim_end_matches(')').to_owned())),
            None => ((*pattern).to_owned(), None),
        };
        let regex = Regex::new(&format!("(?is){pattern}")).unwrap();
        for (place, text) in reader_texts() {
            let excused = unless.as_ref().is_some_and(|u| text.contains(u));
            if let Some(m) = regex.find(&text).filter(|_| !excused) {
                found.push(format!("{place}: {:?}; {right}", m.as_str()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_wrong_claims_would_be_found() {
    let wrong = Regex::new(&format!("(?is){}", WRONG[4].0)).unwrap();
    assert!(wrong.is_match("The kubelet evicts BestEffort pods first"));
    let wrong = Regex::new(&format!("(?is){}", WRONG[9].0)).unwrap();
    assert!(wrong.is_match("to bind port 80, run as non-root"));
}

#[test]
fn no_command_prints_a_secret_and_disruptive_steps_are_marked() {
    let none = Vars::new();
    let shows = Regex::new(
        r"base64|get secrets? .{0,80}-o ?(yaml|json|go-template|jsonpath=\S*data)|describe secret .{0,20}data",
    )
    .unwrap();
    let disrupts = Regex::new(
        r"(^|[;&|] *|sudo )(kubectl (-n \S+ )?(delete|drain|cordon|taint|scale|rollout restart|apply|patch|edit|annotate|label|replace|create|set)|crictl (rmi|rmp?|stopp?|pull)|systemctl (re)?(start|stop)|systemctl (reload|enable|disable)|rm |mv |umount|kill|pkill|modprobe|reboot|fuser -k|ip link (del|set)|ctr .{0,30}(rm|delete|kill)|sysctl -w|mount |apt-get|dnf |yum )",
    )
    .unwrap();
    let mut wrong = Vec::new();
    for cause in Runbook::builtin().causes() {
        for step in &cause.steps {
            let Some(run) = step.run.as_ref().map(|r| r.command(&none)) else { continue };
            if shows.is_match(&run) {
                wrong.push(format!("{}: shows a secret: {run}", cause.id));
            }
            // Quoted parts are data.
            let outside: String = run.split('\'').step_by(2).collect();
            if disrupts.is_match(&outside) && step.effect == Effect::ReadOnly && !run.contains("--dry-run") {
                wrong.push(format!("{}: changes something and does not say so: {run}", cause.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
