//! Owns what a kubeconfig or a service account shows to the kubelet: the same identity that the API server is shown.
//! It must not run a credential plugin: those belong to a person's machine, and the kubelet wants a certificate or a token.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::discover::{Credential, Env, base64, within};
use super::kubeconfig::{ClusterTarget, read_target};
use super::kubelet::{KubeletAuth, Pem};

/// Longest time for reading the credential's files.
const DEADLINE: Duration = Duration::from_secs(5);

/// What is shown to the kubelet, and the CA that its certificate may be of.
#[derive(Clone, Debug)]
pub struct KubeletIdentity {
    /// Shown to the kubelet.
    pub auth: KubeletAuth,
    /// The cluster's CA.
    pub ca: Option<Pem>,
}

impl KubeletIdentity {
    /// Nothing to show.
    pub fn none() -> Self {
        Self { auth: KubeletAuth::None, ca: None }
    }

    /// What `credential` holds. What cannot be read shows nothing, and the kubelet then says what it lacks.
    pub fn of(credential: Option<&Credential>, context: Option<&str>, env: &Env) -> Self {
        match credential {
            Some(Credential::ServiceAccount(dir)) => {
                let file = |name: &str| dir.refers_to(dir.path().join(name));
                Self { auth: KubeletAuth::TokenFile(file("token")), ca: Some(Pem::File(file("ca.crt"))) }
            }
            Some(credential) => {
                let (credential, context, env) = (credential.clone(), context.map(str::to_owned), env.clone());
                let read =
                    move || Some(Self::new(read_target(&credential, context.as_deref(), &env).ok()?, &credential));
                within(DEADLINE, read).flatten().unwrap_or_else(Self::none)
            }
            None => Self::none(),
        }
    }
}

impl KubeletIdentity {
    fn new(ClusterTarget { cluster, user, .. }: ClusterTarget, credential: &Credential) -> Self {
        let pem = |file: Option<&String>, data: Option<&str>| match data {
            Some(data) => Some(Pem::Inline(SecretString::from(String::from_utf8(base64(data)?).ok()?))),
            None => file.map(|path| Pem::File(credential.file(path))),
        };
        let ca = pem(cluster.certificate_authority.as_ref(), cluster.certificate_authority_data.as_deref());
        let cert = pem(user.client_certificate.as_ref(), user.client_certificate_data.as_deref());
        let key_data = user.client_key_data.as_ref().map(|k| k.expose_secret().to_owned());
        let key = pem(user.client_key.as_ref(), key_data.as_deref());
        let auth = match (cert, key, user.token_file, user.token) {
            (Some(cert), Some(key), ..) => KubeletAuth::ClientCert { cert, key },
            (.., Some(file), _) => KubeletAuth::TokenFile(credential.file(&file)),
            (.., Some(token)) => KubeletAuth::Token(token),
            _ => KubeletAuth::None,
        };
        Self { auth, ca }
    }
}
