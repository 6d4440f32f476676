//! Owns running the credential plugin that a kubeconfig names: within a deadline, and away from the terminal.
//! It must not show what the plugin printed: that is the credential.

use std::process::Stdio;
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use super::super::Failure;
use super::access::failed;
use crate::observation::{ErrorKind, Time};

/// What plugins are asked for where the kubeconfig names no version.
const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// Longest part of the plugin's complaint that is kept, in characters.
const MAX_WORDS: usize = 300;

/// Runs the plugin of `user`, puts what it gives in the plugin's place, and says until when that is good.
///
/// kube would run it on this thread, for as long as it takes, with the terminal as its input and output.
pub(super) async fn resolve(
    user: &mut AuthInfo,
    cluster: &Cluster,
    deadline: Duration,
) -> Result<Option<Time>, Failure> {
    let Some(exec) = user.exec.take() else { return Ok(None) };
    let name = exec.command.clone().unwrap_or_default();
    let failed = |why: &str, kind, fix: &str| failed(format!("credential plugin {name}: {why}"), kind, fix);
    if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
        let fix = "give another credential with --kubeconfig";
        return Err(failed("it wants to ask a person", ErrorKind::Other, fix));
    }
    let output = match timeout(deadline, command(&exec, cluster, &name).output()).await {
        Err(_) => {
            let fix = "the plugin hangs: run it by hand, or give another credential with --kubeconfig";
            return Err(failed(&format!("no answer within {} s", deadline.as_secs_f32()), ErrorKind::Timeout, fix));
        }
        Ok(Err(error)) => {
            let fix = "the kubeconfig names this plugin: is it installed, and in PATH?";
            return Err(failed(&error.to_string(), ErrorKind::Other, fix));
        }
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last: String = words.trim().lines().last().unwrap_or_default().chars().take(MAX_WORDS).collect();
        let fix = "run the plugin by hand, or give another credential with --kubeconfig";
        return Err(failed(&format!("{}: {last}", output.status), ErrorKind::Denied, fix));
    }
    let given = given(&output.stdout)
        .ok_or_else(|| failed("its answer is no credential", ErrorKind::Malformed, "run the plugin by hand"))?;
    user.token = given.token.or(user.token.take());
    if let (Some(certificate), Some(key)) = (given.certificate, given.key) {
        (user.client_certificate_data, user.client_key_data) = (Some(certificate), Some(key));
    }
    Ok(given.until)
}

fn command(exec: &ExecConfig, cluster: &Cluster, name: &str) -> Command {
    let mut command = Command::new(name);
    command.args(exec.args.iter().flatten());
    command.envs(exec.env.iter().flatten().filter_map(|e| Some((e.get("name")?, e.get("value")?))));
    let cluster = exec.provide_cluster_info.then(|| ExecAuthCluster::try_from(cluster).ok()).flatten();
    let mut info = json!({
        "kind": "ExecCredential",
        "apiVersion": exec.api_version.as_deref().unwrap_or(API_VERSION),
        "spec": {"interactive": false},
    });
    if let (Some(cluster), Some(spec)) = (cluster, info.get_mut("spec").and_then(|s| s.as_object_mut())) {
        spec.insert("cluster".into(), json!(cluster));
    }
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    // In a process group of its own: what it starts does not read the terminal either.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    command
}

struct Given {
    token: Option<SecretString>,
    /// PEM in base64, as a kubeconfig has it.
    certificate: Option<String>,
    key: Option<SecretString>,
    until: Option<Time>,
}

/// Reads an `ExecCredential`; None when there is nothing in it to log in with.
fn given(answer: &[u8]) -> Option<Given> {
    #[derive(Deserialize)]
    struct Credential {
        status: Status,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        token: Option<String>,
        client_certificate_data: Option<String>,
        client_key_data: Option<String>,
        expiration_timestamp: Option<Time>,
    }
    let status = serde_json::from_slice::<Credential>(answer).ok()?.status;
    let pair = status.client_certificate_data.zip(status.client_key_data);
    let token = status.token.filter(|t| !t.is_empty()).map(SecretString::from);
    if token.is_none() && pair.is_none() {
        return None;
    }
    let (certificate, key) = pair.map(|(certificate, key)| (in_base64(&certificate), in_base64(&key))).unzip();
    Some(Given { token, certificate, key: key.map(SecretString::from), until: status.expiration_timestamp })
}

/// Plugins give plain PEM; kubeconfigs hold it in base64.
fn in_base64(pem: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(pem.len().div_ceil(3) * 4);
    for chunk in pem.as_bytes().chunks(3) {
        let bits = (0..3).fold(0usize, |bits, i| bits << 8 | usize::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS.get(bits >> (18 - 6 * i) & 63).copied().filter(|_| i <= chunk.len());
            out.push(char::from(digit.unwrap_or(b'=')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::discover::base64;
    use secrecy::ExposeSecret;

    #[test]
    fn answers_of_plugins() {
        let token = given(br#"{"status":{"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"}}"#).unwrap();
        assert_eq!(token.token.unwrap().expose_secret(), "t");
        assert_eq!(token.until.unwrap().to_rfc3339(), "2026-01-01T00:00:00+00:00");
        let pair = given(br#"{"status":{"clientCertificateData":"PEM","clientKeyData":"KEY1"}}"#).unwrap();
        assert_eq!((pair.certificate.unwrap(), pair.token.is_none()), ("UEVN".to_owned(), true));
        assert_eq!(pair.key.unwrap().expose_secret(), "S0VZMQ==");
        assert_eq!(base64(&in_base64("hello")).unwrap(), b"hello");
        for nothing in [&b"{}"[..], b"", br#"{"status":{}}"#, br#"{"status":{"token":""}}"#, b"\xff"] {
            assert!(given(nothing).is_none());
        }
    }
}
