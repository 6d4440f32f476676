//! Memory and CPU time of each pod from its cgroup, for both versions and both drivers. A pod's cgroup includes its
//! containers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::decode::counter;
use crate::observation::PodUsage;
use crate::observe::discover::Root;
use crate::text::Text;

const CGROUP_ROOT: &str = "/sys/fs/cgroup";
/// Longest time for walking all pods: three small files each.
const WALK: Duration = Duration::from_secs(2);
/// Most pods that are reported.
const MAX_PODS: usize = 4096;
/// Memory is rounded up to this many bytes, so that small changes are not emitted.
const STEP: u64 = 1 << 20;
/// Depth of pods below the root cgroup: a slice of the kubelet, kubepods, the QoS class, the pod.
const DEPTH: usize = 4;

/// The cgroups of all pods, by UID, and when they were read.
#[derive(Clone, Debug)]
pub struct PodCgroups {
    at: Instant,
    pods: BTreeMap<Text, PodCgroup>,
}

/// One pod's cgroup.
#[derive(Clone, Copy, Debug)]
struct PodCgroup {
    memory: u64,
    /// CPU time so far, microseconds.
    cpu_us: Option<u64>,
}

/// Reads all pods; None when that takes too long.
pub fn read_cgroups(root: &Root) -> Option<PodCgroups> {
    let root = root.clone().with_deadline(WALK);
    root.walk(CGROUP_ROOT, |groups| {
        let unified = groups.join("cgroup.controllers").exists();
        let (base, cpu, files) = match unified {
            true => (groups.to_owned(), None, V2),
            false => (groups.join("memory"), Some(groups.join("cpuacct")), V1),
        };
        let mut walk = CgroupWalk { base: &base, cpu: cpu.as_deref(), files, pods: BTreeMap::new() };
        walk.visit(&base, DEPTH);
        PodCgroups { at: Instant::now(), pods: walk.pods }
    })
    .ok()
}

impl PodCgroups {
    /// The pods' memory, and their CPU use since the sample before.
    pub fn usage(&self, before: Option<&Self>) -> BTreeMap<Text, PodUsage> {
        let rate = |uid: &Text, group: &PodCgroup| {
            let before = before?;
            let used = group.cpu_us?.checked_sub(before.pods.get(uid)?.cpu_us?)?;
            let passed = self.at.checked_duration_since(before.at)?.as_micros();
            let milli = u128::from(used).saturating_mul(1000).checked_div(passed)?;
            Some(two_digits(u32::try_from(milli).unwrap_or(u32::MAX)))
        };
        let usage = |(uid, group): (&Text, &PodCgroup)| {
            (uid.clone(), PodUsage { uid: uid.clone(), memory: group.memory, cpu: rate(uid, group) })
        };
        self.pods.iter().map(usage).collect()
    }
}

/// Two significant digits, so that small changes are not emitted.
fn two_digits(n: u32) -> u32 {
    let step = 10u32.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(1));
    n / step * step
}

/// File with the used memory, and the name in `memory.stat` of its inactive page cache.
type MemoryFiles = (&'static str, &'static str);
const V2: MemoryFiles = ("memory.current", "inactive_file");
const V1: MemoryFiles = ("memory.usage_in_bytes", "total_inactive_file");

struct CgroupWalk<'a> {
    base: &'a Path,
    /// The tree with CPU time, if it is another one (cgroup v1).
    cpu: Option<&'a Path>,
    files: MemoryFiles,
    pods: BTreeMap<Text, PodCgroup>,
}

impl CgroupWalk<'_> {
    fn visit(&mut self, dir: &Path, depth: usize) {
        let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
        for entry in entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Some(uid) = uid_of(&name) {
                if self.pods.len() < MAX_PODS
                    && let Some(memory) = working_set(&entry.path(), self.files)
                {
                    let cpu_us = self.cpu_us(&entry.path());
                    self.pods.insert(uid, PodCgroup { memory, cpu_us });
                }
            } else if depth > 1 && (name.contains("kubepods") || name.starts_with("kubelet") || is_class(&name)) {
                self.visit(&entry.path(), depth - 1);
            }
        }
    }

    /// `cpu.stat` has microseconds, `cpuacct.usage` has nanoseconds.
    fn cpu_us(&self, group: &Path) -> Option<u64> {
        match self.cpu {
            None => counter(&fs::read_to_string(group.join("cpu.stat")).ok()?, "usage_usec"),
            Some(tree) => {
                let group = tree.join(group.strip_prefix(self.base).ok()?);
                Some(fs::read_to_string(group.join("cpuacct.usage")).ok()?.trim().parse::<u64>().ok()? / 1000)
            }
        }
    }
}

/// True for cgroups of a QoS class below `kubepods`, of the cgroupfs driver.
fn is_class(name: &str) -> bool {
    matches!(name, "burstable" | "besteffort")
}

