//! One line of an incident's files, and the reading of its duration.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::observation::Time;
use crate::time::TimeDelta;

/// Longest duration of a call that a line can have, seconds.
const MAX_CALL_S: f64 = 86_400.0;

/// One line of any file of an incident folder. Each file uses some of the fields.
#[derive(Deserialize)]
pub(super) struct IncidentLine<'a> {
    /// When the recorder received it.
    pub t: Time,
    /// A watch event, or the string `closed`.
    #[serde(borrow)]
    pub event: Option<&'a RawValue>,
    /// Present when the watch was closed.
    pub closed: Option<Value>,
    /// Duration of the CRI calls, seconds.
    took_s: Option<f64>,
    /// The CRI lists are those of the line before.
    #[serde(default)]
    pub unchanged: bool,
    /// Why the call failed.
    pub error: Option<String>,
    /// `crictl pods -o json`.
    #[serde(borrow)]
    pub sandboxes: Option<&'a RawValue>,
    /// `crictl ps -a -o json`.
    #[serde(borrow)]
    pub containers: Option<&'a RawValue>,
    /// `crictl inspect`, the status part.
    #[serde(borrow)]
    pub container_status: Option<&'a RawValue>,
    /// `crictl inspectp`, the status part.
    #[serde(borrow)]
    pub sandbox_status: Option<&'a RawValue>,
    /// Body of an HTTP response of the kubelet.
    pub body: Option<String>,
    /// Body and status code of `/healthz`.
    pub answer: Option<String>,
    /// Output of `ctr content active`.
    pub active: Option<String>,
    /// A log line, or an OTLP export request.
    pub line: Option<String>,
}

impl IncidentLine<'_> {
    /// Duration of the CRI calls; zero where the line has none between 0 and a day.
    pub(super) fn call_duration(&self) -> TimeDelta {
        let micros = self.took_s.filter(|s| (0.0..MAX_CALL_S).contains(s)).map_or(0.0, |s| s * 1e6);
        TimeDelta::microseconds(micros.round() as i64)
    }
}
