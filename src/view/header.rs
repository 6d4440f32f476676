//! Owns what is said of the node above everything else: name, versions, sources, counts, alarms.
//! It must not lay anything out.

use super::faults::{NodeFault, faults};
use super::format::{ago, first_text, lease_text, source_state_text, source_state_word};
use super::{NodeView, PodHealth};
use crate::model::{InitialList, SourceFacts};
use crate::objects::Node;
use crate::observation::{Source, SourceState, Time};
use crate::pipeline::human_duration;
use crate::text::Text;

/// Sources whose list says which pods there are.
pub const POD_LISTS: [Source; 3] = [Source::ApiPods, Source::KubeletPods, Source::Cri];

/// One source in the header.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLine {
    /// Which.
    pub source: Source,
    /// State in a word.
    pub word: &'static str,
    /// State with why and when.
    pub text: String,
    /// When it last answered.
    pub last_answer: Option<Time>,
    /// How long ago that is; empty when never.
    pub answered: String,
    /// Since when a call has brought no answer.
    pub unanswered_since: Option<Time>,
    /// It is believed.
    pub live: bool,
    /// Log lines, spans and older events dropped.
    pub dropped: u64,
    /// Objects that could not be read.
    pub unreadable: u64,
    /// The certificate of who answers is not verified.
    pub unverified: bool,
    /// How far it is with its first list, while that is under way; else empty.
    pub first: String,
}

/// The node's lease, by which the cluster takes the node for alive.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseLine {
    /// When the kubelet last renewed it.
    pub renewed: Time,
    /// How long a renewal lasts, seconds.
    pub lasts: Option<i64>,
    /// It has ended; None while nobody says how it is now.
    pub expired: Option<bool>,
    /// The same in words: `lease renewed 3s ago`.
    pub text: String,
}

impl LeaseLine {
    fn of(moment: &NodeView) -> Option<Self> {
        let lease = moment.snapshot.lease.as_deref()?;
        let renewed = lease.spec.renew_time?;
        let live = moment.snapshot.sources.get(&Source::ApiLease).is_some_and(|s| s.is_live());
        let expired = lease.ends().filter(|_| live).map(|ends| ends < moment.now);
        let text = lease_text(ago(moment.now, renewed), expired);
        Some(Self { renewed, lasts: lease.spec.lease_duration_seconds, expired, text })
    }
}

/// The header.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeHeader {
    /// The time shown.
    pub now: Time,
    /// Node name; empty when no source named it.
    pub node: Text,
    /// Ready condition of the node: `Ready`, `NotReady`, `Unknown`, or empty.
    pub ready: &'static str,
    /// How long ago that was told, while its source is away; empty while it answers.
    pub ready_age: String,
    /// Conditions that are not as they should be, with the reason.
    pub conditions: Vec<String>,
    /// Cordoned.
    pub unschedulable: bool,
    /// The node's lease, where a source shows it.
    pub lease: Option<LeaseLine>,
    /// Kubelet version.
    pub kubelet: Text,
    /// Runtime and version.
    pub runtime: Text,
    /// Kernel version.
    pub kernel: Text,
    /// Sources that have said anything.
    pub sources: Vec<SourceLine>,
    /// Who answers without proof of who it is: `API server`, `kubelet`.
    pub unverified: Vec<&'static str>,
    /// Pods: all, failing, slow, moving.
    pub pods: (usize, usize, usize, usize),
    /// A source of pods has not yet listed all of them.
    pub pods_so_far: bool,
    /// What is wrong with the node, one sentence each: its findings, and alarms.
    pub faults: Vec<NodeFault>,
}

/// Ready condition of a node: `Ready`, `NotReady`, `Unknown`, or empty.
pub(super) fn readiness(node: &Node) -> &'static str {
    match node.status.conditions.iter().find(|c| c.kind == "Ready").map(|c| c.status.as_str()) {
        Some("True") => "Ready",
        Some("False") => "NotReady",
        Some(_) => "Unknown",
        None => "",
    }
}

