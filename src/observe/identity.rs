//! Owns what a kubeconfig or a service account shows to the kubelet: the same identity that the API server is shown.
//! It must not run a credential plugin: those belong to a person's machine, and the kubelet wants a certificate or a token.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::discover::{Credential, Env, base64, within};
use super::kubeconfig::{Target, target};
use super::kubelet::{KubeletAuth, Pem};

/// Longest time for reading the credential's files.
const DEADLINE: Duration = Duration::from_secs(5);

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

    /// What `credential` holds. What cannot be read shows nothing, and the kubelet then says what it lacks.
    pub fn of(credential: Option<&Credential>, context: Option<&str>, env: &Env) -> Self {
        match credential {
            Some(Credential::ServiceAccount(dir)) => {
                Self { auth: KubeletAuth::TokenFile(dir.join("token")), ca: Some(Pem::File(dir.join("ca.crt"))) }
            }
            Some(credential) => {
                let (credential, context, env) = (credential.clone(), context.map(str::to_owned), env.clone());
                let read = move || target(&credential, context.as_deref(), &env).ok();
                within(DEADLINE, read).flatten().map_or_else(Self::none, Self::from)
            }
            None => Self::none(),
        }
    }
}

impl From<Target> for Identity {
    fn from(Target { cluster, user, .. }: Target) -> Self {
        let ca = pem(cluster.certificate_authority.as_ref(), cluster.certificate_authority_data.as_deref());
        let cert = pem(user.client_certificate.as_ref(), user.client_certificate_data.as_deref());
        let key_data = user.client_key_data.as_ref().map(|k| k.expose_secret().to_owned());
        let key = pem(user.client_key.as_ref(), key_data.as_deref());
        let auth = match (cert, key, user.token_file, user.token) {
            (Some(cert), Some(key), ..) => KubeletAuth::ClientCert { cert, key },
            (.., Some(file), _) => KubeletAuth::TokenFile(PathBuf::from(file)),
            (.., Some(token)) => KubeletAuth::Token(token),
            _ => KubeletAuth::None,
        };
        Self { auth, ca }
    }
}

fn pem(file: Option<&String>, data: Option<&str>) -> Option<Pem> {
    if let Some(data) = data {
        let text = String::from_utf8(base64(data)?).ok()?;
        return Some(Pem::Inline(SecretString::from(text)));
    }
    file.map(|path| Pem::File(PathBuf::from(path)))
}
