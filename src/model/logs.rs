//! What the kubelet's log and the spans report about single pods and the sync loop, bounded: the latest fact of each kind.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lines::KeptLines;
use crate::observation::{LogKind, LogRecord, Source, Span, Time};
use crate::text::{Message, Text};
use crate::weight::Weigh;

/// Pods of which log and span facts are kept at least; the ones silent for longest go first.
const PODS_KEPT: usize = 2048;
/// As many more are kept until all of them go at once: to find the oldest costs a pass over all.
const PODS_MORE: usize = 512;
/// Bytes that their lines may take, and as many again for the kubelet's log records of each: about 6 KiB for each pod.
const BYTES_KEPT: usize = 12 << 20;
/// Traces remembered while spans of the same trace may still arrive in another batch.
const TRACES_KEPT: usize = 128;

/// The latest record of each kind about one pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodLog {
    /// `SyncLoop ADD`, the last one (a kubelet restart adds every pod again), and its config source.
    pub seen: Option<(Time, Text)>,
    /// `SyncLoop DELETE`.
    pub delete: Option<Time>,
    /// `Pod admission denied`: reason and message.
    pub denied: Option<(Time, Text, Message)>,
    /// The first attempt to make a sandbox.
    pub first_sandbox_attempt: Option<Time>,
    /// The last attempt to make a sandbox.
    pub sandbox_attempt: Option<Time>,
    /// The last failure to make a sandbox.
    pub sandbox_failed: Option<(Time, Message)>,
    /// The last failed sync, with its whole chain of reasons.
    pub sync_error: Option<(Time, Message)>,
    /// Start-up as the kubelet measured it: end to end, and without pulls and init containers, in seconds.
    pub startup: Option<(Time, f64, f64)>,
    /// The last kill: container and grace in seconds.
    pub killing: Option<(Time, Text, i64)>,
    last: Option<Time>,
}

impl Weigh for PodLog {
    fn heap(&self) -> usize {
        let denied = self.denied.as_ref().map_or(0, |(_, reason, message)| reason.heap() + message.heap());
        let seen = self.seen.as_ref().map_or(0, |(_, text)| text.heap());
        let denied = denied + seen;
        let texts = [&self.sandbox_failed, &self.sync_error];
        let texts = texts.into_iter().flatten().map(|(_, text)| text.heap()).sum::<usize>();
        denied + texts + self.killing.as_ref().map_or(0, |(_, container, _)| container.heap()) + size_of::<Self>()
    }
}

impl PodLog {
    /// Takes in what a line of time `at` means; false if nothing of it is kept.
    fn apply(&mut self, at: Time, kind: LogKind) -> bool {
        match kind {
            LogKind::PodSeen { source } => self.seen = Some((at, source)),
            LogKind::PodDelete => self.delete = Some(at),
            LogKind::AdmissionDenied { reason, message } => self.denied = Some((at, reason, message)),
            LogKind::SandboxCreating => {
                self.first_sandbox_attempt.get_or_insert(at);
                self.sandbox_attempt = Some(at);
            }
            LogKind::SandboxFailed { error } => self.sandbox_failed = Some((at, error)),
            LogKind::SyncError { error } => self.sync_error = Some((at, error)),
            LogKind::Startup { e2e_s, slo_s } => self.startup = Some((at, e2e_s, slo_s)),
            LogKind::Killing { container, grace_s } => self.killing = Some((at, container, grace_s)),
            LogKind::PodRemove
            | LogKind::Output { .. }
            | LogKind::ContainerFinished { .. }
            | LogKind::PlegEvent { .. }
            | LogKind::LoopBlocked { .. }
            | LogKind::PlegTrouble { .. }
            | LogKind::Other { .. } => return false,
        }
        self.last = self.last.max(Some(at));
        true
    }
}

/// What the finished spans say of one pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodSpans {
    /// Begin and end of the first syncPod, which makes the pod.
    pub first_sync: Option<(Time, Time)>,
    /// Begin, end and failure of the last syncPod.
    pub last_sync: Option<(Time, Time, bool)>,
    /// Begin, end and failure of the last RunPodSandbox.
    pub run_sandbox: Option<(Time, Time, bool)>,
    /// Begin and end of the last syncTerminatingPod.
    pub terminating: Option<(Time, Time)>,
}

