//! Which operation failed: read from the words that the kubelet and the runtimes put around an error, whatever source reported
//! it.

use std::sync::OnceLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

use crate::pipeline::{Stage, stage_of_reason};
use crate::runbook::SignalKind;

/// Envelopes, the first that fits wins. Wordings of kubelet 1.10 to 1.36, containerd, CRI-O, dockershim and runc.
const ENVELOPES: &[(SignalKind, &str)] = &[
    (
        SignalKind::Pause,
        r"sandbox image|pause image|failed pulling image .{0,80}pause|pull(ing)? image .{0,80}[/:]pause[:@]",
    ),
    (
        // dockershim reports a failed ADD and its cleanup in one message.
        SignalKind::Network,
        r"failed to set up sandbox container|failed to setup network for sandbox|networkPlugin cni failed to set up pod|error adding pod|failed \(add\)",
    ),
    (
        SignalKind::Teardown,
        r#"failed to destroy network|failed \(delete\)|failed to (teardown|tear down) pod|error removing pod .{0,300} from CNI network|StopPodSandbox|KillPodSandbox|failed to stop sandbox|stop(ping)? pod sandbox|failed to remove sandbox|RemovePodSandbox|cmdDel|DelNetwork|CNI DEL|(failed|error) (to )?delet\w+ (pod )?network"#,
    ),
    (
        SignalKind::Network,
        r"network is not ready: |failed to set ?up (sandbox container .{0,200})?network for (sandbox|pod)|failed to create pod network|failed to (setup|set up) pod|set ?up (pod )?network|error adding pod|failed \(add\)|networkPlugin cni|NetworkPlugin cni|to CNI network|cmdAdd|AddNetwork|CNI ADD|netplugin failed|failed to find plugin",
    ),
    (
        SignalKind::Sandbox,
        r"creat\w* (a |the )?(pod ?)?sandbox|RunPodSandbox|CreatePodSandbox|FailedCreatePodSandBox|reserve sandbox name|start(ing)? (the )?sandbox|sandbox container|ConfigPodSandbox",
    ),
    (
        SignalKind::Mount,
        r#"\bMountVolume|\bMapVolume|\bMount(ing)? volume|attach or mount volumes|to mount volumes|unmounted volumes|NodeStageVolume|NodePublishVolume|Mounting command|\bmount failed|FailedMount|WaitForAttach|WaitForVolumeAttach|volume ownership|NewMounter|NewMapper|SetUpAt|couldn't get (secret|configMap)|CSI driver.{0,40}not found"#,
    ),
    (
        SignalKind::Attach,
        r"AttachVolume|ControllerPublishVolume|Multi-Attach|FailedAttachVolume|external-attacher|VolumeAttachment|volume attach",
    ),
    (
        SignalKind::Unmount,
        r"UnmountVolume|UnmountDevice|UnmapVolume|UnmapDevice|TearDown|NodeUnpublishVolume|NodeUnstageVolume|orphaned pod|CleanupMountPoint|failed to unmount|DetachVolume|ControllerUnpublish",
    ),
    (SignalKind::Hook, r"PostStart|PreStop|lifecycle hook|(?:^|\W)hook .{0,80}(failed|timed out)"),
    (
        SignalKind::Pull,
        r#"/images/create|pull(ing)? (and unpack )?(the )?image|PullImage|ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable|SignatureValidationFailed|image pull|resolve reference|pull and unpack|default image tag|inspect image|initializing source|reading manifest|pull policy of Never|pull QPS|pinging container registry"#,
    ),
    (
        SignalKind::Config,
        r"CreateContainerConfigError|couldn't find key .{0,300} in (ConfigMap|Secret)|runAsNonRoot|prepare subPath",
    ),
    (
        SignalKind::Create,
        r"CreateContainerError|CreateContainer|/containers/create|create containerd container|reserve container name|generate (container|the container|spec)|container create failed|Error creating container|PreCreateHookError|create container\b",
    ),
    (
        SignalKind::Start,
        r"/containers/\S+/start|RunContainerError|StartContainer|StartError|ContainerCannotRun|OCI runtime|containerd task|shim task|start(ing)? (the )?container|runc (create|run|init)|container_linux\.go|start failed|PreStartHookError|unable to start container process",
    ),
    (SignalKind::Probe, r"(Liveness|Readiness|Startup) probe|Probe (failed|errored)|ExecSync|probe (failed|errored)"),
    (
        SignalKind::Kill,
        r"KillContainer|KillPod|killing (pod|container)|StopContainer|(failed|unable) to (kill|stop) (the )?(container|task|pod)|did not kill the pod|signal: killed all|TaskExit|exit event",
    ),
    (
        SignalKind::Static,
        r"manifest file|read config path|static pod|mirror pod|pod manifest|parse.{0,60} as pod|decode.{0,40}(pod|manifest)|process file",
    ),
    (
        SignalKind::Rejected,
        r"admission denied|Pod was rejected|Allocate failed|Predicate \w+ failed|cannot be admitted|failed to admit",
    ),
    (
        SignalKind::Resize,
        r"in-place|pod resize|PodResize|resize (is|was|pod|request|of|allocation|deferred|infeasible)|(deferred|infeasible) resize|InPlacePodVerticalScaling",
    ),
    (
        SignalKind::Loop,
        r"Skipping pod synchronization|PLEG is not healthy|container runtime is down|runtime network not ready|NetworkReady=false|RuntimeReady=false|runtime status check may not have completed",
    ),
];

