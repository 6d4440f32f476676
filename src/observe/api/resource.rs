//! Owns what can be listed and watched: its requests, and in words what each needs.
//! It must not send anything.

use std::fmt::Write;

use crate::observation::Source;

/// What is listed and watched.
#[derive(Clone, Debug)]
pub struct WatchedResource {
    /// Whose observations these are.
    pub source: Source,
    /// `pods`, `nodes`, `events`, `leases`.
    resource: &'static str,
    /// Everything before the resource.
    path: &'static str,
    /// Field and value; None for everything.
    selector: Option<(&'static str, String)>,
    /// Read alone, by the name that it is selected by.
    by_name: bool,
    /// What names this is about this node, and is kept where there is not room for all.
    near: Option<String>,
}

/// Path of the core group.
const CORE: &str = "/api/v1";
/// Where the kubelets renew their leases (`corev1.NamespaceNodeLease`).
const NODE_LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease";

impl WatchedResource {
    /// The pods bound to a node.
    pub fn pods(node: &str) -> Self {
        Self::of(Source::ApiPods, "pods", Some(("spec.nodeName", node)))
    }

    /// The pods that no scheduler has placed yet.
    pub fn unbound() -> Self {
        Self::of(Source::ApiUnbound, "pods", Some(("spec.nodeName", "")))
    }

    /// The node object.
    pub fn node(node: &str) -> Self {
        Self::of(Source::ApiNode, "nodes", Some(("metadata.name", node)))
    }

    /// All events: those about a pod cannot be selected by the pod's node.
    pub fn events() -> Self {
        Self::of(Source::ApiEvents, "events", None)
    }

    /// The same; where there is not room for all, what names `node` is kept rather than the rest.
    #[must_use]
    pub fn near(self, node: &str) -> Self {
        Self { near: Some(node.to_owned()).filter(|node| !node.is_empty()), ..self }
    }

    /// Whether an object is about the node, as its JSON has it; everything is where nothing is preferred.
    pub(super) fn is_near(&self, json: &[u8]) -> bool {
        self.near.as_ref().is_none_or(|node| memchr::memmem::find(json, node.as_bytes()).is_some())
    }

    /// Some objects are preferred.
    pub(super) fn has_near(&self) -> bool {
        self.near.is_some()
    }

    /// Kind of what is listed.
    pub(super) fn kind(&self) -> &'static str {
        match self.source {
            Source::ApiNode => "Node",
            Source::ApiEvents => "Event",
            Source::ApiLease => "Lease",
            _ => "Pod",
        }
    }

    /// The node's lease.
    pub fn lease(node: &str) -> Self {
        Self { path: NODE_LEASES, ..Self::of(Source::ApiLease, "leases", Some(("metadata.name", node))) }
    }

    /// The same, read alone by its name: what a node's own credential may of its lease.
    pub(super) fn by_name(self) -> Self {
        Self { by_name: true, ..self }
    }

    pub(super) fn is_by_name(&self) -> bool {
        self.by_name
    }

