//! Owns what the kernel counts of the machine as a whole, and of each pod's control group: memory, file systems, pressure.
//! It must not hold a rate: counters stay counters, differences are the model's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Time;
use crate::text::Text;

/// One look at the machine. What could not be read is absent.
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
    /// Processes that the kernel has killed for lack of memory since boot (`oom_kill` of `/proc/vmstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// Threads that exist, of `/proc/loadavg`, and how many may (`kernel.pid_max`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<(u64, u64)>,
}

/// The machine's memory, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// `MemTotal`.
    pub total: u64,
    /// What the kubelet takes for available (`memory.available`): total less the working set, which is free memory and
    /// the inactive part of the page cache. The kernel's own `MemAvailable` is another figure.
    pub available: u64,
}

/// Ticks of all processors since boot, 100 a second each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// Not idle and not waiting for a disk.
    pub busy: u64,
    /// All.
    pub all: u64,
}

/// Share of time in which work stood still for lack of something, percent over 10 s, 60 s and 300 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task waited.
    pub some: [f64; 3],
    /// All that were not idle did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<[f64; 3]>,
}

/// A file system (`statvfs`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Directory that was asked for.
    pub path: Text,
    /// Number of the file system: equal for two directories of one.
    pub id: u64,
    /// Size, bytes.
    pub size: u64,
    /// What is left for others than root, bytes.
    pub available: u64,
    /// Inodes; 0 where the file system makes them as it goes.
    pub inodes: u64,
    /// Inodes left.
    pub inodes_free: u64,
}

/// A certificate of the kubelet's on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// File.
    pub path: Text,
    /// Valid from.
    pub begins: Time,
    /// Valid until.
    pub ends: Time,
}

/// What a pod uses, as its control group counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodUsage {
    /// Pod UID; of a static pod its own.
    pub uid: Text,
    /// Working set: memory less the inactive part of the page cache, bytes in steps of 1 MiB. It is what evictions are
    /// ranked by.
    pub memory: u64,
    /// Processors that it used between the last two looks, thousandths of one, in two figures; None after the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}
