//! Owns what the kubelet's log messages mean to the pipeline, matched on the message alone.
//! It must not look at file names, line numbers or keys that no field holds.

use serde::Deserialize;
use serde_json::Value;

use super::joined;
use super::klog::{Record, Severity};
use crate::observation::{LogEntry, LogKind};
use crate::text::Text;
use crate::time::parse_duration_seconds;

/// The entries of one record: several for a `SyncLoop ADD` of several pods, none for a line of level I that means nothing.
pub fn kubelet_entries(record: &Record) -> Vec<LogEntry> {
    let err = record.value("err");
    let each = |kind: &dyn Fn() -> LogKind| {
        pods(record.value("pods")).into_iter().map(|pod| entry(record, pod, Text::default(), kind())).collect()
    };
    let text = |key: &str| Text::name(record.value(key));
    let what = match record.message.as_str() {
        "SyncLoop ADD" => return each(&|| LogKind::PodSeen { source: text("source") }),
        "SyncLoop DELETE" => return each(&|| LogKind::PodDelete),
        "SyncLoop REMOVE" => return each(&|| LogKind::PodRemove),
        "Pod admission denied" => {
            Some(LogKind::AdmissionDenied { reason: text("reason"), message: record.value("message").into() })
        }
        "Creating PodSandbox for pod" => Some(LogKind::SandboxCreating),
        "Failed to create sandbox for pod" => Some(LogKind::SandboxFailed { error: err.into() }),
        "Error syncing pod, skipping" => Some(LogKind::SyncError { error: err.into() }),
        "Observed pod startup duration" => startup(record),
        "Killing container with a grace period" => Some(LogKind::Killing {
            container: text("containerName"),
            grace_s: record.value("gracePeriod").parse().unwrap_or_default(),
        }),
        "Generic (PLEG): container finished" => record
            .value("exitCode")
            .parse()
            .ok()
            .map(|exit_code| LogKind::ContainerFinished { container: text("containerID"), exit_code }),
        "SyncLoop (PLEG): event for pod" => return pleg_event(record).into_iter().collect(),
        "Skipping pod synchronization" => Some(LogKind::LoopBlocked { error: err.into() }),
        "GenericPLEG: Unable to retrieve pods"
        | "GenericPLEG: Unable to retrieve pod"
        | "Event channel is full, discard this relist() cycle event" => {
            Some(LogKind::PlegTrouble { error: joined(&record.message, err).into() })
        }
        _ => None,
    };
    let severe = record.severity != Severity::Info;
    let what = match what {
        None if severe => LogKind::Other { message: joined(&record.message, err).into() },
        None => return Vec::new(),
        Some(what) => what,
    };
    let (mut pod, mut uid) = (pod_name(record.value("pod")), uid(record));
    if matches!(what, LogKind::Other { .. }) {
        let found = named_in(&record.message).or_else(|| named_in(err)).unwrap_or_default();
        if pod.is_empty() && (uid.is_empty() || uid == found.1) {
            pod = found.0;
        }
        if uid.is_empty() {
            uid = found.1;
        }
    }
    vec![entry(record, pod, uid, what)]
}

/// The entries of one record, with those of level I that mean nothing to the pipeline: for a log that someone chose to send.
pub fn every_kubelet_entry(record: &Record) -> Vec<LogEntry> {
    let mut entries = kubelet_entries(record);
    // What the keys say is part of such a line; an error stands behind the message already.
    let shown = |(key, value): &&(String, String)| {
        !matches!(key.as_str(), "err" | "pod" | "podUID" | "pods" | "logger") && !value.is_empty()
    };
    let keys: Vec<String> = record.values.iter().filter(shown).map(|(key, value)| format!("{key}={value}")).collect();
    let whole = || {
        let head = joined(&record.message, record.value("err"));
        Text::from(if keys.is_empty() { head } else { format!("{head} {}", keys.join(" ")) })
    };
    if entries.is_empty() {
        let found = named_in(&record.message).or_else(|| named_in(record.value("err"))).unwrap_or_default();
        let inside = || Some(record.message.split_once("pod=\"")?.1.split_once('"')?.0);
        let by_key = pod_name(record.value("pod"));
        let by_key = if by_key.is_empty() { pod_name(inside().unwrap_or_default()) } else { by_key };
        let pod = if by_key.is_empty() { found.0 } else { by_key };
        let own = uid(record);
        entries.push(entry(
            record,
            pod,
            if own.is_empty() { found.1 } else { own },
            LogKind::Other { message: whole().into() },
        ));
    } else if let [LogEntry { what: LogKind::Other { message }, .. }] = entries.as_mut_slice() {
        *message = whole().into();
    } else if let [LogEntry { what: LogKind::AdmissionDenied { reason, message }, .. }] = entries.as_mut_slice()
        && message.is_empty()
    {
        (*reason, *message) = (reason.clone(), keys.join(" ").into());
    }
    entries
}