/// What the kubelet's log and spans reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Logs {
    /// By pod UID, or by `namespace/name` where the lines name no UID.
    pods: BTreeMap<Text, Arc<PodLog>>,
    spans: BTreeMap<Text, Arc<PodSpans>>,
    /// Trace and pod UID of the last syncPods, for CRI spans, which carry none.
    traces: VecDeque<(Text, Text)>,
    /// RunPodSandbox spans that came before their syncPod did.
    early: VecDeque<Span>,
    /// KeptLines that name no pod.
    #[serde(default)]
    pub(super) lines: Arc<KeptLines>,
    /// KeptLines of pods, by `namespace/name` or UID.
    #[serde(default)]
    pub(super) pod_lines: Arc<BTreeMap<Text, Arc<KeptLines>>>,
    /// When the sync loop last reported that it skips its work, and why.
    pub loop_blocked: Option<(Time, Message)>,
    /// When PLEG last reported an error, and which.
    pub pleg_trouble: Option<(Time, Message)>,
    #[serde(skip)]
    of_pods: CountedBytes,
    #[serde(skip)]
    of_lines: CountedBytes,
}

/// CountedBytes of all values of a map; none while they were not counted. Two that differ make no difference.
#[derive(Clone, Copy, Debug, Default)]
struct CountedBytes(Option<usize>);

impl PartialEq for CountedBytes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Logs {
    /// Keeps a line of any log; returns the key of the pod that it names.
    pub(super) fn keep(&mut self, source: Source, record: &LogRecord) -> Option<Text> {
        let key = if record.pod.is_empty() { &record.uid } else { &record.pod };
        if key.is_empty() {
            Arc::make_mut(&mut self.lines).take(source, record, true);
            return None;
        }
        let pods = Arc::make_mut(&mut self.pod_lines);
        let before = pods.get(key).map(|lines| lines.heap());
        Arc::make_mut(pods.entry(key.clone()).or_default()).take(source, record, false);
        evict(pods, key, before, &mut self.of_lines, KeptLines::last);
        Some(key.clone())
    }

    /// The lines of a pod that exists since `created`: older ones are about a namesake.
    pub(super) fn lines_of(&self, uid: &str, namespaced: &str, created: Option<Time>) -> Vec<Arc<KeptLines>> {
        let found = [namespaced, uid].into_iter().filter_map(|key| self.pod_lines.get(key));
        found.filter(|lines| created.is_none_or(|c| lines.last() >= Some(c))).cloned().collect()
    }

    /// Takes in what a line of the kubelet means; returns the key of the pod that it changes.
    pub(super) fn apply_kind(&mut self, record: &LogRecord, kind: LogKind) -> Option<Text> {
        match &kind {
            LogKind::LoopBlocked { error } => self.loop_blocked = Some((record.at, error.clone())),
            LogKind::PlegTrouble { error } => self.pleg_trouble = Some((record.at, error.clone())),
            _ => {}
        }
        let key = if record.pod.is_empty() { &record.uid } else { &record.pod };
        if key.is_empty() {
            return None;
        }
        let mut log = self.pods.get(key).map(|log| (**log).clone()).unwrap_or_default();
        if !log.apply(record.at, kind) {
            return None;
        }
        let before = self.pods.insert(key.clone(), Arc::new(log)).map(|log| log.heap());
        evict(&mut self.pods, key, before, &mut self.of_pods, |log| log.last);
        Some(key.clone())
    }

    /// Takes in a finished span; returns the UID of the pod it touches.
    pub(super) fn span(&mut self, span: Span) -> Option<Text> {
        if span.uid.is_empty() {
            if !span.name.ends_with("/RunPodSandbox") {
                return None;
            }
            let Some((_, uid)) = self.traces.iter().find(|(trace, _)| *trace == span.trace).cloned() else {
                self.early.push_back(span);
                if self.early.len() > TRACES_KEPT {
                    self.early.pop_front();
                }
                return None;
            };
            self.run_sandbox(&uid, &span);
            return Some(uid);
        }
        let uid = span.uid.clone();
        self.traces.push_back((span.trace.clone(), uid.clone()));
        if self.traces.len() > TRACES_KEPT {
            self.traces.pop_front();
        }
        while let Some(i) = self.early.iter().position(|call| call.trace == span.trace) {
            if let Some(call) = self.early.remove(i) {
                self.run_sandbox(&uid, &call);
            }
        }
        let spans = Arc::make_mut(self.spans.entry(uid.clone()).or_default());
        match span.name.as_str() {
            "syncPod" => {
                spans.first_sync.get_or_insert((span.begin, span.end));
                spans.last_sync = Some((span.begin, span.end, span.failed));
            }
            "syncTerminatingPod" => spans.terminating = Some((span.begin, span.end)),
            _ => {}
        }
        evict_one(&mut self.spans, |s| s.last_sync.map(|(_, end, _)| end));
        Some(uid)
    }

