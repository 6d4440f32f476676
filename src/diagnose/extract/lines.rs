//! Signals in the lines of all logs.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use super::Subject;
use super::events::{hook_word, probe_word, schedule};
use super::image;
use super::recovery::Recovery;
use super::stale::is_over;
use crate::diagnose::area;
use crate::diagnose::scheduler::split_schedule;
use crate::model::{KeptLine, KeptLines, Snapshot};
use crate::observation::{Source, Time, reports_failure};
use crate::pipeline::{Evidence, Stage};
use crate::runbook::{Signal, SignalKind};
use crate::text::Text;

/// Logs of which only relevant lines are kept.
const LOGS: [Source; 3] = [Source::KubeletLog, Source::RuntimeLog, Source::KernelLog];

/// Most images of one pod that are searched for in the runtime's lines: each costs a pass over all of them.
const IMAGES: usize = 32;

pub(super) fn of_pod(s: &Subject, out: &mut Vec<Signal>) {
    let created = s.facts.object().and_then(|p| p.metadata.creation_timestamp);
    let since = |line: &&KeptLine| created.is_none_or(|c| line.at >= c);
    s.facts.log_lines().filter(since).for_each(|line| one(line, out));
    if s.placed.position.stage == Stage::Image {
        of_images(s, &since, out);
    }
}

/// Lines of the runtime about a pull name the image, not the pod.
fn of_images(s: &Subject, since: &dyn Fn(&&KeptLine) -> bool, out: &mut Vec<Signal>) {
    // Another pod pulls the same image with other credentials, or at another time: its lines are not about this pod, which
    // reports its own failures.
    let own = |name: &Text| {
        let waiting = s.status(name).and_then(|status| status.state.waiting.as_ref());
        waiting.is_some_and(|w| w.message.len() > w.reason.len() && w.reason == "ErrImagePull")
            || s.facts.events_of(name).any(|e| e.reason == "Failed" && e.message.starts_with("Failed to pull image"))
    };
    let waits = |name: &Text| s.container(name).is_some_and(|c| c.stage == Stage::Image) && !own(name);
    let specs = s.facts.object().into_iter().flat_map(|p| p.spec.init_containers.iter().chain(&p.spec.containers));
    let images = specs.filter(|c| waits(&c.name) && !c.image.is_empty()).map(|c| c.image.as_str());
    let images: BTreeSet<&str> = images.collect::<BTreeSet<_>>().into_iter().take(IMAGES).collect();
    let names = |line: &&KeptLine| may_name_pull(line) && images.iter().any(|image| image::names(&line.text, image));
    let own: Vec<&KeptLine> = s.snapshot.lines.iter().filter(|line| since(line) && names(line)).collect();
    if !own.is_empty() {
        let recovery = Recovery::of(std::iter::once(&*s.snapshot.lines));
        own.into_iter().filter(|line| !recovery.takes_back(line)).for_each(|line| one(line, out));
    }
}

fn may_name_pull(line: &KeptLine) -> bool {
    let is_log = matches!(line.source, Source::RuntimeLog | Source::KubeletLog);
    is_log && ["mage", "pull", "Pull"].iter().any(|word| line.text.contains(word))
}

/// A hash that changes with each line about a pull: the diagnosis of pods that wait for an image depends on these lines, and on
/// no other line of the node.
pub(in crate::diagnose) fn pulls(snapshot: &Snapshot) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for line in snapshot.lines.iter().filter(|line| may_name_pull(line)) {
        (line.first, line.at, line.count).hash(&mut hasher);
    }
    hasher.finish()
}

pub(super) fn of_node(snapshot: &Snapshot, now: Time, whole: bool, out: &mut Vec<Signal>) {
    if !whole {
        snapshot.lines.iter().filter(|line| !is_over(line, snapshot, now)).for_each(|line| one(line, out));
        return;
    }
    put(&snapshot.lines, &Recovery::of(std::iter::once(&*snapshot.lines)), out);
    for lines in snapshot.pod_lines.values() {
        put(lines, &recovery(lines, snapshot), out);
    }
}