    fn of(source: Source, resource: &'static str, selector: Option<(&'static str, &str)>) -> Self {
        let selector = selector.map(|(field, value)| (field, value.to_owned()));
        Self { source, resource, path: CORE, selector, by_name: false, near: None }
    }

    /// The request in words.
    pub(super) fn request(&self) -> String {
        match &self.selector {
            None => format!("list and watch {}", self.resource),
            Some((_, name)) if self.by_name => format!("get {}/{name}", self.resource),
            Some((field, value)) => format!("list and watch {} with fieldSelector {field}={value}", self.resource),
        }
    }

    /// The request itself, without the server.
    pub(super) fn uri(&self, query: &str) -> String {
        let all = format!("{}/{}", self.path, self.resource);
        match &self.selector {
            None => format!("{all}?{query}"),
            Some((_, name)) if self.by_name => format!("{all}/{}", encoded(name)),
            Some((field, value)) => format!("{all}?{query}&fieldSelector={field}%3D{}", encoded(value)),
        }
    }

    /// What would grant it, after a refusal with `message`.
    pub(super) fn grant(&self, message: &str) -> String {
        let user = user(message);
        let node = user.and_then(|u| u.strip_prefix("system:node:"));
        if let (Some(node), Some((_, wanted)), Source::ApiPods | Source::ApiNode | Source::ApiLease) =
            (node, &self.selector, self.source)
            && node != wanted
        {
            return format!(
                "this is the credential of node {node}, and this node is taken to be {wanted}: name it with --node"
            );
        }
        let why = match (self.source, node) {
            (Source::ApiUnbound, Some(_)) => {
                "A node's own credential may not: unscheduled pods are not visible from here. "
            }
            (_, Some(_)) => "A node's own credential may not. ",
            _ => "",
        };
        let user = pasted(user);
        if self.source == Source::ApiLease {
            return format!(
                "Give a credential that may with --kubeconfig, or grant it: kubectl -n kube-node-lease create role \
                 kpodtrace --verb=get,list,watch --resource=leases && kubectl -n kube-node-lease create rolebinding \
                 kpodtrace --role=kpodtrace --user={user}"
            );
        }
        format!(
            "{why}Give a credential that may with --kubeconfig, or grant it: kubectl create clusterrole kpodtrace-{0} \
             --verb=list,watch --resource={0} && kubectl create clusterrolebinding kpodtrace-{0} \
             --clusterrole=kpodtrace-{0} --user={user}",
            self.resource
        )
    }
}

/// Whom a refusal names.
pub(super) fn user(message: &str) -> Option<&str> {
    message.split_once("User \"").and_then(|(_, rest)| rest.split_once('"')).map(|(user, _)| user)
}

/// Only what a shell takes literally is proposed to be pasted into one.
pub(super) fn pasted(user: Option<&str>) -> &str {
    let plain = |u: &&str| !u.starts_with('-') && u.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@/".contains(c));
    user.filter(plain).unwrap_or("USER")
}

/// A name comes from outside: it must not become another parameter, or another path.
pub(in super::super) fn encoded(value: &str) -> String {
    let mut out = String::new();
    for b in value.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(char::from(b)),
            _ => _ = write!(out, "%{b:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        assert_eq!(
            WatchedResource::pods("a-1.b").uri("limit=1"),
            "/api/v1/pods?limit=1&fieldSelector=spec.nodeName%3Da-1.b"
        );
        assert_eq!(WatchedResource::unbound().uri("x=1"), "/api/v1/pods?x=1&fieldSelector=spec.nodeName%3D");
        assert_eq!(WatchedResource::events().uri("x=1"), "/api/v1/events?x=1");
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        assert_eq!(WatchedResource::lease("a").uri("x=1"), format!("{leases}?x=1&fieldSelector=metadata.name%3Da"));
        assert_eq!(WatchedResource::lease("a/b").by_name().uri("x=1"), format!("{leases}/a%2Fb"));
        let odd = WatchedResource::node("a&watch=1 ü").uri("x=1");
        assert_eq!(odd, "/api/v1/nodes?x=1&fieldSelector=metadata.name%3Da%26watch%3D1%20%C3%BC");
    }

    #[test]
    fn grants_name_the_user_and_nothing_that_a_shell_would_run() {
        let says = |user: &str| format!("events is forbidden: User \"{user}\" cannot list resource \"events\"");
        let fix = WatchedResource::events().grant(&says("system:node:a"));
        assert!(fix.starts_with("A node's own") && fix.ends_with("--user=system:node:a"), "{fix}");
        let fix = WatchedResource::events().grant(&says("system:serviceaccount:a:b"));
        assert!(fix.starts_with("Give") && fix.ends_with("--user=system:serviceaccount:a:b"), "{fix}");
        for odd in ["$(reboot)", "a b", "a;b", "-x", "a\nb"] {
            assert!(WatchedResource::events().grant(&says(odd)).ends_with("--user=USER"), "{odd}");
        }
        assert!(WatchedResource::events().grant("").ends_with("--user=USER"));
    }

    #[test]
    fn another_nodes_credential_is_told_apart() {
        let message = "pods is forbidden: User \"system:node:b\" cannot list resource \"pods\"";
        assert!(
            WatchedResource::pods("a").grant(message).contains("credential of node b, and this node is taken to be a")
        );
        assert!(WatchedResource::unbound().grant(message).contains("unscheduled pods are not visible from here"));
    }
}
