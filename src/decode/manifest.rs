//! Decodes the manifest of a static pod, YAML or JSON: the names of the pod and its containers.

use serde::Deserialize;

/// The names in the manifest of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Namespace; `default` if the manifest has none.
    pub namespace: String,
    /// Name in the manifest, without the suffix of the node.
    pub name: String,
    /// Init containers, then app containers.
    pub containers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestPod {
    kind: String,
    metadata: ManifestMeta,
    spec: ManifestSpec,
}

#[derive(Deserialize)]
struct ManifestMeta {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestSpec {
    #[serde(default)]
    init_containers: Option<Vec<ManifestContainer>>,
    containers: Vec<ManifestContainer>,
}

#[derive(Deserialize)]
struct ManifestContainer {
    name: String,
}

/// Decodes a manifest; None if it is not that of one pod.
pub fn manifest(text: &str) -> Option<Manifest> {
    let pod: ManifestPod = serde_saphyr::from_str(text).ok()?;
    let containers = pod.spec.init_containers.into_iter().flatten().chain(pod.spec.containers);
    (pod.kind == "Pod" && !pod.metadata.name.is_empty()).then(|| Manifest {
        namespace: pod.metadata.namespace.filter(|ns| !ns.is_empty()).unwrap_or_else(|| "default".into()),
        name: pod.metadata.name,
        containers: containers.map(|c| c.name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_manifests_of_one_pod() {
        let yaml = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: etcd\n  namespace: kube-system\n  labels: {tier: x}\nspec:\n  \
                    initContainers: [{name: wait}]\n  containers:\n  - name: etcd\n    image: e:1\n    env: [{name: A, value: b}]\n";
        let read = manifest(yaml).unwrap();
        assert_eq!((read.namespace.as_str(), read.name.as_str()), ("kube-system", "etcd"));
        assert_eq!(read.containers, ["wait", "etcd"]);
        let json = r#"{"kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c"}]}}"#;
        assert_eq!(manifest(json).unwrap().namespace, "default");
        for none in
            ["", "kind: Pod", "kind: Secret\nmetadata: {name: a}\nspec: {containers: []}", "{", "a: &a [*a]", "\0"]
        {
            assert_eq!(manifest(none), None, "{none:?}");
        }
    }
}
