//! Reads a credential: the server, user and CA of a kubeconfig or a service account. Unlike kube's own reader it quotes
//! no file and reads no environment. Everything here blocks.

use std::io;
use std::path::Path;

use kube::config::{AuthInfo, Cluster, Kubeconfig};
use secrecy::SecretString;

use super::discover::{Credential, Env, base64, to_base64};
use super::{SourceFailure, tls};
use crate::observation::{ErrorKind, SourceError};
use crate::trust::{Distrust, KnownFile, Owners, distrust_of};

/// Neither the kubeconfig nor the machine names a CA.
pub(super) const NO_CA: &str = "it names no CA (certificate-authority), and this machine has no trusted CAs";

/// The server and the user of a credential.
pub(super) struct ClusterTarget {
    pub cluster: Cluster,
    pub user: AuthInfo,
    /// Files that it was read from, or that it names.
    pub files: Vec<KnownFile>,
    /// How a credential plugin of the user is run.
    pub plugin: PluginRule,
}

/// How a credential plugin is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PluginRule {
    /// As kubectl runs it: the user, who is not root, named the kubeconfig.
    AsUser,
    /// From a fixed PATH and without our environment: only root can have written the kubeconfig.
    Isolated,
    /// Not at all: it would run as root, and others than root can have written the kubeconfig.
    Distrusted(Distrust),
}

/// Reads the credential; of a kubeconfig the given context, or the current one.
pub(super) fn read_target(
    credential: &Credential,
    context: Option<&str>,
    env: &Env,
) -> Result<ClusterTarget, SourceFailure> {
    let mut files = credential.kubeconfigs();
    let (cluster, user) = match credential {
        Credential::Kubeconfig(_) | Credential::Discovered(_) => {
            let mut merged = Kubeconfig::default();
            for file in &files {
                let one = read_kubeconfig(file)?;
                merged = merged.merge(one).map_err(|_| unusable(credential, "its files cannot be merged"))?;
            }
            select_context(merged, context).map_err(|why| unusable(credential, &why))?
        }
        Credential::ServiceAccount(dir) => service_account(dir, env).map_err(|why| unusable(credential, why))?,
    };
    let plugin = plugin_rule(credential, &files).map_err(|(file, e)| unreadable(&file, &e))?;
    if let Some(provider) = user.auth_provider.as_ref().filter(|p| p.name != "oidc") {
        let why = format!("auth-provider {} is not supported (removed from kubectl in 1.26)", provider.name);
        return Err(unusable(credential, &why));
    }
    let named = [&cluster.certificate_authority, &user.client_certificate, &user.client_key, &user.token_file];
    let named = named.into_iter().flatten().filter(|f| !f.is_empty()).map(|path| credential.file(path));
    for file in named {
        file.open().map_err(|e| unreadable(&file, &e))?;
        files.push(file);
    }
    Ok(ClusterTarget { cluster, user, files, plugin })
}

fn plugin_rule(credential: &Credential, files: &[KnownFile]) -> Result<PluginRule, (KnownFile, io::Error)> {
    let owners = Owners::of_process();
    if matches!(credential, Credential::Kubeconfig(_)) && !owners.is_root() {
        return Ok(PluginRule::AsUser);
    }
    for file in files {
        if let Some(distrust) = file.distrust(owners).map_err(|e| (file.clone(), e))? {
            return Ok(PluginRule::Distrusted(distrust));
        }
    }
    Ok(PluginRule::Isolated)
}

/// Replaces the paths of certificate, key and token by their contents, each read once by the rule for `credential`: kube
/// would open the paths without that rule, and the token repeatedly on the thread that all sources share.
pub(super) fn load_files(credential: &Credential, user: &mut AuthInfo) -> Result<(), SourceFailure> {
    let read = |path: &mut Option<String>| -> Result<Option<String>, SourceFailure> {
        let Some(path) = path.take().filter(|path| !path.is_empty()) else { return Ok(None) };
        let file = credential.file(&path);
        Ok(Some(to_base64(&file.bytes().map_err(|e| unreadable(&file, &e))?)))
    };
    // Inline data takes precedence over a path (client-go).
    match user.client_certificate_data {
        Some(_) => user.client_certificate = None,
        None => user.client_certificate_data = read(&mut user.client_certificate)?,
    }
    match user.client_key_data {
        Some(_) => user.client_key = None,
        None => user.client_key_data = read(&mut user.client_key)?.map(SecretString::from),
    }
    load_token(credential, user)
}

