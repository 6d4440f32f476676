//! Slim Kubernetes types: the only fields of pods, nodes, events and leases that are decoded. No env, args, labels or secrets, and
//! of annotations only the kubelet's own four.

use serde::{Deserialize, Deserializer};

pub use crate::time::Time;

/// Reads `null` as the default value: Go encodes empty slices as `null`.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! slim {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty $(= $rename:literal)?),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$fdoc])*
                #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default" $(, rename = $rename)?)]
                pub $field: $ty,
            )*
        }

        crate::weight::weighs!($name: $($field),*);
    };
}

mod bounded;
mod event;
pub mod limits;
mod meta;
mod node;
mod pod;
mod probe;
mod quantity;
mod resources;
mod status;

pub use bounded::{Bounded, BoundedEntry, LeftOut, OmittedCount, OmittedSummary};
pub use event::{Event, EventSeries, EventSource, ObjectReference};
pub use meta::{Condition, KubeletAnnotations, Meta, Owner};
pub use node::{Lease, LeaseSpec, Node, NodeInfo, NodeSpec, NodeStatus, Taint};
pub use pod::{
    ClaimSource, ContainerSpec, OtherContainers, Pod, PodResourceClaim, PodSpec, ReadinessGate, SchedulingGate, Volume,
};
pub use probe::{
    CommandLine, ContainerPort, ExecAction, GrpcAction, HttpAction, PortName, Probe, RequestPath, TcpAction,
};
pub use quantity::Quantity;
pub use resources::{Needs, Resource, Resources};
pub use status::{ContainerState, ContainerStatus, OtherStatuses, PodStatus, Running, Terminated, Waiting};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_read_and_secrets_are_not() {
        let json = r#"{"metadata":{"name":"a","uid":"u","finalizers":null,"annotations":{"kubernetes.io/config.source":"api","token":"hunter2"}},
            "spec":{"containers":[{"name":"c","image":"i","env":[{"name":"P","value":"hunter2"}],"args":["hunter2"]}],"initContainers":null},
            "status":{"podIP":"10.0.0.1","containerStatuses":[{"name":"c","containerID":"containerd://1","state":{"waiting":{"reason":"X\u001b[31m"}}}]}}"#;
        let pod: Pod = serde_json::from_str(json).unwrap();
        assert_eq!(pod.metadata.annotations.source, "api");
        assert_eq!(pod.status.container_statuses[0].container_id, "containerd://1");
        assert_eq!(pod.status.container_statuses[0].state.to_string(), "X␛[31m", "the reason is complete");
        let back = serde_json::to_string(&pod).unwrap();
        assert!(!back.contains("hunter2"), "{back}");
        assert_eq!(serde_json::from_str::<Pod>(&back).unwrap(), pod);
    }
}
