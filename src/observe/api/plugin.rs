//! Runs the credential plugin of a kubeconfig, with a deadline and without a terminal. Its output is the credential and
//! is never shown.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use tokio::process::Command;

use super::super::SourceFailure;
use super::super::blocking::BlockingWorker;
use super::super::discover::to_base64;
use super::super::guard;
use super::super::kubeconfig::{PluginRule, failed};
use super::super::program::{self, ProgramError};
use crate::observation::{ErrorKind, Time};
use crate::trust::{Owners, PROGRAM_DIRS, find_program};

/// Version of `ExecCredential` where the kubeconfig names none.
const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// Longest output that is read, bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// Longest part of the plugin's error message that is kept, bytes.
const MAX_MESSAGE: usize = 200;
/// Longest word of it that is kept, bytes: a longer one may be a secret.
const MAX_WORD: usize = 20;
/// Remedy for a plugin that is not run because of the kubeconfig's owner.
const COPY_KUBECONFIG: &str =
    "copy the kubeconfig to a file that only root can write, or run kpodtrace as the user that owns it";
/// Remedy for a program that is not found in the trusted directories.
const INSTALL_PLUGIN: &str =
    "install the plugin where only root can write, such as /usr/local/bin, or use another --kubeconfig";
/// Words that a secret may follow.
const SECRET_LABELS: [&str; 8] = ["token", "bearer", "password", "passphrase", "secret", "key", "auth", "cookie"];

/// The program of the credential plugin, once it was run.
pub type PluginRun = Arc<OnceLock<String>>;

/// Runs a plugin by the rule of its kubeconfig.
pub(super) struct PluginRunner<'a> {
    pub rule: PluginRule,
    /// Longest run time.
    pub deadline: Duration,
    /// Receives the program when it is run.
    pub run: &'a PluginRun,
}

impl PluginRunner<'_> {
    /// Runs the plugin of `user`, replaces it there by the credential that it returns, and returns when that expires.
    ///
    /// kube would run it on this thread, without a deadline, with the terminal as its input and output.
    pub(super) async fn resolve(
        self,
        worker: &BlockingWorker,
        user: &mut AuthInfo,
        cluster: &Cluster,
    ) -> Result<Option<Time>, SourceFailure> {
        let Some(exec) = user.exec.take() else { return Ok(None) };
        let name = exec.command.clone().unwrap_or_default();
        let failed = |why: &str, kind, fix: &str| failed(format!("credential plugin {name}: {why}"), kind, fix);
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            let fix = "give another credential with --kubeconfig";
            return Err(failed("it requires interactive login", ErrorKind::Other, fix));
        }
        let deadline = self.deadline;
        let (program, mut command) = self.command(&name).map_err(|(why, fix)| failed(&why, ErrorKind::Denied, fix))?;
        arguments(&mut command, &exec, cluster);
        _ = self.run.set(program);
        let output = program::run(worker, command, deadline, MAX_OUTPUT).await;
        let output = output.map_err(|error| match error {
            ProgramError::TimedOut => {
                let fix = "the plugin hangs: run it manually, or give another credential with --kubeconfig";
                failed(&format!("no output within {}s", deadline.as_secs_f32()), ErrorKind::Timeout, fix)
            }
            ProgramError::OutputTooLarge => {
                failed("its output is longer than 1 MiB", ErrorKind::Malformed, "run the plugin manually")
            }
            ProgramError::NotStarted(error) => {
                let fix = "install the plugin that the kubeconfig names, and check PATH";
                failed(&error.to_string(), ErrorKind::Other, fix)
            }
        })?;
        if !output.status.success() {
            let message = redact_output(&String::from_utf8_lossy(&output.stderr));
            let fix = "run the plugin manually, or give another credential with --kubeconfig";
            return Err(failed(format!("{} {message}", output.status).trim_end(), ErrorKind::Denied, fix));
        }
        let parse_credential = parse_credential(&output.stdout).ok_or_else(|| {
            failed("its output is not an ExecCredential", ErrorKind::Malformed, "run the plugin manually")
        })?;
        user.token = parse_credential.token.or(user.token.take());
        if let (Some(certificate), Some(key)) = (parse_credential.certificate, parse_credential.key) {
            (user.client_certificate_data, user.client_key_data) = (Some(certificate), Some(key));
        }
        Ok(parse_credential.expires_at)
    }

    /// The program, and the command that runs it with the environment that the rule allows.
    fn command(&self, name: &str) -> Result<(String, Command), (String, &'static str)> {
        match &self.rule {
            PluginRule::AsUser => Ok((name.to_owned(), guard::command(name))),
            PluginRule::Distrusted(distrust) => {
                Err((format!("not run as root: the kubeconfig is {distrust}"), COPY_KUBECONFIG))
            }
            PluginRule::Isolated => {
                let program =
                    find_program(name, Owners::of_process()).map_err(|error| (error.to_string(), INSTALL_PLUGIN))?;
                let mut command = guard::command(&program);
                command.env_clear().env("PATH", PROGRAM_DIRS.join(":"));
                Ok((program.display().to_string(), command))
            }
        }
    }
}

