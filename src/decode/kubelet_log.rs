//! Lines of the kubelet's log as observations: fields, pod and UID. File names and line numbers are not matched.

use serde_json::Value;

use super::klog::KlogRecord;
use super::relevance::is_relevant;
use crate::observation::LogRecord;
use crate::text::Text;

/// The lines that are kept of one record: none if it is not relevant, several for a `SyncLoop ADD` of several pods.
pub fn kubelet_records(record: &KlogRecord) -> Vec<LogRecord> {
    if !is_relevant(record) {
        return Vec::new();
    }
    if matches!(record.message.as_str(), "SyncLoop ADD" | "SyncLoop DELETE" | "SyncLoop REMOVE") {
        let line = LogRecord { fields: Vec::new(), ..line(record) }.with("source", record.value("source"));
        return pods(record.value("pods")).into_iter().map(|pod| LogRecord { pod, ..line.clone() }).collect();
    }
    let (pod, uid) = subject(record);
    vec![LogRecord { pod, uid, ..line(record) }]
}

fn line(record: &KlogRecord) -> LogRecord {
    let line = LogRecord::new(record.at, record.level, record.message.as_str());
    let line = LogRecord { location: Text::name(&record.location), ..line };
    let own = |(key, _): &&(String, String)| !matches!(key.as_str(), "pod" | "podUID" | "podID" | "logger");
    record.values.iter().filter(own).fold(line, |line, (key, value)| line.with(key, value))
}

/// Pod and UID: of the keys, else named in the message or in the error.
fn subject(record: &KlogRecord) -> (Text, Text) {
    let (mut pod, mut uid) = (pod_name(record.value("pod")), uid(record));
    let quoted = || Some(record.message.split_once("pod=\"")?.1.split_once('"')?.0);
    if pod.is_empty() {
        pod = pod_name(quoted().unwrap_or_default());
    }
    if pod.is_empty() || uid.is_empty() {
        let named = named_in(&record.message).or_else(|| named_in(record.value("err"))).unwrap_or_default();
        if pod.is_empty() && (uid.is_empty() || uid == named.1) {
            pod = named.0;
        }
        if uid.is_empty() {
            uid = named.1;
        }
    }
    (pod, uid)
}

fn uid(record: &KlogRecord) -> Text {
    let by_key = ["podUID", "podID"].into_iter().map(|key| record.value(key)).find(|value| !value.is_empty());
    if let Some(uid) = by_key {
        return Text::name(uid);
    }
    // A PLEG event names the pod's UID in its `ID`.
    let event = record.value("event");
    let event: Option<Value> = (!event.is_empty()).then(|| serde_json::from_str(event).ok()).flatten();
    event.and_then(|event| Some(Text::name(event.get("ID")?.as_str()?))).unwrap_or_default()
}

/// A pod with its namespace; some lines print the bare name, which names no pod.
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

/// Longest UID in bytes: a UUID (RFC 9562, section 4).
const LONGEST_UID: usize = 36;

