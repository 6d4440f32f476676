//! Who a control group belongs to: a unit of the system, the node itself, or a workload. Paths are those of
//! `/proc/PID/cgroup`, seen from our own cgroup namespace.

/// Talos runs its kubelet in a separate container, in this group (siderolabs/talos, pkg/machinery/constants).
const TALOS: &str = "/podruntime/kubelet";
/// What OpenRC puts before the name of a service.
const OPENRC: &str = "/openrc.";
/// Parts of names of groups that pods, containers and users get: kubelet, containerd, CRI-O, podman, docker, logind.
const WORKLOADS: &[&str] = &[
    "kubepods",
    "cri-containerd",
    "crio-",
    "libpod",
    "docker",
    "lxc",
    "machine.slice",
    "user.slice",
    "user@",
    "session-",
];
/// Length of a container's id in hexadecimal digits.
const CONTAINER_ID: usize = 64;

/// Whose a group is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlGroup {
    /// A unit of systemd's system manager.
    Unit(String),
    /// Talos' container of the kubelet.
    Talos,
    /// A service of OpenRC.
    OpenRc(String),
    /// The group of PID 1, where PID 1 makes no units.
    Init,
    /// A pod, a container or a user, or a group that is not distinguishable from these.
    Workload(String),
}

impl ControlGroup {
    /// Of a process whose `/proc/PID/cgroup` is `text`, on a machine whose PID 1 has `init` there.
    pub fn of(text: &str, init: &str, has_systemd: bool) -> Self {
        // In every hierarchy: a container is in its own group in each.
        for (hierarchy, path) in text.lines().filter_map(parts) {
            let init = init.lines().filter_map(parts).find(|(h, _)| *h == hierarchy).map_or("/", |(_, path)| path);
            if is_workload(below(path, top(init)).unwrap_or(path)) {
                return Self::Workload(path.to_owned());
            }
        }
        let (path, init) = (main_path(text), main_path(init));
        if !has_systemd && path == init {
            return Self::Init;
        }
        let Some(below) = below(path, top(init)) else { return Self::Workload(path.to_owned()) };
        if below == TALOS {
            return Self::Talos;
        }
        if let Some(service) = below.strip_prefix(OPENRC) {
            return Self::OpenRc(service.to_owned());
        }
        match below.split('/').find(|part| part.ends_with(".service")) {
            Some(unit) => Self::Unit(unit.to_owned()),
            None => Self::Workload(path.to_owned()),
        }
    }
}

/// Hierarchy and path of a line: `0::/system.slice/kubelet.service`, or `1:name=systemd:/…`.
fn parts(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// Where systemd's (or the only) hierarchy has it.
fn main_path(text: &str) -> &str {
    let of = |hierarchy| text.lines().filter_map(parts).find(|(h, _)| *h == hierarchy);
    of("name=systemd").or_else(|| of("")).map_or("/", |(_, path)| path)
}

/// The group that holds all of the machine that PID 1 runs: its own, less the scope that systemd puts itself in.
fn top(init: &str) -> &str {
    init.strip_suffix("/init.scope").or_else(|| init.strip_suffix("/init")).unwrap_or(init).trim_end_matches('/')
}

/// The path below `top`, with its slash.
fn below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(top)?;
    // A group beside ours begins with `/..`: it is seen from inside of another namespace, and not below this top.
    (rest.starts_with('/') && !rest.starts_with("/..")).then_some(rest)
}

fn is_workload(path: &str) -> bool {
    path.split('/').any(|part| {
        let known = WORKLOADS.iter().any(|workload| part.starts_with(workload) || part.contains("kubepods"));
        known || is_container_id(part) || (part.ends_with(".scope") && part != "init.scope")
    })
}

