//! Owns running the credential plugin that a kubeconfig names: within a deadline, and away from the terminal.
//! It must not show what the plugin printed: that is the credential.

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
use super::access::PluginRun;
use crate::observation::{ErrorKind, Time};
use crate::trust::{Owners, PROGRAM_DIRS, find_program};

/// What plugins are asked for where the kubeconfig names no version.
const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// Longest answer that is read, bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// Longest part of the plugin's complaint that is kept, and longest word of it, bytes.
const MAX_WORDS: usize = 200;
const MAX_WORD: usize = 20;
/// What to do about a plugin that is not run.
const OWN_COPY: &str =
    "copy the kubeconfig to a file that root alone can write, or run kpodtrace as the user that owns it";
const INSTALL: &str =
    "install the plugin where root alone can write, such as /usr/local/bin, or use another --kubeconfig";
/// Words after which a secret may stand.
const ANNOUNCES: [&str; 8] = ["token", "bearer", "password", "passphrase", "secret", "key", "auth", "cookie"];

/// How a plugin may be run.
pub(super) struct PluginRunner<'a> {
    pub rule: PluginRule,
    /// Longest time that it may take.
    pub deadline: Duration,
    /// Where it is noted that one was run.
    pub run: &'a PluginRun,
}

impl PluginRunner<'_> {
    /// Runs the plugin of `user`, puts what it gives in the plugin's place, and returns until when that is valid.
    ///
    /// kube would run it on this thread, for as long as it takes, with the terminal as its input and output.
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
            return Err(failed("it wants to ask a person", ErrorKind::Other, fix));
        }
        let deadline = self.deadline;
        let (program, mut command) = self.command(&name).map_err(|(why, fix)| failed(&why, ErrorKind::Denied, fix))?;
        arguments(&mut command, &exec, cluster);
        _ = self.run.set(program);
        let said = program::run(worker, command, deadline, MAX_ANSWER).await;
        let said = said.map_err(|silent| match silent {
            ProgramError::TimedOut => {
                let fix = "the plugin hangs: run it by hand, or give another credential with --kubeconfig";
                failed(&format!("no answer within {} s", deadline.as_secs_f32()), ErrorKind::Timeout, fix)
            }
            ProgramError::OutputTooLarge => {
                failed("its answer is longer than 1 MiB", ErrorKind::Malformed, "run the plugin by hand")
            }
            ProgramError::NotStarted(error) => {
                let fix = "the kubeconfig names this plugin: is it installed, and in PATH?";
                failed(&error.to_string(), ErrorKind::Other, fix)
            }
        })?;
        if !said.status.success() {
            let words = redact_output(&String::from_utf8_lossy(&said.words));
            let fix = "run the plugin by hand, or give another credential with --kubeconfig";
            return Err(failed(format!("{} {words}", said.status).trim_end(), ErrorKind::Denied, fix));
        }
        let parse_credential = parse_credential(&said.out)
            .ok_or_else(|| failed("its answer is no credential", ErrorKind::Malformed, "run the plugin by hand"))?;
        user.token = parse_credential.token.or(user.token.take());
        if let (Some(certificate), Some(key)) = (parse_credential.certificate, parse_credential.key) {
            (user.client_certificate_data, user.client_key_data) = (Some(certificate), Some(key));
        }
        Ok(parse_credential.until)
    }

    /// The program, and how to start it with the environment that it may have.
    fn command(&self, name: &str) -> Result<(String, Command), (String, &'static str)> {
        match &self.rule {
            PluginRule::AsUser => Ok((name.to_owned(), guard::command(name))),
            PluginRule::Never(distrust) => Err((format!("not run as root: the kubeconfig is {distrust}"), OWN_COPY)),
            PluginRule::Isolated => {
                let program = find_program(name, Owners::of_process()).map_err(|error| (error.to_string(), INSTALL))?;
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

/// The last line of a complaint with nothing in it that may be a secret: words of letters alone are kept, up to one that
/// announces a secret.
pub(super) fn redact_output(complaint: &str) -> String {
    let Some(line) = complaint.lines().rfind(|line| !line.trim().is_empty()) else { return String::new() };
    let mut out = String::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(['.', ',', ':', ';', '!', '?', '(', ')', '"', '\'']);
        let plain = !bare.is_empty() && bare.len() <= MAX_WORD && bare.chars().all(|c| c.is_ascii_alphabetic());
        if out.len() + word.len() > MAX_WORDS {
            out.push_str(" …");
            break;
        }
        let separator = if out.is_empty() { "" } else { " " };
        if plain {
            out.extend([separator, word]);
        } else if !out.ends_with('…') {
            out.extend([separator, "…"]);
        }
        if plain && ANNOUNCES.iter().any(|secret| bare.to_ascii_lowercase().contains(secret)) {
            out.push_str(" …");
            break;
        }
    }
    out
}

pub(super) struct PluginCredential {
    token: Option<SecretString>,
    /// PEM in base64, as a kubeconfig has it.
    certificate: Option<String>,
    key: Option<SecretString>,
    until: Option<Time>,
}

/// Reads an `ExecCredential`; None when there is nothing in it to log in with.
pub(super) fn parse_credential(answer: &[u8]) -> Option<PluginCredential> {
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
    // Plugins give plain PEM; kubeconfigs hold it in base64.
    let (certificate, key) =
        pair.map(|(certificate, key)| (to_base64(certificate.as_bytes()), to_base64(key.as_bytes()))).unzip();
    Some(PluginCredential { token, certificate, key: key.map(SecretString::from), until: status.expiration_timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn complaints_keep_no_word_that_may_be_a_secret() {
        let said = redact_output("Traceback\nUnable to locate credentials. You can configure them by running aws.\n\n");
        assert_eq!(said, "Unable to locate credentials. You can configure them by running aws.");
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
    fn answers_of_plugins() {
        let token =
            parse_credential(br#"{"status":{"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"}}"#).unwrap();
        assert_eq!(token.token.unwrap().expose_secret(), "t");
        assert_eq!(token.until.unwrap().to_rfc3339(), "2026-01-01T00:00:00Z");
        let pair = parse_credential(br#"{"status":{"clientCertificateData":"PEM","clientKeyData":"KEY1"}}"#).unwrap();
        assert_eq!((pair.certificate.unwrap(), pair.token.is_none()), ("UEVN".to_owned(), true));
        assert_eq!(pair.key.unwrap().expose_secret(), "S0VZMQ==");
        for nothing in [&b"{}"[..], b"", br#"{"status":{}}"#, br#"{"status":{"token":""}}"#, b"\xff"] {
            assert!(parse_credential(nothing).is_none());
        }
    }
}
