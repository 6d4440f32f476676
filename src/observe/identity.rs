//! The credential that the kubelet is shown: that of the kubeconfig or service account. No credential plugin is run for
//! it.

use secrecy::{ExposeSecret, SecretString};

use super::client_cache::FILES_DEADLINE;
use super::discover::{Credential, Env, base64, within};
use super::kubeconfig::{ClusterTarget, read_target};
use super::kubelet::{KubeletAuth, Pem};

/// The credential for the kubelet, and the CA that may have signed the kubelet's certificate.
#[derive(Clone, Debug)]
pub struct KubeletIdentity {
    /// The credential.
    pub auth: KubeletAuth,
    /// The cluster's CA.
    pub ca: Option<Pem>,
}

impl KubeletIdentity {
    /// No credential.
    pub fn none() -> Self {
        Self { auth: KubeletAuth::None, ca: None }
    }

    /// The contents of `credential`; none when it cannot be read, and the kubelet then responds with 401.
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
                within(FILES_DEADLINE, read).flatten().unwrap_or_else(Self::none)
            }
            None => Self::none(),
        }
    }

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
