//! Selects among the causes that rules prove: the deepest first, each once, a few at most.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::commands::{for_failed_run, log_command, on_node};
use super::finding::{Finding, RemedyStep, is_nothing};
use crate::observation::{NodePaths, Source, Time};
use crate::pipeline::{Evidence, Next, Stage};
use crate::runbook::{
    Cause, CauseScope, Confidence, Effect, Hit, Rule, Runbook, Severity, Signal, SignalKind, Template, Vars,
};
use crate::text::Text;

/// Most findings of one subject.
const TOLD: usize = 4;
/// Most pieces of evidence of one finding.
const EVIDENCE: usize = 5;
/// Rules below this weight are taken when nothing else fits (`weight` of [`Rule`]).
const LAST_RESORT: u8 = 40;
/// Most last lines of a container that are shown.
const WORDS: usize = 5;
/// Letters at the end of two messages that are compared.
const CORE: usize = 60;
/// Fewer letters occur in another message by chance.
const CORE_LEAST: usize = 20;
/// Added to the weight of a cause of the stage that the pod is at.
const AT_ITS_PLACE: i32 = 8;
/// Subtracted from the weight of a cause of one manifest at the node: the node's own faults come first.
const BESIDE_THE_NODE: i32 = 100;
/// Subtracted from the weight of a possible cause.
const UNSURE: i32 = 12;

/// What is judged by.
pub(super) struct JudgeContext<'a> {
    /// The places of the node, for commands.
    pub paths: &'a NodePaths,
    pub book: &'a Runbook,
    /// The stage of the subject, if it is a pod with a known position.
    pub stage: Option<Stage>,
    /// Names of the subject, for texts and commands.
    pub vars: &'a dyn Fn(&str) -> Vars,
    pub next: Option<Next>,
    /// Only causes of the node: lines about single pods belong to those.
    pub of_node: bool,
}

struct Candidate<'a> {
    hit: Hit,
    /// The signals of this rule; `hit` has those of all rules of the cause.
    own: Vec<usize>,
    /// The same as `hit` has.
    all: HashSet<usize>,
    rule: &'a Rule,
    cause: &'a Cause,
    rank: i32,
    newest: Option<Time>,
    /// Nodes that the reason applies to: the shortage of more nodes comes first.
    nodes: i64,
}

/// The findings that the signals support.
pub(super) fn judge(bench: &JudgeContext, signals: &[Signal]) -> Vec<Finding> {
    let mut best: BTreeMap<&str, (Candidate, VecDeque<Vec<usize>>)> = BTreeMap::new();
    for hit in bench.book.hits(signals) {
        let Some(rule) = bench.book.rules().get(hit.rule) else { continue };
        let Some(cause) = bench.book.cause(&rule.cause) else { continue };
        if bench.of_node && matches!(cause.place, CauseScope::Stage(_)) && !is_about_manifest(&hit, signals) {
            continue;
        }
        // A fault of the node explains a pod only at the stages that the entry lists.
        let elsewhere =
            bench.stage.is_some_and(|stage| cause.place == CauseScope::Node && !cause.explains.contains(&stage));
        if elsewhere && !in_last_output(&hit, signals) {
            continue;
        }
        let at_place = matches!((cause.place, bench.stage), (CauseScope::Stage(a), Some(b)) if a == b);
        let unsure = match rule.confidence {
            Confidence::Certain => 0,
            Confidence::Likely => UNSURE / 2,
            Confidence::Possible => UNSURE,
        };
        let aside = if bench.of_node && cause.place != CauseScope::Node { BESIDE_THE_NODE } else { 0 };
        let rank = i32::from(rule.weight) + i32::from(at_place) * AT_ITS_PLACE - unsure - aside;
        let newest = hit.signals.iter().filter_map(|s| signals.get(*s)?.at).max();
        let counted = hit.signals.iter().filter_map(|s| signals.get(*s)).filter(|s| s.kind == SignalKind::Schedule);
        let nodes = counted.filter_map(|s| s.code).max().unwrap_or_default();
        let candidate =
            Candidate { own: hit.signals.clone(), all: HashSet::new(), hit, rule, cause, rank, newest, nodes };
        match best.get_mut(rule.cause.as_str()) {
            Some((old, more)) if !candidate.beats(old) => more.push_back(candidate.own),
            Some((old, more)) => more.push_front(std::mem::replace(old, candidate).own),
            None => _ = best.insert(rule.cause.as_str(), (candidate, VecDeque::new())),
        }
    }
    // Each signal once: a signal of the pod proves a cause for each of its containers.
    let gathered = best.into_values().map(|(mut candidate, more)| {
        candidate.all.extend(&candidate.own);
        let more = more.into_iter().flatten();
        candidate.hit.signals.extend(more.filter(|signal| candidate.all.insert(*signal)));
        candidate
    });
    let mut all: Vec<Candidate> = gathered.collect();
    all.sort_by(|a, b| b.key().cmp(&a.key()).then_with(|| a.rule.cause.cmp(&b.rule.cause)));
    let texts_of: Vec<bool> = (0..all.len()).map(|i| adds(all.get(i), all.get(..i).unwrap_or_default())).collect();
    let all =
        all.into_iter().zip(texts_of).filter_map(|(candidate, texts_of)| texts_of.then_some(candidate)).take(TOLD);
    let mut findings: Vec<Finding> = all.map(|c| c.finding(bench, signals)).collect();
    if let Some(first) = findings.first_mut() {
        first.evidence.extend(last_output(first, signals));
    }
    findings
}