/// `tokenFile` takes precedence over `token` (client-go).
fn load_token(credential: &Credential, user: &mut AuthInfo) -> Result<(), SourceFailure> {
    let Some(path) = user.token_file.take().filter(|path| !path.is_empty()) else { return Ok(()) };
    let file = credential.file(&path);
    let token = file.text().map_err(|e| unreadable(&file, &e))?;
    if token.trim().is_empty() {
        let fix = "check what writes the token to this file, or give another credential with --kubeconfig";
        return Err(failed(format!("read {file}: it is empty"), ErrorKind::Malformed, fix));
    }
    user.token = Some(SecretString::from(token.trim().to_owned()));
    Ok(())
}

/// Reads one file and makes its paths absolute: they are relative to the file.
fn read_kubeconfig(file: &KnownFile) -> Result<Kubeconfig, SourceFailure> {
    let text = file.text().map_err(|e| unreadable(file, &e))?;
    // The parser's error quotes the lines around it, which may contain a token.
    let mut config = Kubeconfig::from_yaml(&text).map_err(|_| {
        failed(
            format!("read {file}: not a kubeconfig"),
            ErrorKind::Malformed,
            "check it with kubectl config view --kubeconfig FILE, or give another one with --kubeconfig",
        )
    })?;
    let dir = file.path().parent().unwrap_or(Path::new("/"));
    let absolute = |file: &mut Option<String>| {
        if let Some(file) = file.as_mut().filter(|file| !file.is_empty()) {
            *file = dir.join(&file).to_string_lossy().into_owned();
        }
    };
    for cluster in config.clusters.iter_mut().filter_map(|c| c.cluster.as_mut()) {
        absolute(&mut cluster.certificate_authority);
    }
    for user in config.auth_infos.iter_mut().filter_map(|u| u.auth_info.as_mut()) {
        [&mut user.client_certificate, &mut user.client_key, &mut user.token_file].into_iter().for_each(absolute);
        // A command with a slash is a path; others are searched in PATH.
        if let Some(command) = user.exec.as_mut().and_then(|exec| exec.command.as_mut()).filter(|c| c.contains('/')) {
            *command = dir.join(&command).to_string_lossy().into_owned();
        }
    }
    Ok(config)
}

/// Cluster and user of the given context, or of the current one.
fn select_context(config: Kubeconfig, context: Option<&str>) -> Result<(Cluster, AuthInfo), String> {
    let (what, name) = match context {
        Some(name) => ("the context", name.to_owned()),
        None => {
            let name = config.current_context.filter(|name| !name.is_empty());
            ("its current-context", name.ok_or("it has no current-context: name one with --context")?)
        }
    };
    let names: Vec<String> = config.contexts.iter().map(|c| c.name.clone()).collect();
    let context = config.contexts.into_iter().find(|c| c.name == name).and_then(|c| c.context);
    let context = context.ok_or_else(|| format!("{what} {name} does not exist (available: {})", names.join(", ")))?;
    let cluster = config.clusters.into_iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster);
    let cluster = cluster.ok_or_else(|| format!("the cluster {} does not exist", context.cluster))?;
    // As with kubectl, an unknown user sends no credential, and the server rejects the request.
    let user = config.auth_infos.into_iter().find(|u| Some(&u.name) == context.user.as_ref());
    Ok((cluster, user.and_then(|u| u.auth_info).unwrap_or_default()))
}

