//! The machine as a whole: memory, CPU, pressure, file systems, and the kubelet's certificates. A key in the file of a
//! certificate is not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::decode::{counter, cpu_ticks, memory_info, pressure, threads};
use crate::observation::{Certificate, Filesystem, Vitals};
use crate::observe::discover::{Root, validity};
use crate::text::Text;

/// Image directories of containerd, CRI-O, k3s, RKE2, MicroK8s and Docker.
const IMAGE_DIRS: &[&str] = &[
    "/var/lib/containerd",
    "/var/lib/containers/storage",
    "/var/lib/rancher/k3s/agent/containerd",
    "/var/lib/rancher/rke2/agent/containerd",
    "/var/snap/microk8s/common/var/lib/containerd",
    "/var/lib/docker",
];
/// Client and serving certificates of a kubelet, below its root directory.
const KUBELET_CERTIFICATES: &[&str] =
    &["pki/kubelet-client-current.pem", "pki/kubelet-server-current.pem", "pki/kubelet.crt"];
/// The same of k3s, RKE2 and MicroK8s.
const OTHER_CERTIFICATES: &[&str] = &[
    "/var/lib/rancher/k3s/agent/client-kubelet.crt",
    "/var/lib/rancher/k3s/agent/serving-kubelet.crt",
    "/var/lib/rancher/rke2/agent/client-kubelet.crt",
    "/var/lib/rancher/rke2/agent/serving-kubelet.crt",
    "/var/snap/microk8s/current/certs/kubelet.crt",
];

/// The kernel's figures of the machine, and the file systems of a kubelet in `root_dir`.
pub fn read_vitals(root: &Root, root_dir: &Path) -> Vitals {
    let read = |path: &str| root.read_kernel(path).ok();
    let kinds = ["cpu", "io", "memory"];
    let pressure = kinds.into_iter().filter_map(|kind| {
        let text = read(&format!("/proc/pressure/{kind}"))?;
        Some((Text::from(kind), pressure(&text)?))
    });
    let pid_max = read("/proc/sys/kernel/pid_max").and_then(|text| text.trim().parse().ok());
    Vitals {
        memory: read("/proc/meminfo").and_then(|text| memory_info(&text)),
        cpu: read("/proc/stat").and_then(|text| cpu_ticks(&text)),
        pressure: pressure.collect(),
        filesystems: filesystems(root, root_dir),
        oom_kills: read("/proc/vmstat").and_then(|text| counter(&text, "oom_kill")),
        pids: read("/proc/loadavg").and_then(|text| threads(&text)).zip(pid_max),
    }
}

fn filesystems(root: &Root, root_dir: &Path) -> Vec<Filesystem> {
    let paths = [root_dir, Path::new("/")].into_iter().chain(IMAGE_DIRS.iter().map(Path::new));
    let space = |path: &Path| {
        let space = root.space(path).ok()?;
        Some(Filesystem {
            path: path.display().to_string().into(),
            id: space.f_fsid,
            size: space.f_blocks.saturating_mul(space.f_frsize),
            available: space.f_bavail.saturating_mul(space.f_frsize),
            inodes: space.f_files,
            inodes_free: space.f_favail,
        })
    };
    paths.filter_map(space).collect()
}

/// The kubelet's certificates by file, including the `serving` one.
pub fn certificates(root: &Root, root_dir: &Path, serving: Option<&Path>) -> BTreeMap<Text, Certificate> {
    let own = KUBELET_CERTIFICATES.iter().map(|path| root_dir.join(path));
    let paths: BTreeSet<PathBuf> =
        own.chain(OTHER_CERTIFICATES.iter().map(PathBuf::from)).chain(serving.map(Path::to_owned)).collect();
    let read = |path: PathBuf| {
        let (begins, ends) = validity(&root.read(&path).ok()?).ok()?;
        let path = Text::from(path.display().to_string());
        Some((path.clone(), Certificate { path, begins, ends }))
    };
    paths.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::{Temp, of_node};

    #[test]
    fn existing_figures_are_read_and_others_are_absent() {
        let temp = Temp::new();
        assert_eq!(read_vitals(&temp.root(), Path::new("/none")).filesystems.len(), 1);
        temp.write("proc/vmstat", "nr_free_pages 1\noom_kill 3\n");
        temp.write("proc/pressure/io", "some avg10=2.00 avg60=1.00 avg300=0.50 total=9\n");
        temp.write("proc/loadavg", "0.06 0.12 0.12 2/843 12345\n");
        temp.write("proc/sys/kernel/pid_max", "4194304\n");
        temp.write("var/lib/kubelet/x", "");
        let vitals = read_vitals(&temp.root(), Path::new("/var/lib/kubelet"));
        assert_eq!((vitals.oom_kills, vitals.pids, vitals.memory), (Some(3), Some((843, 4_194_304)), None));
        assert_eq!(vitals.pressure.keys().map(|k| k.as_str()).collect::<Vec<_>>(), ["io"]);
        let paths: Vec<_> = vitals.filesystems.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["/var/lib/kubelet", "/"]);
        let fs = &vitals.filesystems[0];
        assert!(fs.size >= fs.available && fs.size > 0 && fs.id == vitals.filesystems[1].id);
    }

    #[test]
    fn figures_of_this_machine() {
        let vitals = read_vitals(&Root::live(), Path::new("/none"));
        let (memory, cpu) = (vitals.memory.unwrap(), vitals.cpu.unwrap());
        assert!(0 < memory.available && memory.available <= memory.total, "{memory:?}");
        assert!(0 < cpu.busy && cpu.busy < cpu.all, "{cpu:?}");
        assert!(vitals.filesystems.iter().any(|fs| fs.path == "/" && fs.size > 0));
        let (threads, most) = vitals.pids.unwrap();
        assert!(0 < threads && threads < most);
    }

    #[test]
    fn certificates_are_read_and_keys_in_the_same_file_are_not_kept() {
        let temp = Temp::new();
        temp.write("var/lib/kubelet/pki/kubelet-client-current.pem", of_node("system:node:a"));
        temp.write(
            "var/lib/kubelet/pki/kubelet.crt",
            "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
        );
        let found = certificates(&temp.root(), Path::new("/var/lib/kubelet"), None);
        let found: Vec<_> = found.values().collect();
        assert_eq!(found.len(), 1);
        // The defaults of rcgen.
        assert_eq!(
            (found[0].begins.to_rfc3339(), found[0].ends.to_rfc3339()),
            ("1975-01-01T00:00:00Z".into(), "4096-01-01T00:00:00Z".into())
        );
        assert!(!format!("{found:?}").contains("KEY"));
    }
}