/// Bytes of a text that are searched: the words are around the error, and a log line is cut at 4096 characters.
const LOOKED_AT: usize = 4096;

/// Which operation failed, if the message names it.
pub fn area(text: &str) -> Option<SignalKind> {
    static SET: OnceLock<Option<RegexSet>> = OnceLock::new();
    let set = SET.get_or_init(|| {
        let mut builder = RegexSetBuilder::new(ENVELOPES.iter().map(|(_, pattern)| *pattern));
        builder.case_insensitive(true).unicode(false).dot_matches_new_line(true).size_limit(64 << 20).build().ok()
    });
    let text = text.as_bytes();
    let text = text.get(..LOOKED_AT).unwrap_or(text);
    let first = set.as_ref()?.matches(text).into_iter().next()?;
    ENVELOPES.get(first).map(|(kind, _)| *kind)
}

/// The container that a line of the kubelet is about: in `failed to "StartContainer" for "NAME"`, in the field
/// `containerName=NAME`, and in `container NAME start failed in pod` (startContainer and its caller in pkg/kubelet/kuberuntime).
pub fn container(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if let Some((_, rest)) = text.split_once("Container").filter(|_| text.contains("failed to ")) {
        let rest = rest.trim_start_matches(['\\', '"']);
        if let Some(name) = rest.strip_prefix(" for ").map(|r| r.trim_start_matches(['\\', '"'])) {
            return name.split(|c| !is_part(c)).next().filter(|n| !n.is_empty());
        }
    }
    if let Some((_, rest)) = text.split_once(" containerName=") {
        return rest.split(|c| !is_part(c)).next().filter(|n| !n.is_empty());
    }
    let before = text.split_once(" start failed in pod")?.0;
    let name = before.rsplit(' ').next()?;
    (!name.is_empty() && name.chars().all(is_part) && before.contains("container ")).then_some(name)
}