/// Evidence of logs without an error or a warning: the newest line, or that no line was worth keeping. Nothing if a line
/// reports a failure that no later line takes back, or if no log was read.
pub(in crate::diagnose) fn quiet(snapshot: &Snapshot) -> Option<Evidence> {
    let own = std::iter::once((&*snapshot.lines, Recovery::of(std::iter::once(&*snapshot.lines))));
    let of_pods = snapshot.pod_lines.values().map(|lines| (&**lines, recovery(lines, snapshot)));
    let mut newest: Option<&KeptLine> = None;
    for (lines, recovery) in own.chain(of_pods) {
        for line in lines.iter() {
            if line.severe && !recovery.takes_back(line) {
                return None;
            }
            newest = newest.filter(|n| n.at >= line.at).or(Some(line));
        }
    }
    if let Some(line) = newest {
        return Some(Evidence::new(line.source, Some(line.at), line.text.clone()));
    }
    let is_read = |source: &Source| snapshot.sources.get(source).is_some_and(|facts| facts.is_live());
    let source = LOGS.into_iter().find(is_read)?;
    Some(Evidence::new(source, None, "no errors or warnings in this log"))
}

/// The line is neither an error nor a warning, and has no word of failure. Below a warning the runtime reports only failures
/// that it can handle.
fn is_quiet(line: &KeptLine) -> bool {
    !line.severe && (line.source == Source::RuntimeLog || !reports_failure(&line.text))
}

/// The lines that name the pod, and those that name no pod.
pub(super) fn of_name(snapshot: &Snapshot, namespace: &str, name: &str, out: &mut Vec<Signal>) {
    let full = format!("{namespace}/{name}");
    let own = |key: &str| key == full || (namespace.is_empty() && key.ends_with(&format!("/{name}")));
    for (key, lines) in snapshot.pod_lines.iter() {
        // A line that names a UID alone may be about it: nothing else is known of the UID.
        if own(key) || !key.contains('/') {
            put(lines, &recovery(lines, snapshot), out);
        }
    }
    put(&snapshot.lines, &Recovery::of(std::iter::once(&*snapshot.lines)), out);
}

fn recovery<'a>(of_pod: &'a KeptLines, snapshot: &'a Snapshot) -> Recovery<'a> {
    Recovery::of([of_pod, &*snapshot.lines].into_iter())
}

fn put(lines: &KeptLines, recovery: &Recovery, out: &mut Vec<Signal>) {
    lines.iter().filter(|line| !recovery.takes_back(line)).for_each(|line| one(line, out));
}

fn one(line: &KeptLine, out: &mut Vec<Signal>) {
    let text = line.text.as_str();
    let named = area::container(text).filter(|_| line.container.is_empty()).map(Text::new);
    let container = named.unwrap_or_else(|| line.container.clone());
    let signal = |kind: SignalKind, word: Text| {
        let signal = Signal::new(kind, line.source, word, line.text.clone());
        signal.of(&container).times(line.count).at(Some(line.at))
    };
    let voice = match line.source {
        Source::ContainerLog => return out.push(signal(SignalKind::Output, Text::default())),
        Source::KernelLog => return out.push(signal(SignalKind::Kernel, Text::default())),
        Source::RuntimeLog if is_quiet(line) => return,
        Source::RuntimeLog => SignalKind::Runtime,
        Source::OtherLog => SignalKind::Foreign,
        _ => SignalKind::Kubelet,
    };
    if text.contains(" nodes are available") {
        // A line of the scheduler's log.
        return schedule(&split_schedule(text), line.source, Some(line.at), line.count, out);
    }
    if is_quiet(line) || text.starts_with("Flag --") {
        return out.push(signal(voice, Text::default()));
    }
    let reason = area::sync_reason(text);
    if reason == Some("CrashLoopBackOff") || text.starts_with("Back-off restarting failed container") {
        return out.push(signal(SignalKind::Waiting, "CrashLoopBackOff".into()));
    }
    let kind = reason.and_then(|r| area::of_reason(r, text)).or_else(|| area::area(text));
    match kind {
        Some(SignalKind::Probe) => out.push(signal(SignalKind::Probe, probe_word(text))),
        Some(SignalKind::Hook) => out.push(signal(SignalKind::Hook, hook_word("", text))),
        Some(SignalKind::Loop) => loop_reasons(text).for_each(|reason| {
            let signal = Signal::new(SignalKind::Loop, line.source, "", reason);
            out.push(signal.times(line.count).at(Some(line.at)));
        }),
        Some(kind) => out.push(signal(kind, reason.map(Text::new).unwrap_or_default())),
        None => out.push(signal(voice, Text::default())),
    }
}

/// Reasons of one line. The kubelet has four (`pkg/kubelet/runtime.go`).
const REASONS: usize = 16;

/// The reasons why the sync loop is blocked: one, or several as `[a, b]`.
pub(super) fn loop_reasons(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split_once('[').and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0)).unwrap_or(text);
    inside.split(", ").filter(|part| !part.trim().is_empty()).take(REASONS)
}
