//! Probes: timing, and what the kubelet sends or runs (`v1.Probe`).

use serde::{Deserialize, Deserializer, Serialize};

use super::bounded::{BoundedEntry, OmittedCount};
use super::{is_default, nullable};
use crate::text::{REDACTED, Text};
use crate::weight::Weigh;

/// Longest command that is kept, characters.
const MAX_COMMAND: usize = 1000;

slim! {
    /// A probe, with the defaults of the API server.
    Probe {
        /// Delay of the first probe after the start, seconds.
        initial_delay_seconds: i64,
        /// Interval of probes, seconds.
        period_seconds: i64,
        /// Timeout of one probe, seconds.
        timeout_seconds: i64,
        /// Consecutive failures after which the probe counts as failed.
        failure_threshold: i64,
        /// An HTTP request.
        http_get: Option<HttpAction>,
        /// A TCP connection.
        tcp_socket: Option<TcpAction>,
        /// A gRPC health check.
        grpc: Option<GrpcAction>,
        /// A command in the container.
        exec: Option<ExecAction>,
    }
}

slim! {
    /// `probe.httpGet`.
    HttpAction {
        /// `HTTP` or `HTTPS`.
        scheme: Text,
        /// The host; empty for the pod's address.
        host: Text,
        /// Port.
        port: PortName,
        /// Path and query.
        path: RequestPath,
    }
}

slim! {
    /// `probe.tcpSocket`.
    TcpAction {
        /// The host; empty for the pod's address.
        host: Text,
        /// Port.
        port: PortName,
    }
}

slim! {
    /// `probe.grpc`.
    GrpcAction {
        /// Port.
        port: PortName,
        /// Service of the health check; empty for the server as a whole.
        service: Text,
    }
}

slim! {
    /// `probe.exec`.
    ExecAction {
        /// The command.
        command: CommandLine,
    }
}

slim! {
    /// One of a container's `ports`.
    ContainerPort {
        /// Name.
        name: Text,
        /// Number.
        container_port: i64,
    }
}

impl BoundedEntry for ContainerPort {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
    fn is_essential(&self) -> bool {
        !self.name.is_empty()
    }
}

/// A port by number, or by the name of one of the container's ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PortName(pub Text);

impl<'de> Deserialize<'de> for PortName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum IntOrString {
            Number(i64),
            Name(Text),
        }
        Ok(Self(match IntOrString::deserialize(d)? {
            IntOrString::Number(number) => number.to_string().into(),
            IntOrString::Name(name) => name,
        }))
    }
}

impl Weigh for PortName {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

/// Path and query of a request, without values that look like a credential: a query can hold a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestPath(pub Text);

impl<'de> Deserialize<'de> for RequestPath {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(without_credentials(&String::deserialize(d)?)))
    }
}

impl Weigh for RequestPath {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

/// One line with its credentials redacted, of which no copy is kept.
fn without_credentials(text: &str) -> Text {
    Text::name(Text::new(text).as_str())
}

/// A command as one line of a shell, with the arguments that look like a credential redacted. The arguments are joined while
/// they are decoded: a password can be recognised only beside its flag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct CommandLine(pub Text);

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum LineOrWords {
            Line(String),
            Words(Vec<String>),
        }
        let line = match LineOrWords::deserialize(d)? {
            LineOrWords::Line(line) => line,
            LineOrWords::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        let line: String = line.chars().take(MAX_COMMAND).collect();
        if has_password_flag(&line) {
            return Ok(Self(REDACTED.into()));
        }
        Ok(Self(without_credentials(&line)))
    }
}

/// Clients that take a password as the value of a short flag, and that flag.
const PASSWORD_FLAGS: [(&str, &str); 7] = [
    ("redis-cli", "-a"),
    ("valkey-cli", "-a"),
    ("keydb-cli", "-a"),
    ("mysql", "-p"),
    ("mariadb", "-p"),
    ("mongo", "-p"),
    ("curl", "-u"),
];

/// True for a command whose short flag may hold a password: it is not kept at all.
fn has_password_flag(line: &str) -> bool {
    PASSWORD_FLAGS.iter().any(|(client, flag)| {
        line.split_once(client).is_some_and(|(_, behind)| behind.split_whitespace().any(|word| word.starts_with(flag)))
    })
}

/// A word of a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Weigh for CommandLine {
    fn heap(&self) -> usize {
        self.0.heap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_decoded_and_credentials_are_not_kept() {
        let probe = |json: &str| serde_json::from_str::<Probe>(json).unwrap();
        let http = probe(r#"{"httpGet":{"path":"/ready","port":"web","scheme":"HTTPS"},"timeoutSeconds":3}"#);
        assert_eq!(http.http_get.as_ref().map(|a| (a.port.0.as_str(), a.path.0.as_str())), Some(("web", "/ready")));
        for path in [
            "/health?token=s3cr3t-t0ken-value",
            "/health?a=1&password=s3cr3t-t0ken-value",
            "/x?api_key=s3cr3t-t0ken-value",
        ] {
            let probe = probe(&format!(r#"{{"httpGet":{{"path":"{path}","port":80}}}}"#));
            let encoded = serde_json::to_string(&probe).unwrap();
            assert!(!encoded.contains("s3cr3t") && !format!("{probe:?}").contains("s3cr3t"), "{encoded}");
            assert_eq!(serde_json::from_str::<Probe>(&encoded).unwrap(), probe);
        }
        let tcp = probe(r#"{"tcpSocket":{"port":5432}}"#);
        assert_eq!(tcp.tcp_socket.map(|a| a.port.0.to_string()).as_deref(), Some("5432"));
        let exec = probe(r#"{"exec":{"command":["sh","-c","test -f /tmp/it's"]}}"#);
        let line = exec.exec.clone().unwrap().command.0;
        assert_eq!(line.as_str(), r"sh -c 'test -f /tmp/it'\''s'");
        let again: Probe = serde_json::from_str(&serde_json::to_string(&exec).unwrap()).unwrap();
        assert_eq!(again, exec, "the encoding is read back");
        let secret = probe(r#"{"exec":{"command":["redis-cli","--password=hunter2hunter2","ping"]}}"#);
        assert!(!secret.exec.unwrap().command.0.contains("hunter2"));
        for command in ["redis-cli -a hunter2 ping", "mysqladmin ping -u root -phunter2"] {
            let exec = probe(&format!(r#"{{"exec":{{"command":["sh","-c","{command}"]}}}}"#));
            assert_eq!(exec.exec.unwrap().command.0, REDACTED, "{command}");
        }
    }
}
