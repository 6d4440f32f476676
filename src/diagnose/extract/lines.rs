//! Owns the signals in log lines, of every log.
//! It must not keep a line: the model bounds them.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use super::Subject;
use super::events::{hook_word, probe_word, schedule};
use super::healed::Healed;
use super::image;
use super::over::is_over;
use crate::diagnose::area;
use crate::diagnose::scheduler::split;
use crate::model::{Line, Lines, Snapshot};
use crate::observation::{Source, Time};
use crate::pipeline::Stage;
use crate::runbook::{Kind, Signal};
use crate::text::Text;

/// Without one of these a line of no severity tells what goes on, not what failed.
const FAILURE: [&str; 38] = [
    "fail",
    "error",
    "denied",
    "denies",
    "unable",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "timed out",
    "timeout",
    "deadline",
    "refused",
    "unhealthy",
    "not found",
    "no such",
    "forbidden",
    "unauthorized",
    "invalid",
    "reject",
    "exceed",
    "expired",
    "missing",
    "evict",
    "reclaim",
    "kill",
    "oom",
    "out of memory",
    "not ready",
    "=false",
    "no progress",
    "not completed",
    "crash",
    "panic",
    "fatal",
    "unavailable",
    "skipping",
    "blocked for more",
];

/// Images of one pod that are looked for in the runtime's lines: each costs a search of all of them.
const IMAGES: usize = 32;

pub(super) fn of_pod(s: &Subject, out: &mut Vec<Signal>) {
    let created = s.facts.object().and_then(|p| p.metadata.creation_timestamp);
    let since = |line: &&Line| created.is_none_or(|c| line.at >= c);
    s.facts.log_lines().filter(since).for_each(|line| one(line, out));
    if s.placed.position.stage == Stage::Image {
        of_images(s, &since, out);
    }
}

/// The runtime pulls for no pod in particular: its lines name the image alone.
fn of_images(s: &Subject, since: &dyn Fn(&&Line) -> bool, out: &mut Vec<Signal>) {
    let waits = |name: &Text| s.container(name).is_some_and(|c| c.stage == Stage::Image);
    let specs = s.facts.object().into_iter().flat_map(|p| p.spec.init_containers.iter().chain(&p.spec.containers));
    let images = specs.filter(|c| waits(&c.name) && !c.image.is_empty()).map(|c| c.image.as_str());
    let images: BTreeSet<&str> = images.collect::<BTreeSet<_>>().into_iter().take(IMAGES).collect();
    let names = |line: &&Line| may_tell_of_pull(line) && images.iter().any(|image| image::names(&line.text, image));
    let own: Vec<&Line> = s.snapshot.lines.iter().filter(|line| since(line) && names(line)).collect();
    if !own.is_empty() {
        let healed = Healed::of(std::iter::once(&*s.snapshot.lines));
        own.into_iter().filter(|line| !healed.takes_back(line)).for_each(|line| one(line, out));
    }
}

fn may_tell_of_pull(line: &Line) -> bool {
    let heard = matches!(line.source, Source::RuntimeLog | Source::KubeletLog);
    heard && ["mage", "pull", "Pull"].iter().any(|word| line.text.contains(word))
}

/// What changes when a line comes, again or for the first time, that may tell of a pull: the diagnosis of pods that wait for
/// an image rests on these, and on no other line of the node.
pub(in crate::diagnose) fn pulls(snapshot: &Snapshot) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for line in snapshot.lines.iter().filter(|line| may_tell_of_pull(line)) {
        (line.first, line.at, line.count).hash(&mut hasher);
    }
    hasher.finish()
}

pub(super) fn of_node(snapshot: &Snapshot, now: Time, whole: bool, out: &mut Vec<Signal>) {
    if !whole {
        snapshot.lines.iter().filter(|line| !is_over(line, snapshot, now)).for_each(|line| one(line, out));
        return;
    }
    put(&snapshot.lines, &Healed::of(std::iter::once(&*snapshot.lines)), out);
    for lines in snapshot.pod_lines.values() {
        put(lines, &healed(lines, snapshot), out);
    }
}

