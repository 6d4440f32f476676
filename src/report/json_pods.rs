//! The document `PodList`.

use serde::Serialize;

use super::json::{DocumentHead, EvidenceJson, JsonTime, NodeSummary, json_time, known, node_summary};
use crate::objects::LeftOut;
use crate::observation::Time;
use crate::pipeline::{ContainerPosition, LocatedPod, Next, StageProgress};
use crate::text::Text;
use crate::view::{NodeView, PodDetail, Row, SourceWords};

/// Pods of a node with their places.
#[derive(Debug, Serialize)]
pub struct PodList {
    #[serde(flatten)]
    head: DocumentHead,
    #[serde(flatten)]
    around: NodeSummary,
    counts: Counts,
    pods: Vec<PodJson>,
}

#[derive(Debug, Serialize)]
struct Counts {
    pods: usize,
    failing: usize,
    slow: usize,
    moving: usize,
}

/// One pod.
#[derive(Debug, Serialize)]
pub struct PodJson {
    namespace: Text,
    name: Text,
    uid: Text,
    status: Text,
    status_from: &'static str,
    ready: String,
    restarts: u32,
    last_restart: Option<JsonTime>,
    created: Option<JsonTime>,
    qos: Option<Text>,
    node: Option<Text>,
    ip: Option<Text>,
    owner: Option<String>,
    #[serde(rename = "static")]
    is_static: bool,
    trouble: &'static str,
    stage: &'static str,
    stage_state: &'static str,
    stage_since: Option<JsonTime>,
    stage_since_at_latest: bool,
    reason: Option<Text>,
    why: Option<String>,
    cause: Option<Text>,
    next: Option<NextJson>,
    stages: Vec<StageJson>,
    containers: Vec<ContainerJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
pub(super) struct NextJson {
    kind: &'static str,
    at: Option<JsonTime>,
    estimated: bool,
}

#[derive(Debug, Serialize)]
struct StageJson {
    name: &'static str,
    state: &'static str,
    since: Option<JsonTime>,
    until: Option<JsonTime>,
    took_ms: Option<i64>,
    evidence: Vec<EvidenceJson>,
}

#[derive(Debug, Serialize)]
struct ContainerJson {
    name: Text,
    kind: &'static str,
    image: Option<Text>,
    stage: &'static str,
    stage_state: &'static str,
    stage_since: Option<JsonTime>,
    state: Option<Text>,
    words: WordsJson,
    message: Option<Text>,
    ready: bool,
    restarts: u32,
    first_started: Option<JsonTime>,
    running_since: Option<JsonTime>,
    last_exit: Option<ExitJson>,
    retry_at: Option<JsonTime>,
    retry_estimated: Option<bool>,
    evidence: Vec<EvidenceJson>,
}

/// The same container in the words of each source.
#[derive(Debug, Serialize)]
struct WordsJson {
    api: Option<String>,
    kubelet: Option<String>,
    runtime: Option<String>,
}

#[derive(Debug, Serialize)]
struct ExitJson {
    code: i32,
    reason: Option<Text>,
    at: Option<JsonTime>,
}

/// The pods of these rows.
pub fn pods_json(moment: &NodeView, rows: &[Row]) -> PodList {
    let (pods, failing, slow, moving) = moment.header().pods;
    PodList {
        head: DocumentHead::new("PodList", moment),
        around: node_summary(moment),
        counts: Counts { pods, failing, slow, moving },
        pods: rows.iter().filter_map(|row| Some(pod(moment.pod(&row.key)?, row, moment.now))).collect(),
    }
}

pub(super) fn pod(placed: &LocatedPod, row: &Row, now: Time) -> PodJson {
    let (facts, place) = (&placed.facts, &placed.position);
    let detail = PodDetail::new(placed, now);
    let object = facts.object();
    PodJson {
        namespace: facts.namespace.clone(),
        name: facts.name.clone(),
        uid: facts.key.clone(),
        status: place.status.word.clone(),
        status_from: place.status_from.name(),
        ready: place.status.ready_text(),
        restarts: place.status.restarts,
        last_restart: json_time(place.status.last_restart),
        created: json_time(object.and_then(|pod| pod.metadata.creation_timestamp)),
        qos: known(&detail.qos),
        node: known(&row.node),
        ip: known(&detail.ip),
        owner: non_empty(&detail.owner),
        is_static: detail.is_static,
        trouble: detail.row.health.name(),
        stage: place.stage.name(),
        stage_state: place.state.name(),
        stage_since: json_time(place.since),
        stage_since_at_latest: place.since_at_latest,
        reason: known(&place.reason),
        why: non_empty(&row.why),
        cause: known(&row.cause),
        next: place.next.map(NextJson::from),
        stages: place.stages.iter().map(stage).collect(),
        containers: place.containers.iter().zip(&detail.sides).map(|(c, sides)| container(c, sides)).collect(),
        left_out: detail.left_out,
    }
}

fn words(sides: &SourceWords) -> WordsJson {
    WordsJson { api: non_empty(&sides.api), kubelet: non_empty(&sides.kubelet), runtime: non_empty(&sides.runtime) }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl From<Next> for NextJson {
    fn from(next: Next) -> Self {
        Self { kind: next.kind.name(), at: json_time(next.at), estimated: next.estimated }
    }
}

fn stage(step: &StageProgress) -> StageJson {
    StageJson {
        name: step.stage.name(),
        state: step.state.name(),
        since: json_time(step.since),
        until: json_time(step.until),
        took_ms: step.took_ms(),
        evidence: step.evidence.iter().map(EvidenceJson::from).collect(),
    }
}

fn container(c: &ContainerPosition, sides: &SourceWords) -> ContainerJson {
    let exit = |(code, reason, at): &(i32, Text, Option<Time>)| ExitJson {
        code: *code,
        reason: known(reason),
        at: json_time(*at),
    };
    ContainerJson {
        name: c.name.clone(),
        kind: c.kind.name(),
        image: known(&c.image),
        stage: c.stage.name(),
        stage_state: c.state.name(),
        stage_since: json_time(c.since),
        state: known(&c.word),
        words: words(sides),
        message: known(&c.message),
        ready: c.ready,
        restarts: c.restarts,
        first_started: json_time(c.first_started),
        running_since: json_time(c.running_since),
        last_exit: c.last_exit.as_ref().map(exit),
        retry_at: json_time(c.retry_at.map(|(at, _)| at)),
        retry_estimated: c.retry_at.map(|(_, estimated)| estimated),
        evidence: c.evidence.iter().map(EvidenceJson::from).collect(),
    }
}
