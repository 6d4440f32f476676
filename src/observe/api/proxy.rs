//! Owns whether the API server is reached through a proxy, as kubectl decides it.
//! It must not read the process's environment: it is passed in.

use std::net::IpAddr;

use http::Uri;

use super::super::discover::Env;

/// The proxy for `server`: `HTTPS_PROXY` or `https_proxy`, unless `NO_PROXY` names the server (golang.org/x/net/http/httpproxy).
pub(super) fn proxy_for(server: &Uri, env: &Env) -> Option<Uri> {
    let get = |name: &str| env.get(name).or_else(|| env.get(&name.to_lowercase())).filter(|v| !v.is_empty());
    let proxy = get("HTTPS_PROXY")?;
    let host = server.host()?.trim_matches(['[', ']']).to_lowercase();
    if is_local(&host) || get("NO_PROXY").is_some_and(|list| list.split(',').any(|rule| covers(rule.trim(), &host))) {
        return None;
    }
    let proxy = if proxy.contains("://") { proxy.clone() } else { format!("http://{proxy}") };
    proxy.parse().ok()
}

/// Go never asks a proxy for the machine itself.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// One entry of `NO_PROXY`: `*`, an address, a CIDR, a domain with or without a leading dot; a port is not looked at.
fn covers(rule: &str, host: &str) -> bool {
    let rule = rule.to_lowercase();
    if rule.is_empty() {
        return false;
    }
    if rule == "*" || rule == host {
        return true;
    }
    if let (Some((net, bits)), Ok(ip)) = (rule.split_once('/'), host.parse::<IpAddr>()) {
        return net.parse().ok().zip(bits.parse().ok()).is_some_and(|(net, bits)| in_net(ip, net, bits));
    }
    let name = rule.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(rule.as_str(), |(n, _)| n);
    let name = name.trim_start_matches("*.").trim_start_matches('.');
    host == name && !rule.starts_with('.') || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
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

    fn env(no_proxy: &str) -> Env {
        [("HTTPS_PROXY", "proxy.corp:3128"), ("no_proxy", no_proxy)]
            .into_iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect()
    }

    fn proxied(server: &str, no_proxy: &str) -> bool {
        proxy_for(&server.parse().unwrap(), &env(no_proxy)).is_some()
    }

    #[test]
    fn the_server_is_matched_and_not_the_proxy() {
        assert!(proxied("https://10.1.2.3:6443", ""));
        assert!(!proxied("https://10.1.2.3:6443", "10.1.2.3"));
        assert!(!proxied("https://10.1.2.3:6443", "192.168.0.0/16, 10.0.0.0/8"));
        assert!(proxied("https://11.1.2.3:6443", "10.0.0.0/8"));
        assert!(!proxied("https://api.k8s.corp:6443", ".corp"));
        assert!(!proxied("https://api.k8s.corp", "k8s.corp:6443"));
        assert!(proxied("https://apik8s.corp", "k8s.corp"));
        assert!(!proxied("https://api", "*"));
        assert!(!proxied("https://127.0.0.1:6443", ""), "never for the machine itself");
        assert!(proxied("https://[fd00::1]:6443", "fd01::/16"));
        assert!(!proxied("https://[fd00::1]:6443", "fd00::/16"));
    }

    #[test]
    fn a_proxy_without_a_scheme_is_http() {
        let proxy = proxy_for(&"https://10.1.2.3".parse().unwrap(), &env("")).unwrap();
        assert_eq!(proxy.to_string(), "http://proxy.corp:3128/");
    }
}