/// The hit rests on lines about static pod manifests that name no pod: there is no pod to show them at.
fn is_about_manifest(hit: &Hit, signals: &[Signal]) -> bool {
    let mut own = hit.signals.iter().filter_map(|s| signals.get(*s));
    own.all(|s| s.kind == SignalKind::Static)
}

/// The hit rests on the last output of a container that failed.
fn in_last_output(hit: &Hit, signals: &[Signal]) -> bool {
    let mut own = hit.signals.iter().filter_map(|s| signals.get(*s));
    let failed =
        |s: &&Signal| s.kind == SignalKind::Ended && *s.container == *hit.container && s.code.is_some_and(|c| c != 0);
    own.all(|s| s.kind == SignalKind::Output) && signals.iter().any(|s| failed(&s))
}

/// False for a cause that adds nothing to the deeper causes `before` it: one that is taken when nothing else fits, proved by
/// nothing but what proves one of them, and noise beside a fault.
fn adds(candidate: Option<&Candidate>, before: &[Candidate]) -> bool {
    let Some(c) = candidate else { return false };
    let is_quiet = |c: &Candidate| is_nothing(&c.rule.cause);
    if is_quiet(c) {
        return before.iter().all(is_quiet);
    }
    let is_listed = |b: &&Candidate| is_certain(b) && b.cause.excludes.contains(&c.rule.cause);
    if before.iter().any(|b| is_listed(&b)) {
        return false;
    }
    let is_proved_by_it = |b: &Candidate| c.own.iter().all(|s| b.all.contains(s));
    let excludes = |b: &Candidate| {
        let same = b.hit.container == c.hit.container || b.hit.container.is_empty() || c.hit.container.is_empty();
        b.rule.weight > c.rule.weight
            && match c.rule.weight >= LAST_RESORT {
                // One message describes one failure of a step: the more specific cause excludes the others.
                true => is_certain(b) && b.cause.place == c.cause.place && is_proved_by_it(b),
                false => {
                    let weaker = (b.cause.place == c.cause.place && same) || c.cause.severity == Severity::Info;
                    (is_certain(b) && weaker) || is_proved_by_it(b)
                }
            }
    };
    !before.iter().filter(|b| !is_quiet(b)).any(excludes)
}

fn is_certain(candidate: &Candidate) -> bool {
    candidate.rule.confidence == Confidence::Certain
}

