//! STATUS, READY, RESTARTS and durations exactly as `kubectl get pods` prints them.

use std::collections::HashSet;

use crate::objects::Pod;
use crate::observation::Time;
use crate::text::Text;
use crate::time::TimeDelta;

/// The status columns of `kubectl get pods`.
#[derive(Clone, Debug, PartialEq)]
pub struct KubectlStatus {
    /// The STATUS word.
    pub word: Text,
    /// READY.
    pub ready: Readiness,
    /// Restarts.
    pub restarts: u32,
    /// When the container exited before its last restart.
    pub last_restart: Option<Time>,
}

/// READY of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// From the pod's status.
    Counted {
        /// Ready containers.
        ready: usize,
        /// App containers and sidecars.
        total: usize,
    },
    /// Only the runtime reports the pod. It knows neither probes nor containers that are not created yet.
    Unknown,
}

impl std::fmt::Display for Readiness {
    /// `1/2`, or `?`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Readiness::Counted { ready, total } => write!(f, "{ready}/{total}"),
            Readiness::Unknown => f.write_str("?"),
        }
    }
}

impl KubectlStatus {
    /// `1/2`, or `?`.
    pub fn ready_text(&self) -> String {
        self.ready.to_string()
    }

    /// `3 (27s ago)`, or `0`.
    pub fn restarts_text(&self, now: Time) -> String {
        match self.last_restart {
            Some(at) if self.restarts != 0 => format!("{} ({} ago)", self.restarts, human_duration(now - at)),
            _ => self.restarts.to_string(),
        }
    }
}

/// The columns as the API server computes them (`printPod`, pkg/printers/internalversion/printers.go). `api_minor` is its
/// minor version: the word for a pod of which some containers have completed changed in 1.35.
pub fn kubectl_status(pod: &Pod, api_minor: u32) -> KubectlStatus {
    let (spec, status) = (&pod.spec, &pod.status);
    let mut word = if status.reason.is_empty() { status.phase.clone() } else { status.reason.clone() };
    if status.conditions.iter().any(|c| c.kind == "PodScheduled" && c.reason == "SchedulingGated") {
        word = "SchedulingGated".into();
    }
    let sidecars: HashSet<&str> =
        spec.init_containers.iter().filter(|c| c.is_sidecar()).map(|c| c.name.as_str()).collect();
    let init = spec.init_containers.iter().filter(|c| c.is_sidecar()).count();
    let total = count(spec.containers.total()) + init + count(spec.init_containers.rest().sidecars);
    let (mut ready, mut init_restarts, mut sidecar_restarts) = (0, 0, 0);
    let (mut init_last, mut sidecar_last) = (None, None);
    let mut initializing = false;
    for (i, container) in status.init_container_statuses.iter().enumerate() {
        init_restarts = u32::saturating_add(init_restarts, container.restart_count);
        init_last = init_last.max(container.last_end());
        let is_sidecar = sidecars.contains(container.name.as_str());
        if is_sidecar {
            sidecar_restarts = u32::saturating_add(sidecar_restarts, container.restart_count);
            sidecar_last = sidecar_last.max(container.last_end());
        }
        let state = &container.state;
        if state.terminated.as_ref().is_some_and(|t| t.exit_code == 0) {
            continue;
        }
        if is_sidecar && container.started == Some(true) {
            ready += usize::from(container.ready);
            continue;
        }
        initializing = true;
        word = match (&state.terminated, &state.waiting) {
            (Some(t), _) if !t.reason.is_empty() => format!("Init:{}", t.reason),
            (Some(t), _) if t.signal != 0 => format!("Init:Signal:{}", t.signal),
            (Some(t), _) => format!("Init:ExitCode:{}", t.exit_code),
            (_, Some(w)) if !w.reason.is_empty() && w.reason != "PodInitializing" => format!("Init:{}", w.reason),
            _ => format!("Init:{i}/{}", spec.init_containers.total()),
        }
        .into();
        break;
    }
    let rest = status.init_container_statuses.rest();
    if !initializing && rest.count > 0 {
        ready += count(rest.ready);
        init_restarts = init_restarts.saturating_add(rest.restarts);
        init_last = init_last.max(rest.last_end);
        if rest.unfinished > 0 {
            initializing = true;
            let done = status.init_container_statuses.len() as u64 + rest.count.saturating_sub(rest.unfinished);
            word = format!("Init:{done}/{}", spec.init_containers.total()).into();
        }
    }
    let (mut restarts, mut last_restart) = (init_restarts, init_last);
    if !initializing || status.is_true("Initialized") {
        (restarts, last_restart) = (sidecar_restarts, sidecar_last);
        // In reverse order: the containers that were left out are the last ones.
        let rest = status.container_statuses.rest();
        restarts = restarts.saturating_add(rest.restarts);
        last_restart = last_restart.max(rest.last_end);
        ready += count(rest.ready);
        let (mut running, mut error) = (rest.ready > 0, Some(rest.error.clone()).filter(|e| !e.is_empty()));
        if !rest.word.is_empty() {
            word = rest.word.clone();
        }
        for container in status.container_statuses.iter().rev() {
            restarts = restarts.saturating_add(container.restart_count);
            last_restart = last_restart.max(container.last_end());
            if let Some((own, failed)) = container.kubectl_word() {
                if failed {
                    error = Some(own.clone());
                }
                word = own;
            } else if container.counts_as_ready() {
                running = true;
                ready += 1;
            }
        }
        if word == "Completed" {
            let pod_ready = status.is_true("Ready");
            word = match (running, error.filter(|_| api_minor >= 35)) {
                (true, _) if pod_ready => "Running".into(),
                (_, Some(error)) => error,
                (true, None) => "NotReady".into(),
                (false, None) => word,
            };
        }
    }
    if pod.metadata.deletion_timestamp.is_some() {
        if status.reason == "NodeLost" {
            word = "Unknown".into();
        } else if !status.is_terminal() {
            word = "Terminating".into();
        }
    }
    KubectlStatus { word, ready: Readiness::Counted { ready, total }, restarts, last_restart }
}