/// `kubepods-burstable-podUID.slice` with underscores, or `podUID`.
fn uid_of(name: &str) -> Option<Text> {
    let uid = match name.strip_suffix(".slice") {
        Some(slice) if slice.contains("kubepods") => slice.split_once("-pod").map(|(_, uid)| uid)?,
        Some(_) => return None,
        None => name.strip_prefix("pod")?,
    };
    matches!(uid.len(), 32 | 36).then(|| uid.replace('_', "-").into())
}

fn working_set(group: &Path, (used, inactive): MemoryFiles) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(PathBuf::from(group).join(file)).ok();
    let used: u64 = read(used)?.trim().parse().ok()?;
    let inactive = counter(&read("memory.stat")?, inactive).unwrap_or(0);
    let set = used.saturating_sub(inactive);
    Some(set.div_ceil(STEP) * STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    const UID: &str = "dcd23517-deb7-4135-8a25-e4d5a2f471c1";
    const STATIC: &str = "3f0b8c1e5a7d4f60b1c2d3e4f5061728";

    fn found(temp: &Temp) -> Vec<(String, u64)> {
        let usage = read_cgroups(&temp.root()).unwrap().usage(None);
        usage.values().map(|u| (u.uid.to_string(), u.memory >> 20)).collect()
    }

    #[test]
    fn cgroup_v2_with_the_systemd_driver() {
        let temp = Temp::new();
        temp.write("sys/fs/cgroup/cgroup.controllers", "memory\n");
        let group = |name: &str, used: u64, inactive: u64| {
            let dir = format!("sys/fs/cgroup/{name}");
            temp.write(&format!("{dir}/memory.current"), format!("{used}\n"));
            temp.write(&format!("{dir}/memory.stat"), format!("anon 1\ninactive_file {inactive}\n"));
        };
        let slice = UID.replace('-', "_");
        group(
            &format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice"),
            52 << 20,
            20 << 20,
        );
        group(&format!("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{STATIC}.slice"), (3 << 20) + 1, 0);
        group("system.slice/pod-cleaner.service", 9 << 20, 0);
        group(&format!("user.slice/kubepods-pod{slice}.slice"), 9 << 20, 0);
        assert_eq!(found(&temp), [(STATIC.to_owned(), 4), (UID.to_owned(), 32)]);
    }

    #[test]
    fn cgroup_v1_with_the_cgroupfs_driver() {
        let temp = Temp::new();
        let dir = format!("sys/fs/cgroup/memory/kubepods/besteffort/pod{UID}");
        temp.write(&format!("{dir}/memory.usage_in_bytes"), "8388608\n");
        temp.write(&format!("{dir}/memory.stat"), "inactive_file 1\ntotal_inactive_file 4194304\n");
        temp.write(&format!("sys/fs/cgroup/memory/kubepods/pod{STATIC}/memory.usage_in_bytes"), "not a number");
        assert_eq!(found(&temp), [(UID.to_owned(), 4)]);
    }

    /// CPU use, when the second sample is two seconds after the first.
    fn rate(temp: &Temp, file: &str, counts: [&str; 2]) -> Option<u32> {
        let [first, second] = counts.map(|count| {
            temp.write(file, count);
            read_cgroups(&temp.root()).unwrap()
        });
        let second = PodCgroups { at: first.at + Duration::from_secs(2), ..second };
        assert_eq!(first.usage(None)[UID].cpu, None, "one sample has no rate");
        second.usage(Some(&first))[UID].cpu
    }

    #[test]
    fn cpu_use_between_two_samples() {
        let temp = Temp::new();
        temp.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        let dir = format!("sys/fs/cgroup/kubepods/pod{UID}");
        temp.write(&format!("{dir}/memory.current"), "1\n");
        temp.write(&format!("{dir}/memory.stat"), "inactive_file 0\n");
        let file = format!("{dir}/cpu.stat");
        let rate = |counts| rate(&temp, &file, counts);
        assert_eq!(rate(["usage_usec 1000\nuser_usec 1\n", "usage_usec 501000\n"]), Some(250));
        assert_eq!(rate(["usage_usec 0\n", "usage_usec 2468000\n"]), Some(1200), "two digits");
        assert_eq!(rate(["usage_usec 5\n", "usage_usec 5\n"]), Some(0));
        assert_eq!(rate(["usage_usec 9\n", "usage_usec 5\n"]), None, "another pod with that name");
        assert_eq!(rate(["", "usage_usec 5\n"]), None);
    }

    #[test]
    fn cpu_use_with_cgroup_v1() {
        let temp = Temp::new();
        let dir = format!("kubepods/burstable/pod{UID}");
        temp.write(&format!("sys/fs/cgroup/memory/{dir}/memory.usage_in_bytes"), "1\n");
        temp.write(&format!("sys/fs/cgroup/memory/{dir}/memory.stat"), "total_inactive_file 0\n");
        let file = format!("sys/fs/cgroup/cpuacct/{dir}/cpuacct.usage");
        assert_eq!(rate(&temp, &file, ["1000\n", "90001000\n"]), Some(45));
    }

    #[test]
    fn without_cgroups_there_are_no_pods() {
        assert_eq!(found(&Temp::new()), []);
    }
}
