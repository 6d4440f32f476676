//! Owns what the machine says when API server and kubelet are both closed: systemd's word on units, and what lies on disk.
//! It must not hold what a file says beyond the names of pods and containers.

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
    /// `ActiveEnterTimestamp`: when it last became active, whether it still is or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// `NRestarts`: automatic restarts since systemd loaded the unit or somebody started it by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
    /// The main process's last end; absent while the first one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<UnitExit>,
    /// `Result`: `success`, `exit-code`, `signal`, `oom-kill`, `timeout`, `watchdog`, …
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub result: Text,
}

/// How the main process of a unit ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitExit {
    /// Exit code, or the signal's number if it was killed (`ExecMainStatus`).
    pub status: i32,
    /// A signal ended it (`ExecMainCode` is CLD_KILLED or CLD_DUMPED).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// `ExecMainExitTimestamp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// What lies on disk of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodDir {
    /// Pod UID; of a static pod its own.
    pub uid: Text,
    /// Pod as `namespace/name`, from the name of its log directory; empty without one.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub pod: Text,
    /// The kubelet has a directory for it: admitted and past its first sync, or not cleaned up yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kubelet: bool,
    /// There is a log directory: a sandbox was at least about to be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub logs: bool,
    /// Birth of the kubelet's directory, where the file system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Containers that have a log directory, by name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<ContainerDir, CONTAINERS_ON_DISK>,
    /// Volumes that have a directory of the kubelet's, by name; of a claim it is the persistent volume's.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub volumes: Bounded<Text, VOLUMES>,
}

/// What lies on disk of a container: its log directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerDir {
    /// Container name.
    pub name: Text,
    /// Number of its newest log file, which counts its restarts; absent when it has none: it was never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
}

/// A static pod, as its manifest has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StaticPod {
    /// File name of the manifest.
    pub file: Text,
    /// Namespace; empty when the manifest could not be read.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    /// Name as the kubelet makes it, with the node's name behind it; empty when the manifest could not be read.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    /// Containers.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<Text, CONTAINERS_ON_DISK>,
}