fn entry(record: &Record, pod: Text, uid: Text, what: LogKind) -> LogEntry {
    LogEntry { at: record.at, severe: record.severity != Severity::Info, pod, uid, what }
}

fn startup(record: &Record) -> Option<LogKind> {
    let e2e_s = parse_duration_seconds(record.value("podStartE2EDuration"))?;
    let slo = record.value("podStartSLOduration");
    let slo_s = slo.parse().ok().or_else(|| parse_duration_seconds(slo)).filter(|s: &f64| s.is_finite())?;
    Some(LogKind::Startup { e2e_s, slo_s })
}

fn pleg_event(record: &Record) -> Option<LogEntry> {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "ID")]
        id: Text,
        #[serde(rename = "Type")]
        kind: Text,
        #[serde(rename = "Data", default)]
        data: Value,
    }
    let event: Event = serde_json::from_str(record.value("event")).ok()?;
    let id = event.data.as_str().map(Text::name).unwrap_or_default();
    Some(entry(record, pod_name(record.value("pod")), event.id, LogKind::PlegEvent { event: event.kind, id }))
}

fn uid(record: &Record) -> Text {
    let by_key = record.value("podUID");
    Text::name(if by_key.is_empty() { record.value("podID") } else { by_key })
}

/// Only what has a namespace names a pod; some lines print the bare name.
fn pod_name(value: &str) -> Text {
    if value.contains('/') { Text::name(value) } else { Text::default() }
}

/// `["ns/a","ns/b"]`, `[{"name":"a","namespace":"ns"}]`, or the old `[ns/a ns/b]`.
fn pods(list: &str) -> Vec<Text> {
    if let Ok(values) = serde_json::from_str::<Vec<Value>>(list) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        return values
            .iter()
            .map(|v| match v {
                Value::String(s) => Text::name(s),
                other => Text::name(&format!("{}/{}", text(other.get("namespace")), text(other.get("name")))),
            })
            .collect();
    }
    let list = list.trim_start_matches('[').trim_end_matches(']');
    list.split([' ', ',']).map(|p| p.trim_matches('"')).filter(|p| p.contains('/')).map(Text::name).collect()
}

/// Longest UID in bytes: a UUID (RFC 9562, 4).
const LONGEST_UID: usize = 36;

/// Pod and UID that are named inside of a message: `name_namespace(uid)`, `podName:uid nodeName:`, `(UID: "uid")`, which may be escaped.
fn named_in(message: &str) -> Option<(Text, Text)> {
    for (open, _) in message.match_indices('(') {
        let Some((before, after)) = message.get(..open).zip(message.get(open + 1..)) else { continue };
        let Some(end) = after.bytes().take(LONGEST_UID + 1).position(|b| b == b')') else { continue };
        let uid = after.get(..end).unwrap_or_default();
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
        let start = before.trim_end_matches(word).len();
        if let Some((name, namespace)) = before.get(start..).and_then(|w| w.split_once('_'))
            && is_uid(uid)
            && !name.is_empty()
            && !namespace.is_empty()
        {
            return Some((Text::name(&format!("{namespace}/{name}")), Text::name(uid)));
        }
    }
    // Kubelets before 1.23 quote an error once more.
    [("podName:", " "), ("(UID: \"", "\""), ("(UID: \\\"", "\\")].into_iter().find_map(|(begin, end)| {
        let uid = message.split_once(begin)?.1.split_once(end)?.0;
        is_uid(uid).then(|| (Text::default(), Text::name(uid)))
    })
}