    fn run_sandbox(&mut self, uid: &Text, span: &Span) {
        let spans = Arc::make_mut(self.spans.entry(uid.clone()).or_default());
        if spans.run_sandbox.is_none_or(|(begin, ..)| begin < span.begin) {
            spans.run_sandbox = Some((span.begin, span.end, span.failed));
        }
    }

    /// The log records about a pod that exists since `created`: older ones are about an earlier pod of the same name.
    pub(super) fn of(&self, uid: &str, namespaced: &str, created: Option<Time>) -> Option<Arc<PodLog>> {
        let log = self.pods.get(namespaced).or_else(|| self.pods.get(uid))?;
        let own = created.is_none_or(|c| log.last >= Some(c));
        own.then(|| log.clone())
    }

    /// What the spans say of a pod.
    pub(super) fn spans_of(&self, uid: &str) -> Option<Arc<PodSpans>> {
        self.spans.get(uid).cloned()
    }
}

/// Takes out what is oldest while there is too much; what `changed` had weighed `before`.
fn evict<V: Weigh>(
    map: &mut BTreeMap<Text, Arc<V>>,
    changed: &Text,
    before: Option<usize>,
    bytes: &mut CountedBytes,
    last: impl Fn(&V) -> Option<Time>,
) {
    let all = |map: &BTreeMap<Text, Arc<V>>| map.values().map(|v| v.heap()).sum();
    let now = map.get(changed).map_or(0, |v| v.heap());
    let mut held = bytes.0.map_or_else(|| all(map), |held| held.saturating_sub(before.unwrap_or(0)) + now);
    if map.len() > PODS_KEPT + PODS_MORE || held > BYTES_KEPT {
        // Many at once: to find the oldest costs a pass over all.
        let mut oldest: Vec<(Option<Time>, Text)> = map.iter().map(|(key, v)| (last(v), key.clone())).collect();
        oldest.sort();
        for (_, key) in oldest {
            if map.len() <= PODS_KEPT.max(1) && held <= BYTES_KEPT / 8 * 7 || map.len() == 1 {
                break;
            }
            held = held.saturating_sub(map.remove(&key).map_or(0, |gone| gone.heap()));
        }
    }
    bytes.0 = Some(held);
}

fn evict_one<V>(map: &mut BTreeMap<Text, Arc<V>>, last: impl Fn(&V) -> Option<Time>) {
    if map.len() > PODS_KEPT {
        evict_oldest(map, last);
    }
}

fn evict_oldest<V>(map: &mut BTreeMap<Text, Arc<V>>, last: impl Fn(&V) -> Option<Time>) -> Option<Arc<V>> {
    let oldest = map.iter().min_by_key(|(_, v)| last(v)).map(|(key, _)| key.clone())?;
    map.remove(&oldest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::LogLevel;

    #[test]
    fn lines_are_bounded_in_bytes_over_all_pods_and_the_newest_stay() {
        let mut logs = Logs::default();
        for n in 0..20_000 {
            let at = Time::from_timestamp(n, 0).unwrap();
            let text = format!("{} {}", "x".repeat(4000), "y".repeat(n as usize % 90));
            let record = LogRecord::new(at, LogLevel::Error, text);
            logs.keep(Source::KubeletLog, &LogRecord { pod: format!("n/p{}", n % 3000).into(), ..record });
        }
        let held: usize = logs.pod_lines.values().map(|lines| lines.heap()).sum();
        assert!(held <= BYTES_KEPT && held > BYTES_KEPT / 2, "{held}");
        assert_eq!(logs.of_lines.0, Some(held), "what is counted is what there is");
        assert!(logs.pod_lines.contains_key("n/p1999"), "the newest");
    }
}
