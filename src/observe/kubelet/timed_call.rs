//! Owns the deadline of a request and the telling of its begin and end.
//! It must not know what is asked.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::{ObservationSink, SourceFailure};
use crate::observation::{Call, ErrorKind, SourceError};

/// A tick at once and then every `every`; what was missed while a call took longer is not made up for.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Makes one timed call: `work` is dropped at the deadline, and its connection with it.
pub(super) async fn timed_call<T>(
    out: &mut ObservationSink,
    call: Call,
    what: &str,
    deadline: Duration,
    work: impl Future<Output = Result<T, SourceFailure>>,
) -> Result<T, SourceFailure> {
    let began = out.begin_call(call).await;
    let answer = tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| Err(timed_out(what, deadline)));
    let error = match &answer {
        Err(SourceFailure::Retry(error) | SourceFailure::RetryAfter(error, _) | SourceFailure::Forbidden(error)) => {
            Some(error.clone())
        }
        Err(SourceFailure::Off(_)) | Ok(_) => None,
    };
    out.end_call(call, began, error).await;
    answer
}

pub(super) fn timed_out(what: &str, deadline: Duration) -> SourceFailure {
    SourceFailure::Retry(SourceError {
        tried: format!("{what}: no whole answer within {deadline:?}").into(),
        kind: ErrorKind::Timeout,
        fix: "the kubelet accepts connections and does not answer: it hangs or is overloaded; see its log".into(),
    })
}
