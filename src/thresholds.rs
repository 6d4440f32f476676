//! Every threshold and period that drives an alarm, a verdict, a stage or a finding, with its source. Retry paces and byte
//! budgets of the sources are kept with the sources.

use crate::time::TimeDelta;

// PLEG and the sync loop

/// PLEG is unhealthy this long after the start of its last relist (`genericPlegRelistThreshold`, pkg/kubelet/kubelet.go).
pub const RELIST_UNHEALTHY: TimeDelta = TimeDelta::minutes(3);
/// The same with the EventedPLEG feature gate (`eventedPlegRelistThreshold`, pkg/kubelet/kubelet.go).
pub const EVENTED_RELIST_UNHEALTHY: TimeDelta = TimeDelta::minutes(10);
/// A relist or a runtime operation counts as slow from this mean duration, seconds: a relist is due every second
/// (`genericPlegRelistPeriod`, pkg/kubelet/kubelet.go).
pub const SLOW_OPERATION_S: f64 = 1.0;
/// Upper bound of the last bucket of `kubelet_pleg_relist_duration_seconds` below +Inf, seconds (`prometheus.DefBuckets`).
pub const HIGHEST_BUCKET_S: f64 = 10.0;
/// How long the sync loop counts as blocked after its last "Skipping pod synchronization": it repeats the message at least
/// every 5 s (`syncLoop` back-off of 100 ms to 5 s, pkg/kubelet/kubelet.go); four repeats may be lost.
pub const LOOP_BLOCKED: TimeDelta = TimeDelta::seconds(20);
/// Probe failures within this time are counted (our choice: thirty periods of a probe, 10 s by default).
pub const RECENT_PROBE_FAILURES: TimeDelta = TimeDelta::minutes(5);

// Our own observation of the node

/// Time between two reads of the kubelet's metrics.
pub const METRICS_PERIOD: TimeDelta = TimeDelta::seconds(10);
/// Metrics older than this do not describe the present: three reads have failed.
pub const METRICS_STALE: TimeDelta = TimeDelta::seconds(3 * METRICS_PERIOD.num_seconds());
/// How far back the windows between reads of the metrics are kept and drawn.
pub const METRICS_HISTORY: TimeDelta = TimeDelta::minutes(15);
/// Time between two samples of the machine (memory, file systems, pressure, usage of pods).
pub const MACHINE_PERIOD: TimeDelta = TimeDelta::seconds(10);
/// Samples older than this do not describe the present: three samples are missing.
pub const MACHINE_STALE: TimeDelta = TimeDelta::seconds(3 * MACHINE_PERIOD.num_seconds());
/// A call of ours without an answer for this long raises an alarm: three and a half times the period of our calls to the runtime,
/// so that a hang is an alarm within 10 s.
pub const CALL_STALLED: TimeDelta = TimeDelta::seconds(7);
/// A call of ours without an answer for this long is shown as waiting.
pub const CALL_WAITING: TimeDelta = TimeDelta::seconds(1);
/// A source whose call has no answer for this long is marked in the header: CRI lists are 2 s apart.
pub const SOURCE_LATE: TimeDelta = TimeDelta::seconds(3);
/// A layer of an image pull without a new byte for this long raises an alarm (our choice).
pub const PULL_STALLED: TimeDelta = TimeDelta::seconds(10);

// Pods

/// A pod in one stage for this long is shown as slow, although a longer wait can be normal: a large image, a slow volume
/// (our choice).
pub const STAGE_SLOW: TimeDelta = TimeDelta::seconds(30);
/// A stage without an error for this long is no longer "in progress": the kubelet gives up on volumes after 2m3s
/// (`podAttachAndMountTimeout`, pkg/kubelet/volumemanager/volume_manager.go) and reports most other failures sooner.
pub const STAGE_STUCK: TimeDelta = TimeDelta::seconds(120);
/// First delay of the back-off of restarts (pkg/kubelet/kubelet.go) and of image pulls (pkg/kubelet/images/image_manager.go);
/// it doubles with every failure.
pub const BACK_OFF_FIRST: TimeDelta = TimeDelta::seconds(10);
/// Longest delay of both (`MaxCrashLoopBackOff`, pkg/kubelet/kubelet.go; `crashLoopBackOff.maxContainerRestartPeriod`, KEP-4603,
/// can lower that of restarts).
pub const BACK_OFF_MAX: TimeDelta = TimeDelta::minutes(5);
/// A container that ran for this long after its last back-off starts at the first delay again (twice the longest delay,
/// `hasExpired` of client-go's flowcontrol.Backoff). Until then its restart is part of the present.
pub const BACK_OFF_RESET: TimeDelta = TimeDelta::minutes(10);
/// Failures of a liveness probe after which the kubelet restarts the container (`failureThreshold`, default of the API).
pub const LIVENESS_FAILURES: u32 = 3;
/// The longest time, besides the grace period, between the failure of a probe and the exit that it causes.
pub const PROBE_KILL_WITHIN: TimeDelta = TimeDelta::seconds(60);

