//! The proxy of the API server, by kubectl's rules. The environment is an argument, and a proxy's password is never
//! shown.

use std::net::IpAddr;

use http::Uri;

use super::super::discover::Env;

/// The proxy for `server`: the one that the kubeconfig names (`named`), else `HTTPS_PROXY` or `https_proxy`, unless
/// `NO_PROXY` names the server (golang.org/x/net/http/httpproxy).
///
/// # Errors
/// The problem with the proxy's address, without quoting it: it may contain a password.
pub(super) fn proxy_for(server: &Uri, named: Option<&str>, env: &Env) -> Result<Option<Uri>, &'static str> {
    let get = |name: &str| env.get(name).or_else(|| env.get(&name.to_lowercase())).filter(|v| !v.is_empty());
    if let Some(named) = named.filter(|n| !n.is_empty()) {
        return parse(named).map(Some);
    }
    let (Some(proxy), Some(host)) = (get("HTTPS_PROXY"), server.host()) else { return Ok(None) };
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_lowercase();
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    let excluded =
        get("NO_PROXY").is_some_and(|list| list.split(',').any(|rule| matches_entry(rule.trim(), &host, port)));
    if is_local(&host) || excluded {
        return Ok(None);
    }
    parse(proxy).map(Some)
}

/// The proxy as it is shown: without user and password.
pub(super) fn describe_proxy(proxy: &Uri) -> String {
    match (proxy.host(), proxy.port_u16()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (host, _) => host.unwrap_or_default().to_owned(),
    }
}

fn parse(proxy: &str) -> Result<Uri, &'static str> {
    let proxy = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    let uri: Uri = proxy.parse().map_err(|_| "the proxy's address is not a URL")?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        (Some("http" | "https"), _) => Err("the proxy's address has no host"),
        _ => Err("unsupported kind of proxy (supported: http, https)"),
    }
}

/// Go never uses a proxy for the machine itself.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// One entry of `NO_PROXY`: `*`, a CIDR, or an address or a domain, either with a port where only that port is excluded.
fn matches_entry(rule: &str, host: &str, port: u16) -> bool {
    let rule = rule.to_lowercase();
    if rule == "*" {
        return true;
    }
    let ip = host.parse::<IpAddr>().ok();
    if let Some((net, bits)) = rule.split_once('/') {
        let net = net.parse::<IpAddr>().ok().zip(bits.parse::<u32>().ok());
        return net.zip(ip).is_some_and(|((net, bits), ip)| in_net(ip, net, bits));
    }
    let (name, only) = match rule.rsplit_once(':') {
        // An IPv6 address without brackets has no port.
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => match digits.parse::<u16>() {
            Ok(only) => (name, Some(only)),
            Err(_) => return false,
        },
        _ => (rule.as_str(), None),
    };
    if only.is_some_and(|only| only != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']);
    if let Ok(named) = name.parse::<IpAddr>() {
        return ip == Some(named);
    }
    // `.corp` and `*.corp` match subdomains only; `corp` matches itself too.
    let below = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match below.strip_prefix('.') {
        _ if below.is_empty() => false,
        Some(_) => host.ends_with(below),
        None => host == below || host.strip_suffix(below).is_some_and(|rest| rest.ends_with('.')),
    }
}

fn in_net(ip: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(ip) & mask == u32::from(net) & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(ip) & mask == u128::from(net) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(proxy: &str, no_proxy: &str) -> Env {
        [("HTTPS_PROXY", proxy), ("no_proxy", no_proxy)].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    fn proxied(server: &str, no_proxy: &str) -> bool {
        proxy_for(&server.parse().unwrap(), None, &env("proxy.corp:3128", no_proxy)).unwrap().is_some()
    }

    #[test]
    fn no_proxy_matches_the_server() {
        assert!(proxied("https://10.1.2.3:6443", ""));
        assert!(proxied("https://10.1.2.3:6443", ".corp,proxy.corp"));
        assert!(!proxied("https://10.1.2.3:6443", "10.1.2.3"));
        assert!(!proxied("https://10.1.2.3:6443", "192.168.0.0/16, 10.0.0.0/8,"));
        assert!(proxied("https://11.1.2.3:6443", "10.0.0.0/8,not an entry,,:,/,10.0.0.0/99,[::]:"));
        assert!(!proxied("https://api.k8s.corp:6443", ".corp"));
        assert!(!proxied("https://API.K8S.corp.:6443", "*.k8s.CORP"));
        assert!(!proxied("https://api.k8s.corp", "k8s.corp"));
        assert!(!proxied("https://k8s.corp", "k8s.corp"));
        assert!(proxied("https://k8s.corp", ".k8s.corp"), "subdomains only");
        assert!(proxied("https://k8s.corp", "*.k8s.corp"), "subdomains only");
        assert!(proxied("https://apik8s.corp", "k8s.corp"));
        assert!(!proxied("https://api", "*"));
        assert!(!proxied("https://127.0.0.1:6443", ""), "never for the machine itself");
        assert!(!proxied("https://[::1]:6443", ""), "never for the machine itself");
        assert!(proxied("https://[fd00::1]:6443", "fd01::/16"));
        assert!(!proxied("https://[fd00::1]:6443", "fd00::/16"));
        assert!(!proxied("https://[fd00::1]:6443", "fd00::1"));
    }

    #[test]
    fn a_port_is_matched_if_the_entry_names_one() {
        assert!(!proxied("https://api.k8s.corp:6443", "k8s.corp:6443"));
        assert!(proxied("https://api.k8s.corp", "k8s.corp:6443"));
        assert!(!proxied("https://api.k8s.corp", "k8s.corp:443"));
        assert!(proxied("https://10.1.2.3:6443", "10.1.2.3:443"));
        assert!(!proxied("https://[fd00::1]:6443", "[fd00::1]:6443"));
        assert!(proxied("https://[fd00::1]:6443", "[fd00::1]:443"));
    }

    #[test]
    fn the_kubeconfig_overrides_the_environment() {
        let server = "https://10.1.2.3".parse().unwrap();
        let env = env("http://other:1", "*");
        let proxy = proxy_for(&server, Some("https://named.corp:3128"), &env).unwrap().unwrap();
        assert_eq!(proxy.to_string(), "https://named.corp:3128/");
        assert_eq!(proxy_for(&server, Some(""), &env), Ok(None));
    }

    #[test]
    fn addresses_of_proxies() {
        let proxy = |text: &str| proxy_for(&"https://10.1.2.3".parse().unwrap(), Some(text), &Env::new());
        let got = proxy("user:hunter2@proxy.corp:3128").unwrap().unwrap();
        assert_eq!((got.scheme_str(), describe_proxy(&got).as_str()), (Some("http"), "proxy.corp:3128"));
        for wrong in ["socks5://user:hunter2@proxy:1080", "http://", "http://user:hunter2@[", "\u{1}", "://"] {
            assert!(!proxy(wrong).unwrap_err().contains("hunter2"), "{wrong}");
        }
    }
}