fn arguments(command: &mut Command, exec: &ExecConfig, cluster: &Cluster) {
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
}

/// The last line of an error message without anything that may be a secret: only words of letters are kept, up to a word
/// that a secret may follow.
pub(super) fn redact_output(message: &str) -> String {
    let Some(line) = message.lines().rfind(|line| !line.trim().is_empty()) else { return String::new() };
    let mut out = String::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(['.', ',', ':', ';', '!', '?', '(', ')', '"', '\'']);
        let plain = !bare.is_empty() && bare.len() <= MAX_WORD && bare.chars().all(|c| c.is_ascii_alphabetic());
        if out.len() + word.len() > MAX_MESSAGE {
            out.push_str(" …");
            break;
        }
        let separator = if out.is_empty() { "" } else { " " };
        if plain {
            out.extend([separator, word]);
        } else if !out.ends_with('…') {
            out.extend([separator, "…"]);
        }
        if plain && SECRET_LABELS.iter().any(|secret| bare.to_ascii_lowercase().contains(secret)) {
            out.push_str(" …");
            break;
        }
    }
    out
}

/// What a plugin returned.
pub(super) struct PluginCredential {
    token: Option<SecretString>,
    /// PEM in base64, as in a kubeconfig.
    certificate: Option<String>,
    key: Option<SecretString>,
    expires_at: Option<Time>,
}

/// Reads an `ExecCredential`; None when it contains neither a token nor a certificate with its key.
pub(super) fn parse_credential(output: &[u8]) -> Option<PluginCredential> {
    #[derive(Deserialize)]
    struct ExecCredential {
        status: ExecCredentialStatus,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ExecCredentialStatus {
        token: Option<String>,
        client_certificate_data: Option<String>,
        client_key_data: Option<String>,
        expiration_timestamp: Option<Time>,
    }
    let status = serde_json::from_slice::<ExecCredential>(output).ok()?.status;
    let pair = status.client_certificate_data.zip(status.client_key_data);
    let token = status.token.filter(|t| !t.is_empty()).map(SecretString::from);
    if token.is_none() && pair.is_none() {
        return None;
    }
    // Plugins return plain PEM; a kubeconfig holds it in base64.
    let (certificate, key) =
        pair.map(|(certificate, key)| (to_base64(certificate.as_bytes()), to_base64(key.as_bytes()))).unzip();
    Some(PluginCredential {
        token,
        certificate,
        key: key.map(SecretString::from),
        expires_at: status.expiration_timestamp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn messages_keep_no_word_that_may_be_a_secret() {
        let kept = redact_output("Traceback\nUnable to locate credentials. You can configure them by running aws.\n\n");
        assert_eq!(kept, "Unable to locate credentials. You can configure them by running aws.");
        assert_eq!(
            redact_output("error: exit 7 for eyJhbGciOi.x.y of https://u:p@host now"),
            "error: exit … for … of … now"
        );
        assert_eq!(redact_output("the password is swordfish"), "the password …");
        assert_eq!(redact_output("Authorization: Bearer swordfish"), "Authorization: …");
        assert_eq!(redact_output("averyveryverylongwordwithoutadigit"), "…");
        assert_eq!(redact_output("\n \n"), "");
        assert!(redact_output(&"word ".repeat(1000)).len() < 210);
    }

    #[test]
    fn outputs_of_plugins() {
        let token =
            parse_credential(br#"{"status":{"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"}}"#).unwrap();
        assert_eq!(token.token.unwrap().expose_secret(), "t");
        assert_eq!(token.expires_at.unwrap().to_rfc3339(), "2026-01-01T00:00:00Z");
        let pair = parse_credential(br#"{"status":{"clientCertificateData":"PEM","clientKeyData":"KEY1"}}"#).unwrap();
        assert_eq!((pair.certificate.unwrap(), pair.token.is_none()), ("UEVN".to_owned(), true));
        assert_eq!(pair.key.unwrap().expose_secret(), "S0VZMQ==");
        for empty in [&b"{}"[..], b"", br#"{"status":{}}"#, br#"{"status":{"token":""}}"#, b"\xff"] {
            assert!(parse_credential(empty).is_none());
        }
    }
}
