//! Finds a credential for the API server, strongest first. It reads the kind of a credential, never keeps or shows the secret.

use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Kubeconfig};

use super::certificate::{base64, common_name};
use super::one_key::one_key;
use super::{Discovered, Host, Miss, Root};
use crate::trust::KnownFile;

/// Kubeconfigs of administrators: kubeadm, k3s, RKE2, MicroK8s. They may list events and read the kubelet's pages.
const ADMIN: &[&str] = &[
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/super-admin.conf",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/rancher/rke2/rke2.yaml",
    "/var/snap/microk8s/current/credentials/client.config",
];
/// Kubeconfigs of kubelets: kubeadm; EKS, GKE, AKS and OpenShift; k3s; RKE2; MicroK8s.
const NODE: &[&str] = &[
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/kubelet/kubeconfig",
    "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
    "/var/lib/rancher/rke2/agent/kubelet.kubeconfig",
    "/var/snap/microk8s/current/credentials/kubelet.config",
];
/// How a file that is not believed can be used all the same.
const WAY_OUT: &str = "--kubeconfig FILE";
/// Where a pod has its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A way to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Kubeconfigs that the user named, merged in this order; the first to define a thing wins.
    Kubeconfig(Vec<PathBuf>),
    /// A kubeconfig that was discovered; it and every file that it refers to must be root's alone.
    Discovered(KnownFile),
    /// The directory of a pod's service account, with `token` and `ca.crt`; the server is in `KUBERNETES_SERVICE_HOST` and `_PORT`.
    ServiceAccount(KnownFile),
}

impl Credential {
    /// The kubeconfigs that it consists of.
    pub fn kubeconfigs(&self) -> Vec<KnownFile> {
        match self {
            Self::Kubeconfig(paths) => paths.iter().map(KnownFile::from).collect(),
            Self::Discovered(file) => vec![file.clone()],
            Self::ServiceAccount(_) => Vec::new(),
        }
    }

    /// A file that it refers to, by its absolute path, known in the same way.
    pub fn file(&self, path: impl AsRef<Path>) -> KnownFile {
        match self {
            Self::Kubeconfig(_) => KnownFile::Named(path.as_ref().to_owned()),
            Self::Discovered(file) | Self::ServiceAccount(file) => file.refers_to(path),
        }
    }
}

impl Host {
    /// The credential: `kubeconfig` as given on the command line, `$KUBECONFIG`, administrators', the kubelet's, the
    /// pod's, the user's.
    pub fn credential(&self, kubeconfig: Option<&Path>) -> Discovered<Credential> {
        let mut found = Discovered::default();
        if let Some(path) = kubeconfig {
            let answer = self.describe(&path.into()).unwrap_or_else(|why| why);
            found.take(
                format!("--kubeconfig {}", path.display()),
                answer,
                Credential::Kubeconfig(vec![path.to_owned()]),
            );
            return found;
        }
        self.named_in_environment(&mut found);
        let own = self.settings.flag("kubeconfig");
        let home = self.env.get("HOME").map(|home| format!("{home}/.kube/config"));
        ADMIN.iter().for_each(|path| self.try_one(path, &mut found));
        if let Some((what, path)) = own.found {
            self.try_one_as(what, &path, &mut found);
        }
        NODE.iter().for_each(|path| self.try_one(path, &mut found));
        self.service_account(&mut found);
        match home {
            Some(path) => self.try_one(&path, &mut found),
            None if found.open() => found.miss("~/.kube/config", "$HOME is not set"),
            None => {}
        }
        found
    }

    /// Kubeconfigs that may hold the kubelet's certificate, the running kubelet's first.
    pub(super) fn node_kubeconfigs(&self) -> Vec<KnownFile> {
        let own = self.settings.flag("kubeconfig").value().map(str::to_owned);
        let all = own.into_iter().chain(NODE.iter().map(|path| (*path).to_owned()));
        all.map(|path| self.root.discovered(path)).collect()
    }