impl NodeHeader {
    pub(super) fn new(moment: &NodeView) -> Self {
        let (snapshot, now) = (&moment.snapshot, moment.now);
        let node = snapshot.node.as_deref();
        let info = node.map(|n| n.status.node_info.clone()).unwrap_or_default();
        let ready = node.map_or("", readiness);
        let ready_age = snapshot
            .sources
            .get(&Source::ApiNode)
            .filter(|facts| matches!(facts.state, SourceState::Retrying { .. } | SourceState::Forbidden { .. }))
            .and_then(|facts| facts.last_answer)
            .map(|at| human_duration(ago(now, at)))
            .unwrap_or_default();
        let wrong = |c: &&crate::objects::Condition| (c.kind == "Ready") != c.is_true();
        let conditions = node
            .into_iter()
            .flat_map(|n| n.status.conditions.iter().filter(wrong))
            .map(|c| format!("{}={} {}: {}", c.kind, c.status, c.reason, c.message.one_line()))
            .collect();
        let runtime = match (&snapshot.runtime, info.container_runtime_version.is_empty()) {
            (Some(r), _) if !r.version.is_empty() => format!("{} {}", r.name, r.version).into(),
            (_, false) => info.container_runtime_version.replace("://", " ").into(),
            _ => Text::default(),
        };
        let sources = snapshot
            .sources
            .iter()
            .map(|(&source, facts)| SourceLine {
                source,
                word: source_state_word(&facts.state),
                text: source_text(facts, snapshot.initial_lists.get(&source), now),
                last_answer: facts.last_answer,
                answered: facts.last_answer.map(|at| human_duration(ago(now, at))).unwrap_or_default(),
                unanswered_since: facts.unanswered_since(),
                live: facts.is_live(),
                dropped: facts.dropped,
                unreadable: facts.unreadable,
                unverified: facts.unverified,
                first: snapshot.initial_lists.get(&source).map(|f| first_text(f, now)).unwrap_or_default(),
            })
            .collect();
        let is_api = |source: &Source| source.name().starts_with("api-");
        let unverified = |api: bool| snapshot.sources.iter().any(|(s, facts)| facts.unverified && is_api(s) == api);
        let unverified = [(unverified(true), "API server"), (unverified(false), "kubelet")];
        let mut pods = (0, 0, 0, 0);
        for row in moment.rows() {
            pods.0 += 1;
            match row.health {
                PodHealth::Failed => pods.1 += 1,
                PodHealth::Slow => pods.2 += 1,
                PodHealth::Moving => pods.3 += 1,
                PodHealth::Unknown | PodHealth::Unsteady | PodHealth::Healthy | PodHealth::Done => {}
            }
        }
        Self {
            now,
            node: snapshot.node_name().clone(),
            ready,
            ready_age,
            conditions,
            unschedulable: node.is_some_and(|n| n.spec.unschedulable),
            lease: LeaseLine::of(moment),
            kubelet: if info.kubelet_version.is_empty() {
                snapshot.kubelet.version().cloned().unwrap_or_default()
            } else {
                info.kubelet_version
            },
            runtime,
            kernel: info.kernel_version,
            sources,
            unverified: unverified.into_iter().filter(|(is, _)| *is).map(|(_, who)| who).collect(),
            pods,
            pods_so_far: POD_LISTS.iter().any(|source| snapshot.initial_lists.contains_key(source)),
            faults: faults(moment.node_diagnosis(), &moment.alarms, now),
        }
    }
}

/// A source's state with why and when, and what must be known of its answers.
fn source_text(facts: &SourceFacts, first: Option<&InitialList>, now: Time) -> String {
    let mut text = match first {
        Some(first) => first_text(first, now),
        None => source_state_text(&facts.state, now),
    };
    // One that refuses answers.
    let told = first.is_some_and(|first| first.in_flight.is_some());
    let silent = !told && !facts.is_live() && !matches!(facts.state, SourceState::Forbidden { .. });
    if let Some(since) = facts.unanswered_since().filter(|_| silent) {
        text += &format!("; no answer for {}", human_duration(ago(now, since)));
    }
    if facts.unverified {
        text += "; TLS not verified";
    }
    if facts.unreadable > 0 {
        text += &format!("; objects that could not be read: {}", facts.unreadable);
    }
    text
}
