//! Owns the stream of events: everything about the node and its pods, repeats folded, newest first, with the finding each belongs to.
//! It must not take two subjects for one: only what differs in nothing but the event object is folded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Moment, has_words};
use crate::diagnose::{Finding, UNKNOWN};
use crate::objects::Event;
use crate::observation::Time;
use crate::pipeline::Stage;
use crate::runbook::{Kind, Signal};
use crate::text::Text;

/// One event, or several that say the same of the same.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLine {
    /// When it last happened.
    pub last: Option<Time>,
    /// When it first happened.
    pub first: Option<Time>,
    /// How often, all objects together.
    pub count: u64,
    /// `Warning`.
    pub warning: bool,
    /// `Pod`, `Node`, …
    pub kind: Text,
    /// `namespace/name`, or a name without a namespace.
    pub subject: String,
    /// The container it is about; empty for none.
    pub container: Text,
    /// Reason.
    pub reason: Text,
    /// The latest message.
    pub message: Text,
    /// Component that reported it.
    pub reporter: Text,
    /// Cause id of the finding of its pod, or of the node, that rests on it; empty for none.
    pub cause: Text,
    /// UID of its pod; empty for what is not about a pod that is known.
    pub pod: Text,
}

impl EventLine {
    /// True when it has every word of `words` in what is shown; `warning` alone finds warnings, and one with `!` before
    /// it must be absent.
    pub fn matches(&self, words: &str) -> bool {
        let kind = if self.warning { "warning" } else { "normal" };
        let text = || {
            let parts = [self.kind.as_str(), &self.subject, &self.container, &self.reason, &self.message, &self.cause];
            format!("{kind} {} {}", self.reporter, parts.join(" "))
        };
        words.split_whitespace().all(|word| match word.strip_prefix('!') {
            Some("") => true,
            Some(absent) => !has_words(absent, text),
            None => has_words(word, text),
        })
    }
}

/// Every event, newest first.
pub fn events(moment: &Moment) -> Vec<EventLine> {
    let mut folded: BTreeMap<(Text, Text, Text, Text, String), EventLine> = BTreeMap::new();
    let snapshot = &moment.snapshot;
    let of_pods = moment.pods.iter().flat_map(|p| p.facts.events.iter().map(move |e| (Some(&p.facts.key), e)));
    let elsewhere = snapshot.node_events.iter().chain(snapshot.events_elsewhere.iter()).map(|e| (None, e));
    let mut seen = BTreeSet::new();
    for (pod, event) in of_pods.chain(elsewhere) {
        let uid = &event.metadata.uid;
        if !uid.is_empty() && !seen.insert(uid.clone()) {
            continue;
        }
        let about = &event.involved_object;
        let key = (
            about.kind.clone(),
            about.uid.clone(),
            event.reason.clone(),
            Text::new(about.container().unwrap_or_default()),
            format!("{}/{} {}", about.namespace, about.name, shape(&event.message)),
        );
        let line = line(moment, pod, event);
        match folded.get_mut(&key) {
            Some(held) => fold(held, line),
            None => _ = folded.insert(key, line),
        }
    }
    let mut all: Vec<_> = folded.into_values().collect();
    all.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| (&a.subject, &a.reason).cmp(&(&b.subject, &b.reason))));
    all
}

/// What messages have in common that differ in numbers alone: hosts, back-offs, tries.
fn shape(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).take(200).collect()
}

fn fold(held: &mut EventLine, line: EventLine) {
    held.count = held.count.saturating_add(line.count);
    held.first = match (held.first, line.first) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    if line.last > held.last {
        (held.last, held.message) = (line.last, line.message);
    }
    if held.cause.is_empty() {
        held.cause = line.cause;
    }
}

fn line(moment: &Moment, pod: Option<&Text>, event: &Arc<Event>) -> EventLine {
    let about = &event.involved_object;
    let name = &about.name;
    let subject = if about.namespace.is_empty() { name.to_string() } else { format!("{}/{name}", about.namespace) };
    EventLine {
        last: event.last(),
        first: event.first(),
        count: u64::from(event.times()),
        warning: event.is_warning(),
        kind: about.kind.clone(),
        subject,
        container: Text::new(about.container().unwrap_or_default()),
        reason: event.reason.clone(),
        message: event.message.text(),
        reporter: event.reporter().clone(),
        cause: cause(moment, pod, event),
        pod: pod.cloned().unwrap_or_default(),
    }
}

/// The best finding that rests on the event, or on one that is told with the same reason of the same container.
fn cause(moment: &Moment, pod: Option<&Text>, event: &Event) -> Text {
    let diagnosis = match pod {
        Some(key) => moment.diagnosis(key).map(Arc::as_ref),
        None if event.involved_object.kind == "Node" => Some(moment.node_diagnosis()),
        None => None,
    };
    let Some(diagnosis) = diagnosis else { return Text::default() };
    let container = event.involved_object.container().unwrap_or_default();
    let shaped = shape(&event.message);
    let says = |s: &Signal| shape(&s.text) == shaped;
    let is_like = |s: &Signal| {
        let of = s.container.is_empty() || s.container == container;
        let reason = if s.kind == Kind::Schedule { "FailedScheduling" } else { s.word.as_str() };
        of && event.reason == reason
    };
    let wrong = || diagnosis.findings.iter().filter(|f| !f.cause.starts_with("none."));
    let rests = |on: &dyn Fn(&Signal) -> bool| wrong().find(|f| f.events.iter().any(on));
    // A warning about what has a finding, and about the same container, is part of the same story.
    let of_subject = |f: &&Finding| f.container.is_empty() || f.container == container;
    let top = || diagnosis.top().filter(|_| event.is_warning() && !diagnosis.is_quiet()).filter(of_subject);
    // What a failed pull is followed by is a normal event, and proves nothing.
    let waits = event.reason == "BackOff" && event.message.starts_with("Back-off pulling image");
    let pulls = || wrong().filter(of_subject).find(|f| waits && f.stage == Stage::Image.name());
    let found = rests(&says).or_else(|| rests(&is_like)).or_else(pulls).or_else(top);
    found.map(|f| f.cause.clone()).filter(|cause| *cause != UNKNOWN).unwrap_or_default()
}
