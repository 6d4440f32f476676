//! Layouts of the distributions, each as a temporary root.

use std::path::Path;

use super::*;
use crate::observe::tests::{Temp, of_node};
use crate::trust::KnownFile;

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443\n\
    contexts:\n- name: x\n  context:\n    cluster: c\n    user: u\ncurrent-context: x\nusers:\n- name: u\n  user:\n";

fn by_certificate(file: &str) -> String {
    format!("{KUBECONFIG}    client-certificate: {file}\n    client-key: {file}\n")
}

fn by_exec() -> String {
    format!(
        "{KUBECONFIG}    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: aws\n      args: [eks, get-token]\n"
    )
}

fn env(pairs: &[(&str, &str)]) -> Env {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn host(temp: &Temp) -> Host {
    Host::look(temp.root(), Env::new())
}

fn config(temp: &Temp, path: &str) -> Option<Credential> {
    Some(Credential::Discovered(temp.root().discovered(path)))
}

fn named(path: &str) -> Option<Credential> {
    Some(Credential::Kubeconfig(vec![path.into()]))
}

fn units(names: &[&str]) -> Option<LogPlan> {
    Some(LogPlan { units: names.iter().map(|n| (*n).to_owned()).collect(), file: None })
}

fn file(known: KnownFile) -> Option<LogPlan> {
    Some(LogPlan { units: Vec::new(), file: Some(known) })
}

#[test]
fn kubeadm_worker_that_runs() {
    let temp = Temp::new();
    temp.write("etc/kubernetes/kubelet.conf", by_certificate("/var/lib/kubelet/pki/kubelet-client-current.pem"));
    temp.write("var/lib/kubelet/pki/kubelet-client-current.pem", of_node("system:node:worker-1"));
    temp.write("var/lib/kubelet/pki/kubelet.crt", "");
    temp.write(
        "var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\naddress: 0.0.0.0\nhealthzBindAddress: 127.0.0.1\nhealthzPort: 10248\n\
         staticPodPath: /etc/kubernetes/manifests\ncontainerRuntimeEndpoint: \"\"\n",
    );
    let argv = [
        "/usr/bin/kubelet",
        "--kubeconfig=/etc/kubernetes/kubelet.conf",
        "--config=/var/lib/kubelet/config.yaml",
        "--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock",
    ];
    temp.process(812, &argv, "/system.slice/kubelet.service");
    temp.write("usr/lib/systemd/system/containerd.service", "");
    temp.socket("var/run/containerd/containerd.sock");
    temp.write("proc/sys/kernel/hostname", "Other\n");
    let host = host(&temp);
    assert_eq!(host.node_name(None).value.as_deref(), Some("worker-1"));
    assert_eq!(host.node_name(Some("given")).value.as_deref(), Some("given"));
    let cri = host.cri_endpoint(None);
    assert_eq!(cri.value, Some(temp.root().discovered("/var/run/containerd/containerd.sock")));
    assert!(cri.tried.last().unwrap().taken && cri.tried.last().unwrap().answer.ends_with("a socket"), "{cri:?}");
    let credential = host.credential(None);
    assert_eq!(credential.value, config(&temp, "/etc/kubernetes/kubelet.conf"));
    let said: Vec<_> = credential.tried.iter().map(|t| (t.what.as_str(), t.answer.as_str(), t.taken)).collect();
    assert_eq!(said[0], ("$KUBECONFIG", "not set", false));
    assert_eq!(said[1], ("/etc/kubernetes/admin.conf", "not there", false));
    assert_eq!(
        *said.last().unwrap(),
        ("running kubelet, --kubeconfig", "a kubeconfig with a client certificate", true)
    );
    let place = host.kubelet_place(None).value.unwrap();
    assert_eq!(place.server, "127.0.0.1:10250".parse().unwrap());
    assert_eq!(place.healthz, Some("127.0.0.1:10248".parse().unwrap()));
    assert_eq!(place.certificate, Some(temp.root().discovered("/var/lib/kubelet/pki/kubelet.crt")));
    assert_eq!(place.static_pods, Some("/etc/kubernetes/manifests".into()));
    assert_eq!(host.kubelet_log(None).value, units(&["kubelet.service"]));
    assert_eq!(host.runtime_log(None, cri.value.as_ref()).value, units(&["containerd.service"]));
}

#[test]
fn kubeadm_control_plane_whose_kubelet_is_down() {
    let temp = Temp::new();
    temp.write("etc/kubernetes/admin.conf", by_certificate("/x"));
    temp.write(
        "var/lib/kubelet/kubeadm-flags.env",
        "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///var/run/cri-dockerd.sock --hostname-override=CP-1\"\n",
    );
    temp.write("etc/systemd/system/kubelet.service", "");
    temp.socket("run/containerd/containerd.sock");
    let host = host(&temp);
    assert_eq!(host.credential(None).value, config(&temp, "/etc/kubernetes/admin.conf"));
    // Docker's containerd is beside; the kubelet's own is taken though it is down.
    let cri = host.cri_endpoint(None);
    assert_eq!(cri.value, Some(temp.root().discovered("/var/run/cri-dockerd.sock")));
    assert!(cri.tried.last().unwrap().answer.ends_with("not there"), "{cri:?}");
    assert_eq!(host.node_name(None).value.as_deref(), Some("cp-1"));
    assert_eq!(host.kubelet_log(None).value, units(&["kubelet.service"]));
    assert!(host.is_node() && !host.kubelet_runs());
}

#[test]
fn k3s_server() {
    let temp = Temp::new();
    temp.process(30, &["/usr/local/bin/k3s server"], "/system.slice/k3s.service");
    temp.write("etc/rancher/k3s/config.yaml", "node-name: edge-1\n");
    temp.write("etc/rancher/k3s/k3s.yaml", by_certificate("/x"));
    temp.write("var/lib/rancher/k3s/agent/kubelet.kubeconfig", by_certificate("client-kubelet.crt"));
    temp.write("var/lib/rancher/k3s/agent/client-kubelet.crt", of_node("system:node:edge-1"));
    temp.write("var/lib/rancher/k3s/agent/serving-kubelet.crt", "");
    temp.write(
        "var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf",
        "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix:///run/k3s/containerd/containerd.sock\n",
    );
    temp.write("var/lib/rancher/k3s/agent/containerd/containerd.log", "");
    temp.socket("run/k3s/containerd/containerd.sock");
    let host = host(&temp);
    assert_eq!(host.node_name(None).value.as_deref(), Some("edge-1"));
    assert!(host.node_name(None).tried.last().unwrap().what.starts_with("certificate"));
    assert_eq!(host.credential(None).value, config(&temp, "/etc/rancher/k3s/k3s.yaml"));
    let cri = host.cri_endpoint(None).value;
    assert_eq!(cri, Some(temp.root().discovered("/run/k3s/containerd/containerd.sock")));
    assert_eq!(
        host.kubelet_place(None).value.unwrap().certificate,
        Some(temp.root().discovered("/var/lib/rancher/k3s/agent/serving-kubelet.crt"))
    );
    assert_eq!(host.kubelet_log(None).value, units(&["k3s.service"]));
    assert_eq!(
        host.runtime_log(None, cri.as_ref()).value,
        file(temp.root().discovered("/var/lib/rancher/k3s/agent/containerd/containerd.log"))
    );
}

#[test]
fn rke2_agent() {
    let temp = Temp::new();
    let argv = ["kubelet", "--config-dir=/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", "--hostname-override=rke-1"];
    temp.process(31, &argv, "/system.slice/rke2-agent.service");
    temp.write("var/lib/rancher/rke2/agent/kubelet.kubeconfig", by_certificate("/none"));
    let conf = "kind: KubeletConfiguration\nport: 10250\n";
    temp.write("var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00-a.conf", conf);
    temp.write("var/lib/rancher/rke2/agent/etc/kubelet.conf.d/50-b.conf", "port: 10260\n");
    temp.write("var/lib/rancher/rke2/agent/logs/kubelet.log", "");
    temp.socket("run/k3s/containerd/containerd.sock");
    let host = host(&temp);
    assert_eq!(host.node_name(None).value.as_deref(), Some("rke-1"));
    assert_eq!(host.credential(None).value, config(&temp, "/var/lib/rancher/rke2/agent/kubelet.kubeconfig"));
    assert_eq!(host.cri_endpoint(None).value, Some(temp.root().discovered("/run/k3s/containerd/containerd.sock")));
    assert_eq!(host.kubelet_place(None).value.unwrap().server.port(), 10260);
    assert_eq!(
        host.kubelet_log(None).value,
        file(temp.root().discovered("/var/lib/rancher/rke2/agent/logs/kubelet.log"))
    );
}

#[test]
fn microk8s() {
    let temp = Temp::new();
    let snap = "var/snap/microk8s/current";
    temp.process(
        32,
        &["/snap/microk8s/7/kubelite", "--kubelet-args-file=x"],
        "/system.slice/snap.microk8s.daemon-kubelite.service",
    );
    temp.write(
        &format!("{snap}/args/kubelet"),
        "--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n--cert-dir=${SNAP_DATA}/certs\n\
         --root-dir=${SNAP_COMMON}/var/lib/kubelet\n--container-runtime-endpoint=${SNAP_COMMON}/run/containerd.sock\n",
    );
    temp.write(&format!("{snap}/credentials/kubelet.config"), by_certificate("/none"));
    temp.write(&format!("{snap}/certs/kubelet.crt"), "");
    let host = host(&temp);
    assert_eq!(host.credential(None).value, config(&temp, "/var/snap/microk8s/current/credentials/kubelet.config"));
    assert_eq!(
        host.cri_endpoint(None).value,
        Some(temp.root().discovered("/var/snap/microk8s/common/run/containerd.sock"))
    );
    let place = host.kubelet_place(None).value.unwrap();
    assert_eq!(place.certificate, Some(temp.root().discovered("/var/snap/microk8s/current/certs/kubelet.crt")));
    assert_eq!(place.root_dir, Path::new("/var/snap/microk8s/common/var/lib/kubelet"));
    assert_eq!(place.pod_logs, Path::new("/var/log/pods"));
    assert_eq!(host.kubelet_log(None).value, units(&["snap.microk8s.daemon-kubelite.service"]));
}

#[test]
fn clouds_keep_a_kubeconfig_beside_the_kubelet() {
    let temp = Temp::new();
    let argv = [
        "/usr/bin/kubelet",
        "--kubeconfig",
        "/var/lib/kubelet/kubeconfig",
        "--config",
        "/etc/kubernetes/kubelet/config.json",
        "--hostname-override=ip-10-0-0-1.ec2.internal",
    ];
    temp.process(33, &argv, "/runtime.slice/kubelet.service");
    temp.write("var/lib/kubelet/kubeconfig", by_exec());
    temp.write(
        "etc/kubernetes/kubelet/config.json",
        r#"{"kind":"KubeletConfiguration","containerRuntimeEndpoint":"unix:///run/containerd/containerd.sock","port":10250,"podLogsDir":"/data/pods","authentication":{"anonymous":{"enabled":false}}}"#,
    );
    let host = host(&temp);
    assert_eq!(host.kubelet_place(None).value.unwrap().pod_logs, Path::new("/data/pods"));
    let name = host.node_name(None);
    assert_eq!(name.value.as_deref(), Some("ip-10-0-0-1.ec2.internal"));
    assert!(name.tried[0].answer.contains("a command that fetches a token"), "{name:?}");
    assert_eq!(host.credential(None).value, config(&temp, "/var/lib/kubelet/kubeconfig"));
    assert_eq!(host.cri_endpoint(None).value, Some(temp.root().discovered("/run/containerd/containerd.sock")));
}

#[test]
fn openshift_calls_its_configuration_kubelet_conf() {
    let temp = Temp::new();
    temp.write(
        "etc/kubernetes/kubelet.conf",
        "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: /var/run/crio/crio.sock\n",
    );
    temp.write("var/lib/kubelet/kubeconfig", by_certificate("/none"));
    temp.write("usr/lib/systemd/system/crio.service", "");
    let host = host(&temp);
    let credential = host.credential(None);
    assert_eq!(credential.value, config(&temp, "/var/lib/kubelet/kubeconfig"));
    assert!(credential.tried.iter().any(|t| t.answer == "not a kubeconfig: a KubeletConfiguration"), "{credential:?}");
    let cri = host.cri_endpoint(None).value;
    assert_eq!(cri, Some(temp.root().discovered("/var/run/crio/crio.sock")));
    assert_eq!(host.runtime_log(None, cri.as_ref()).value, units(&["crio.service"]));
}

#[test]
fn the_environment_and_crictl() {
    let temp = Temp::new();
    temp.write("etc/crictl.yaml", "runtime-endpoint: \"unix:///run/a.sock\"\ntimeout: 2\n");
    temp.write("one", by_certificate("/x"));
    temp.write("home/.kube/config", by_certificate("/x"));
    let with = |pairs: &[(&str, &str)]| Host::look(temp.root(), env(pairs));
    let host = with(&[("KUBECONFIG", "/none:/one"), ("CONTAINER_RUNTIME_ENDPOINT", "unix:///run/e.sock")]);
    assert_eq!(host.credential(None).value, named("/one"));
    assert_eq!(host.cri_endpoint(None).value, Some("/run/e.sock".into()));
    assert_eq!(host.cri_endpoint(Some("tcp://x")).value, None);
    let host = with(&[("HOME", "/home")]);
    assert_eq!(host.credential(None).value, config(&temp, "/home/.kube/config"));
    // Settings of crictl's are taken only while the socket is there.
    assert_eq!(host.cri_endpoint(None).value, None);
    temp.socket("run/a.sock");
    assert_eq!(host.cri_endpoint(None).value, Some(temp.root().discovered("/run/a.sock")));
    temp.write("var/run/secrets/kubernetes.io/serviceaccount/token", "hush");
    let host = with(&[("HOME", "/home"), ("KUBERNETES_SERVICE_HOST", "10.0.0.1")]);
    let sa = temp.root().discovered("/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(host.credential(None).value, Some(Credential::ServiceAccount(sa)));
    assert!(!format!("{:?}", host.credential(None)).contains("hush"));
}

#[test]
fn a_machine_without_a_kubelet() {
    let temp = Temp::new();
    temp.write("proc/sys/kernel/hostname", "Laptop\n");
    let host = host(&temp);
    assert_eq!(host.node_name(None).value.as_deref(), Some("laptop"));
    assert_eq!(host.credential(None).value, None);
    assert_eq!(host.cri_endpoint(None).value, None);
    assert_eq!(host.kubelet_place(None).value, None);
    assert_eq!(host.kubelet_log(None).value, None);
    assert!(!host.is_node());
}

#[test]
fn a_kubelet_run_by_hand_logs_where_its_standard_error_goes() {
    let temp = Temp::new();
    temp.process(40, &["./kubelet", "--v=4"], "/");
    // PID 1 is not systemd: what root starts stays in the group of PID 1.
    std::fs::remove_dir_all(temp.path("run/systemd")).unwrap();
    temp.write("proc/1/cgroup", "0::/\n");
    temp.write("tmp/kubelet.log", "");
    std::fs::create_dir_all(temp.path("proc/40/fd")).unwrap();
    std::os::unix::fs::symlink("/tmp/kubelet.log", temp.path("proc/40/fd/2")).unwrap();
    assert_eq!(host(&temp).kubelet_log(None).value, file(temp.root().discovered("/tmp/kubelet.log")));
    assert_eq!(host(&temp).kubelet_log(Some(Path::new("/x"))).value, file("/x".into()));
}