/// The newest line, of logs in which nothing is an error or a warning.
pub(in crate::diagnose) fn quiet(snapshot: &Snapshot) -> Option<&Line> {
    let own = std::iter::once((&*snapshot.lines, Healed::of(std::iter::once(&*snapshot.lines))));
    let of_pods = snapshot.pod_lines.values().map(|lines| (&**lines, healed(lines, snapshot)));
    let mut newest: Option<&Line> = None;
    for (lines, healed) in own.chain(of_pods) {
        for line in lines.iter() {
            if line.severe && !healed.takes_back(line) {
                return None;
            }
            newest = newest.filter(|n| n.at >= line.at).or(Some(line));
        }
    }
    newest
}

/// It is neither an error nor a warning, and has no word of failure. The runtime names a level, and tells of no failure below a
/// warning but of what it can do without.
fn is_quiet(line: &Line) -> bool {
    let fails = |text: &str| FAILURE.iter().any(|word| text.contains(word));
    !line.severe && (line.source == Source::RuntimeLog || !fails(&line.text.to_ascii_lowercase()))
}

/// The lines that name it, and those that name nobody.
pub(super) fn of_name(snapshot: &Snapshot, namespace: &str, name: &str, out: &mut Vec<Signal>) {
    let full = format!("{namespace}/{name}");
    let own = |key: &str| key == full || (namespace.is_empty() && key.ends_with(&format!("/{name}")));
    for (key, lines) in snapshot.pod_lines.iter() {
        // A line that names a UID alone may be about it: nothing else is known of the UID.
        if own(key) || !key.contains('/') {
            put(lines, &healed(lines, snapshot), out);
        }
    }
    put(&snapshot.lines, &Healed::of(std::iter::once(&*snapshot.lines)), out);
}

fn healed<'a>(of_pod: &'a Lines, snapshot: &'a Snapshot) -> Healed<'a> {
    Healed::of([of_pod, &*snapshot.lines].into_iter())
}

fn put(lines: &Lines, healed: &Healed, out: &mut Vec<Signal>) {
    lines.iter().filter(|line| !healed.takes_back(line)).for_each(|line| one(line, out));
}

fn one(line: &Line, out: &mut Vec<Signal>) {
    let text = line.text.as_str();
    let named = area::container(text).filter(|_| line.container.is_empty()).map(Text::new);
    let container = named.unwrap_or_else(|| line.container.clone());
    let signal = |kind: Kind, word: Text| {
        let signal = Signal::new(kind, line.source, word, line.text.clone());
        signal.of(&container).times(line.count).at(Some(line.at))
    };
    let voice = match line.source {
        Source::ContainerLog => return out.push(signal(Kind::Output, Text::default())),
        Source::KernelLog => return out.push(signal(Kind::Kernel, Text::default())),
        Source::RuntimeLog if is_quiet(line) => return,
        Source::RuntimeLog => Kind::Runtime,
        Source::OtherLog => Kind::Foreign,
        _ => Kind::Kubelet,
    };
    if text.contains(" nodes are available") {
        // The scheduler's own log, sent along.
        return schedule(&split(text), line.source, Some(line.at), line.count, out);
    }
    if is_quiet(line) || text.starts_with("Flag --") {
        return out.push(signal(voice, Text::default()));
    }
    let reason = area::sync_reason(text);
    if reason == Some("CrashLoopBackOff") {
        return out.push(signal(Kind::Waiting, "CrashLoopBackOff".into()));
    }
    let kind = reason.and_then(|r| area::of_reason(r, text)).or_else(|| area::area(text));
    match kind {
        Some(Kind::Probe) => out.push(signal(Kind::Probe, probe_word(text))),
        Some(Kind::Hook) => out.push(signal(Kind::Hook, hook_word("", text))),
        Some(Kind::Loop) => loop_reasons(text).for_each(|reason| {
            let signal = Signal::new(Kind::Loop, line.source, "", reason);
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
