//! Responses of the kubelet other than 200: what each means, and the permission that is missing. Only the first lines of
//! a body are shown.

use reqwest::StatusCode;

use super::super::SourceFailure;
use super::credential::KubeletAuth;
use crate::decode::failure;
use crate::observation::{ErrorKind, SourceError};

/// Permissions that all pages together need.
const ALL_PERMISSIONS: [&str; 4] = ["nodes/metrics", "nodes/configz", "nodes/pods", "nodes/healthz"];

/// The failure that a status stands for.
pub(super) fn refused(what: &str, status: StatusCode, body: &str, auth: &KubeletAuth) -> SourceFailure {
    let body = body.trim();
    let denied = |fix: String| {
        let tried = failure(&format!("{what}: {}", status.as_u16()), body).tried;
        SourceFailure::Forbidden(SourceError { tried, kind: ErrorKind::Denied, fix: fix.into() })
    };
    match status {
        StatusCode::UNAUTHORIZED => denied(unauthenticated(auth)),
        StatusCode::FORBIDDEN => denied(missing_permission(body)),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => SourceFailure::Retry(SourceError {
            tried: format!("{what}: {status}").into(),
            kind: ErrorKind::Other,
            fix: "this kubelet does not serve the page (enableDebuggingHandlers: false), or another program listens there".into(),
        }),
        _ if body.is_empty() => SourceFailure::Retry(SourceError {
            tried: format!("{what}: {status}").into(),
            kind: ErrorKind::Other,
            fix: "read the kubelet's log".into(),
        }),
        _ => SourceFailure::Retry(failure(&format!("{what}: {}", status.as_u16()), body)),
    }
}

/// The kubelet serves logs and does not have this one; the body is the reason.
pub(super) fn not_served(what: &str, status: StatusCode, body: &str) -> SourceFailure {
    SourceFailure::Retry(failure(&format!("{what}: {}", status.as_u16()), body))
}

fn unauthenticated(auth: &KubeletAuth) -> String {
    match auth {
        KubeletAuth::None => {
            "the kubelet requires a credential: give a client certificate or a token that is allowed to get nodes/metrics, \
             nodes/configz and nodes/pods; on a kubeadm control plane, use \
             /etc/kubernetes/pki/apiserver-kubelet-client.crt and .key"
                .into()
        }
        KubeletAuth::ClientCert { .. } => {
            "the client certificate has expired, or is not signed by the kubelet's authentication.x509.clientCAFile: \
             give a certificate of this cluster"
                .into()
        }
        KubeletAuth::Token(_) | KubeletAuth::TokenFile(_) => {
            "the token has expired or is for another cluster, or the API server, which reviews tokens for the kubelet, is \
             down: give a new token, or a client certificate, which needs no API server"
                .into()
        }
    }
}

/// The remedy for `Forbidden (user=U, verb=get, resource=nodes, subresource(s)=[pods proxy])`: any one of
/// several subresources is sufficient, and the first is the narrowest permission.
fn missing_permission(body: &str) -> String {
    let after = |key: &str| body.split_once(key).map(|(_, rest)| rest);
    let subresource = after("subresource(s)=[").or_else(|| after("subresource="));
    let subresource = subresource.and_then(|s| s.split([' ', ']', ')', ',']).next()).filter(|s| is_word(s));
    let user = after("user=").and_then(|s| s.split(", verb=").next()).filter(|s| is_word(s)).unwrap_or("USER");
    let Some(permission) = subresource.filter(|s| *s != "proxy").map(|s| format!("nodes/{s}")) else {
        return PROXY_ONLY.to_owned();
    };
    let all = resources(&permission);
    if let Some(node) = user.strip_prefix("system:node:") {
        // Bound to the node's user and to the node's name, it allows nothing on other nodes.
        return format!(
            "`{permission} get` is missing, which a node's own credential never has. As a cluster administrator, grant it for \
             this node alone: kubectl create clusterrole kpodtrace-{node} --verb=get --resource={all} --resource-name={node} && \
             kubectl create clusterrolebinding kpodtrace-{node} --clusterrole=kpodtrace-{node} --user={user}"
        );
    }
    let account = user.strip_prefix("system:serviceaccount:");
    let subject = account.map_or_else(|| format!("--user={user}"), |account| format!("--serviceaccount={account}"));
    format!(
        "`{permission} get` is missing for {user}: kubectl create clusterrole kpodtrace --verb=get --resource={all} && \
         kubectl create clusterrolebinding kpodtrace --clusterrole=kpodtrace {subject}"
    )
}

/// The remedy on a kubelet that authorizes the page as `nodes/proxy` alone: granting it is not offered.
const PROXY_ONLY: &str = "this kubelet authorizes the page as nodes/proxy only, which also allows to run commands in every pod \
                          of the node: do not grant it. Use a credential that has it, such as \
                          /etc/kubernetes/pki/apiserver-kubelet-client.crt and .key on a kubeadm control plane, or a kubelet \
                          with fine-grained authorization (1.33 or later)";

fn resources(permission: &str) -> String {
    let mut all = ALL_PERMISSIONS.to_vec();
    if !all.contains(&permission) {
        all.push(permission);
    }
    all.join(",")
}

/// True for what a shell takes as one literal word: the command is meant to be copied.
fn is_word(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b":._@/-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_permission_is_named() {
        let sa = "Forbidden (user=system:serviceaccount:default:probe, verb=get, resource=nodes, subresource(s)=[pods proxy])";
        let fix = missing_permission(sa);
        assert!(
            fix.starts_with("`nodes/pods get` is missing for system:serviceaccount:default:probe: kubectl"),
            "{fix}"
        );
        assert!(fix.ends_with("--serviceaccount=default:probe"), "{fix}");
        let old = missing_permission("Forbidden (user=jane, verb=get, resource=nodes, subresource=proxy)");
        assert_eq!(old, PROXY_ONLY, "a permission to run commands is not offered");
        let node =
            missing_permission("Forbidden (user=system:node:a, verb=get, resource=nodes, subresource(s)=[metrics])");
        assert!(node.starts_with("`nodes/metrics get`") && node.contains("never has"), "{node}");
        assert!(node.contains("--resource-name=a && ") && node.ends_with("--user=system:node:a"), "{node}");
        let odd = missing_permission("Forbidden (user=$(reboot), verb=get, resource=nodes, subresource(s)=[`x`])");
        assert!(!odd.contains("reboot"), "{odd}");
        let user = missing_permission("Forbidden (user=$(reboot), verb=get, resource=nodes, subresource(s)=[metrics])");
        assert!(user.contains("--user=USER") && !user.contains("reboot"), "{user}");
    }

    #[test]
    fn an_api_server_that_is_down_is_not_a_missing_permission() {
        let body = "Authorization error (user=admin, verb=get, resource=nodes, subresource(s)=[metrics])\n";
        let SourceFailure::Retry(error) = refused("GET x", StatusCode::INTERNAL_SERVER_ERROR, body, &KubeletAuth::None)
        else {
            panic!("not retried")
        };
        assert!(error.tried.starts_with("GET x: 500: Authorization error"), "{error:?}");
        assert!(error.fix.contains("could not authorize the request with the API server"), "{error:?}");
    }
}
