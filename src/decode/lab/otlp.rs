//! OTLP export requests as JSON. Only spans of pod syncs and of the CRI calls in them are kept.

use serde::Deserialize;
use serde_json::Value;

use super::{DecodeError, nullable};
use crate::observation::{Span, Time};
use crate::text::Text;

/// Spans of the pod workers (pkg/kubelet/kubelet.go).
const SYNC_SPANS: [&str; 3] = ["syncPod", "syncTerminatingPod", "syncTerminatedPod"];
/// CRI calls of a pod's life cycle, as gRPC names them.
const CRI_CALLS: [&str; 7] = [
    "RunPodSandbox",
    "PullImage",
    "CreateContainer",
    "StartContainer",
    "StopContainer",
    "StopPodSandbox",
    "RemovePodSandbox",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest {
    #[serde(default, deserialize_with = "nullable")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    #[serde(default, deserialize_with = "nullable")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default, deserialize_with = "nullable")]
    spans: Vec<RawSpan>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSpan {
    #[serde(default)]
    trace_id: Text,
    #[serde(default)]
    span_id: Text,
    #[serde(default)]
    parent_span_id: Text,
    #[serde(default)]
    name: String,
    #[serde(default)]
    start_time_unix_nano: Value,
    #[serde(default)]
    end_time_unix_nano: Value,
    #[serde(default, deserialize_with = "nullable")]
    attributes: Vec<Attribute>,
    #[serde(default, deserialize_with = "nullable")]
    status: SpanStatus,
}

#[derive(Deserialize)]
struct Attribute {
    key: String,
    #[serde(default)]
    value: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SpanStatus {
    code: Value,
}

/// Reads one `ExportTraceServiceRequest`.
///
/// # Errors
/// When the text is not such a request.
pub fn spans(json: &str) -> Result<Vec<Span>, DecodeError> {
    let request: ExportRequest = serde_json::from_str(json)?;
    let raw = request.resource_spans.into_iter().flat_map(|r| r.scope_spans).flat_map(|s| s.spans);
    Ok(raw.filter(|s| is_kept(&s.name)).filter_map(span).collect())
}

fn is_kept(name: &str) -> bool {
    SYNC_SPANS.contains(&name) || name.rsplit_once('/').is_some_and(|(_, call)| CRI_CALLS.contains(&call))
}

fn span(raw: RawSpan) -> Option<Span> {
    let is_error = match &raw.status.code {
        Value::String(code) => code == "STATUS_CODE_ERROR",
        code => code.as_i64() == Some(2),
    };
    let is_call_failed = raw.attributes.iter().any(|a| match a.key.as_str() {
        "rpc.response.status_code" | "rpc.grpc.status_code" => {
            scalar(&a.value).is_some_and(|code| code != "OK" && code != "0")
        }
        _ => false,
    });
    let uid = raw.attributes.iter().find(|a| a.key == "k8s.pod.uid").and_then(|a| scalar(&a.value));
    Some(Span {
        name: Text::name(&raw.name),
        trace: raw.trace_id,
        id: raw.span_id,
        parent: raw.parent_span_id,
        begin: nanos(&raw.start_time_unix_nano)?,
        end: nanos(&raw.end_time_unix_nano)?,
        uid: uid.map(|uid| Text::name(&uid)).unwrap_or_default(),
        failed: is_error || is_call_failed,
    })
}

/// The string or integer of an `AnyValue`, as text; protobuf JSON writes 64-bit integers as strings.
fn scalar(value: &Value) -> Option<String> {
    let value = value.get("stringValue").or_else(|| value.get("intValue"))?;
    value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|n| n.to_string()))
}

fn nanos(value: &Value) -> Option<Time> {
    let nanos = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    (nanos > 0).then(|| Time::from_timestamp_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_pipeline_spans_and_their_failures() {
        let span = |name: &str, attributes: &str, status: &str| {
            format!(
                r#"{{"traceId":"t==","spanId":"s","parentSpanId":"p","name":"{name}","startTimeUnixNano":"1795951277279721105",
                "endTimeUnixNano":1795951277505958764,"attributes":[{attributes}],"status":{status}}}"#
            )
        };
        let all = [
            span("syncPod", r#"{"key":"k8s.pod.uid","value":{"stringValue":"u"}}"#, "{}"),
            span(
                "runtime.v1.RuntimeService/RunPodSandbox",
                r#"{"key":"rpc.response.status_code","value":{"stringValue":"UNKNOWN"}}"#,
                "null",
            ),
            span(
                "runtime.v1.ImageService/PullImage",
                r#"{"key":"rpc.grpc.status_code","value":{"intValue":"0"}}"#,
                r#"{"code":2}"#,
            ),
            span("runtime.v1.RuntimeService/ListContainers", "", "{}"),
            span("HTTP GET", "", "{}"),
        ];
        let json =
            format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}},{{"spans":null}}]}}]}}"#, all.join(","));
        let got = spans(&json).unwrap();
        assert_eq!(got.iter().map(|s| s.failed).collect::<Vec<_>>(), vec![false, true, true]);
        assert_eq!((got[0].uid.as_str(), got[0].trace.as_str(), got[0].parent.as_str()), ("u", "t==", "p"));
        assert_eq!((got[0].end - got[0].begin).num_microseconds(), 226_237);
        assert!(spans("[]x").is_err());
    }
}
