//! Finds the kubelet among the processes, its flags and its systemd unit. A process that hangs is skipped; `proof` verifies the rest.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::cgroup::ControlGroup;
use super::defaults::KUBELET_UNITS;
use super::flags::KubeletFlags;
use super::proof::{Doubt, Facts, Init};
use super::root::{Root, read_bytes};
use crate::trust::Owners;

/// Deadline for the command line of one process; the read needs a lock that a process in state D can hold.
const PER_PROCESS: Duration = Duration::from_millis(200);
/// Maximum number of abandoned threads; the search stops at more processes that hang.
const LEFT_BEHIND: usize = 8;

/// Slices that hold units of kubelets, on cgroup v2 and v1: most systems, EKS and Bottlerocket, kind.
const SLICES: &[&str] = &[
    "system.slice",
    "runtime.slice",
    "kubelet.slice",
    "systemd/system.slice",
    "systemd/runtime.slice",
    "systemd/kubelet.slice",
];

/// The distribution's packaging of the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// A separate process.
    Plain,
    /// Inside of k3s, which hides its flags.
    K3s,
    /// Inside of MicroK8s' kubelite, whose flags are in a file.
    MicroK8s,
    /// Inside of MicroShift.
    MicroShift,
}

/// The running kubelet, proven to be the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubelet {
    /// Its process.
    pub pid: u32,
    /// What it is part of.
    pub flavor: Flavor,
    /// Its flags on the command line.
    pub flags: KubeletFlags,
    /// Whose control group it is in.
    pub group: ControlGroup,
}

/// A process with the name of a kubelet that is not proven to be the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedProcess {
    /// The process.
    pub pid: u32,
    /// Why not.
    pub doubt: Doubt,
}

/// The kubelets in the process table.
#[derive(Clone, Debug, Default)]
pub struct Kubelets {
    /// The node's own.
    pub proven: Option<Kubelet>,
    /// Processes with its name and without proof.
    pub refused: Vec<RejectedProcess>,
}

/// Finds the kubelet. Of several proven ones: the one of a well-known unit, then the oldest.
pub fn kubelets(root: &Root) -> Kubelets {
    let mut pids: Vec<u32> = root.names("/proc").unwrap_or_default().iter().filter_map(|n| n.parse().ok()).collect();
    // Units first: processes that hang on purpose stop the search, and must not hide the kubelet.
    let first = of_known_units(root);
    pids.sort_unstable_by_key(|pid| (!first.contains(pid), *pid));
    let has_systemd = root.exists("/run/systemd/system") == Ok(true);
    let init = Init::read(&root.path("/proc"), has_systemd, Owners::of_process());
    let (mut proven, mut refused) = (Vec::new(), Vec::new());
    each_process(root, &pids, |facts| match Kubelet::prove(&facts, &init) {
        Ok(kubelet) => proven.push(kubelet),
        Err(doubt) => refused.push(RejectedProcess { pid: facts.pid, doubt }),
    });
    Kubelets { proven: proven.into_iter().min_by_key(|k| (!k.is_of_known_unit(), k.pid)), refused }
}