/// What a waiting reason, or the reason of a failed action in `with REASON: "…"`, is about.
pub fn of_reason(reason: &str, text: &str) -> Option<SignalKind> {
    Some(match reason {
        image if stage_of_reason(image) == Some(Stage::Image) => SignalKind::Pull,
        "CreateContainerConfigError" => SignalKind::Config,
        "CreateContainerError" | "PreCreateHookError" => SignalKind::Create,
        "RunContainerError" | "PreStartHookError" | "StartError" | "ContainerCannotRun" => SignalKind::Start,
        "PostStartHookError" | "FailedPostStartHook" | "FailedPreStopHook" => SignalKind::Hook,
        "CreatePodSandboxError"
        | "ConfigPodSandboxError"
        | "FailedCreatePodSandBox"
        | "FailedPodSandBoxStatus"
        | "FailedCreatePodContainer" => match area(text) {
            Some(kind @ (SignalKind::Pause | SignalKind::Network)) => kind,
            _ => SignalKind::Sandbox,
        },
        "NetworkNotReady" => SignalKind::Network,
        "KillPodSandboxError" => SignalKind::Teardown,
        "KillContainerError" | "ExceededGracePeriod" => SignalKind::Kill,
        "FailedKillPod" => match area(text) {
            Some(kind @ SignalKind::Teardown) => kind,
            _ => SignalKind::Kill,
        },
        "FailedMount" | "FailedMapVolume" | "VolumePermissionChangeInProgress" => match area(text) {
            Some(kind @ (SignalKind::Attach | SignalKind::Unmount)) => kind,
            _ => SignalKind::Mount,
        },
        "FailedAttachVolume" => SignalKind::Attach,
        "FailedDetachVolume" | "FailedUnMount" | "FailedUnmount" => SignalKind::Unmount,
        "InspectFailed" => SignalKind::Pull,
        "Unhealthy" | "ProbeError" | "ProbeWarning" => SignalKind::Probe,
        "FailedScheduling" => SignalKind::Schedule,
        "ResizeDeferred" | "ResizeInfeasible" | "ResizeError" => SignalKind::Resize,
        _ => return None,
    })
}

/// `failed to "ACTION" for "NAME" with REASON: "MESSAGE"`, the form of the kubelet's sync errors: the reasons in it.
pub fn sync_reason(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("failed to \"")?;
    let (_, after) = after.split_once(" with ")?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric())?;
    after.get(..end).filter(|reason| !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_of_all_voices() {
        let cases = [
            (r#"failed to get sandbox image "registry.k8s.io/pause:3.10": failed to pull image"#, SignalKind::Pause),
            (
                r#"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "ab": plugin type="bridge" failed (add): x"#,
                SignalKind::Network,
            ),
            (
                r#"NetworkPlugin cni failed to set up pod "a_b" network: open /run/flannel/subnet.env: no such file or directory"#,
                SignalKind::Network,
            ),
            (
                r#"failed to destroy network for sandbox "ab": plugin type="calico" failed (delete): x"#,
                SignalKind::Teardown,
            ),
            ("Failed create pod sandbox: rpc error: code = DeadlineExceeded", SignalKind::Sandbox),
            (r#"MountVolume.SetUp failed for volume "v" : mount failed: exit status 32"#, SignalKind::Mount),
            (r#"AttachVolume.Attach failed for volume "v" : rpc error"#, SignalKind::Attach),
            (r#"orphaned pod "5b2f" found, but volume paths are still present on disk"#, SignalKind::Unmount),
            (r#"Failed to pull image "x": rpc error"#, SignalKind::Pull),
            (
                r#"failed to create containerd task: failed to create shim task: OCI runtime create failed"#,
                SignalKind::Start,
            ),
            ("Readiness probe failed: dial tcp", SignalKind::Probe),
            ("PLEG is not healthy: pleg was last seen active 3m12s ago; threshold is 3m0s", SignalKind::Loop),
        ];
        for (text, kind) in cases {
            assert_eq!(area(text), Some(kind), "{text}");
        }
        assert_eq!(area("eth0: link becomes ready"), None);
    }

    #[test]
    fn the_reason_of_a_sync_error() {
        let text =
            r#"Error syncing pod, skipping: failed to "StartContainer" for "app" with ImagePullBackOff: "Back-off""#;
        assert_eq!(sync_reason(text), Some("ImagePullBackOff"));
        assert_eq!(sync_reason("failed to sync"), None);
    }
}
