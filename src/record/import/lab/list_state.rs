//! Turns whole lists into a first list and differences from the last one.

use std::collections::BTreeMap;

use crate::decode::Object;
use crate::objects::Pod;
use crate::observation::{Container, Fact, Image, Pull, Sandbox, Source, Time};
use crate::record::import::kubectl::skip_object;
use crate::record::import::timeline::Timeline;
use crate::text::Text;

/// An object that is listed under a key.
pub(super) trait ListedObject: Clone + PartialEq {
    fn key(&self) -> &Text;
    fn into_fact(self) -> Fact;
    fn gone(key: Text) -> Fact;
}

macro_rules! listed {
    ($ty:ty, $($key:ident).+, $fact:expr, $gone:expr) => {
        impl ListedObject for $ty {
            fn key(&self) -> &Text {
                &self.$($key).+
            }
            fn into_fact(self) -> Fact {
                $fact(self.into())
            }
            fn gone(key: Text) -> Fact {
                $gone(key)
            }
        }
    };
}

listed!(Pod, metadata.uid, Fact::Pod, Fact::PodGone);
listed!(Sandbox, id, Fact::Sandbox, Fact::SandboxGone);
listed!(Container, id, Fact::Container, Fact::ContainerGone);
listed!(Image, id, Fact::Image, Fact::ImageGone);
listed!(Pull, reference, Fact::Pull, Fact::PullGone);

/// The last list of one kind of object.
pub(super) struct ListState<T> {
    last: BTreeMap<Text, T>,
}

impl<T> Default for ListState<T> {
    fn default() -> Self {
        Self { last: BTreeMap::new() }
    }
}

impl<T: ListedObject> ListState<T> {
    /// Replaces the list. Returns the facts of new and changed objects, and of removed ones. With `whole` every object is
    /// returned as new and none as removed.
    pub(super) fn next(&mut self, list: Vec<T>, whole: bool) -> (Vec<Fact>, Vec<Fact>) {
        let next: BTreeMap<Text, T> = list.into_iter().map(|t| (t.key().clone(), t)).collect();
        let changed = next
            .iter()
            .filter(|(k, t)| whole || self.last.get(*k) != Some(t))
            .map(|(_, t)| t.clone().into_fact())
            .collect();
        let gone = self.last.keys().filter(|k| !whole && !next.contains_key(*k)).cloned().map(T::gone).collect();
        self.last = next;
        (changed, gone)
    }

    /// The last list.
    pub(super) fn all(&self) -> Vec<T> {
        self.last.values().cloned().collect()
    }

    /// One object of the last list.
    pub(super) fn get(&self, key: &str) -> Option<&T> {
        self.last.get(key)
    }

    /// Changes one object between two lists. Returns its fact if it is listed and has changed.
    pub(super) fn change(&mut self, key: &str, change: impl FnOnce(&mut T)) -> Option<Fact> {
        let listed = self.last.get_mut(key)?;
        let before = listed.clone();
        change(listed);
        (*listed != before).then(|| listed.clone().into_fact())
    }
}

/// Emits a list: `whole` as a new epoch, else as differences, or [`Fact::Alive`] when there are none.
pub(super) fn emit(timeline: &mut Timeline, source: Source, at: Time, whole: bool, facts: Vec<Fact>) {
    if whole {
        timeline.push(source, at, Fact::EpochBegin);
    } else if facts.is_empty() {
        timeline.push(source, at, Fact::Alive);
    }
    for fact in facts {
        timeline.push(source, at, fact);
    }
    if whole {
        timeline.push(source, at, Fact::EpochEnd);
    }
}

/// The pods among the objects; the others are counted as skipped.
pub(super) fn pods_only(objects: Vec<Object>, path: &str, timeline: &mut Timeline) -> Vec<Pod> {
    let mut pods = Vec::new();
    for object in objects {
        match object {
            Object::Pod(pod) => pods.push(*pod),
            other => skip_object(&other, path, timeline),
        }
    }
    pods
}
