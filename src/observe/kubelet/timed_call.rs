//! A request with a deadline, whose start and end are observed.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::{ObservationSink, SourceFailure};
use super::request_error::retry;
use crate::observation::{Call, ErrorKind};

/// A tick at once and then every `every`; ticks missed during a slow call are not made up for.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Runs one timed call: at the deadline `work` is dropped, and its connection with it.
pub(super) async fn timed_call<T>(
    out: &mut ObservationSink,
    call: Call,
    what: &str,
    deadline: Duration,
    work: impl Future<Output = Result<T, SourceFailure>>,
) -> Result<T, SourceFailure> {
    let began = out.begin_call(call).await;
    let result = tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| Err(timed_out(what, deadline)));
    out.end_call(call, began, result.as_ref().err().and_then(SourceFailure::error).cloned()).await;
    result
}

/// There is no complete response within `deadline`.
pub(super) fn timed_out(what: &str, deadline: Duration) -> SourceFailure {
    let fix = "the kubelet accepts connections and does not respond: it hangs or is overloaded; read its log";
    retry(what, ErrorKind::Timeout, &format!("no complete response within {deadline:?}"), fix)
}
