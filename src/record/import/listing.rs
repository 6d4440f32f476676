//! Owns the turning of whole lists into a first listing and differences to the last one.
//! It must not know what the listed things are.

use std::collections::BTreeMap;

use super::timeline::Timeline;
use crate::decode::Object;
use crate::objects::Pod;
use crate::observation::{Container, Fact, Image, Pull, Sandbox, Source, Time};
use crate::text::Text;

/// Something that is listed under a key.
pub(super) trait Listed: Clone + PartialEq {
    fn key(&self) -> &Text;
    fn is(self) -> Fact;
    fn gone(key: Text) -> Fact;
}

macro_rules! listed {
    ($ty:ty, $($key:ident).+, $is:expr, $gone:expr) => {
        impl Listed for $ty {
            fn key(&self) -> &Text {
                &self.$($key).+
            }
            fn is(self) -> Fact {
                $is(self.into())
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

/// The last list of one kind of thing.
pub(super) struct Known<T> {
    last: BTreeMap<Text, T>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { last: BTreeMap::new() }
    }
}

impl<T: Listed> Known<T> {
    /// The next list; gives what is new or changed, and what is gone. `whole` gives everything, and nothing as gone.
    pub(super) fn next(&mut self, list: Vec<T>, whole: bool) -> (Vec<Fact>, Vec<Fact>) {
        let next: BTreeMap<Text, T> = list.into_iter().map(|t| (t.key().clone(), t)).collect();
        let changed =
            next.iter().filter(|(k, t)| whole || self.last.get(*k) != Some(t)).map(|(_, t)| t.clone().is()).collect();
        let gone = self.last.keys().filter(|k| !whole && !next.contains_key(*k)).cloned().map(T::gone).collect();
        self.last = next;
        (changed, gone)
    }

    /// The last list.
    pub(super) fn all(&self) -> Vec<T> {
        self.last.values().cloned().collect()
    }

    /// One thing of the last list.
    pub(super) fn get(&self, key: &str) -> Option<&T> {
        self.last.get(key)
    }

    /// Changes one thing outside of a list; gives it if it is listed and has changed.
    pub(super) fn change(&mut self, key: &str, change: impl FnOnce(&mut T)) -> Option<Fact> {
        let known = self.last.get_mut(key)?;
        let before = known.clone();
        change(known);
        (*known != before).then(|| known.clone().is())
    }
}

/// Emits a list: `whole` as an epoch of its own, else as differences, or [`Fact::Alive`] when there are none.
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

/// The pods among the objects; the rest is told as skipped.
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

/// Tells that an object was not used.
pub(super) fn skip_object(object: &Object, path: &str, timeline: &mut Timeline) {
    let what = match object {
        Object::OtherKind(kind) if kind.len() <= 63 && kind.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            format!("objects of kind {kind}, which is not used")
        }
        Object::OtherKind(_) => "objects of no kind".to_owned(),
        Object::Unreadable(error) => format!("objects that are {error}"),
        Object::Pod(_) | Object::Node(_) | Object::Event(_) | Object::Lease(_) => {
            "objects that do not belong in this list".to_owned()
        }
    };
    timeline.skip(path, what, 1);
}
