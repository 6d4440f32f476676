//! Owns the stream of events: everything about the node and its pods, repeats folded, newest first, with the finding each belongs to.
//! It must not take two subjects for one: only what differs in nothing but the event object is folded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{NodeView, has_words};
use crate::diagnose::{Diagnosis, Finding, UNKNOWN};
use crate::objects::Event;
use crate::observation::Time;
use crate::pipeline::Stage;
use crate::runbook::Kind;
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

/// An event, and the UID of its pod where that is known.
type PodEvent<'a> = (Option<&'a Text>, &'a Arc<Event>);

/// Every event, newest first.
pub fn events(moment: &NodeView) -> Vec<EventLine> {
    folded(moment, known(moment))
}

/// The newest events, `most` of them at most, and how many older ones there are.
pub fn newest_events(moment: &NodeView, most: usize) -> (Vec<EventLine>, usize) {
    let all: Vec<PodEvent> = known(moment).collect();
    let older = all.len().saturating_sub(most);
    if older == 0 {
        return (folded(moment, all.into_iter()), 0);
    }
    let mut times: Vec<Option<Time>> = all.iter().map(|(_, event)| event.last()).collect();
    let (.., oldest, _) = times.select_nth_unstable(older);
    let oldest = *oldest;
    (folded(moment, all.into_iter().filter(|(_, event)| event.last() >= oldest).take(most)), older)
}

fn known(moment: &NodeView) -> impl Iterator<Item = PodEvent<'_>> {
    let snapshot = &moment.snapshot;
    let of_pods = moment.pods.iter().flat_map(|p| p.facts.events.iter().map(move |e| (Some(&p.facts.key), e)));
    of_pods.chain(snapshot.node_events.iter().chain(snapshot.other_events.iter()).map(|e| (None, e)))
}

fn folded<'a>(moment: &'a NodeView, events: impl Iterator<Item = PodEvent<'a>>) -> Vec<EventLine> {
    let mut folded: BTreeMap<(Text, Text, Text, Text, String), EventLine> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let of_node = FindingsByEvent::of(Some(moment.node_diagnosis()));
    let mut of_pod: (Option<&Text>, FindingsByEvent) = (None, FindingsByEvent::of(None));
    for (pod, event) in events {
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
        if let Some(key) = pod.filter(|_| pod != of_pod.0) {
            of_pod = (pod, FindingsByEvent::of(moment.diagnosis(key).map(Arc::as_ref)));
        }
        let cause = match pod {
            Some(_) => of_pod.1.cause(event),
            None if about.kind == "Node" => of_node.cause(event),
            None => Text::default(),
        };
        let line = line(pod, event, cause);
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

fn line(pod: Option<&Text>, event: &Event, cause: Text) -> EventLine {
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
        cause,
        pod: pod.cloned().unwrap_or_default(),
    }
}

/// The findings of one subject, by the events that they rest on.
struct FindingsByEvent<'a> {
    diagnosis: Option<&'a Diagnosis>,
    /// The first finding that rests on an event with a message of that shape.
    by_shape: HashMap<String, &'a Finding>,
    /// The first finding that rests on an event with that reason, of each container; the empty name stands for any.
    by_reason: HashMap<&'a str, HashMap<&'a str, (usize, &'a Finding)>>,
}

impl<'a> FindingsByEvent<'a> {
    fn of(diagnosis: Option<&'a Diagnosis>) -> Self {
        let mut found = Self { diagnosis, by_shape: HashMap::new(), by_reason: HashMap::new() };
        for (number, finding) in found.wrong().enumerate() {
            for event in &finding.events {
                found.by_shape.entry(shape(&event.text)).or_insert(finding);
                let reason = if event.kind == Kind::Schedule { "FailedScheduling" } else { event.word.as_str() };
                let of_reason = found.by_reason.entry(reason).or_default();
                of_reason.entry(&event.container).or_insert((number, finding));
            }
        }
        found
    }

    fn wrong(&self) -> impl Iterator<Item = &'a Finding> + use<'a> {
        self.diagnosis.into_iter().flat_map(|d| &d.findings).filter(|f| !f.cause.starts_with("none."))
    }

    /// The best finding that rests on the event, or on one that is told with the same reason of the same container.
    fn cause(&self, event: &Event) -> Text {
        let container = event.involved_object.container().unwrap_or_default();
        let like = || {
            let of_reason = self.by_reason.get(event.reason.as_str())?;
            let found = ["", container].into_iter().filter_map(|container| of_reason.get(container));
            found.min_by_key(|(number, _)| *number).map(|(_, finding)| *finding)
        };
        // A warning about what has a finding, and about the same container, is part of the same story.
        let of_subject = |f: &&Finding| f.container.is_empty() || f.container == container;
        let top = || self.diagnosis.filter(|d| event.is_warning() && !d.is_quiet())?.top().filter(of_subject);
        // What a failed pull is followed by is a normal event, and proves nothing.
        let waits = event.reason == "BackOff" && event.message.starts_with("Back-off pulling image");
        let pulls = || self.wrong().filter(of_subject).find(|f| waits && f.stage == Stage::Image.name());
        let found = self.by_shape.get(&shape(&event.message)).copied().or_else(like).or_else(pulls).or_else(top);
        found.map(|f| f.cause.clone()).filter(|cause| *cause != UNKNOWN).unwrap_or_default()
    }
}
