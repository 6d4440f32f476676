//! Owns the deadline of a request and the telling of its begin and end.
//! It must not know what is asked.

use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::{Failure, Outlet};
use crate::observation::{Call, ErrorKind, SourceError};

/// A tick at once and then every `every`; what was missed while a call took longer is not made up for.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Makes one timed call: `work` is dropped at the deadline, and its connection with it.
pub(super) async fn ask<T>(
    out: &mut Outlet,
    call: Call,
    what: &str,
    deadline: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let began = out.call_begin(call).await;
    let answer = tokio::time::timeout(deadline, work).await.unwrap_or_else(|_| Err(too_late(what, deadline)));
    let error = match &answer {
        Err(Failure::Retry(error) | Failure::RetryAfter(error, _) | Failure::Forbidden(error)) => Some(error.clone()),
        Err(Failure::Off(_)) | Ok(_) => None,
    };
    out.call_end(call, began, error).await;
    answer
}

pub(super) fn too_late(what: &str, deadline: Duration) -> Failure {
    Failure::Retry(SourceError {
        tried: format!("{what}: no whole answer within {deadline:?}").into(),
        kind: ErrorKind::Timeout,
        fix: "the kubelet accepts connections and does not answer: it hangs or is overloaded; see its log".into(),
    })
}
