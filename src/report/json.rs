//! What all JSON documents share: version, times, node, sources, alarms, evidence. `docs/json.md` documents every field;
//! unknown scalars are null, never absent.

use serde::{Serialize, Serializer};

use crate::model::Alarm;
use crate::observation::{Call, ErrorKind, Source, SourceError, SourceState, Time};
use crate::pipeline::Evidence;
use crate::text::Text;
use crate::view::{NodeView, alarm_text, source_state_text, source_state_word};

/// The version of every document. Within it, fields are only ever added.
pub const API_VERSION: &str = "kpodtrace/v1alpha1";

/// A time as JSON shows it: RFC 3339, UTC, milliseconds where there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonTime(pub Time);

impl Serialize for JsonTime {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0.trunc_millis().to_rfc3339())
    }
}

/// A time that may be unknown.
pub fn json_time(at: Option<Time>) -> Option<JsonTime> {
    at.map(JsonTime)
}

/// Foreign text of which empty means unknown.
pub fn known(text: &Text) -> Option<Text> {
    (!text.is_empty()).then(|| text.clone())
}

/// What every document begins with that shows a moment.
#[derive(Debug, Serialize)]
pub struct DocumentHead {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    now: JsonTime,
}

impl DocumentHead {
    /// Of a document of that kind.
    pub fn new(kind: &'static str, moment: &NodeView) -> Self {
        Self { api_version: API_VERSION, kind, now: JsonTime(moment.now) }
    }
}

/// Node, sources and alarms.
#[derive(Debug, Serialize)]
pub struct NodeSummary {
    /// The node.
    pub node: NodeJson,
    /// Every source that was started.
    pub sources: Vec<SourceJson>,
    /// What is wrong with the node as a whole.
    pub alarms: Vec<AlarmJson>,
}

/// The node.
#[derive(Debug, Serialize)]
pub struct NodeJson {
    name: Option<Text>,
    ready: Option<&'static str>,
    unschedulable: bool,
    kubelet_version: Option<Text>,
    runtime: Option<Text>,
    kernel_version: Option<Text>,
    conditions: Vec<ConditionJson>,
    lease: Option<LeaseJson>,
    images: Option<usize>,
    image_filesystems: Vec<FilesystemJson>,
}

#[derive(Debug, Serialize)]
struct FilesystemJson {
    mountpoint: Text,
    used_bytes: Option<u64>,
    inodes_used: Option<u64>,
}

#[derive(Debug, Serialize)]
struct LeaseJson {
    renewed: JsonTime,
    lasts_seconds: Option<i64>,
    expired: Option<bool>,
}

#[derive(Debug, Serialize)]
struct ConditionJson {
    #[serde(rename = "type")]
    kind: Text,
    status: Text,
    reason: Option<Text>,
    message: Option<Text>,
    since: Option<JsonTime>,
}

/// One source.
#[derive(Debug, Serialize)]
pub struct SourceJson {
    name: &'static str,
    state: &'static str,
    state_text: String,
    state_since: JsonTime,
    live: bool,
    last_answer: Option<JsonTime>,
    unanswered_since: Option<JsonTime>,
    dropped: u64,
    unreadable: u64,
    tls_unverified: bool,
    error: Option<ErrorJson>,
}

#[derive(Debug, Serialize)]
struct ErrorJson {
    kind: &'static str,
    tried: Text,
    fix: Option<Text>,
}

/// One alarm.
#[derive(Debug, Serialize)]
pub struct AlarmJson {
    kind: &'static str,
    text: String,
    since: JsonTime,
    source: Option<&'static str>,
    call: Option<&'static str>,
    in_flight_since: Option<JsonTime>,
    as_of: Option<JsonTime>,
    reference: Option<Text>,
    offset: Option<u64>,
}

/// One piece of evidence.
#[derive(Debug, Serialize)]
pub struct EvidenceJson {
    source: &'static str,
    at: Option<JsonTime>,
    text: Text,
}

impl From<&Evidence> for EvidenceJson {
    fn from(evidence: &Evidence) -> Self {
        Self { source: evidence.source.name(), at: json_time(evidence.at), text: evidence.text.clone() }
    }
}