/// The last output of a container that failed, whether a rule matches it or not.
fn last_output(finding: &Finding, signals: &[Signal]) -> Vec<Evidence> {
    let own = |kind: SignalKind| signals.iter().filter(move |s| s.kind == kind && s.container == finding.container);
    if !own(SignalKind::Ended).any(|end| end.code.is_some_and(|code| code != 0)) {
        return Vec::new();
    }
    let mut lines: Vec<&Signal> = own(SignalKind::Output).collect();
    lines.sort_by_key(|s| s.at);
    // A program that fails repeatedly writes the same lines repeatedly.
    let mut seen = BTreeSet::new();
    lines.reverse();
    lines.retain(|s| seen.insert(&s.text));
    lines.reverse();
    let last = lines.split_off(lines.len().saturating_sub(WORDS)).into_iter();
    let texts_of = |s: &&Signal| finding.evidence.iter().any(|e| e.text == s.text && e.source == s.source);
    last.filter(|s| !texts_of(s)).map(|s| Evidence::new(s.source, s.at, s.text.clone())).collect()
}

impl Candidate<'_> {
    fn key(&self) -> (i32, Confidence, i64, Option<Time>) {
        (self.rank, self.rule.confidence, self.nodes, self.newest)
    }

    fn beats(&self, other: &Self) -> bool {
        self.key() > other.key()
    }

    fn finding(self, bench: &JudgeContext, signals: &[Signal]) -> Finding {
        let mut vars = (bench.vars)(&self.hit.container);
        vars.extend(bench.book.pulled_out(self.rule, &self.own, signals));
        let stage = match (self.cause.place, bench.stage) {
            (CauseScope::Any, Some(stage)) => stage.name(),
            // Only logs are known: the operation in the line gives the stage.
            (CauseScope::Any, None) => {
                let kinds = self.hit.signals.iter().filter_map(|s| signals.get(*s)).map(|s| s.kind);
                kinds.filter_map(super::extract::stage_of).map(Stage::name).next().unwrap_or(CauseScope::Node.name())
            }
            (place, _) => place.name(),
        };
        let explanation = self.rule.explanation.as_ref().unwrap_or(&self.cause.explanation);
        Finding {
            cause: Text::new(&self.rule.cause),
            stage,
            confidence: self.rule.confidence,
            severity: self.cause.severity,
            title: self.cause.title.fill(&vars).into(),
            explanation: explanation.fill(&vars).trim_end().into(),
            container: self.hit.container.as_str().into(),
            evidence: evidence(&self.hit, signals),
            events: events(&self.hit, signals),
            next: bench.next,
            steps: steps(self.cause, &vars, bench.paths),
            docs: self.cause.docs.clone(),
        }
    }
}

/// The steps of an entry, filled in with what is known.
pub fn steps(cause: &Cause, vars: &Vars, paths: &NodePaths) -> Vec<RemedyStep> {
    let step = |s: &crate::runbook::RunbookStep| RemedyStep {
        text: s.text.fill(vars).into(),
        command: s.run.as_ref().filter(|run| is_known(run, vars)).map(|run| {
            let run = for_failed_run(run, vars);
            match log_command(&run.command(vars), paths) {
                Some(own) => own.into(),
                None => on_node(&run, paths).command(vars).into(),
            }
        }),
        disrupts: match &s.effect {
            Effect::ReadOnly => None,
            Effect::Disrupts(what) => Some(what.as_str().into()),
        },
    };
    cause.steps.iter().map(step).collect()
}

/// False for a command that is a variable as a whole and unknown, such as that of a probe whose handler no source reports.
fn is_known(run: &Template, vars: &Vars) -> bool {
    run.names().all(|name| !name.ends_with("_command") || vars.contains_key(name))
}

/// Each event once, whatever kinds of signal a rule matched.
fn events(hit: &Hit, signals: &[Signal]) -> Vec<Signal> {
    let mut seen = BTreeSet::new();
    let own = hit.signals.iter().filter_map(|s| signals.get(*s)).filter(|s| s.source == Source::ApiEvents);
    own.filter(|s| seen.insert((s.at, &s.text, &s.word))).cloned().collect()
}