fn count(containers: u64) -> usize {
    usize::try_from(containers).unwrap_or(usize::MAX)
}

/// A duration as kubectl prints it (k8s.io/apimachinery/pkg/util/duration HumanDuration).
pub fn human_duration(duration: TimeDelta) -> String {
    let s = duration.num_seconds();
    if s < -1 {
        return "<invalid>".into();
    }
    let pair = |a: i64, au: &str, b: i64, bu: &str| if b == 0 { format!("{a}{au}") } else { format!("{a}{au}{b}{bu}") };
    let (m, h, d) = (s / 60, s / 3600, s / 86400);
    match s {
        i64::MIN..0 => "0s".into(),
        0..120 => format!("{s}s"),
        120..600 => pair(m, "m", s % 60, "s"),
        600..10_800 => format!("{m}m"),
        10_800..28_800 => pair(h, "h", m % 60, "m"),
        28_800..172_800 => format!("{h}h"),
        172_800..691_200 => pair(d, "d", h % 24, "h"),
        691_200..63_072_000 => format!("{d}d"),
        63_072_000..252_288_000 => pair(d / 365, "y", d % 365, "d"),
        _ => format!("{}y", d / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_in_kubectl() {
        let cases = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human_duration(TimeDelta::seconds(seconds)), text, "{seconds}");
        }
    }

    fn pod(json: &str) -> Pod {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_word_for_partly_completed_pods_depends_on_the_version() {
        let p = pod(
            r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[
            {"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
            {"name":"b","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]}}"#,
        );
        assert_eq!(kubectl_status(&p, 34).word, "Completed");
        assert_eq!(kubectl_status(&p, 36).word, "Error");
    }

    #[test]
    fn sidecars_count_and_init_restarts_do_not_once_initialized() {
        let p = pod(
            r#"{"spec":{"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}],"containers":[{"name":"a"}]},
            "status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True"}],
            "initContainerStatuses":[{"name":"i","restartCount":4,"state":{"terminated":{"exitCode":0}}},
              {"name":"s","restartCount":2,"started":true,"ready":true,"state":{"running":{}}}],
            "containerStatuses":[{"name":"a","ready":true,"restartCount":1,"state":{"running":{}}}]}}"#,
        );
        let status = kubectl_status(&p, 36);
        assert_eq!((status.word.as_str(), status.ready_text(), status.restarts), ("Running", "2/2".into(), 3));
    }

    #[test]
    fn deletion_and_gates() {
        let terminating = r#"{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"PHASE"}}"#;
        assert_eq!(kubectl_status(&pod(&terminating.replace("PHASE", "Running")), 36).word, "Terminating");
        assert_eq!(kubectl_status(&pod(&terminating.replace("PHASE", "Succeeded")), 36).word, "Succeeded");
        let gated =
            r#"{"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","reason":"SchedulingGated"}]}}"#;
        assert_eq!(kubectl_status(&pod(gated), 36).word, "SchedulingGated");
    }
}
