//! Which failures in a log a later line of the same log ends: the pull that succeeded, the probe that succeeds again.

use super::image;
use super::stale::is_about_api;
use crate::diagnose::area;
use crate::model::{KeptLine, KeptLines};
use crate::observation::Time;
use crate::runbook::SignalKind;

/// What the lines report as successful, each with its last time.
#[derive(Default)]
pub(super) struct Recovery<'a> {
    /// Images that were pulled.
    pulled: Vec<(&'a str, Time)>,
    /// A readiness probe succeeded.
    ready: Option<Time>,
    /// The sandbox was created.
    sandbox: Option<Time>,
    /// The kubelet registered its node.
    registered: Option<Time>,
    /// Volumes that were mounted.
    mounted: Vec<(&'a str, Time)>,
    /// k3s or RKE2 reports that it is running.
    up: Option<Time>,
}

impl<'a> Recovery<'a> {
    /// Of lines that name no pod and of those of one.
    pub fn of(all: impl Iterator<Item = &'a KeptLines>) -> Self {
        let mut healed = Self::default();
        all.flat_map(|lines| lines.iter()).filter(|line| !line.severe).for_each(|line| healed.take(line));
        healed
    }

    fn take(&mut self, line: &'a KeptLine) {
        let text = line.text.as_str();
        if let Some(image) = pulled(text) {
            self.pulled.push((image, line.at));
        } else if text.starts_with("SyncLoop (probe)") && text.contains("readiness") && text.contains("status=ready") {
            self.ready = self.ready.max(Some(line.at));
        } else if text.starts_with("RunPodSandbox") && text.contains("returns sandbox id") {
            self.sandbox = self.sandbox.max(Some(line.at));
        } else if text.starts_with("Successfully registered node") {
            self.registered = self.registered.max(Some(line.at));
        } else if let Some(volume) = mounted(text) {
            self.mounted.push((volume, line.at));
        } else if text.contains("k3s is up and running") || text.contains("rke2 is up and running") {
            self.up = self.up.max(Some(line.at));
        }
    }

    /// True for a failure that did not last.
    pub fn takes_back(&self, line: &KeptLine) -> bool {
        let text = line.text.as_str();
        let before = |at: Option<Time>| at.is_some_and(|at| at > line.at);
        let pulled = self.pulled.iter().any(|(image, at)| *at > line.at && image::names(text, image));
        (pulled && area::area(text) == Some(SignalKind::Pull))
            || (before(self.ready) && text.to_ascii_lowercase().contains("readiness"))
            || (before(self.sandbox)
                && matches!(area::area(text), Some(SignalKind::Pause | SignalKind::Network | SignalKind::Sandbox)))
            || (before(self.registered) && (is_about_api(text) || is_of_start(text)))
            || (before(self.up) && text.contains("Waiting "))
            || self.mounted.iter().any(|(volume, at)| *at > line.at && text.contains(volume) && is_of_volume(text))
    }
}

/// The image of `PullImage "IMG" returns image reference "ID"` (containerd) and `Pulled image: IMG` (CRI-O).
fn pulled(text: &str) -> Option<&str> {
    if let Some(image) = text.strip_prefix("Pulled image: ") {
        return image.split('@').next();
    }
    let (image, after) = text.strip_prefix("PullImage \"")?.split_once('"')?;
    after.contains("returns image reference").then_some(image)
}

/// The volume of `MountVolume.SetUp succeeded for volume "VOL" …` and of `MountVolume.MountDevice succeeded …`.
fn mounted(text: &str) -> Option<&str> {
    let (_, after) = text.strip_prefix("MountVolume.")?.split_once(" succeeded for volume ")?;
    let volume = after.trim_start_matches(['\\', '"']).split(['\\', '"']).next()?;
    (!volume.is_empty()).then_some(volume)
}

/// A failure during the start of the kubelet: it ends when the node is registered.
fn is_of_start(text: &str) -> bool {
    let only_at_start = ["may not have completed yet", "has yet to be successful", "failed to get node info: node "];
    only_at_start.iter().any(|part| text.contains(part))
}

fn is_of_volume(text: &str) -> bool {
    matches!(area::area(text), Some(SignalKind::Mount | SignalKind::Attach)) || text.contains("VolumesInUse")
}

#[cfg(test)]
mod tests {
    use crate::diagnose::DiagnosisCache;
    use crate::observation::{Fact, LogLevel, LogRecord, Source};
    use crate::pipeline::tests::fixture::Node;
    use crate::time::TimeDelta;

    /// The top cause of a node with only these log lines: severe or not, source, text.
    fn top_cause(lines: &[(bool, Source, &str)]) -> String {
        let mut node = Node::new();
        for (severe, source, text) in lines {
            node.at += TimeDelta::seconds(1);
            let entry = LogRecord::new(node.at, if *severe { LogLevel::Error } else { LogLevel::Info }, *text);
            node.report(*source, Fact::LogRecord(Box::new(entry)));
        }
        let (snapshot, book) = (node.snapshot(), crate::runbook::Runbook::builtin());
        let doctor = crate::diagnose::Diagnoser { book, snapshot: &snapshot, now: node.at };
        assert!(!DiagnosisCache::default().make(&[], &snapshot, node.at).node.findings.is_empty());
        doctor.node("w", true).top().unwrap().cause.to_string()
    }

    #[test]
    fn a_pull_that_succeeded_later_is_dropped_and_one_of_another_image_kept() {
        let failed = (
            true,
            Source::RuntimeLog,
            r#"PullImage "r/a:1" failed: failed to do request: dial tcp: lookup r: no such host"#,
        );
        assert_eq!(top_cause(&[failed]), "image.dns");
        let done = (false, Source::RuntimeLog, r#"PullImage "r/a:1" returns image reference "sha256:aa""#);
        assert_eq!(top_cause(&[failed, done]), "none.healthy");
        assert_eq!(top_cause(&[done, failed]), "image.dns", "it failed again");
        for other in ["r/b:1", "r/a", "r/a:10", ""] {
            let other = format!(r#"PullImage "{other}" returns image reference "sha256:bb""#);
            assert_eq!(top_cause(&[failed, (false, Source::RuntimeLog, &other)]), "image.dns", "{other}");
        }
    }

    #[test]
    fn lines_without_a_failure_mean_a_healthy_node() {
        let quiet =
            (false, Source::KubeletLog, "Starting controller name=client-ca-bundle::/etc/kubernetes/pki/ca.crt");
        assert_eq!(top_cause(&[quiet]), "none.healthy");
        assert_eq!(top_cause(&[quiet, (true, Source::KubeletLog, "nobody has seen this sentence")]), "unknown");
    }

    #[test]
    fn a_volume_that_was_mounted_is_not_missing_and_k3s_that_is_up_waits_for_nothing() {
        let failed = |volume: &str| {
            format!(
                r#"Operation for "{{volumeName:a podName:b nodeName:}}" failed. Error: Volume has not been added to the list of VolumesInUse in the node's volume status for volume "{volume}" (UniqueName: "kubernetes.io/csi/d^v") pod "web-0" (UID: "5b")"#
            )
        };
        let done = (
            false,
            Source::KubeletLog,
            r#"MountVolume.MountDevice succeeded for volume "data" (UniqueName: "kubernetes.io/csi/d^v") pod "web-0" (UID: "5b")"#,
        );
        assert_eq!(top_cause(&[(true, Source::KubeletLog, &failed("data")), done]), "none.healthy");
        assert_ne!(top_cause(&[(true, Source::KubeletLog, &failed("other")), done]), "none.healthy");
        let waits = (
            true,
            Source::OtherLog,
            "Waiting to retrieve agent configuration; server is not ready: connection refused",
        );
        assert_ne!(top_cause(&[waits]), "none.healthy");
        assert_eq!(top_cause(&[waits, (false, Source::OtherLog, "k3s is up and running")]), "none.healthy");
    }

    #[test]
    fn readiness_comes_back() {
        let failed = (
            false,
            Source::KubeletLog,
            "Probe failed probeType=Readiness output=HTTP probe failed with statuscode: 503",
        );
        let ready = (false, Source::KubeletLog, "SyncLoop (probe) probe=readiness status=ready");
        assert_ne!(top_cause(&[failed]), "none.healthy");
        assert_eq!(top_cause(&[failed, ready]), "none.healthy");
    }
}
