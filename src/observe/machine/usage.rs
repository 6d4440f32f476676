//! Owns what each pod's control group says of its memory, under either version and either driver.
//! It must not look at containers: a pod's group counts for all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::decode::counter;
use crate::observation::PodUsage;
use crate::observe::discover::Root;
use crate::text::Text;

const GROUPS: &str = "/sys/fs/cgroup";
/// How long the walk over all pods may take: two small files each.
const WALK: Duration = Duration::from_secs(2);
/// Most pods that are told of.
const MAX_PODS: usize = 4096;
/// Step of what is told, bytes: what moves less is no news.
const STEP: u64 = 1 << 20;
/// How deep pods lie below the root of groups: a slice of the kubelet's, kubepods, the class, the pod.
const DEPTH: usize = 4;

/// What pods use, by UID; nothing where it cannot be read in time.
pub fn look(root: &Root) -> Option<BTreeMap<Text, PodUsage>> {
    let patient = root.clone().with_deadline(WALK);
    patient
        .walk(GROUPS, |groups| {
            let unified = groups.join("cgroup.controllers").exists();
            let (base, files) = if unified { (groups.to_owned(), V2) } else { (groups.join("memory"), V1) };
            let mut pods = BTreeMap::new();
            walk(&base, DEPTH, files, &mut pods);
            pods
        })
        .ok()
}

/// File of what is used, and the name in `memory.stat` of what of it is inactive page cache.
type Files = (&'static str, &'static str);
const V2: Files = ("memory.current", "inactive_file");
const V1: Files = ("memory.usage_in_bytes", "total_inactive_file");

fn walk(dir: &Path, depth: usize, files: Files, pods: &mut BTreeMap<Text, PodUsage>) {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if let Some(uid) = uid_of(&name) {
            if pods.len() < MAX_PODS
                && let Some(memory) = working_set(&entry.path(), files)
            {
                pods.insert(uid.clone(), PodUsage { uid, memory });
            }
        } else if depth > 1 && (name.contains("kubepods") || name.starts_with("kubelet") || is_class(&name)) {
            walk(&entry.path(), depth - 1, files, pods);
        }
    }
}

/// Groups of a class of service below `kubepods`, of the cgroupfs driver.
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

fn working_set(group: &Path, (used, inactive): Files) -> Option<u64> {
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
        look(&temp.root()).unwrap().values().map(|u| (u.uid.to_string(), u.memory >> 20)).collect()
    }

    #[test]
    fn the_unified_tree_of_systemd() {
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
    fn the_old_tree_of_cgroupfs() {
        let temp = Temp::new();
        let dir = format!("sys/fs/cgroup/memory/kubepods/besteffort/pod{UID}");
        temp.write(&format!("{dir}/memory.usage_in_bytes"), "8388608\n");
        temp.write(&format!("{dir}/memory.stat"), "inactive_file 1\ntotal_inactive_file 4194304\n");
        temp.write(&format!("sys/fs/cgroup/memory/kubepods/pod{STATIC}/memory.usage_in_bytes"), "not a number");
        assert_eq!(found(&temp), [(UID.to_owned(), 4)]);
    }

    #[test]
    fn no_groups_are_no_pods() {
        assert_eq!(found(&Temp::new()), []);
    }
}
