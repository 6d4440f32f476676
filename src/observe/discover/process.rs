//! Owns finding the kubelet among the processes: its flags, and the unit that runs it.
//! It must not wait for a process that the kernel holds: such a one is skipped.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::flags::Flags;
use super::root::{Root, read_bytes};

/// How long one process may take to tell its command line; reading it needs a lock that a process in state D may hold.
const PER_PROCESS: Duration = Duration::from_millis(200);
/// Threads that may be left behind; with more processes that hang, the search ends.
const LEFT_BEHIND: usize = 8;

/// What the kubelet is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// A kubelet of its own.
    Plain,
    /// Inside of k3s, which hides its flags.
    K3s,
    /// Inside of MicroK8s' kubelite, whose flags are in a file.
    MicroK8s,
    /// Inside of MicroShift.
    MicroShift,
}

/// The running kubelet.
#[derive(Clone, Debug)]
pub struct Kubelet {
    /// Its process.
    pub pid: u32,
    /// What it is part of.
    pub flavor: Flavor,
    /// Its flags, as far as they are on the command line.
    pub flags: Flags,
    /// The systemd unit that runs it.
    pub unit: Option<String>,
}

/// The kubelet that runs, if one does: the one in the outermost place, if several containers run one each.
pub fn kubelet(root: &Root) -> Option<Kubelet> {
    let pids: Vec<u32> = root.names("/proc").ok()?.iter().filter_map(|n| n.parse().ok()).collect();
    let mut found: Vec<Kubelet> = Vec::new();
    let mut sorted = pids;
    sorted.sort_unstable();
    each_process(root, &sorted, |process| found.extend(Kubelet::of(process)));
    // A kubelet inside of a container (kind, a nested lab) has a deeper control group than the node's own.
    found.into_iter().min_by_key(|k| (k.unit.is_none(), k.pid))
}

struct Process {
    pid: u32,
    argv: Vec<String>,
    cgroup: String,
}

fn each_process(root: &Root, pids: &[u32], mut take: impl FnMut(Process)) {
    let (mut next, mut left_behind) = (0, 0);
    while next < pids.len() && left_behind < LEFT_BEHIND {
        let (tx, rx) = sync_channel(16);
        let work: Vec<(u32, PathBuf)> =
            pids.iter().skip(next).map(|pid| (*pid, root.path(format!("/proc/{pid}")))).collect();
        let run = move || {
            for (pid, dir) in work {
                if tx.send(read(pid, &dir)).is_err() {
                    return;
                }
            }
        };
        if thread::Builder::new().name("processes".into()).spawn(run).is_err() {
            return;
        }
        loop {
            match rx.recv_timeout(PER_PROCESS) {
                Ok(process) => {
                    next += 1;
                    process.into_iter().for_each(&mut take);
                }
                Err(RecvTimeoutError::Timeout) => {
                    (next, left_behind) = (next + 1, left_behind + 1);
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

fn read(pid: u32, dir: &Path) -> Option<Process> {
    let bytes = read_bytes(&dir.join("cmdline")).ok()?;
    let argv: Vec<String> =
        bytes.split(|b| *b == 0).filter(|a| !a.is_empty()).map(|a| String::from_utf8_lossy(a).into_owned()).collect();
    flavor(&argv)?;
    let cgroup = read_bytes(&dir.join("cgroup")).unwrap_or_default();
    Some(Process { pid, argv, cgroup: String::from_utf8_lossy(&cgroup).into_owned() })
}

fn flavor(argv: &[String]) -> Option<Flavor> {
    // k3s replaces its whole command line by one string.
    let words: Vec<&str> = argv.iter().flat_map(|a| a.split_whitespace()).take(2).collect();
    let name = words.first()?.rsplit('/').next()?;
    Some(match (name, words.get(1).copied()) {
        ("kubelet", _) | ("hyperkube", Some("kubelet")) => Flavor::Plain,
        ("k3s" | "k3s-server" | "k3s-agent", Some("server" | "agent")) => Flavor::K3s,
        ("kubelite", _) => Flavor::MicroK8s,
        ("microshift", Some("run")) => Flavor::MicroShift,
        _ => return None,
    })
}

impl Kubelet {
    fn of(process: Process) -> Option<Self> {
        let flavor = flavor(&process.argv)?;
        Some(Self { pid: process.pid, flavor, flags: Flags::of(&process.argv), unit: unit(&process.cgroup) })
    }
}

/// The unit in a process's control group: `0::/system.slice/kubelet.service` or, on v1, `1:name=systemd:/…`.
fn unit(cgroup: &str) -> Option<String> {
    let path = cgroup.lines().find_map(|l| l.strip_prefix("0::").or_else(|| l.strip_prefix("1:name=systemd:")))?;
    // The kubelet may have moved itself below its unit, but a container's scope is none of the node's units.
    if path.contains(".scope") || path.contains("kubepods") {
        return None;
    }
    path.split('/').find(|part| part.ends_with(".service")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;
    use std::process::Command;

    #[test]
    fn a_process_that_hangs_is_skipped() {
        let temp = Temp::new();
        temp.process(1, &["/sbin/init"], "/init.scope");
        temp.write("proc/5/cgroup", "");
        assert!(Command::new("mkfifo").arg(temp.path("proc/5/cmdline")).status().unwrap().success());
        temp.process(70, &["/usr/bin/kubelet", "--config=/a"], "/system.slice/kubelet.service");
        let kubelet = kubelet(&temp.root()).unwrap();
        assert_eq!((kubelet.pid, kubelet.unit.as_deref()), (70, Some("kubelet.service")));
        assert_eq!(kubelet.flags.get("config"), Some("/a"));
    }

    #[test]
    fn the_nodes_own_and_not_one_in_a_container() {
        let temp = Temp::new();
        temp.process(7, &["kubelet"], "/system.slice/docker-0a.scope/kubelet.slice/kubelet.service");
        temp.process(9, &["kubelet"], "/system.slice/kubelet.service");
        temp.process(11, &["vim", "kubelet"], "/user.slice");
        assert_eq!(kubelet(&temp.root()).unwrap().pid, 9);
    }

    #[test]
    fn kubelets_inside_of_others() {
        for (argv, is) in [
            (vec!["/usr/local/bin/k3s server"], Some(Flavor::K3s)),
            (vec!["/usr/local/bin/k3s", "agent"], Some(Flavor::K3s)),
            (vec!["/usr/local/bin/k3s", "kubectl"], None),
            (vec!["/snap/microk8s/1/kubelite", "--x"], Some(Flavor::MicroK8s)),
            (vec!["microshift", "run"], Some(Flavor::MicroShift)),
        ] {
            let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
            assert_eq!(flavor(&argv), is, "{argv:?}");
        }
    }
}
