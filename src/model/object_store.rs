//! The objects that one source currently lists, by key, over full lists (epochs) and single changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::observation::{Stamp, Time};
use crate::text::Text;

/// An object as its source last reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredObject<T> {
    /// The object.
    pub value: Arc<T>,
    /// When the source first reported it under this key.
    pub first: Time,
    /// When it last changed.
    pub changed: Time,
    /// The epoch in which it was last reported.
    epoch: u32,
}

/// All objects that one source lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectStore<T> {
    items: BTreeMap<Text, StoredObject<T>>,
    epoch: u32,
    /// At least one full list is complete, so that a missing object is absent.
    complete: bool,
}

impl<T> Default for ObjectStore<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), epoch: 0, complete: false }
    }
}

impl<T: PartialEq> ObjectStore<T> {
    /// Adds or replaces an object. True if it differs from the stored one.
    pub fn upsert(&mut self, key: &Text, value: T, stamp: &Stamp) -> bool {
        match self.items.get_mut(key) {
            Some(object) => {
                object.epoch = stamp.epoch;
                if *object.value == value {
                    return false;
                }
                object.value = Arc::new(value);
                object.changed = stamp.wall;
                true
            }
            None => {
                let object =
                    StoredObject { value: Arc::new(value), first: stamp.wall, changed: stamp.wall, epoch: stamp.epoch };
                self.items.insert(key.clone(), object);
                true
            }
        }
    }

    /// Removes an object.
    pub fn remove(&mut self, key: &str) -> Option<StoredObject<T>> {
        self.items.remove(key)
    }

    /// A full list starts. Objects of the previous one stay until it is complete.
    pub fn begin_list(&mut self, epoch: u32) {
        self.epoch = epoch;
    }

    /// The full list is complete: removes and returns the objects that are not in it.
    pub fn end_list(&mut self) -> Vec<(Text, StoredObject<T>)> {
        self.complete = true;
        let epoch = self.epoch;
        let gone: Vec<Text> =
            self.items.iter().filter(|(_, object)| object.epoch < epoch).map(|(key, _)| key.clone()).collect();
        gone.into_iter().filter_map(|key| self.items.remove(&key).map(|object| (key, object))).collect()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are no objects.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The object under a key.
    pub fn get(&self, key: &str) -> Option<&StoredObject<T>> {
        self.items.get(key)
    }

    /// All objects, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &StoredObject<T>)> {
        self.items.iter()
    }

    /// Objects received of the initial list; None once it is complete.
    pub fn listed_so_far(&self) -> Option<usize> {
        (self.epoch > 0 && !self.complete).then_some(self.items.len())
    }

    /// True once a full list is complete, so that a missing object is absent.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Sequencer, Source};

    #[test]
    fn a_full_list_removes_the_objects_that_are_not_in_it() {
        let at = |s| Time::from_timestamp(s, 0).unwrap();
        let mut seq = Sequencer::new(Source::Cri);
        let mut store = ObjectStore::default();
        let (a, b): (Text, Text) = ("a".into(), "b".into());
        store.begin_list(seq.next_epoch(0, at(0)).epoch);
        assert!(store.upsert(&a, 1, &seq.stamp(1, at(1))));
        assert!(store.upsert(&b, 1, &seq.stamp(2, at(2))));
        assert!(store.end_list().is_empty());
        assert!(!store.upsert(&a, 1, &seq.stamp(3, at(3))), "the same value changes nothing");
        store.begin_list(seq.next_epoch(4, at(4)).epoch);
        assert!(store.get("b").is_some(), "objects stay until the new list is complete");
        assert!(store.upsert(&a, 2, &seq.stamp(5, at(5))));
        assert_eq!(store.end_list().len(), 1);
        assert!(store.get("b").is_none());
        assert_eq!(store.get("a").map(|h| (h.first, h.changed)), Some((at(1), at(5))));
    }
}
