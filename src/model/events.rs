//! Owns which events are about what: a pod, the node, anything else, each list newest first.
//! It must not keep an event: the listing does.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Model;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::objects::{Event, Node};
use crate::text::Text;

impl Model {
    pub(super) fn other_events(&mut self) -> Arc<Vec<Arc<Event>>> {
        let events = &self.events;
        let made = self.index.elsewhere.get_or_insert_with(|| {
            let elsewhere = events.iter().map(|(_, held)| held.value.clone()).filter(|e| is_elsewhere(e));
            newest_first(elsewhere.collect()).into()
        });
        made.clone()
    }

    pub(super) fn events_of_unknown_pods(&mut self) -> Arc<Vec<Arc<Event>>> {
        if !self.named.is_empty() {
            return Arc::default();
        }
        let (events, index) = (&self.events, &self.index);
        if let Some(made) = &index.absent {
            return made.clone();
        }
        let is_absent = |event: &Arc<Event>| {
            let about = &event.involved_object;
            let name = Text::from(format!("{}/{}", about.namespace, about.name));
            !is_elsewhere(event) && !index.named.contains_key(&name)
        };
        let absent = events.iter().map(|(_, held)| held.value.clone()).filter(is_absent);
        let made: Arc<Vec<_>> = newest_first(absent.collect()).into();
        self.index.absent = Some(made.clone());
        made
    }

    /// The kubelet names its node as UID in the events it writes; controllers write the true UID.
    pub(super) fn events_about_node(&self, node: &Node) -> Vec<Arc<Event>> {
        let names = BTreeSet::from([&node.metadata.name, &node.metadata.uid]);
        self.newest_events(names, EVENTS_OF_ONE).0
    }

    /// The newest events about any of these UIDs, `most` of them at most, and how many there are.
    pub(super) fn newest_events(&self, uids: BTreeSet<&Text>, most: usize) -> (Vec<Arc<Event>>, usize) {
        let (mut events, mut total) = (Vec::new(), 0);
        for own in uids.into_iter().filter_map(|uid| self.index.events_of.get(uid)) {
            total += own.len();
            let newest = own.iter().rev().filter_map(|(_, uid)| self.events.get(uid)).map(|h| h.value.clone());
            events.extend(newest.take(most));
        }
        let mut events = newest_first(events);
        events.truncate(most);
        (events, total)
    }

    /// An event came, changed or went.
    pub(super) fn touch_elsewhere(&mut self, event: &Event) {
        match is_elsewhere(event) {
            true => self.index.elsewhere = None,
            false => self.index.absent = None,
        }
    }

    pub(super) fn link_event(&mut self, uid: &Text, event: &Event) {
        self.index.event_ages.insert((event.last(), uid.clone()));
        let about = &event.involved_object.uid;
        self.index.events_of.entry(about.clone()).or_default().insert((event.last(), uid.clone()));
        self.mark(about);
    }

    pub(super) fn unlink_event(&mut self, uid: &Text, event: &Event) {
        self.touch_elsewhere(event);
        self.index.event_ages.remove(&(event.last(), uid.clone()));
        let about = &event.involved_object.uid;
        if let Some(events) = self.index.events_of.get_mut(about) {
            events.remove(&(event.last(), uid.clone()));
            if events.is_empty() {
                self.index.events_of.remove(about);
            }
        }
        self.mark(about);
    }
}

fn is_elsewhere(event: &Event) -> bool {
    event.involved_object.kind != "Pod"
}

fn newest_first(mut events: Vec<Arc<Event>>) -> Vec<Arc<Event>> {
    events.sort_by(|a, b| (b.last(), &b.metadata.uid).cmp(&(a.last(), &a.metadata.uid)));
    events
}