/// A UUID, or the hash of a static pod.
fn is_uid(s: &str) -> bool {
    matches!(s.len(), 32 | 36) && s.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::klog;
    use crate::observation::Time;

    fn read(line: &str) -> Vec<LogEntry> {
        let at: Time = "2026-11-29T12:00:00Z".parse().unwrap();
        kubelet_entries(&klog(line, at).unwrap())
    }

    fn one(level: char, rest: &str) -> LogEntry {
        let mut all = read(&format!("{level}1129 12:38:26.828499    5788 any.go:1] {rest}"));
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn many_brackets_take_linear_time() {
        let begun = std::time::Instant::now();
        assert_eq!(named_in(&format!("{}x)", "(".repeat(500_000))), None);
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
        let uid = "dcd23517-deb7-4135-8a25-e4d5a2f471c1";
        let found = named_in(&format!("((no) (longer than any uid, which is {uid}) web_shop({uid})")).unwrap();
        assert_eq!((found.0.as_str(), found.1.as_str()), ("shop/web", uid));
    }

    const UID: &str = "dcd23517-deb7-4135-8a25-e4d5a2f471c1";

    #[test]
    fn pods_of_the_sync_loop() {
        for list in [r#"["s/a","s/b"]"#, "[s/a s/b]"] {
            let got = read(&format!(
                r#"I1129 12:38:26.828499    5788 kubelet.go:2724] "SyncLoop ADD" source="api" pods={list}"#
            ));
            assert_eq!(got.iter().map(|e| e.pod.as_str()).collect::<Vec<_>>(), vec!["s/a", "s/b"]);
            assert!(got.iter().all(|e| e.what == LogKind::PodSeen { source: "api".into() } && !e.severe));
        }
        let json = r#"{"ts":1733000000000.123,"msg":"SyncLoop REMOVE","v":2,"source":"api","pods":[{"name":"a","namespace":"ns"}]}"#;
        assert_eq!((read(json)[0].pod.as_str(), &read(json)[0].what), ("ns/a", &LogKind::PodRemove));
    }

    #[test]
    fn each_kind() {
        let e = one(
            'I',
            r#""Observed pod startup duration" pod="s/a" podStartSLOduration=1.5 podStartE2EDuration="1m2.5s""#,
        );
        assert_eq!(e.what, LogKind::Startup { e2e_s: 62.5, slo_s: 1.5 });
        let e = one(
            'I',
            r#""Killing container with a grace period" pod="s/a" podUID="u" containerName="app" containerID="containerd://1" gracePeriod=2"#,
        );
        assert_eq!((e.uid.as_str(), e.what), ("u", LogKind::Killing { container: "app".into(), grace_s: 2 }));
        let e = one('I', r#""Generic (PLEG): container finished" podID="u" containerID="c" exitCode=137"#);
        assert_eq!(
            (e.uid.as_str(), e.what),
            ("u", LogKind::ContainerFinished { container: "c".into(), exit_code: 137 })
        );
        let e = one(
            'I',
            r#""SyncLoop (PLEG): event for pod" pod="s/a" event={"ID":"u","Type":"ContainerStarted","Data":"c"}"#,
        );
        assert_eq!((e.pod.as_str(), e.uid.as_str()), ("s/a", "u"));
        assert_eq!(e.what, LogKind::PlegEvent { event: "ContainerStarted".into(), id: "c".into() });
        let e = one('E', r#""Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy]""#);
        assert!(e.severe && matches!(e.what, LogKind::LoopBlocked { .. }));
        let e =
            one('I', r#""Pod admission denied" podUID="u" pod="s/a" reason="OutOfcpu" message="m" operation="add""#);
        assert_eq!(e.what, LogKind::AdmissionDenied { reason: "OutOfcpu".into(), message: "m".into() });
        let e = one('E', r#""GenericPLEG: Unable to retrieve pods" err="x""#);
        assert_eq!(e.what, LogKind::PlegTrouble { error: "GenericPLEG: Unable to retrieve pods: x".into() });
    }

    #[test]
    fn others_only_when_severe_and_with_the_pod_they_name() {
        assert!(read(r#"I1129 12:38:26.828499    5788 a.go:1] "Probe failed" pod="s/a""#).is_empty());
        let e = one(
            'E',
            &format!(r#""Unhandled Error" err="failed; Skipping pod \"init-fail_s-init({UID})\"" logger="x""#),
        );
        assert_eq!((e.pod.as_str(), e.uid.as_str()), ("s-init/init-fail", UID));
        let e = one('E', &format!("Operation for \"{{volumeName:v podName:{UID} nodeName:}}\" failed."));
        assert_eq!((e.pod.as_str(), e.uid.as_str()), ("", UID));
        let e = one('E', r#""Missing actuated pod level resource record" pod="notag""#);
        assert_eq!(e.pod, "");
        assert_eq!(e.what, LogKind::Other { message: "Missing actuated pod level resource record".into() });
    }
}