/// Node, sources and alarms of a moment.
pub fn node_summary(moment: &NodeView) -> NodeSummary {
    let header = moment.header();
    let conditions = moment.snapshot.node.iter().flat_map(|node| &node.status.conditions);
    let conditions = conditions.map(|c| ConditionJson {
        kind: c.kind.clone(),
        status: c.status.clone(),
        reason: known(&c.reason),
        message: known(&c.message),
        since: json_time(c.last_transition_time),
    });
    let filesystems = moment.snapshot.image_fs.iter().flat_map(|fs| &fs.images).map(|fs| FilesystemJson {
        mountpoint: fs.mountpoint.clone(),
        used_bytes: fs.used_bytes,
        inodes_used: fs.inodes_used,
    });
    let node = NodeJson {
        name: known(&header.node),
        ready: Some(header.ready).filter(|r| !r.is_empty()),
        unschedulable: header.unschedulable,
        kubelet_version: known(&header.kubelet),
        runtime: known(&header.runtime),
        kernel_version: known(&header.kernel),
        conditions: conditions.collect(),
        lease: header.lease.as_ref().map(|l| LeaseJson {
            renewed: JsonTime(l.renewed),
            lasts_seconds: l.lasts,
            expired: l.expired,
        }),
        images: Some(moment.snapshot.images.len()).filter(|n| *n > 0),
        image_filesystems: filesystems.collect(),
    };
    let sources = moment.snapshot.sources.iter().map(|(source, facts)| SourceJson {
        name: source.name(),
        state: source_state_word(&facts.state),
        state_text: source_state_text(&facts.state, moment.now),
        state_since: JsonTime(facts.since),
        live: facts.is_live(),
        last_answer: json_time(facts.last_answer),
        unanswered_since: json_time(facts.unanswered_since()),
        dropped: facts.dropped,
        unreadable: facts.unreadable,
        tls_unverified: facts.unverified,
        error: match &facts.state {
            SourceState::Degraded { error, .. }
            | SourceState::Retrying { error, .. }
            | SourceState::Forbidden { error } => Some(error.into()),
            _ => None,
        },
    });
    let alarms = moment.alarms.iter().map(|alarm| AlarmJson::new(alarm, moment.now));
    NodeSummary { node, sources: sources.collect(), alarms: alarms.collect() }
}

impl From<&SourceError> for ErrorJson {
    fn from(error: &SourceError) -> Self {
        let kind = match error.kind {
            ErrorKind::NoSuchNode => "no-such-node",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::NotRunning => "not-running",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Denied => "denied",
            ErrorKind::Malformed => "malformed",
            ErrorKind::TooLarge => "too-large",
            ErrorKind::Other => "other",
        };
        Self { kind, tried: error.tried.text(), fix: known(&error.fix) }
    }
}

impl AlarmJson {
    fn new(alarm: &Alarm, now: Time) -> Self {
        let kind = match alarm {
            Alarm::Unanswered { .. } => "unanswered",
            Alarm::PlegStale { .. } => "pleg-silent",
            Alarm::PullStalled { .. } => "pull-stalled",
        };
        let mut json = Self {
            kind,
            text: alarm_text(alarm, now),
            since: JsonTime(alarm.since()),
            source: None,
            call: None,
            in_flight_since: None,
            as_of: None,
            reference: None,
            offset: None,
        };
        match alarm {
            Alarm::Unanswered { source, call, in_flight, .. } => {
                (json.source, json.call) = (Some(source.name()), Some(call_name(*call)));
                json.in_flight_since = json_time(*in_flight);
            }
            Alarm::PlegStale { as_of, .. } => {
                json.source = Some(Source::KubeletMetrics.name());
                json.as_of = json_time(*as_of);
            }
            Alarm::PullStalled { reference, offset, .. } => {
                json.source = Some(Source::Pulls.name());
                (json.reference, json.offset) = (Some(reference.clone()), Some(*offset));
            }
        }
        json
    }
}

/// The name of a timed call in JSON.
pub fn call_name(call: Call) -> &'static str {
    match call {
        Call::CriList => "cri-list",
        Call::Metrics => "metrics",
        Call::KubeletPods => "kubelet-pods",
        Call::Configz => "configz",
        Call::Healthz => "healthz",
        Call::Systemctl => "systemctl",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_have_milliseconds_at_most() {
        let json = |text: &str| serde_json::to_string(&JsonTime(text.parse().unwrap())).unwrap();
        assert_eq!(json("2026-07-01T12:00:00Z"), "\"2026-07-01T12:00:00Z\"");
        assert_eq!(json("2026-07-01T14:00:00.123456789+02:00"), "\"2026-07-01T12:00:00.123Z\"");
    }
}