// How long a log line, an event or a condition describes the present

/// A line of the kubelet's or the runtime's log: what persists is logged again sooner, at the latest after the longest period,
/// five minutes (`ImageGCPeriod`, `nodeStatusReportFrequency`).
pub const LOG_LINE_CURRENT: TimeDelta = TimeDelta::minutes(15);
/// A line about a static pod manifest: the kubelet reads the directory again every 20 s (`fileCheckFrequency`); two repeats.
pub const MANIFEST_LINE_CURRENT: TimeDelta = TimeDelta::seconds(45);
/// A line about a failed call to the API server: lease, node status and watches are retried within a minute.
pub const API_LINE_CURRENT: TimeDelta = TimeDelta::seconds(120);
/// An event of the node, by its last occurrence: the API server keeps events for an hour (`--event-ttl`).
pub const NODE_EVENT_CURRENT: TimeDelta = TimeDelta::hours(1);
/// A condition, by its heartbeat: the kubelet and node-problem-detector report at least every five minutes.
pub const CONDITION_CURRENT: TimeDelta = TimeDelta::minutes(5);

// The node in the cluster

/// Time without a lease renewal after which the node is NotReady (`--node-monitor-grace-period`, kube-controller-manager).
pub const NODE_MONITOR_GRACE: TimeDelta = TimeDelta::seconds(50);
/// The same before Kubernetes 1.32.
pub const OLD_NODE_MONITOR_GRACE: TimeDelta = TimeDelta::seconds(40);
/// Minor version of Kubernetes since which [`NODE_MONITOR_GRACE`] is the default.
pub const NODE_MONITOR_GRACE_SINCE: u32 = 32;
/// How long pods tolerate a node that is not ready by default (`DefaultTolerationSeconds` admission plugin).
pub const NOT_READY_TOLERATED: TimeDelta = TimeDelta::minutes(5);
/// Share of a certificate's lifetime by which it is renewed: client-go's certificate manager renews at 70 to 90 percent.
pub const CERTIFICATE_RENEWED_BY: f64 = 0.9;
/// A certificate that expires within this time is marked (our choice).
pub const CERTIFICATE_EXPIRES_SOON: TimeDelta = TimeDelta::days(7);

// Resources

/// `evictionHard` where none is set (pkg/kubelet/apis/config/v1beta1/defaults_linux.go): signal and threshold.
pub const EVICTION_HARD: [(&str, &str); 5] = [
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("nodefs.inodesFree", "5%"),
    ("imagefs.available", "15%"),
    ("imagefs.inodesFree", "5%"),
];
/// An eviction threshold is near when less than this share of the whole is left above it (our choice).
pub const EVICTION_NEAR: f64 = 0.05;
/// A resource is nearly full from this share in use or requested (our choice).
pub const NEARLY_FULL: f64 = 0.9;
/// Pressure (PSI, average of the last 10 s) counts as high from this percentage (our choice).
pub const HIGH_PRESSURE_PERCENT: f64 = 10.0;
/// `maxPods` above which the number of pods alone makes relists slow (our choice; the default is 110).
pub const MANY_PODS: f64 = 250.0;
/// `registryPullQPS` up to which the pulls after a reboot exceed the rate: the kubelet's default.
pub const LOW_PULL_QPS: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_thresholds_are_in_order() {
        assert!(CALL_WAITING < SOURCE_LATE && SOURCE_LATE < CALL_STALLED && CALL_STALLED < METRICS_STALE);
        assert!(STAGE_SLOW < STAGE_STUCK && BACK_OFF_FIRST < BACK_OFF_MAX && BACK_OFF_MAX < BACK_OFF_RESET);
        assert!(OLD_NODE_MONITOR_GRACE < NODE_MONITOR_GRACE && RELIST_UNHEALTHY < EVENTED_RELIST_UNHEALTHY);
    }
}
