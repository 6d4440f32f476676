//! containerd's events whose effect the lists do not show yet. containerd publishes an event when the task has changed,
//! and its CRI plugin handles it later (an exit only after the task is deleted, which takes seconds on a slow node). A
//! list in between shows the previous state, and no other event follows.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::text::Text;

/// Lists after which an event is dropped: containers that CRI did not create are never listed.
const MAX_LISTS: u8 = 4;
/// Most events that are kept; fewer containers start between two lists.
const MAX_EVENTS: usize = 1024;

/// The state of a container or a sandbox that a list will show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedState {
    /// Listed.
    Listed,
    /// Running, or exited.
    Started,
    /// Exited, or no longer listed.
    Exited,
    /// No longer listed.
    Removed,
}

/// The state of a container or a sandbox in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListedState {
    Created,
    Running,
    Exited,
}

impl ExpectedState {
    fn is_shown(self, listed_state: Option<ListedState>) -> bool {
        match self {
            ExpectedState::Listed => listed_state.is_some(),
            ExpectedState::Started => matches!(listed_state, Some(ListedState::Running | ListedState::Exited)),
            ExpectedState::Exited => matches!(listed_state, Some(ListedState::Exited) | None),
            ExpectedState::Removed => listed_state.is_none(),
        }
    }
}

/// The last expected state of each container and sandbox, with the number of lists that did not show it.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(BTreeMap<Text, (ExpectedState, u8)>);

impl PendingEvents {
    /// Adds an event.
    pub fn expect(&mut self, id: Text, expected: ExpectedState) {
        if self.0.len() < MAX_EVENTS || self.0.contains_key(&id) {
            self.0.insert(id, (expected, 0));
        }
    }

    /// Removes the events that a list shows.
    pub fn apply_list(&mut self, listed_state: impl Fn(&Text) -> Option<ListedState>) {
        self.0.retain(|id, (expected, tries)| {
            *tries += 1;
            !expected.is_shown(listed_state(id)) && *tries <= MAX_LISTS
        });
    }

    /// Time from the start of the last list to the next one, which may show more: `spacing`, doubled with each list. None when
    /// no event is pending.
    pub fn relist_after(&self, spacing: Duration) -> Option<Duration> {
        let tries = self.0.values().map(|(_, tries)| *tries).min()?;
        Some(spacing.saturating_mul(1 << tries.saturating_sub(1).min(MAX_LISTS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_list_that_does_not_show_an_event_yet_is_repeated() {
        let mut pending_events = PendingEvents::default();
        assert_eq!(pending_events.relist_after(SECOND), None);
        pending_events.expect("a".into(), ExpectedState::Exited);
        pending_events.apply_list(|_| Some(ListedState::Running));
        assert_eq!(pending_events.relist_after(SECOND), Some(SECOND));
        pending_events.apply_list(|_| Some(ListedState::Running));
        assert_eq!(pending_events.relist_after(SECOND), Some(2 * SECOND));
        pending_events.expect("b".into(), ExpectedState::Listed);
        pending_events.apply_list(|id| (id == "a").then_some(ListedState::Exited));
        assert_eq!(pending_events.relist_after(SECOND), Some(SECOND), "another event is pending");
        pending_events.apply_list(|_| Some(ListedState::Created));
        assert_eq!(pending_events.relist_after(SECOND), None);
    }

    #[test]
    fn an_event_that_no_list_shows_is_dropped() {
        let mut pending_events = PendingEvents::default();
        pending_events.expect("a".into(), ExpectedState::Listed);
        let waits: Vec<_> = std::iter::from_fn(|| {
            pending_events.apply_list(|_| None);
            pending_events.relist_after(SECOND)
        })
        .map(|wait| wait.as_secs())
        .collect();
        assert_eq!(waits, [1, 2, 4, 8]);
    }

    #[test]
    fn the_last_event_of_a_container_counts() {
        let shown = |expected: ExpectedState, listed_state| expected.is_shown(listed_state);
        assert!(shown(ExpectedState::Started, Some(ListedState::Exited)), "it has run");
        assert!(!shown(ExpectedState::Started, Some(ListedState::Created)) && !shown(ExpectedState::Started, None));
        assert!(
            shown(ExpectedState::Exited, None)
                && shown(ExpectedState::Removed, None)
                && !shown(ExpectedState::Listed, None)
        );
        let mut pending_events = PendingEvents::default();
        pending_events.expect("a".into(), ExpectedState::Listed);
        pending_events.expect("a".into(), ExpectedState::Removed);
        pending_events.apply_list(|_| None);
        assert_eq!(pending_events.relist_after(SECOND), None, "a creation that failed");
    }
}
