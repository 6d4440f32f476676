//! Owns what one source currently lists, by key, over epochs and differences.
//! It must not look at another source, so that any interleaving of sources gives the same listing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::observation::{Stamp, Time};
use crate::text::Text;

/// A value as its source last said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredObject<T> {
    /// The value.
    pub value: Arc<T>,
    /// When this source first said it under this key.
    pub first: Time,
    /// When it last changed.
    pub changed: Time,
    /// The epoch in which it was last said.
    epoch: u32,
}

/// Everything one source lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectStore<T> {
    items: BTreeMap<Text, StoredObject<T>>,
    epoch: u32,
    /// At least one full listing has ended: absence means something.
    complete: bool,
}

impl<T> Default for ObjectStore<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), epoch: 0, complete: false }
    }
}

impl<T: PartialEq> ObjectStore<T> {
    /// Takes a value in. True when that changed anything that can be seen.
    pub fn upsert(&mut self, key: &Text, value: T, stamp: &Stamp) -> bool {
        match self.items.get_mut(key) {
            Some(held) => {
                held.epoch = stamp.epoch;
                if *held.value == value {
                    return false;
                }
                held.value = Arc::new(value);
                held.changed = stamp.wall;
                true
            }
            None => {
                let held =
                    StoredObject { value: Arc::new(value), first: stamp.wall, changed: stamp.wall, epoch: stamp.epoch };
                self.items.insert(key.clone(), held);
                true
            }
        }
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &str) -> Option<StoredObject<T>> {
        self.items.remove(key)
    }

    /// A full listing begins: what was known stands until its end.
    pub fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
    }

    /// The full listing ended: takes out what it did not say, and returns it.
    pub fn end(&mut self) -> Vec<(Text, StoredObject<T>)> {
        self.complete = true;
        let epoch = self.epoch;
        let gone: Vec<Text> =
            self.items.iter().filter(|(_, held)| held.epoch < epoch).map(|(key, _)| key.clone()).collect();
        gone.into_iter().filter_map(|key| self.items.remove(&key).map(|held| (key, held))).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&StoredObject<T>> {
        self.items.get(key)
    }

    /// Everything, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &StoredObject<T>)> {
        self.items.iter()
    }

    /// How many of the first listing, while that is under way.
    pub fn so_far(&self) -> Option<usize> {
        (self.epoch > 0 && !self.complete).then_some(self.items.len())
    }

    /// True once a full listing has ended, so that absence means something.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Sequencer, Source};

    #[test]
    fn an_epoch_takes_out_what_it_did_not_say() {
        let at = |s| Time::from_timestamp(s, 0).unwrap();
        let mut seq = Sequencer::new(Source::Cri);
        let mut listing = ObjectStore::default();
        let (a, b): (Text, Text) = ("a".into(), "b".into());
        listing.begin(seq.next_epoch(0, at(0)).epoch);
        assert!(listing.upsert(&a, 1, &seq.stamp(1, at(1))));
        assert!(listing.upsert(&b, 1, &seq.stamp(2, at(2))));
        assert!(listing.end().is_empty());
        assert!(!listing.upsert(&a, 1, &seq.stamp(3, at(3))), "the same value changes nothing");
        listing.begin(seq.next_epoch(4, at(4)).epoch);
        assert!(listing.get("b").is_some(), "the old epoch stands until the new one ends");
        assert!(listing.upsert(&a, 2, &seq.stamp(5, at(5))));
        assert_eq!(listing.end().len(), 1);
        assert!(listing.get("b").is_none());
        assert_eq!(listing.get("a").map(|h| (h.first, h.changed)), Some((at(1), at(5))));
    }
}
