//! Directories to which workloads write, regardless of the owner of the files.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Component, Path};

/// What containerd's plugins keep, wherever its root and state directories are: snapshots, rootfs, tasks.
const CONTAINERD: &str = "io.containerd.";
/// Volumes of pods, container storage and mounts of runtimes, by a part of their path, so that another root directory of
/// kubelet or runtime is found too: kubelet, containerd, CRI-O and podman, docker.
const WORKLOAD_DIRS: &[&[&str]] = &[
    &["kubelet", "pods"],
    &["kubelet", "plugins"],
    &["kubelet", "plugins_registry"],
    &["lib", "containerd"],
    &["lib", "containers"],
    &["run", "containers"],
    &["lib", "docker"],
    &["run", "docker"],
];
/// Of these, the ones whose mounts elsewhere are a workload's too. Docker's are not: the `/var` of a node that is itself a
/// container, as of kind and minikube, is a volume of docker's.
const WORKLOAD_MOUNTS: &[&[&str]] = &[&["kubelet", "pods"]];

/// True for a path in pod volumes or container storage.
pub fn is_workload_place(path: &Path) -> bool {
    is_below(WORKLOAD_DIRS, path)
}

fn is_below(dirs: &[&[&str]], path: &Path) -> bool {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|c| match c {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    parts.iter().any(|part| part.starts_with(CONTAINERD))
        || dirs.iter().any(|dir| parts.windows(dir.len()).any(|at| at == *dir))
}

/// True when the opened file is on a mount of such a place: a volume that is also mounted elsewhere.
pub(super) fn is_workload_mount(fd: impl AsFd) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).unwrap_or_default();
    let Some(id) = info.lines().find_map(|line| line.strip_prefix("mnt_id:")).map(str::trim) else { return false };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut fields = line.split(' ');
        fields.next() == Some(id)
            // Parent and device; then the mount's root in its file system.
            && fields.nth(2).is_some_and(|root| is_below(WORKLOAD_MOUNTS, Path::new(root)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_workloads_by_any_root_directory() {
        for path in [
            "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/v/kubeconfig",
            "/data/kubelet/pods/u",
            "/var/snap/microk8s/common/var/lib/kubelet/pods/u",
            "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c/rootfs/etc",
            "/var/lib/rancher/k3s/agent/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs",
            "/var/lib/containers/storage/overlay/x/merged",
            "/var/lib/docker/overlay2/x/diff",
        ] {
            assert!(is_workload_place(Path::new(path)), "{path}");
        }
        for path in [
            "/var/lib/kubelet/config.yaml",
            "/var/lib/kubelet/pki/kubelet.crt",
            "/run/containerd/containerd.sock",
            "/run/k3s/containerd/containerd.sock",
            "/var/lib/rancher/k3s/agent/containerd/containerd.log",
            "/etc/kubernetes/manifests/etcd.yaml",
            "/home/kubelet",
        ] {
            assert!(!is_workload_place(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn an_ordinary_file_is_on_no_mount_of_a_workload() {
        assert!(!is_workload_mount(std::fs::File::open("/proc/self/status").unwrap()));
    }
}
