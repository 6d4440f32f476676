//! Lists of resources: requests and limits of a container or a pod, capacity of a node. Invalid amounts are left out.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits::{RESOURCES, SUMMED_RESOURCES};
use super::{Quantity, is_default, nullable};
use crate::text::Text;
use crate::weight::{Weigh, allocation};

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Cores.
    Cpu,
    /// Bytes.
    Memory,
    /// Local ephemeral storage, bytes.
    EphemeralStorage,
    /// Number of pods; only of a node.
    Pods,
    /// Huge pages (`hugepages-2Mi`, bytes), or an extended resource (`nvidia.com/gpu`, a count).
    Other(Text),
}

impl Resource {
    /// The resource with that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            "pods" => Self::Pods,
            other => Self::Other(Text::name(other)),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Other(name) => name,
        }
    }

    /// True for a resource in bytes.
    pub fn is_bytes(&self) -> bool {
        match self {
            Self::Memory | Self::EphemeralStorage => true,
            Self::Cpu | Self::Pods => false,
            Self::Other(_) => self.is_huge_pages(),
        }
    }

    /// True for huge pages.
    pub fn is_huge_pages(&self) -> bool {
        self.name().starts_with("hugepages-")
    }
}

/// Amounts by resource, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources(Vec<(Resource, Quantity)>);

impl Resources {
    /// The amount of a resource, if listed.
    pub fn get(&self, resource: &Resource) -> Option<Quantity> {
        self.0.binary_search_by(|(r, _)| r.cmp(resource)).ok().and_then(|i| self.0.get(i)).map(|(_, q)| *q)
    }

    /// Sets an amount. Extended resources above the bound are left out.
    pub fn set(&mut self, resource: Resource, quantity: Quantity) {
        match self.0.binary_search_by(|(r, _)| r.cmp(&resource)) {
            Ok(i) => self.0[i].1 = quantity,
            Err(_) if self.0.len() >= SUMMED_RESOURCES && matches!(resource, Resource::Other(_)) => {}
            Err(i) => self.0.insert(i, (resource, quantity)),
        }
    }

    /// Adds each amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (resource, quantity) in other.iter() {
            self.set(resource.clone(), self.get(resource).unwrap_or_default() + quantity);
        }
    }

    /// Raises each amount to that of `other` if that is higher.
    pub fn raise(&mut self, other: &Self) {
        for (resource, quantity) in other.iter() {
            self.set(resource.clone(), self.get(resource).map_or(quantity, |own| own.max(quantity)));
        }
    }

    /// Every amount, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Resource, Quantity)> {
        self.0.iter().map(|(resource, quantity)| (resource, *quantity))
    }

    /// True without amounts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Weigh for Resources {
    fn heap(&self) -> usize {
        let names = self.0.iter().map(|(resource, _)| match resource {
            Resource::Other(name) => name.heap(),
            _ => 0,
        });
        allocation(self.0.capacity() * size_of::<(Resource, Quantity)>()) + names.sum::<usize>()
    }
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.iter().map(|(resource, quantity)| (resource.name(), quantity)))
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Amount {
            Known(Quantity),
            Other(IgnoredAny),
        }
        struct ResourcesVisitor;
        impl<'de> Visitor<'de> for ResourcesVisitor {
            type Value = Resources;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("resources by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Resources, A::Error> {
                let mut all = Resources::default();
                while let Some(name) = map.next_key::<Text>()? {
                    match map.next_value()? {
                        Amount::Known(quantity) if all.0.len() < RESOURCES => {
                            all.set(Resource::from_name(&name), quantity)
                        }
                        Amount::Known(_) | Amount::Other(_) => {}
                    }
                }
                Ok(all)
            }
        }
        d.deserialize_map(ResourcesVisitor)
    }
}

slim! {
    /// `resources` of a container or of a whole pod. The API server sets a missing request to the limit.
    Needs {
        /// Requests, which the scheduler reserves.
        requests: Resources,
        /// Limits.
        limits: Resources,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_amounts_are_left_out_and_the_others_are_sorted() {
        let json = r#"{"nvidia.com/gpu":1,"memory":"64Mi","cpu":"250m","pods":null,"x":{"y":["1"]},"ephemeral-storage":"a lot"}"#;
        let found: Resources = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), r#"{"cpu":"250m","memory":"64Mi","nvidia.com/gpu":"1"}"#);
        assert_eq!(found.get(&Resource::Memory), Quantity::parse("64Mi"));
        assert_eq!(found.get(&Resource::Pods), None);
    }

    #[test]
    fn resources_in_bytes_are_known() {
        let bytes = |name: &str| Resource::from_name(name).is_bytes();
        assert!(bytes("memory") && bytes("hugepages-2Mi") && bytes("ephemeral-storage"));
        assert!(!bytes("cpu") && !bytes("nvidia.com/gpu") && !bytes("pods"));
    }

    #[test]
    fn adds_and_raises() {
        let of = |json: &str| serde_json::from_str::<Resources>(json).unwrap();
        let mut sum = of(r#"{"cpu":"1"}"#);
        sum.add(&of(r#"{"cpu":"500m","memory":"1Gi"}"#));
        assert_eq!(sum, of(r#"{"cpu":"1500m","memory":"1Gi"}"#));
        sum.raise(&of(r#"{"cpu":"1","memory":"2Gi","pods":"3"}"#));
        assert_eq!(sum, of(r#"{"cpu":"1500m","memory":"2Gi","pods":"3"}"#));
    }
}
