//! When the next list is due; a slow runtime is called less often.

use std::time::{Duration, Instant};

/// Intervals and deadlines of the source.
#[derive(Clone, Copy, Debug)]
pub struct CriTimings {
    /// Least time between the starts of two lists, and the interval for a runtime without events.
    pub min_interval: Duration,
    /// Longest time without a list while there are events.
    pub max_interval: Duration,
    /// Time between an event and the list: containerd's CRI plugin handles the event first.
    pub event_delay: Duration,
    /// Longest rest after a slow list; the rest is five times as long as the list took.
    pub max_rest: Duration,
    /// Deadline of each of the two list calls: the kubelet's `runtimeRequestTimeout`.
    pub list_deadline: Duration,
    /// Time between two calls for images, and for their file systems, without events.
    pub images_every: Duration,
    /// Least time between two calls for images.
    pub images_min_interval: Duration,
    /// Deadline of Version, Status, ContainerStatus, PodSandboxStatus, ListImages and ImageFsInfo.
    pub status_deadline: Duration,
    /// Time between two calls for the runtime's own status.
    pub status_every: Duration,
    /// Time between two Version calls, which show a runtime that hangs or exits between two lists.
    pub heartbeat_every: Duration,
    /// A Version call without a response for this long starts the next list at once.
    pub heartbeat_deadline: Duration,
    /// Most containers and sandboxes whose status is requested in one round.
    pub details: usize,
}

impl Default for CriTimings {
    fn default() -> Self {
        Self {
            min_interval: Duration::from_secs(2),
            max_interval: Duration::from_secs(10),
            event_delay: Duration::from_millis(300),
            max_rest: Duration::from_secs(30),
            list_deadline: Duration::from_secs(120),
            images_every: Duration::from_secs(60),
            images_min_interval: Duration::from_secs(15),
            status_deadline: Duration::from_secs(10),
            status_every: Duration::from_secs(30),
            heartbeat_every: Duration::from_secs(2),
            heartbeat_deadline: Duration::from_secs(1),
            details: 64,
        }
    }
}

/// Start and end of the last list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListTimes {
    pub began: Instant,
    pub ended: Instant,
}

impl CriTimings {
    /// When the next list is due. `woken` is the first event since the last list began, `events` is true for a runtime
    /// with events, and `again` is the time from the last list to the list that pending events need.
    pub(super) fn due(
        &self,
        last: ListTimes,
        woken: Option<Instant>,
        events: bool,
        again: Option<Duration>,
    ) -> Instant {
        let rest = self.rest_after(last.ended.duration_since(last.began));
        let earliest = (last.began + self.min_interval).max(last.ended + rest);
        let wanted = match woken {
            Some(at) => at + self.event_delay,
            None if events => last.began + again.map_or(self.max_interval, |again| again.min(self.max_interval)),
            None => earliest,
        };
        earliest.max(wanted)
    }

    /// Rest after a call that took this long.
    pub(super) fn rest_after(&self, took: Duration) -> Duration {
        took.saturating_mul(5).min(self.max_rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_spaced_and_a_slow_runtime_rests() {
        let timings = CriTimings::default();
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let due_again = |took: u64, woken: Option<u64>, events, again| {
            let last = ListTimes { began: zero, ended: at(took) };
            timings.due(last, woken.map(at), events, again).duration_since(zero).as_millis()
        };
        let due = |took, woken, events| due_again(took, woken, events, None);
        assert_eq!(due(10, None, false), 2000, "polling");
        assert_eq!(due(10, None, true), 10_000, "nothing happened");
        assert_eq!(due(10, Some(100), true), 2000, "an event soon after a list");
        assert_eq!(due(10, Some(5000), true), 5300, "an event long after a list");
        let again = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(due_again(10, None, true, again(4)), 4000, "a pending event");
        assert_eq!(due_again(1000, None, true, again(4)), 6000, "a pending event, and a slow runtime");
        assert_eq!(due_again(10, None, true, again(16)), 10_000, "never later than without a pending event");
        assert_eq!(due(1000, Some(100), true), 6000, "slow: five times as long");
        assert_eq!(due(60_000, None, false), 90_000, "very slow: half a minute");
    }
}