/// Processes of the units that run kubelets, as their control groups have them.
fn of_known_units(root: &Root) -> Vec<u32> {
    let groups = SLICES.iter().flat_map(|slice| KUBELET_UNITS.iter().map(move |unit| format!("{slice}/{unit}")));
    let texts = groups.filter_map(|group| root.read_kernel(format!("/sys/fs/cgroup/{group}/cgroup.procs")).ok());
    texts.flat_map(|text| text.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn each_process(root: &Root, pids: &[u32], mut take: impl FnMut(Facts)) {
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

fn read(pid: u32, dir: &Path) -> Option<Facts> {
    let bytes = read_bytes(&dir.join("cmdline")).ok()?;
    let argv: Vec<String> =
        bytes.split(|b| *b == 0).filter(|a| !a.is_empty()).map(|a| String::from_utf8_lossy(a).into_owned()).collect();
    flavor(&argv)?;
    Some(Facts::read(pid, dir, argv))
}

/// What a command line claims to be.
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

impl Flavor {
    /// Names of the program's file.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Flavor::Plain => &["kubelet", "hyperkube", "rke2"],
            Flavor::K3s => &["k3s", "k3s-server", "k3s-agent"],
            Flavor::MicroK8s => &["kubelite"],
            Flavor::MicroShift => &["microshift"],
        }
    }
}

impl Kubelet {
    fn prove(facts: &Facts, init: &Init) -> Result<Self, Doubt> {
        let name = || facts.program().unwrap_or("unknown").to_owned();
        let flavor = flavor(&facts.argv).ok_or_else(|| Doubt::OtherProgram(name()))?;
        let group = facts.prove(init, |program| flavor.programs().contains(&program))?;
        Ok(Self { pid: facts.pid, flavor, flags: KubeletFlags::of(&facts.argv), group })
    }

    /// The systemd unit that runs it.
    pub fn unit(&self) -> Option<&str> {
        match &self.group {
            ControlGroup::Unit(unit) => Some(unit),
            _ => None,
        }
    }

    fn is_of_known_unit(&self) -> bool {
        self.unit().is_some_and(|unit| KUBELET_UNITS.contains(&unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    const UNIT: &str = "/system.slice/kubelet.service";

    #[test]
    fn a_process_that_hangs_is_skipped() {
        let temp = Temp::new();
        temp.process(1, &["/sbin/init"], "/init.scope");
        temp.process(70, &["/usr/bin/kubelet", "--config=/a"], UNIT);
        let kubelet = kubelets(&temp.root()).proven.unwrap();
        assert_eq!((kubelet.pid, kubelet.unit()), (70, Some("kubelet.service")));
        assert_eq!(kubelet.flags.get("config"), Some("/a"));
    }

    #[test]
    fn the_nodes_own_and_not_one_in_a_container() {
        let temp = Temp::new();
        temp.process(7, &["kubelet"], "/system.slice/docker-0a.scope/kubelet.slice/kubelet.service");
        temp.process(9, &["kubelet"], UNIT);
        temp.process(11, &["vim", "kubelet"], "/user.slice");
        let found = kubelets(&temp.root());
        assert_eq!(found.proven.unwrap().pid, 9);
        let refused: Vec<_> = found.refused.iter().map(|r| r.pid).collect();
        assert_eq!(refused, [7], "what has another name is not even looked at");
    }

    #[test]
    fn what_only_has_the_name_is_refused() {
        let honest = |temp: &Temp| temp.process(9, &["kubelet", "--kubeconfig=/tmp/evil"], UNIT);
        let doubt = |temp: &Temp| {
            let found = kubelets(&temp.root());
            assert_eq!(found.proven, None);
            found.refused.first().map(|r| r.doubt.clone())
        };
        let temp = Temp::new();
        honest(&temp);
        assert!(kubelets(&temp.root()).proven.is_some());
        for uids in ["65534\t65534\t65534\t65534", "65534\t0\t0\t0", "0\t0\t0\t65534"] {
            temp.write("proc/9/status", format!("Name:\tkubelet\nUid:\t{uids}\n"));
            assert_eq!(doubt(&temp), Some(Doubt::User(65534)), "{uids}");
        }
        for namespace in ["user", "pid", "mnt", "cgroup"] {
            let temp = Temp::new();
            honest(&temp);
            temp.link(&format!("{namespace}:[4026532999]"), &format!("proc/9/ns/{namespace}"));
            assert_eq!(doubt(&temp), Some(Doubt::Namespace(namespace)));
        }
        let temp = Temp::new();
        honest(&temp);
        temp.write("usr/bin/other", "");
        temp.link(temp.path("usr/bin/other").to_str().unwrap(), "proc/9/exe");
        assert_eq!(doubt(&temp), Some(Doubt::OtherProgram("other".into())));
        let temp = Temp::new();
        honest(&temp);
        temp.mode("usr/bin/kubelet", 0o777);
        assert_eq!(doubt(&temp), Some(Doubt::Program("kubelet".into())));
    }

    #[test]
    fn talos_runs_its_kubelet_in_a_separate_container() {
        let temp = Temp::new();
        temp.process(9, &["/usr/local/bin/kubelet"], "/podruntime/kubelet");
        temp.link("mnt:[4026532999]", "proc/9/ns/mnt");
        temp.link("cgroup:[4026532998]", "proc/9/ns/cgroup");
        assert_eq!(kubelets(&temp.root()).proven.unwrap().group, ControlGroup::Talos);
        temp.link("user:[4026532997]", "proc/9/ns/user");
        assert_eq!(kubelets(&temp.root()).proven, None);
    }

    #[test]
    fn the_unit_that_is_known_goes_first() {
        let temp = Temp::new();
        temp.process(5, &["kubelet"], "/system.slice/test.service");
        temp.process(9, &["kubelet"], UNIT);
        assert_eq!(kubelets(&temp.root()).proven.unwrap().pid, 9);
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