fn service_account(dir: &KnownFile, env: &Env) -> Result<(Cluster, AuthInfo), &'static str> {
    let get = |name: &str| env.get(name).filter(|v| !v.is_empty());
    let (Some(host), Some(port)) = (get("KUBERNETES_SERVICE_HOST"), get("KUBERNETES_SERVICE_PORT")) else {
        return Err("the server is unknown: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let file =
        |name: &str| dir.path().join(name).to_str().map(str::to_owned).ok_or("the path of its directory is not UTF-8");
    let cluster = Cluster {
        server: Some(format!("https://{host}:{port}")),
        certificate_authority: Some(file("ca.crt")?),
        ..Cluster::default()
    };
    Ok((cluster, AuthInfo { token_file: Some(file("token")?), ..AuthInfo::default() }))
}

/// The CA's certificates that the cluster names, in DER; None when it names none.
pub(super) fn authorities(credential: &Credential, cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, SourceFailure> {
    let pem = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) if !data.is_empty() => {
            base64(data).ok_or_else(|| unusable(credential, "its certificate-authority-data is not base64"))?
        }
        (_, Some(file)) if !file.is_empty() => {
            let file = credential.file(file);
            file.bytes().map_err(|e| unreadable(&file, &e))?
        }
        _ => return Ok(None),
    };
    match tls::certificates(&pem) {
        Some(all) => Ok(Some(all.into_iter().map(|der| der.to_vec()).collect())),
        None => Err(unusable(credential, "its CA contains no certificate in PEM form")),
    }
}

/// The credential as errors show it.
pub(super) fn describe(credential: &Credential) -> String {
    match credential {
        Credential::ServiceAccount(dir) => dir.to_string(),
        other => other.kubeconfigs().iter().map(KnownFile::to_string).collect::<Vec<_>>().join(":"),
    }
}

/// The credential exists and cannot be used.
pub(super) fn unusable(credential: &Credential, why: &str) -> SourceFailure {
    let tried = format!("use the credential in {}: {why}", describe(credential));
    failed(tried, ErrorKind::Other, "give another credential with --kubeconfig")
}

/// A failure that is retried.
pub(super) fn failed(tried: String, kind: ErrorKind, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: tried.into(), kind, fix: fix.into() })
}

/// A file of the credential cannot be read.
pub(super) fn unreadable(file: &KnownFile, error: &io::Error) -> SourceFailure {
    let (kind, fix) = match error.kind() {
        _ if distrust_of(error).is_some() => {
            (ErrorKind::Denied, "make it writable by root alone, or name the kubeconfig to use: --kubeconfig")
        }
        io::ErrorKind::PermissionDenied => {
            (ErrorKind::Denied, "run as root, or give a credential that you can read with --kubeconfig")
        }
        io::ErrorKind::NotFound => {
            (ErrorKind::Other, "the file does not exist: give another credential with --kubeconfig")
        }
        _ => (ErrorKind::Other, "give another credential with --kubeconfig"),
    };
    failed(format!("read {file}: {error}"), kind, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(text: &str) -> Result<(Cluster, AuthInfo), String> {
        select_context(Kubeconfig::from_yaml(text).unwrap(), None)
    }

    #[test]
    fn errors_name_the_missing_part_of_a_kubeconfig() {
        let contexts = "contexts:\n- {name: c, context: {cluster: k, user: u}}\n";
        assert!(select("clusters: []\n").unwrap_err().contains("no current-context"));
        assert!(select("current-context: c\n").unwrap_err().contains("current-context c does not exist"));
        assert!(
            select(&format!("current-context: c\n{contexts}")).unwrap_err().contains("the cluster k does not exist")
        );
        let whole = format!("current-context: c\n{contexts}clusters:\n- {{name: k, cluster: {{server: https://s}}}}\n");
        assert_eq!(select(&whole).unwrap().0.server.as_deref(), Some("https://s"));
        let other = |context| select_context(Kubeconfig::from_yaml(&whole).unwrap(), Some(context));
        assert!(other("c").is_ok());
        assert_eq!(other("d").unwrap_err(), "the context d does not exist (available: c)");
    }

    #[test]
    fn a_service_account_needs_the_servers_address() {
        let dir = KnownFile::from("/sa");
        assert!(service_account(&dir, &Env::new()).is_err());
        let env = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
        let (cluster, user) = service_account(&dir, &env.map(|(k, v)| (k.to_owned(), v.to_owned())).into()).unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://[fd00::1]:443"));
        assert_eq!(user.token_file.as_deref(), Some("/sa/token"));
    }
}