    /// The user of a certificate in a kubeconfig: `system:node:NAME`.
    pub(super) fn certificate_user(&self, kubeconfig: &KnownFile) -> Result<String, String> {
        let config = self.kubeconfig(kubeconfig)?;
        let info = config.auth_infos.iter().find_map(|a| a.auth_info.as_ref()).ok_or("a kubeconfig without a user")?;
        let pem = match (&info.client_certificate_data, &info.client_certificate) {
            (Some(data), _) => {
                String::from_utf8(base64(data).ok_or("not base64")?).map_err(|_| "not a PEM file".to_owned())?
            }
            (None, Some(file)) => {
                // A path in a kubeconfig is relative to it.
                let file = kubeconfig.refers_to(file);
                self.root.read(file.path()).map_err(|miss| format!("{file}: {miss}"))?
            }
            (None, None) => return Err(format!("no client certificate: {}", kind(info))),
        };
        Ok(common_name(&pem)?)
    }

    fn try_one(&self, path: &str, found: &mut Discovered<Credential>) {
        self.try_one_as(path.to_owned(), path, found);
    }

    fn try_one_as(&self, what: String, path: &str, found: &mut Discovered<Credential>) {
        if !found.open() {
            return;
        }
        let file = self.root.discovered(path);
        match self.describe(&file) {
            Ok(answer) => found.take(what, answer, Credential::Discovered(file)),
            Err(why) => found.miss(what, why),
        }
    }

    fn named_in_environment(&self, found: &mut Discovered<Credential>) {
        let Some(list) = self.env.get("KUBECONFIG").filter(|list| !list.is_empty()) else {
            return found.miss("$KUBECONFIG", "not set");
        };
        // Files of the list that are not there are skipped, as kubectl does.
        let (mut paths, mut answers) = (Vec::new(), Vec::new());
        for path in list.split(':').filter(|p| !p.is_empty()) {
            match self.describe(&path.into()) {
                Ok(answer) => {
                    paths.push(PathBuf::from(path));
                    answers.push(answer);
                }
                Err(why) => answers.push(format!("{path}: {why}")),
            }
        }
        let (what, answer) = (format!("$KUBECONFIG {list}"), answers.join("; "));
        match paths.is_empty() {
            true => found.miss(what, answer),
            false => found.take(what, answer, Credential::Kubeconfig(paths)),
        }
    }

    fn service_account(&self, found: &mut Discovered<Credential>) {
        if !found.open() {
            return;
        }
        let token = format!("{SERVICE_ACCOUNT}/token");
        match self.root.may_read(&token) {
            Err(miss) => found.miss(token, miss.with_way_out(WAY_OUT)),
            Ok(()) if !self.env.contains_key("KUBERNETES_SERVICE_HOST") => {
                found.miss(token, "there, but $KUBERNETES_SERVICE_HOST is not set");
            }
            Ok(()) => found.take(
                token,
                "a service account",
                Credential::ServiceAccount(self.root.discovered(SERVICE_ACCOUNT)),
            ),
        }
    }

    fn describe(&self, file: &KnownFile) -> Result<String, String> {
        let config = self.kubeconfig(file)?;
        let users: Vec<&str> = config.auth_infos.iter().filter_map(|a| a.auth_info.as_ref()).map(kind).collect();
        Ok(format!("a kubeconfig with {}", if users.is_empty() { "no user".into() } else { users.join(", ") }))
    }

    fn kubeconfig(&self, file: &KnownFile) -> Result<Kubeconfig, String> {
        let read = if file.is_named() { Root::read_named::<&Path> } else { Root::read::<&Path> };
        let text = read(&self.root, file.path()).map_err(|miss: Miss| miss.with_way_out(WAY_OUT))?;
        match one_key(&text, "kind") {
            Ok(Some(kind)) if kind != "Config" => return Err(format!("not a kubeconfig: a {kind}")),
            _ => {}
        }
        // The parser's own words may quote the file.
        let config = Kubeconfig::from_yaml(&text).map_err(|_| "not a kubeconfig that can be read")?;
        if config.clusters.is_empty() { Err("a kubeconfig without a cluster".into()) } else { Ok(config) }
    }
}

fn kind(info: &AuthInfo) -> &'static str {
    if info.client_certificate.is_some() || info.client_certificate_data.is_some() {
        "a client certificate"
    } else if info.token.is_some() || info.token_file.is_some() {
        "a token"
    } else if info.exec.is_some() {
        "a command that fetches a token"
    } else {
        "a user of another kind"
    }
}
