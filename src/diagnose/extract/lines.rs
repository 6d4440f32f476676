//! Owns the signals in log lines, of every log.
//! It must not keep a line: the model bounds them.

use super::Subject;
use super::events::{hook_word, probe_word, schedule};
use super::over::is_over;
use crate::diagnose::area;
use crate::diagnose::scheduler::split;
use crate::model::{Line, Lines, Snapshot};
use crate::observation::{Source, Time};
use crate::runbook::{Kind, Signal};
use crate::text::Text;

pub(super) fn of_pod(s: &Subject, out: &mut Vec<Signal>) {
    let created = s.facts.object().and_then(|p| p.metadata.creation_timestamp);
    for line in s.facts.log_lines().filter(|l| created.is_none_or(|c| l.at >= c)) {
        one(line, out);
    }
}

pub(super) fn of_node(snapshot: &Snapshot, now: Time, whole: bool, out: &mut Vec<Signal>) {
    let counts = |line: &&Line| whole || !is_over(line, snapshot, now);
    snapshot.lines.iter().filter(counts).for_each(|line| one(line, out));
    if whole {
        snapshot.pod_lines.values().flat_map(|lines| lines.iter()).for_each(|line| one(line, out));
    }
}

/// The lines that name it, and those that name nobody.
pub(super) fn of_name(snapshot: &Snapshot, namespace: &str, name: &str, out: &mut Vec<Signal>) {
    let full = format!("{namespace}/{name}");
    let own = |key: &str| key == full || (namespace.is_empty() && key.ends_with(&format!("/{name}")));
    for (key, lines) in snapshot.pod_lines.iter() {
        // A line that names a UID alone may be about it: nothing else is known of the UID.
        if own(key) || !key.contains('/') {
            put(lines, out);
        }
    }
    put(&snapshot.lines, out);
}

fn put(lines: &Lines, out: &mut Vec<Signal>) {
    lines.iter().for_each(|line| one(line, out));
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
        Source::RuntimeLog => Kind::Runtime,
        Source::OtherLog => Kind::Foreign,
        _ => Kind::Kubelet,
    };
    if text.contains(" nodes are available") {
        // The scheduler's own log, sent along.
        return schedule(&split(text), line.source, Some(line.at), line.count, out);
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

/// The reasons why the sync loop is blocked: one, or several as `[a, b]`.
pub(super) fn loop_reasons(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split_once('[').and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0)).unwrap_or(text);
    inside.split(", ").filter(|part| !part.trim().is_empty())
}
