//! Counters of the kernel for the machine and for each pod's control group: memory, file systems, pressure. The model computes
//! rates from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Time;
use crate::text::Text;

/// One sample of the machine. Values that could not be read are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vitals {
    /// `/proc/meminfo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryInfo>,
    /// First line of `/proc/stat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuTicks>,
    /// `/proc/pressure/*`: `cpu`, `io`, `memory`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<Text, Pressure>,
    /// File systems of the kubelet, of images and of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<Filesystem>,
    /// Processes that the kernel has OOM-killed since boot (`oom_kill` in `/proc/vmstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// Number of threads (`/proc/loadavg`), and the limit (`kernel.pid_max`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<(u64, u64)>,
}

/// The machine's memory, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// `MemTotal`.
    pub total: u64,
    /// What the kubelet counts as available (`memory.available`): total minus working set, which is free memory plus the
    /// inactive part of the page cache. It differs from the kernel's `MemAvailable`.
    pub available: u64,
}

/// Ticks of all CPUs since boot, 100 per second and CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// Not idle and not waiting for a disk.
    pub busy: u64,
    /// All.
    pub all: u64,
}

/// Share of time in which tasks waited for a resource, percent over 10 s, 60 s and 300 s (`/proc/pressure`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// At least one task waited.
    pub some: [f64; 3],
    /// All tasks that were not idle waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<[f64; 3]>,
}

/// A file system (`statvfs`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Directory that was sampled.
    pub path: Text,
    /// Id of the file system: equal for two directories on it.
    pub id: u64,
    /// Size, bytes.
    pub size: u64,
    /// Available to users other than root, bytes.
    pub available: u64,
    /// Inodes; 0 if the file system creates them on demand.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
}

/// A certificate of the kubelet on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// File.
    pub path: Text,
    /// Valid from.
    pub begins: Time,
    /// Valid until.
    pub ends: Time,
}

/// Resource usage of a pod, from its control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodUsage {
    /// Pod UID; of a static pod its own.
    pub uid: Text,
    /// Working set: memory minus the inactive part of the page cache, bytes in steps of 1 MiB. Evictions are ranked by it.
    pub memory: u64,
    /// CPU usage between the last two samples, millicores with two significant digits; None after the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}
