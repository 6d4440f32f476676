//! Entry points of fuzz targets to the parsers of this module.

use std::collections::BTreeMap;
use std::path::Path;

use super::{boot_time, disk, systemctl, usage, vitals};
use crate::observe::discover::Root;

/// The output of `systemctl show`.
pub fn units(text: &str) {
    let _ = systemctl::parse_units(text);
}

/// `/proc/stat`, for the boot time.
pub fn stat(text: &str) {
    let _ = boot_time(text);
}

/// A file system with the kernel's files, cgroups, directories of pods and manifests.
pub fn machine(root: &Root) {
    let kubelet = Path::new("/var/lib/kubelet");
    let _ = vitals::read_vitals(root, kubelet);
    let _ = vitals::certificates(root, kubelet, None);
    let _ = usage::read_cgroups(root).map(|cgroups| cgroups.usage(None));
    let _ = disk::pod_dirs(root, kubelet, &BTreeMap::new());
    let _ = disk::manifests(root, Path::new("/etc/kubernetes/manifests"), "node-a");
}
