//! The resources that are listed and watched: their requests, and the permissions that these need.

use super::super::url_path::encode_segment;
use crate::observation::Source;

/// A resource that is listed and watched.
#[derive(Clone, Debug)]
pub struct WatchedResource {
    /// The source of the observations.
    pub source: Source,
    /// `pods`, `nodes`, `events`, `leases`.
    resource: &'static str,
    /// Path in front of the resource.
    path: &'static str,
    /// Field and value of the field selector; None for all objects.
    selector: Option<(&'static str, String)>,
    /// Read with get, by the name in the selector.
    by_name: bool,
    /// Objects that contain this node's name are kept when the memory budget does not suffice for all.
    preferred_node: Option<String>,
}

/// Path of the core group.
const CORE: &str = "/api/v1";
/// Where kubelets renew their leases (`corev1.NamespaceNodeLease`).
const NODE_LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease";

impl WatchedResource {
    /// The pods bound to a node.
    pub fn pods(node: &str) -> Self {
        Self::of(Source::ApiPods, "pods", Some(("spec.nodeName", node)))
    }

    /// The pods that are not scheduled yet.
    pub fn unbound() -> Self {
        Self::of(Source::ApiUnbound, "pods", Some(("spec.nodeName", "")))
    }

    /// The node object.
    pub fn node(node: &str) -> Self {
        Self::of(Source::ApiNode, "nodes", Some(("metadata.name", node)))
    }

    /// All events: a selector cannot match the node of the pod that an event is about.
    pub fn events() -> Self {
        Self::of(Source::ApiEvents, "events", None)
    }

    /// Prefers objects that contain the name of `node` when the memory budget does not suffice for all.
    #[must_use]
    pub fn prefer_node(self, node: &str) -> Self {
        Self { preferred_node: Some(node.to_owned()).filter(|node| !node.is_empty()), ..self }
    }

    /// True when an object's JSON contains the preferred node's name, or when no node is preferred.
    pub(super) fn is_preferred(&self, json: &[u8]) -> bool {
        self.preferred_node.as_ref().is_none_or(|node| memchr::memmem::find(json, node.as_bytes()).is_some())
    }

    /// True when a node is preferred.
    pub(super) fn has_preference(&self) -> bool {
        self.preferred_node.is_some()
    }

    /// Kind of the listed objects.
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

    /// The same, read by name: all that a node's own credential is allowed to do with its lease.
    pub(super) fn by_name(self) -> Self {
        Self { by_name: true, ..self }
    }

    pub(super) fn is_by_name(&self) -> bool {
        self.by_name
    }

    fn of(source: Source, resource: &'static str, selector: Option<(&'static str, &str)>) -> Self {
        let selector = selector.map(|(field, value)| (field, value.to_owned()));
        Self { source, resource, path: CORE, selector, by_name: false, preferred_node: None }
    }

    /// The request in errors.
    pub(super) fn request(&self) -> String {
        match &self.selector {
            None => format!("list and watch {}", self.resource),
            Some((_, name)) if self.by_name => format!("get {}/{name}", self.resource),
            Some((field, value)) => format!("list and watch {} with fieldSelector {field}={value}", self.resource),
        }
    }

    /// The value of the field selector: the name of the object, or of the node.
    pub(super) fn object_name(&self) -> &str {
        self.selector.as_ref().map_or("", |(_, value)| value)
    }

    /// The request's URI, without the server.
    pub(super) fn uri(&self, query: &str) -> String {
        let all = format!("{}/{}", self.path, self.resource);
        match &self.selector {
            None => format!("{all}?{query}"),
            Some((_, name)) if self.by_name => format!("{all}/{}", encode_segment(name)),
            Some((field, value)) => format!("{all}?{query}&fieldSelector={field}%3D{}", encode_segment(value)),
        }
    }

    /// The remedy after a 403 with `message`: the credential to use, or the command that grants the permission.
    pub(super) fn permission_fix(&self, message: &str) -> String {
        let user = user_in(message);
        let node = user.and_then(|u| u.strip_prefix("system:node:"));
        if let (Some(node), Some((_, wanted)), Source::ApiPods | Source::ApiNode | Source::ApiLease) =
            (node, &self.selector, self.source)
            && node != wanted
        {
            return format!("this is the credential of node {node}, but the node name is {wanted}: set --node");
        }
        let why = match (self.source, node) {
            (Source::ApiUnbound, Some(_)) => "A node's own credential is not allowed to list unscheduled pods. ",
            (_, Some(_)) => "A node's own credential does not have this permission. ",
            _ => "",
        };
        let user = shell_safe_user(user);
        if self.source == Source::ApiLease {
            return format!(
                "Give another credential with --kubeconfig, or grant the permission: kubectl -n kube-node-lease create role \
                 kpodtrace --verb=get,list,watch --resource=leases && kubectl -n kube-node-lease create rolebinding \
                 kpodtrace --role=kpodtrace --user={user}"
            );
        }
        format!(
            "{why}Give another credential with --kubeconfig, or grant the permission: kubectl create clusterrole kpodtrace-{0} \
             --verb=list,watch --resource={0} && kubectl create clusterrolebinding kpodtrace-{0} \
             --clusterrole=kpodtrace-{0} --user={user}",
            self.resource
        )
    }
}

/// The user that a 403 names.
pub(super) fn user_in(message: &str) -> Option<&str> {
    message.split_once("User \"").and_then(|(_, rest)| rest.split_once('"')).map(|(user, _)| user)
}

/// A user name for a command to paste: only if a shell takes every character literally.
pub(super) fn shell_safe_user(user: Option<&str>) -> &str {
    let plain = |u: &&str| !u.starts_with('-') && u.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@/".contains(c));
    user.filter(plain).unwrap_or("USER")
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
    fn commands_contain_the_user_only_if_a_shell_takes_it_literally() {
        let message = |user: &str| format!("events is forbidden: User \"{user}\" cannot list resource \"events\"");
        let fix = WatchedResource::events().permission_fix(&message("system:node:a"));
        assert!(fix.starts_with("A node's own") && fix.ends_with("--user=system:node:a"), "{fix}");
        let fix = WatchedResource::events().permission_fix(&message("system:serviceaccount:a:b"));
        assert!(fix.starts_with("Give") && fix.ends_with("--user=system:serviceaccount:a:b"), "{fix}");
        for odd in ["$(reboot)", "a b", "a;b", "-x", "a\nb"] {
            assert!(WatchedResource::events().permission_fix(&message(odd)).ends_with("--user=USER"), "{odd}");
        }
        assert!(WatchedResource::events().permission_fix("").ends_with("--user=USER"));
    }

    #[test]
    fn the_credential_of_another_node_is_recognised() {
        let message = "pods is forbidden: User \"system:node:b\" cannot list resource \"pods\"";
        assert!(
            WatchedResource::pods("a").permission_fix(message).contains("credential of node b, but the node name is a")
        );
        assert!(WatchedResource::unbound().permission_fix(message).contains("not allowed to list unscheduled pods"));
    }
}
