//! Finds the container runtime's socket; it does not connect.

use std::path::PathBuf;

use super::one_key::one_key;
use super::root::Miss;
use super::{Discovered, Host};
use crate::trust::KnownFile;

/// How a socket that is not believed can be used all the same.
const WAY_OUT: &str = "--runtime-endpoint unix://PATH";

const CRICTL: &str = "/etc/crictl.yaml";
/// Sockets that only one distribution has come first: a node of theirs may have a containerd of Docker's beside.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("/run/k3s/containerd/containerd.sock", "k3s or RKE2"),
    ("/var/snap/microk8s/common/run/containerd.sock", "MicroK8s"),
    ("/run/crio/crio.sock", "CRI-O"),
    ("/run/cri-dockerd.sock", "cri-dockerd"),
    ("/run/containerd/containerd.sock", "containerd"),
];
/// The kubelet's default.
const DEFAULT: &str = "/run/containerd/containerd.sock";

impl Host {
    /// The runtime's socket: as given, from the environment, crictl's settings, the kubelet's, the well-known ones.
    ///
    /// What was given and what the kubelet uses is taken whether it is there or not: a runtime that is down comes back.
    pub fn cri_endpoint(&self, given: Option<&str>) -> Discovered<KnownFile> {
        let mut found = Discovered::default();
        if let Some(endpoint) = given {
            self.take_named("--runtime-endpoint", endpoint, &mut found);
            return found;
        }
        let variable = self.env.get("CONTAINER_RUNTIME_ENDPOINT").filter(|e| !e.is_empty());
        match variable {
            Some(endpoint) => self.take_named("$CONTAINER_RUNTIME_ENDPOINT", endpoint, &mut found),
            None => found.miss("$CONTAINER_RUNTIME_ENDPOINT", "not set"),
        }
        if found.open() {
            self.crictl(&mut found);
        }
        if found.open() {
            let setting = self.settings.get("container-runtime-endpoint", "containerRuntimeEndpoint");
            setting.missed.into_iter().for_each(|(what, answer)| found.miss(what, answer));
            if let Some((what, endpoint)) = setting.found {
                self.take_set(&what, &endpoint, &mut found);
            }
        }
        for (path, whose) in WELL_KNOWN {
            if !found.open() {
                return found;
            }
            match self.socket(path) {
                Ok(()) => found.take(*path, format!("a socket: {whose}"), self.root.discovered(*path)),
                Err(why) => found.miss(*path, why),
            }
        }
        if found.open() && self.is_node() {
            found.take("the kubelet's default", format!("{DEFAULT}: not there now"), self.root.discovered(DEFAULT));
        }
        found
    }

    /// The endpoint that the user named, without a check of its owner.
    fn take_named(&self, what: &str, endpoint: &str, found: &mut Discovered<KnownFile>) {
        match unix_path(endpoint) {
            Ok(path) => {
                let answer = miss_text(self.root.is_named_socket(&path)).map_or_else(|why| why, |()| "a socket".into());
                found.take(what, format!("{endpoint}: {answer}"), PathBuf::from(path).into());
            }
            Err(why) => found.miss(what, format!("{endpoint}: {why}")),
        }
    }

    /// The endpoint that the kubelet is configured with, unless a user other than root could have created it.
    fn take_set(&self, what: &str, endpoint: &str, found: &mut Discovered<KnownFile>) {
        let path = match unix_path(endpoint) {
            Ok(path) => path,
            Err(why) => return found.miss(what, format!("{endpoint}: {why}")),
        };
        let is = self.root.is_socket(&path);
        let untrusted = matches!(is, Err(Miss::Untrusted(_)));
        let answer = format!("{endpoint}: {}", miss_text(is).map_or_else(|why| why, |()| "a socket".into()));
        match untrusted {
            true => found.miss(what, answer),
            false => found.take(what, answer, self.root.discovered(path)),
        }
    }

    fn crictl(&self, found: &mut Discovered<KnownFile>) {
        let what = format!("{CRICTL}, runtime-endpoint");
        let text = match self.root.read(CRICTL) {
            Ok(text) => text,
            Err(miss) => return found.miss(CRICTL, miss.to_string()),
        };
        match one_key(&text, "runtime-endpoint") {
            Err(why) => found.miss(what, why),
            Ok(None) => found.miss(what, "not set"),
            Ok(Some(endpoint)) => {
                match unix_path(&endpoint).map_err(str::to_owned).and_then(|p| self.socket(&p).map(|()| p)) {
                    Ok(path) => found.take(what, endpoint, self.root.discovered(path)),
                    Err(why) => found.miss(what, format!("{endpoint}: {why}")),
                }
            }
        }
    }

    fn socket(&self, path: &str) -> Result<(), String> {
        miss_text(self.root.is_socket(path))
    }
}

fn miss_text(is_socket: Result<bool, Miss>) -> Result<(), String> {
    match is_socket {
        Ok(true) => Ok(()),
        Ok(false) => Err("there, and not a socket".into()),
        Err(Miss::Absent) => Err("not there".into()),
        Err(miss) => Err(miss.with_way_out(WAY_OUT)),
    }
}

/// The path of `unix:///path`, or of a bare path.
fn unix_path(endpoint: &str) -> Result<String, &'static str> {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    if path.starts_with('/') { Ok(path.to_owned()) } else { Err("not a unix socket with an absolute path") }
}
