//! Effective requests and limits of a pod from its spec (`k8s.io/component-helpers/resource`, KEP-753, KEP-2837).

use crate::objects::{Needs, OmittedSummary, PodSpec, Resource, Resources};

/// The requests that scheduler, admission and eviction ranking use: the sum of app containers and sidecars, or the largest
/// init container with the sidecars started before it, whichever is larger. Pod-level requests replace that; the overhead
/// of the runtime class is added.
pub fn requests(spec: &PodSpec) -> Resources {
    let mut all = together(spec, |needs| &needs.requests);
    all.add(&spec.overhead);
    all
}

/// The limit of each resource that any container of the pod has a limit for. Overhead is added only to existing limits.
pub fn limits(spec: &PodSpec) -> Resources {
    let mut all = together(spec, |needs| &needs.limits);
    for (resource, quantity) in spec.overhead.iter() {
        if let Some(limit) = all.get(resource) {
            all.set(resource.clone(), limit + quantity);
        }
    }
    all
}

/// The pod has no limit for the resource, nor has one of its app containers or sidecars, so that [`limits`] is not a bound.
pub fn is_unbounded(spec: &PodSpec, resource: &Resource) -> bool {
    let sidecars = spec.init_containers.iter().filter(|c| c.is_sidecar());
    // Only the sum is known of containers that were left out.
    let unknown = spec.containers.rest().count() + spec.init_containers.rest().sidecars > 0;
    let any = unknown || spec.containers.iter().chain(sidecars).any(|c| c.resources.limits.get(resource).is_none());
    any && spec.resources.limits.get(resource).is_none()
}

fn together(spec: &PodSpec, of: impl Fn(&Needs) -> &Resources) -> Resources {
    let (mut running, mut sidecars, mut largest) = (Resources::default(), Resources::default(), Resources::default());
    for container in &spec.containers {
        running.add(of(&container.resources));
    }
    running.add(of(&spec.containers.rest().all));
    for container in &spec.init_containers {
        let own = of(&container.resources);
        if container.is_sidecar() {
            running.add(own);
            sidecars.add(own);
            largest.raise(&sidecars);
        } else {
            let mut now = sidecars.clone();
            now.add(own);
            largest.raise(&now);
        }
    }
    let others = spec.init_containers.rest();
    running.add(of(&others.of_sidecars));
    let mut now = sidecars;
    now.add(of(&others.largest));
    largest.raise(&now);
    running.raise(&largest);
    for (resource, quantity) in of(&spec.resources).iter().filter(|(r, _)| is_pod_level(r)) {
        running.set(resource.clone(), quantity);
    }
    running
}

/// `supportedPodLevelResources` of `k8s.io/component-helpers/resource`.
fn is_pod_level(resource: &Resource) -> bool {
    matches!(resource, Resource::Cpu | Resource::Memory) || resource.is_huge_pages()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec(init: Value, apps: Value, more: Value) -> PodSpec {
        let mut spec = json!({"initContainers": init, "containers": apps});
        spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        serde_json::from_value(spec).unwrap()
    }

    fn requesting(cpu: &str, memory: &str) -> Value {
        json!({"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}})
    }

    fn sidecar(cpu: &str, memory: &str) -> Value {
        let mut container = requesting(cpu, memory);
        container["restartPolicy"] = json!("Always");
        container
    }

    fn effective(init: Value, apps: Value, more: Value) -> String {
        serde_json::to_string(&requests(&spec(init, apps, more))).unwrap()
    }

    #[test]
    fn app_containers_are_summed_and_only_the_largest_init_container_counts() {
        let apps = json!([requesting("500m", "64Mi"), requesting("250m", "64Mi")]);
        assert_eq!(effective(json!([]), apps.clone(), json!({})), r#"{"cpu":"750m","memory":"128Mi"}"#);
        let init = json!([requesting("100m", "256Mi"), requesting("1", "32Mi")]);
        assert_eq!(effective(init, apps, json!({})), r#"{"cpu":"1","memory":"256Mi"}"#);
    }

    #[test]
    fn a_sidecar_counts_with_app_containers_and_with_each_later_init_container() {
        // KEP-753: init 100m, sidecar 200m, init 700m: at most 900m at once while starting; 200m + 500m afterwards.
        let init = json!([requesting("100m", "1Mi"), sidecar("200m", "2Mi"), requesting("700m", "4Mi")]);
        assert_eq!(effective(init, json!([requesting("500m", "1Mi")]), json!({})), r#"{"cpu":"900m","memory":"6Mi"}"#);
        // An init container before the sidecar runs without it.
        let init = json!([requesting("700m", "4Mi"), sidecar("200m", "2Mi")]);
        assert_eq!(effective(init, json!([requesting("100m", "1Mi")]), json!({})), r#"{"cpu":"700m","memory":"4Mi"}"#);
        // Two sidecars: the first runs when the second starts.
        let init = json!([sidecar("200m", "2Mi"), sidecar("300m", "3Mi"), requesting("100m", "9Mi")]);
        assert_eq!(effective(init, json!([requesting("100m", "1Mi")]), json!({})), r#"{"cpu":"600m","memory":"14Mi"}"#);
    }

    #[test]
    fn pod_level_requests_replace_those_of_containers_and_overhead_is_added() {
        let more = json!({"resources": {"requests": {"cpu": "2", "ephemeral-storage": "9Gi"}}, "overhead": {"cpu": "250m", "memory": "120Mi"}});
        assert_eq!(effective(json!([]), json!([requesting("1", "1Gi")]), more), r#"{"cpu":"2250m","memory":"1144Mi"}"#);
        assert_eq!(effective(json!([]), json!([{"name": "c"}]), json!({})), "{}");
    }

    #[test]
    fn a_limit_bounds_only_when_every_container_has_it() {
        let limited = json!({"name": "a", "resources": {"limits": {"memory": "1Gi"}}});
        let overhead = json!({"overhead": {"cpu": "1", "memory": "1Gi"}});
        let both = spec(json!([]), json!([limited, {"name": "b"}]), overhead);
        assert_eq!(serde_json::to_string(&limits(&both)).unwrap(), r#"{"memory":"2Gi"}"#);
        assert!(is_unbounded(&both, &Resource::Memory) && is_unbounded(&both, &Resource::Cpu));
        let whole = spec(json!([]), json!([{"name": "b"}]), json!({"resources": {"limits": {"memory": "1Gi"}}}));
        assert!(!is_unbounded(&whole, &Resource::Memory));
    }
}
