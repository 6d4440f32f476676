//! Owns the signals in events: about the pod, its claims and its owner.
//! It must not count an event that repeats what the status says as a second proof.

use std::collections::HashSet;

use super::Subject;
use crate::diagnose::area;
use crate::diagnose::scheduler::{Schedule, split};
use crate::model::Snapshot;
use crate::objects::Event;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::observation::{Source, Time};
use crate::pipeline::Stage;
use crate::runbook::{Kind, Signal};
use crate::text::Text;

const SOURCE: Source = Source::ApiEvents;
/// What goes well with each container: its status says it too.
const ROUTINE: &[&str] = &["Pulled", "Created", "Started"];

pub(super) fn extract(s: &Subject, out: &mut Vec<Signal>) {
    let scheduling = s.placed.position.stage == Stage::Scheduling;
    let mut scheduled = false;
    for event in s.facts.events.iter().filter(|e| !ROUTINE.contains(&e.reason.as_str()) && !is_attached_since(s, e)) {
        // The newest attempt alone counts: what kept it from a node before may be over.
        if event.reason == "FailedScheduling" {
            if scheduling && !scheduled {
                scheduled = true;
                schedule(&split(&event.message), SOURCE, event.last(), event.times(), out);
            }
            continue;
        }
        one(s, event, out);
    }
    if scheduling {
        claims(s, out);
    }
}

/// True for a failed attachment of a volume that was attached afterwards.
fn is_attached_since(s: &Subject, failed: &Event) -> bool {
    if failed.reason != "FailedAttachVolume" {
        return false;
    }
    let quoted = |message: &str| Some(message.split_once("volume \"")?.1.split_once('"')?.0.to_owned());
    let Some(volume) = quoted(&failed.message) else { return false };
    let mut done = s.facts.events.iter().filter(|e| e.reason == "SuccessfulAttachVolume");
    done.any(|e| e.last() > failed.last() && quoted(&e.message).is_some_and(|v| v == volume))
}

/// One event on a pod.
fn one(s: &Subject, event: &Event, out: &mut Vec<Signal>) {
    let (about, plain) = signals(event);
    // An event on something that the pod has behind it is over, by whatever name a rule asks for it.
    if about.as_ref().is_some_and(|about| !s.is_current(about)) || s.is_past_back_off(event) {
        return;
    }
    out.extend(about);
    out.push(plain);
}

/// What an event is about, if its reason or its message says it, and the event as such.
pub(super) fn signals(event: &Event) -> (Option<Signal>, Signal) {
    let container = event.involved_object.container().map(Text::new).unwrap_or_default();
    let signal = |kind: Kind, word: Text| {
        Signal::new(kind, SOURCE, word, event.message.clone()).of(&container).times(event.times()).at(event.last())
    };
    let (reason, text) = (&event.reason, event.message.as_str());
    let kind = match reason.as_str() {
        // The word for a failure of five kinds: the message tells which.
        "Failed" | "FailedSync" | "Error" | "BackOff" => {
            let kind = area::sync_reason(text).and_then(|r| area::of_reason(r, text)).or_else(|| failed(text));
            // An event on a container is not about the sandbox, whatever its image is called.
            kind.map(|k| if k == Kind::Pause && !container.is_empty() { Kind::Pull } else { k })
        }
        other => area::of_reason(other, text),
    };
    let about = kind.map(|kind| match kind {
        Kind::Probe => signal(Kind::Probe, probe_word(text)),
        Kind::Hook => signal(Kind::Hook, hook_word(reason, text)),
        Kind::Resize => signal(Kind::Resize, reason.strip_prefix("Resize").unwrap_or(reason).to_lowercase().into()),
        kind => signal(kind, reason.clone()),
    });
    (about, signal(Kind::Event, reason.clone()))
}

fn failed(text: &str) -> Option<Kind> {
    if text.starts_with("Back-off restarting") {
        return None;
    }
    let inner = text.strip_prefix("Error: ").unwrap_or(text);
    let word = inner.split(':').next().unwrap_or(inner);
    area::of_reason(word, inner).or_else(|| area::area(inner)).or_else(|| {
        // `Error: secret "x" not found`: what the configuration of a container lacks has no envelope.
        text.starts_with("Error: ").then_some(Kind::Config)
    })
}

/// `liveness`, `readiness` or `startup`.
pub(super) fn probe_word(text: &str) -> Text {
    let lower = text.to_lowercase();
    let named = ["liveness", "readiness", "startup"].into_iter().find(|w| lower.contains(w));
    named.unwrap_or_default().into()
}

pub(super) fn hook_word(reason: &str, text: &str) -> Text {
    let either = format!("{reason} {text}").to_lowercase();
    if either.contains("prestop") { "pre-stop".into() } else { "post-start".into() }
}

/// The reasons of a scheduling attempt.
pub(super) fn schedule(schedule: &Schedule, source: Source, at: Option<Time>, count: u32, out: &mut Vec<Signal>) {
    for reason in &schedule.reasons {
        let signal = Signal::new(Kind::Schedule, source, "", reason.text.as_str()).at(at).times(count);
        out.push(match reason.nodes {
            Some(n) => signal.code(n),
            None => signal,
        });
    }
}

/// Events about the claims that the pod's volumes name, or that are named after the pod.
fn claims(s: &Subject, out: &mut Vec<Signal>) {
    let named: HashSet<&Text> = s
        .facts
        .object()
        .into_iter()
        .flat_map(|p| &p.spec.volumes)
        .map(|v| &v.persistent_volume_claim.claim_name)
        .filter(|name| !name.is_empty())
        .collect();
    let own = s.snapshot.other_events.iter().filter(|event| {
        let about = &event.involved_object;
        let is_named = named.contains(&about.name) || (named.is_empty() && about.name.contains(s.facts.name.as_str()));
        about.kind == "PersistentVolumeClaim" && about.namespace == s.facts.namespace && is_named
    });
    for event in own.take(EVENTS_OF_ONE) {
        let signal = Signal::new(Kind::Claim, SOURCE, event.reason.clone(), event.message.clone());
        out.push(signal.times(event.times()).at(event.last()));
    }
}

/// Events about owners whose pods would have this name: a pod that was never created has no object.
pub(super) fn of_owner(snapshot: &Snapshot, namespace: &str, name: &str, out: &mut Vec<Signal>) {
    let is_of = |owner: &str| name.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let own = snapshot.other_events.iter().filter(|event| {
        let about = &event.involved_object;
        let same = namespace.is_empty() || about.namespace == *namespace;
        same && about.kind != "Node" && is_of(&about.name)
    });
    for event in own.take(EVENTS_OF_ONE) {
        let signal = Signal::new(Kind::Owner, SOURCE, event.reason.clone(), event.message.clone());
        out.push(signal.times(event.times()).at(event.last()));
    }
}
