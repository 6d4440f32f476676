//! The events by their object: a pod, the node, anything else; each list newest first.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Model;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::objects::{Event, Node};
use crate::text::Text;

impl Model {
    pub(super) fn other_events(&mut self) -> Arc<Vec<Arc<Event>>> {
        let events = &self.events;
        let list = self.index.other_events.get_or_insert_with(|| {
            let others = events.iter().map(|(_, held)| held.value.clone()).filter(|e| !is_of_pod(e));
            newest_first(others.collect()).into()
        });
        list.clone()
    }

    pub(super) fn events_of_unknown_pods(&mut self) -> Arc<Vec<Arc<Event>>> {
        if !self.observed_node.is_empty() {
            return Arc::default();
        }
        let (events, index) = (&self.events, &self.index);
        if let Some(list) = &index.events_of_unknown_pods {
            return list.clone();
        }
        let is_unknown = |event: &Arc<Event>| {
            let about = &event.involved_object;
            let name = Text::from(format!("{}/{}", about.namespace, about.name));
            is_of_pod(event) && !index.joined_by_name.contains_key(&name)
        };
        let unknown = events.iter().map(|(_, held)| held.value.clone()).filter(is_unknown);
        let list: Arc<Vec<_>> = newest_first(unknown.collect()).into();
        self.index.events_of_unknown_pods = Some(list.clone());
        list
    }

    /// In events about a node, the kubelet writes the node name as UID, and controllers write the UID.
    pub(super) fn events_about_node(&self, node: &Node) -> Vec<Arc<Event>> {
        let names = BTreeSet::from([&node.metadata.name, &node.metadata.uid]);
        self.newest_events(names, EVENTS_OF_ONE).0
    }

    /// The newest events about any of these UIDs, at most `most`, and the total number.
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

    /// Invalidates the lists that may contain the event, which was added, changed or removed.
    pub(super) fn invalidate_event_lists(&mut self, event: &Event) {
        match is_of_pod(event) {
            true => self.index.events_of_unknown_pods = None,
            false => self.index.other_events = None,
        }
    }

    pub(super) fn link_event(&mut self, uid: &Text, event: &Event) {
        self.index.event_ages.insert((event.last(), uid.clone()));
        let about = &event.involved_object.uid;
        self.index.events_of.entry(about.clone()).or_default().insert((event.last(), uid.clone()));
        self.mark(about);
    }

    pub(super) fn unlink_event(&mut self, uid: &Text, event: &Event) {
        self.invalidate_event_lists(event);
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

fn is_of_pod(event: &Event) -> bool {
    event.involved_object.kind == "Pod"
}

fn newest_first(mut events: Vec<Arc<Event>>) -> Vec<Arc<Event>> {
    events.sort_by(|a, b| (b.last(), &b.metadata.uid).cmp(&(a.last(), &a.metadata.uid)));
    events
}