fn evidence(hit: &Hit, signals: &[Signal]) -> Vec<Evidence> {
    let mut used: Vec<&Signal> = hit.signals.iter().filter_map(|s| signals.get(*s)).collect();
    used.sort_by_key(|s| std::cmp::Reverse(s.at));
    let mut out: Vec<(Evidence, String)> = Vec::new();
    for signal in used {
        let text = evidence_text(signal);
        if text.is_empty() {
            continue;
        }
        // One failure is reported by an event, a status, the runtime and each layer of the kubelet, in different words. The
        // shortest of them is shown.
        let core = Some(core(&signal.text)).filter(|c| c.len() >= CORE_LEAST).unwrap_or_else(|| core(&text));
        let evidence = Evidence::new(signal.source, signal.at, text);
        if let Some(known) = out.iter_mut().find(|(_, known)| is_same(known, &core)) {
            if evidence.text.len() < known.0.text.len() {
                *known = (evidence, core);
            }
        } else if out.len() < EVIDENCE {
            out.push((evidence, core));
        }
    }
    out.into_iter().map(|(evidence, _)| evidence).collect()
}

/// One message in two envelopes. A few letters are in many a message: those must be all.
fn is_same(a: &str, b: &str) -> bool {
    let within = a.len().min(b.len()) >= CORE_LEAST && (a.contains(b) || b.contains(a));
    within || a == b
}

/// Letters and digits of the end of a text, from the last on, where the reason is, whatever surrounds it; quotes, escapes and
/// pod IDs around it are skipped.
fn core(text: &str) -> String {
    let text = text.split_once("pod=\"").map_or(text, |(before, _)| before);
    text.chars().rev().filter(|c| c.is_alphanumeric()).take(CORE).collect()
}

fn evidence_text(signal: &Signal) -> Text {
    let times = if signal.count > 1 { format!(" (x{})", signal.count) } else { String::new() };
    let code = |what: &str| signal.code.map(|c| format!("{what}{c}")).unwrap_or_default();
    match signal.kind {
        SignalKind::Ended => {
            let text = if signal.text.is_empty() { String::new() } else { format!(": {}", signal.text) };
            let restarts = if signal.count > 1 { format!(", {} restarts", signal.count) } else { String::new() };
            format!("{} exited: {}{}{restarts}{text}", signal.container, signal.word, code(", exit code ")).into()
        }
        SignalKind::Schedule => format!(
            "FailedScheduling{times}: {}{}",
            signal.code.map(|n| format!("{n} ")).unwrap_or_default(),
            signal.text
        )
        .into(),
        SignalKind::Watched if signal.text.is_empty() => {
            format!("{} for {} s", signal.word, signal.code.unwrap_or_default()).into()
        }
        SignalKind::Position => format!(
            "stage {}{}",
            signal.word.replace('=', ", "),
            if signal.text.is_empty() { String::new() } else { format!(": {}", signal.text) }
        )
        .into(),
        _ if signal.word.is_empty() => format!("{}{times}", signal.text).into(),
        _ if signal.text.is_empty() => format!("{}{times}", signal.word).into(),
        _ => format!("{}{times}: {}", signal.word, signal.text).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts_of(texts: &[&str]) -> Vec<String> {
        let signals: Vec<Signal> =
            texts.iter().map(|t| Signal::new(SignalKind::Event, Source::ApiEvents, "", *t)).collect();
        let hit = Hit { rule: 0, signals: (0..signals.len()).collect(), container: String::new() };
        evidence(&hit, &signals).iter().map(|e| e.text.to_string()).collect()
    }

    #[test]
    fn one_message_in_several_envelopes_is_shown_once() {
        let plain = "failed to resolve image: registry.example/app:1: not found";
        let wrapped = format!(r#"Error syncing pod, skipping: failed to \"StartContainer\": \"{plain}\""#);
        assert_eq!(texts_of(&[&wrapped, plain]), [plain]);
    }

    #[test]
    fn few_letters_swallow_nothing() {
        assert_eq!(texts_of(&["!", "exit 1", "the program ended with exit 1", "Always"]).len(), 4);
    }
}
