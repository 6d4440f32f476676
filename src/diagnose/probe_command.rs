//! The command that sends the same probe as the kubelet, from the node.

use crate::objects::{ContainerSpec, GrpcAction, HttpAction, PortName, Probe, TcpAction};
use crate::runbook::quoted;
use crate::text::REDACTED;

/// The command, and None if the probe has no handler, or one that is not known as a whole. `ip` is the pod's address, `id` the
/// container's in the runtime; a missing one becomes a placeholder.
pub(super) fn probe_command(probe: &Probe, spec: &ContainerSpec, ip: &str, id: &str) -> Option<String> {
    let timeout = probe.timeout_seconds.max(1);
    let port = |port: &PortName| port_number(port, spec);
    let host = |host: &str| if host.is_empty() { or(ip, "POD-IP") } else { host.to_owned() };
    if let Some(HttpAction { scheme, host: own, port: name, path }) = &probe.http_get {
        let scheme = if scheme.eq_ignore_ascii_case("https") { "https" } else { "http" };
        let path = &path.0;
        if !is_whole(path) {
            return None;
        }
        let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        let url = quoted(&format!("{scheme}://{}:{}{path}", bracketed(&host(own)), port(name)));
        // The kubelet verifies no certificate of a probe.
        let insecure = if scheme == "https" { "k" } else { "" };
        return Some(format!(
            "curl -s{insecure} -m {timeout} -o /dev/null -w '%{{http_code}} %{{time_total}}s\\n' {url}"
        ));
    }
    if let Some(TcpAction { host: own, port: name }) = &probe.tcp_socket {
        let path = format!("/dev/tcp/{}/{}", host(own), port(name));
        return Some(format!("timeout {timeout} bash -c {} && echo open", quoted(&format!("exec 3<>{path}"))));
    }
    if let Some(GrpcAction { port: name, service }) = &probe.grpc {
        let address = quoted(&format!("{}:{}", bracketed(&host("")), port(name)));
        let service = if service.is_empty() { String::new() } else { format!(" -service={}", quoted(service)) };
        return Some(format!("grpc_health_probe -addr={address}{service} -rpc-timeout={timeout}s"));
    }
    let line = &probe.exec.as_ref()?.command.0;
    (!line.is_empty() && is_whole(line))
        .then(|| format!("time crictl exec {} {}", quoted(&or(id, "CONTAINER-ID")), line.one_line()))
}

/// False for a text that was cut or redacted: a command with it would do something else.
fn is_whole(text: &str) -> bool {
    !text.contains(REDACTED) && !text.contains('…')
}

fn or(value: &str, placeholder: &str) -> String {
    if value.is_empty() { placeholder.to_owned() } else { value.to_owned() }
}

/// An IPv6 address in brackets.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The number of a port; the name if the container has no port of that name.
fn port_number(port: &PortName, spec: &ContainerSpec) -> String {
    let named = spec.ports.iter().find(|p| p.name == port.0);
    named.map_or_else(|| port.0.to_string(), |p| p.container_port.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_handler_has_its_own_command() {
        let spec: ContainerSpec =
            serde_json::from_str(r#"{"name":"c","ports":[{"name":"web","containerPort":8080}]}"#).unwrap();
        let command = |json: &str| probe_command(&serde_json::from_str(json).unwrap(), &spec, "10.0.0.5", "ab12");
        for (probe, expected) in [
            (
                r#"{"httpGet":{"path":"/live?x=1&y","port":"web","scheme":"HTTPS"},"timeoutSeconds":3}"#,
                "curl -sk -m 3 -o /dev/null -w '%{http_code} %{time_total}s\\n' 'https://10.0.0.5:8080/live?x=1&y'",
            ),
            (
                r#"{"httpGet":{"port":80,"host":"127.0.0.1"}}"#,
                "curl -s -m 1 -o /dev/null -w '%{http_code} %{time_total}s\\n' http://127.0.0.1:80/",
            ),
            (
                r#"{"tcpSocket":{"port":5432},"timeoutSeconds":2}"#,
                "timeout 2 bash -c 'exec 3<>/dev/tcp/10.0.0.5/5432' && echo open",
            ),
            (
                r#"{"grpc":{"port":9000,"service":"live"}}"#,
                "grpc_health_probe -addr=10.0.0.5:9000 -service=live -rpc-timeout=1s",
            ),
            (r#"{"exec":{"command":["cat","/tmp/my file"]}}"#, "time crictl exec ab12 cat '/tmp/my file'"),
        ] {
            assert_eq!(command(probe).as_deref(), Some(expected));
        }
        assert_eq!(command("{}"), None);
        assert_eq!(command(r#"{"httpGet":{"port":80,"path":"/health?token=s3cr3t-t0ken-value"}}"#), None);
        assert_eq!(command(r#"{"exec":{"command":["redis-cli","--password=hunter2hunter2"]}}"#), None);
        let six = probe_command(&serde_json::from_str(r#"{"httpGet":{"port":80}}"#).unwrap(), &spec, "fd00::5", "");
        assert!(six.unwrap().ends_with("'http://[fd00::5]:80/'"));
    }
}
