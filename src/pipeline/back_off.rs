//! Delays of restarts and image pulls: as the kubelet reports them, or estimated.

use crate::observation::Time;
use crate::time::TimeDelta;

/// First delay and limit of the restart back-off, seconds (`MaxCrashLoopBackOff`, pkg/kubelet/kubelet.go).
const RESTART_BACK_OFF_S: (i64, i64) = (10, 300);
/// First delay and limit of the image pull back-off, seconds (pkg/kubelet/images/image_manager.go).
const PULL_BACK_OFF_S: (i64, i64) = (10, 300);

/// The delay in `back-off 1m20s restarting failed container=...`, a Go duration.
pub(super) fn parse_back_off(message: &str) -> Option<TimeDelta> {
    let duration = message.strip_prefix("back-off ")?.split(' ').next()?;
    let (mut seconds, mut number) = (0.0, String::new());
    for c in duration.chars() {
        match c {
            '0'..='9' | '.' => number.push(c),
            _ => {
                let value: f64 = std::mem::take(&mut number).parse().ok()?;
                seconds += value
                    * match c {
                        'h' => 3600.0,
                        'm' => 60.0,
                        's' => 1.0,
                        _ => return None,
                    };
            }
        }
    }
    (seconds > 0.0 && seconds < 1e6 && number.is_empty()).then(|| TimeDelta::milliseconds((seconds * 1000.0) as i64))
}

/// The back-off of one container in a sync error of the kubelet's log, which quotes one message per waiting container.
pub(super) fn back_off_in_error(error: &str, container: &str) -> Option<TimeDelta> {
    let (before, _) = error.split_once(&format!(" restarting failed container={container} "))?;
    parse_back_off(before.get(before.rfind("back-off ")?..)?)
}

/// Earliest restart of a container that exited at `end`; None for the first restart, which has no delay. The API shows the
/// exit before it shows the back-off.
pub(super) fn estimated_restart(end: Time, restarts: u32) -> Option<Time> {
    Some(end + doubling(RESTART_BACK_OFF_S, restarts.checked_sub(1)?))
}

/// Next pull of an image after `failures` failed pulls, the last at `last`.
pub(super) fn estimated_pull(last: Time, failures: u32) -> Time {
    last + doubling(PULL_BACK_OFF_S, failures.saturating_sub(1))
}

/// The delay after `doublings` doublings, limited.
fn doubling((first_s, limit_s): (i64, i64), doublings: u32) -> TimeDelta {
    let delay = first_s.checked_shl(doublings.min(16)).unwrap_or(limit_s);
    TimeDelta::seconds(delay.min(limit_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_delays_double_up_to_five_minutes() {
        let end = Time::from_timestamp(1000, 0).unwrap();
        let after = |restarts| estimated_restart(end, restarts).map(|at| (at - end).num_seconds());
        assert_eq!([0, 1, 2, 4, 6, 99].map(after), [None, Some(10), Some(20), Some(80), Some(300), Some(300)]);
    }

    #[test]
    fn back_off_in_the_waiting_message() {
        let of = |m: &str| parse_back_off(m).map(|d| d.num_seconds());
        assert_eq!(of("back-off 10s restarting failed container=a pod=b_c(d)"), Some(10));
        assert_eq!(of("back-off 1m20s restarting failed container=a"), Some(80));
        assert_eq!(of("back-off 5m0s restarting"), Some(300));
        assert_eq!(of("back-off soon restarting"), None);
        assert_eq!(of("Back-off pulling image"), None);
    }

    #[test]
    fn back_off_of_one_container_in_a_sync_error() {
        let error = r#"[failed to "StartContainer" for "a" with CrashLoopBackOff: "back-off 10s restarting failed container=a pod=p_n(u)", failed to "StartContainer" for "b" with CrashLoopBackOff: "back-off 2m40s restarting failed container=b pod=p_n(u)"]"#;
        let of = |container: &str| back_off_in_error(error, container).map(|d| d.num_seconds());
        assert_eq!((of("a"), of("b"), of("c")), (Some(10), Some(160), None));
    }
}