fn is_container_id(part: &str) -> bool {
    part.len() >= CONTAINER_ID && part.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> ControlGroup {
        ControlGroup::of(&format!("0::{path}\n"), "0::/init.scope\n", true)
    }

    #[test]
    fn units_of_the_system() {
        let unit = |name: &str| ControlGroup::Unit(name.into());
        assert_eq!(of("/system.slice/kubelet.service"), unit("kubelet.service"));
        assert_eq!(of("/runtime.slice/kubelet.service"), unit("kubelet.service"));
        assert_eq!(of("/kubelet.slice/kubelet.service"), unit("kubelet.service"), "kind");
        assert_eq!(
            of("/system.slice/snap.microk8s.daemon-kubelite.service"),
            unit("snap.microk8s.daemon-kubelite.service")
        );
        assert_eq!(of("/system.slice/k3s.service/supervisor"), unit("k3s.service"));
        assert_eq!(of("/podruntime/kubelet"), ControlGroup::Talos);
        let openrc = ControlGroup::of("0::/openrc.k3s\n", "0::/\n", false);
        assert_eq!(openrc, ControlGroup::OpenRc("k3s".into()));
        let v1 = "9:name=systemd:/system.slice/kubelet.service\n4:memory:/system.slice/kubelet.service\n0::/\n";
        assert_eq!(ControlGroup::of(v1, "9:name=systemd:/init.scope\n0::/\n", true), unit("kubelet.service"));
    }

    #[test]
    fn pods_containers_and_users() {
        for path in [
            "/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-0a.scope",
            "/kubepods/burstable/poddcd23517/0a",
            "/kubelet/kubepods/pod1/0a",
            "/system.slice/docker-0a.scope",
            "/system.slice/docker-0a.scope/kubelet.slice/kubelet.service",
            "/docker/0a/system.slice/kubelet.service",
            "/lxc/0a/system.slice/kubelet.service",
            "/machine.slice/libpod-0a.scope/system.slice/kubelet.service",
            "/system.slice/x.service/libpod-payload-0a",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/kubelet.service",
            "/user.slice/user-1000.slice/session-2.scope",
            "/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:0a",
            "/podruntime/kubelet/../../kubepods/x",
            "/podruntime/other",
            "/elsewhere",
            "/",
            "/init.scope",
            "/../system.slice/kubelet.service",
            &format!("/system.slice/{}/kubelet.service", "0a".repeat(32)),
        ] {
            assert!(matches!(of(path), ControlGroup::Workload(_)), "{path}: {:?}", of(path));
        }
        let hidden = "9:name=systemd:/system.slice/kubelet.service\n4:memory:/kubepods/pod1/0a\n";
        assert!(matches!(ControlGroup::of(hidden, "9:name=systemd:/init.scope\n", true), ControlGroup::Workload(_)));
    }

    #[test]
    fn seen_from_inside_of_a_container() {
        // The machine of kind's node on cgroup v1 lies below docker's group, which all of it shares with PID 1.
        let init = "0::/../../../init.scope\n";
        let of = |path: &str| ControlGroup::of(&format!("0::{path}\n"), init, true);
        assert_eq!(of("/../../../system.slice/kubelet.service"), ControlGroup::Unit("kubelet.service".into()));
        for path in ["/system.slice/kubelet.service", "/../system.slice/kubelet.service", "/../../../../x.service"] {
            assert!(matches!(of(path), ControlGroup::Workload(_)), "{path}");
        }
    }

    #[test]
    fn a_node_that_is_itself_a_container() {
        let id = "0a".repeat(32);
        let init = format!("9:name=systemd:/docker/{id}/init.scope\n4:memory:/docker/{id}\n");
        let of = |path: &str| {
            ControlGroup::of(&format!("9:name=systemd:/docker/{id}{path}\n4:memory:/docker/{id}{path}\n"), &init, true)
        };
        assert_eq!(of("/kubelet.slice/kubelet.service"), ControlGroup::Unit("kubelet.service".into()));
        assert!(matches!(of("/kubelet/kubepods/pod1/0a"), ControlGroup::Workload(_)));
        let k3d = ControlGroup::of("0::/init\n", "0::/init\n", false);
        assert_eq!(k3d, ControlGroup::Init, "k3s is PID 1 there");
    }

    #[test]
    fn the_group_of_pid_1_is_the_nodes_where_pid_1_makes_no_units() {
        assert_eq!(ControlGroup::of("0::/\n", "0::/\n", false), ControlGroup::Init);
        assert!(matches!(ControlGroup::of("0::/other\n", "0::/\n", false), ControlGroup::Workload(_)));
    }
}
