//! What the machine itself shows without API server and kubelet: systemd units, and the files of pods. Of a file's content only
//! the names of pods and containers are kept.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::objects::limits::{CONTAINERS_ON_DISK, VOLUMES};
use crate::objects::{Bounded, BoundedEntry, OmittedCount};
use crate::text::Text;

fn is_empty<T: BoundedEntry, const MOST: usize>(list: &Bounded<T, MOST>) -> bool {
    list.is_empty()
}

impl BoundedEntry for ContainerDir {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

/// A systemd unit (`systemctl show`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// `kubelet.service`.
    pub name: Text,
    /// `ActiveState`: `active`, `activating`, `inactive`, `failed`, …
    pub active: Text,
    /// `SubState`: `running`, `auto-restart`, `dead`, `failed`, …
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub sub: Text,
    /// `ActiveEnterTimestamp`: when it last became active, even if it no longer is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// `NRestarts`: automatic restarts since systemd loaded the unit or a user started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
    /// Last exit of the main process; absent while the first one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<UnitExit>,
    /// `Result`: `success`, `exit-code`, `signal`, `oom-kill`, `timeout`, `watchdog`, …
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub result: Text,
}

/// How the main process of a unit exited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitExit {
    /// Exit code, or the signal's number if it was killed (`ExecMainStatus`).
    pub status: i32,
    /// Killed by a signal (`ExecMainCode` is CLD_KILLED or CLD_DUMPED).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// `ExecMainExitTimestamp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// The directories of a pod on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodDir {
    /// Pod UID; of a static pod its own.
    pub uid: Text,
    /// Pod as `namespace/name`, from the name of its log directory; empty without one.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub pod: Text,
    /// The kubelet has a directory for it: it is admitted and past its first sync, or not cleaned up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kubelet: bool,
    /// It has a log directory: the kubelet has started to create a sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub logs: bool,
    /// Creation time of the kubelet's directory, if the file system has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Containers that have a log directory, by name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<ContainerDir, CONTAINERS_ON_DISK>,
    /// Volumes with a directory of the kubelet, by name; for a claim, the name of the persistent volume.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub volumes: Bounded<Text, VOLUMES>,
}

/// The log directory of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerDir {
    /// Container name.
    pub name: Text,
    /// Number of its newest log file, which is its restart count; absent without a log file: it was never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
}

/// A static pod, from its manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StaticPod {
    /// File name of the manifest.
    pub file: Text,
    /// Namespace; empty if the manifest could not be read.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    /// Name with the name of the node as suffix, as the kubelet creates it; empty if the manifest could not be read.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    /// Containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<Text, CONTAINERS_ON_DISK>,
}
