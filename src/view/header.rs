//! Owns what is said of the node above everything else: name, versions, sources, counts, alarms.
//! It must not lay anything out.

use super::words::{ago, alarm_text, source_state_text, source_state_word};
use super::{Moment, Trouble};
use crate::observation::{Source, SourceState, Time};
use crate::pipeline::human_duration;
use crate::text::Text;

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
    /// Log lines and spans dropped.
    pub dropped: u64,
}

/// The header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
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
    /// Kubelet version.
    pub kubelet: Text,
    /// Runtime and version.
    pub runtime: Text,
    /// Kernel version.
    pub kernel: Text,
    /// Sources that have said anything.
    pub sources: Vec<SourceLine>,
    /// Pods: all, failing, slow, moving.
    pub pods: (usize, usize, usize, usize),
    /// Alarms as sentences.
    pub alarms: Vec<String>,
}

impl Header {
    pub(super) fn new(moment: &Moment) -> Self {
        let (snapshot, now) = (&moment.snapshot, moment.now);
        let node = snapshot.node.as_deref();
        let info = node.map(|n| n.status.node_info.clone()).unwrap_or_default();
        let condition = |kind: &str| node.and_then(|n| n.status.conditions.iter().find(|c| c.kind == kind));
        let ready = match condition("Ready").map(|c| c.status.as_str()) {
            Some("True") => "Ready",
            Some("False") => "NotReady",
            Some(_) => "Unknown",
            None => "",
        };
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
                text: match (facts.unanswered_since(), facts.is_live()) {
                    (Some(since), false) => {
                        let waited = human_duration(ago(now, since));
                        format!("{}; no answer for {waited}", source_state_text(&facts.state, now))
                    }
                    _ => source_state_text(&facts.state, now),
                },
                last_answer: facts.last_answer,
                answered: facts.last_answer.map(|at| human_duration(ago(now, at))).unwrap_or_default(),
                unanswered_since: facts.unanswered_since(),
                live: facts.is_live(),
                dropped: facts.dropped,
            })
            .collect();
        let mut pods = (0, 0, 0, 0);
        for row in moment.rows() {
            pods.0 += 1;
            match row.trouble {
                Trouble::Failed => pods.1 += 1,
                Trouble::Slow => pods.2 += 1,
                Trouble::Moving => pods.3 += 1,
                Trouble::Unsteady | Trouble::Well | Trouble::Done => {}
            }
        }
        Self {
            now,
            node: node.map(|n| n.metadata.name.clone()).unwrap_or_default(),
            ready,
            ready_age,
            conditions,
            unschedulable: node.is_some_and(|n| n.spec.unschedulable),
            kubelet: if info.kubelet_version.is_empty() {
                snapshot.kubelet.version().cloned().unwrap_or_default()
            } else {
                info.kubelet_version
            },
            runtime,
            kernel: info.kernel_version,
            sources,
            pods,
            alarms: moment.alarms.iter().map(|a| alarm_text(a, now)).collect(),
        }
    }
}