/// Pod and UID in a message: `name_namespace(uid)`, `podName:uid nodeName:`, `(UID: "uid")`, which may be escaped.
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
    use crate::observation::{LogKind, LogLevel, Time};

    fn read(line: &str) -> Vec<LogRecord> {
        let at: Time = "2026-11-29T12:00:00Z".parse().unwrap();
        kubelet_records(&klog(line, at).unwrap())
    }

    fn one(level: char, rest: &str) -> LogRecord {
        let mut all = read(&format!("{level}1129 12:38:26.828499    5788 any.go:1] {rest}"));
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn many_brackets_take_linear_time() {
        let start = std::time::Instant::now();
        assert_eq!(named_in(&format!("{}x)", "(".repeat(500_000))), None);
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
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
            assert_eq!(got.iter().map(|line| line.pod.as_str()).collect::<Vec<_>>(), vec!["s/a", "s/b"]);
            let seen = Some(LogKind::PodSeen { source: "api".into() });
            assert!(got.iter().all(|line| line.kind() == seen && !line.is_severe()));
        }
        let json = r#"{"ts":1733000000000.123,"msg":"SyncLoop REMOVE","v":2,"source":"api","pods":[{"name":"a","namespace":"ns"}]}"#;
        assert_eq!((read(json)[0].pod.as_str(), read(json)[0].kind()), ("ns/a", Some(LogKind::PodRemove)));
    }

    #[test]
    fn each_kind() {
        let kind = |line: &LogRecord| line.kind().unwrap();
        let line = one(
            'I',
            r#""Observed pod startup duration" pod="s/a" podStartSLOduration=1.5 podStartE2EDuration="1m2.5s""#,
        );
        assert_eq!(kind(&line), LogKind::Startup { e2e_s: 62.5, slo_s: 1.5 });
        let line = one(
            'I',
            r#""Killing container with a grace period" pod="s/a" podUID="u" containerName="app" containerID="containerd://1" gracePeriod=2"#,
        );
        assert_eq!((line.uid.as_str(), kind(&line)), ("u", LogKind::Killing { container: "app".into(), grace_s: 2 }));
        let line = one('I', r#""Generic (PLEG): container finished" podID="u" containerID="c" exitCode=137"#);
        let finished = LogKind::ContainerFinished { container: "c".into(), exit_code: 137 };
        assert_eq!((line.uid.as_str(), kind(&line)), ("u", finished));
        let line = one(
            'I',
            r#""SyncLoop (PLEG): event for pod" pod="s/a" event={"ID":"u","Type":"ContainerStarted","Data":"c"}"#,
        );
        assert_eq!((line.pod.as_str(), line.uid.as_str()), ("s/a", "u"));
        assert_eq!(kind(&line), LogKind::PlegEvent { event: "ContainerStarted".into(), id: "c".into() });
        let line = one('E', r#""Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy]""#);
        assert!(line.is_severe() && matches!(kind(&line), LogKind::LoopBlocked { .. }));
        let line =
            one('I', r#""Pod admission denied" podUID="u" pod="s/a" reason="OutOfcpu" message="m" operation="add""#);
        assert_eq!(kind(&line), LogKind::AdmissionDenied { reason: "OutOfcpu".into(), message: "m".into() });
        assert_eq!(line.text(), "Pod admission denied: OutOfcpu: m");
        let line = one('E', r#""GenericPLEG: Unable to retrieve pods" err="x""#);
        assert_eq!(kind(&line), LogKind::PlegTrouble { error: "GenericPLEG: Unable to retrieve pods: x".into() });
    }

    #[test]
    fn a_line_keeps_level_location_message_and_fields() {
        let line =
            one('W', r#""Probe failed" probeType="Readiness" pod="s/a" podUID="u" containerName="app" err="x y" n=3"#);
        assert_eq!(
            (line.level, line.location.as_str(), line.message.as_str()),
            (LogLevel::Warning, "any.go:1", "Probe failed")
        );
        assert_eq!((line.field("probeType"), line.field("err"), line.field("n")), ("Readiness", "x y", "3"));
        assert_eq!(line.field("probe"), "", "a part of a key is not the key");
        assert_eq!(line.text(), "Probe failed: x y probeType=Readiness containerName=app n=3");
    }

    #[test]
    fn a_credential_in_a_field_is_redacted_by_its_key() {
        let line = one('E', r#""x" password="hunter2-and-more" err="y""#);
        assert!(!format!("{line:?} {}", line.text()).contains("hunter2"), "{line:?}");
    }

    #[test]
    fn level_i_only_where_it_reports_a_failure_or_its_end_and_each_with_the_pod_it_names() {
        assert!(read(r#"I1129 12:38:26.828499    5788 a.go:1] "Syncing pod" pod="s/a""#).is_empty());
        assert!(read(r#"I1129 12:38:26.828499    5788 a.go:1] "Status" pod="s/a" status="Error""#).is_empty());
        assert_eq!(one('I', r#""Probe failed" pod="s/a""#).pod, "s/a");
        assert_eq!(one('I', r#""SyncLoop (probe)" probe="readiness" status="ready" pod="s/a""#).pod, "s/a");
        let line = one(
            'E',
            &format!(r#""Unhandled Error" err="failed; Skipping pod \"init-fail_s-init({UID})\"" logger="x""#),
        );
        assert_eq!((line.pod.as_str(), line.uid.as_str()), ("s-init/init-fail", UID));
        let line = one('E', &format!("Operation for \"{{volumeName:v podName:{UID} nodeName:}}\" failed."));
        assert_eq!((line.pod.as_str(), line.uid.as_str()), ("", UID));
        let line = one('E', r#""Missing actuated pod level resource record" pod="notag""#);
        assert_eq!(line.pod, "");
        assert_eq!(line.text(), "Missing actuated pod level resource record");
    }
}
