//! Owns what a kubeconfig or a service account shows to the kubelet: the same identity that the API server is shown.
//! It must not run a credential plugin: those belong to a person's machine, and the kubelet wants a certificate or a token.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;
use secrecy::{ExposeSecret, SecretString};

use super::discover::Credential;
use super::discover::base64;
use super::kubelet::{KubeletAuth, Pem};

/// What is shown to the kubelet, and the CA that its certificate may be of.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Shown to the kubelet.
    pub auth: KubeletAuth,
    /// The cluster's CA.
    pub ca: Option<Pem>,
}

impl Identity {
    /// Nothing to show.
    pub fn none() -> Self {
        Self { auth: KubeletAuth::None, ca: None }
    }

    /// Reads `credential`. What cannot be read shows nothing, and the kubelet then says what it lacks.
    pub fn of(credential: Option<&Credential>) -> Self {
        match credential {
            Some(Credential::Kubeconfig(paths)) => {
                paths.iter().find_map(|path| of_kubeconfig(path)).unwrap_or_else(Self::none)
            }
            Some(Credential::ServiceAccount(dir)) => {
                Self { auth: KubeletAuth::TokenFile(dir.join("token")), ca: Some(Pem::File(dir.join("ca.crt"))) }
            }
            None => Self::none(),
        }
    }
}

fn of_kubeconfig(path: &Path) -> Option<Identity> {
    // Relative paths in it are made absolute by the reader.
    let config = Kubeconfig::read_from(path).ok()?;
    let current = config.current_context.as_ref()?;
    let context = config.contexts.iter().find(|c| &c.name == current)?.context.as_ref()?;
    let cluster = config.clusters.iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster.as_ref());
    let ca = cluster.and_then(|c| pem(c.certificate_authority.as_ref(), c.certificate_authority_data.as_deref()));
    let user = context.user.as_ref()?;
    let user = config.auth_infos.iter().find(|u| &u.name == user)?.auth_info.as_ref()?;
    let cert = pem(user.client_certificate.as_ref(), user.client_certificate_data.as_deref());
    let key_data = user.client_key_data.as_ref().map(|k| k.expose_secret().to_owned());
    let key = pem(user.client_key.as_ref(), key_data.as_deref());
    let auth = match (cert, key, &user.token, &user.token_file) {
        (Some(cert), Some(key), ..) => KubeletAuth::ClientCert { cert, key },
        (.., Some(token), _) => KubeletAuth::Token(token.clone()),
        (.., Some(file)) => KubeletAuth::TokenFile(PathBuf::from(file)),
        _ => KubeletAuth::None,
    };
    Some(Identity { auth, ca })
}

fn pem(file: Option<&String>, data: Option<&str>) -> Option<Pem> {
    if let Some(data) = data {
        let text = String::from_utf8(base64(data)?).ok()?;
        return Some(Pem::Inline(SecretString::from(text)));
    }
    file.map(|path| Pem::File(PathBuf::from(path)))
}
