//! Owns what containerd's events promised and the lists have not shown yet.
//! It must not call the runtime, nor read the clock.
//!
//! containerd tells its events when the task has changed; its CRI plugin takes them in afterwards (after an exit once the
//! task is deleted, for which a sick node needs seconds). A list asked for in between shows the state of before, and no
//! other event follows.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::text::Text;

/// So many lists may fail to show it: containers that are not CRI's own never come.
const TRIES: u8 = 4;
/// Nobody starts that many containers between two lists.
const MOST: usize = 1024;

/// What a list will show of a container or a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedState {
    /// It is listed.
    Listed,
    /// It runs, or has run.
    Started,
    /// It does not run, or is not listed any more.
    Exited,
    /// It is not listed any more.
    Removed,
}

/// How a container or a sandbox stands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListedState {
    Created,
    Running,
    Exited,
}

impl ExpectedState {
    fn is_kept(self, listed_state: Option<ListedState>) -> bool {
        match self {
            ExpectedState::Listed => listed_state.is_some(),
            ExpectedState::Started => matches!(listed_state, Some(ListedState::Running | ListedState::Exited)),
            ExpectedState::Exited => matches!(listed_state, Some(ListedState::Exited) | None),
            ExpectedState::Removed => listed_state.is_none(),
        }
    }
}

/// The last expected of each container and sandbox, with the lists that did not keep it.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(BTreeMap<Text, (ExpectedState, u8)>);

impl PendingEvents {
    /// An event was told.
    pub fn expect(&mut self, id: Text, expected: ExpectedState) {
        if self.0.len() < MOST || self.0.contains_key(&id) {
            self.0.insert(id, (expected, 0));
        }
    }

    /// A list was answered.
    pub fn listed(&mut self, listed_state: impl Fn(&Text) -> Option<ListedState>) {
        self.0.retain(|id, (expected, tries)| {
            *tries += 1;
            !expected.is_kept(listed_state(id)) && *tries <= TRIES
        });
    }

    /// How long after the begin of the last list the next one may show more: `spacing`, and twice as long each time.
    pub fn relist_after(&self, spacing: Duration) -> Option<Duration> {
        let tries = self.0.values().map(|(_, tries)| *tries).min()?;
        Some(spacing.saturating_mul(1 << tries.saturating_sub(1).min(TRIES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_list_that_came_too_soon_is_followed_by_others() {
        let mut pending_events = PendingEvents::default();
        assert_eq!(pending_events.relist_after(SECOND), None);
        pending_events.expect("a".into(), ExpectedState::Exited);
        pending_events.listed(|_| Some(ListedState::Running));
        assert_eq!(pending_events.relist_after(SECOND), Some(SECOND));
        pending_events.listed(|_| Some(ListedState::Running));
        assert_eq!(pending_events.relist_after(SECOND), Some(2 * SECOND));
        pending_events.expect("b".into(), ExpectedState::Listed);
        pending_events.listed(|id| (id == "a").then_some(ListedState::Exited));
        assert_eq!(pending_events.relist_after(SECOND), Some(SECOND), "another is pending_events still");
        pending_events.listed(|_| Some(ListedState::Created));
        assert_eq!(pending_events.relist_after(SECOND), None);
    }

    #[test]
    fn what_never_comes_is_given_up() {
        let mut pending_events = PendingEvents::default();
        pending_events.expect("a".into(), ExpectedState::Listed);
        let waits: Vec<_> = std::iter::from_fn(|| {
            pending_events.listed(|_| None);
            pending_events.relist_after(SECOND)
        })
        .map(|wait| wait.as_secs())
        .collect();
        assert_eq!(waits, [1, 2, 4, 8]);
    }

    #[test]
    fn the_last_word_counts() {
        let kept = |expected: ExpectedState, listed_state| expected.is_kept(listed_state);
        assert!(kept(ExpectedState::Started, Some(ListedState::Exited)), "it has run");
        assert!(!kept(ExpectedState::Started, Some(ListedState::Created)) && !kept(ExpectedState::Started, None));
        assert!(
            kept(ExpectedState::Exited, None)
                && kept(ExpectedState::Removed, None)
                && !kept(ExpectedState::Listed, None)
        );
        let mut pending_events = PendingEvents::default();
        pending_events.expect("a".into(), ExpectedState::Listed);
        pending_events.expect("a".into(), ExpectedState::Removed);
        pending_events.listed(|_| None);
        assert_eq!(pending_events.relist_after(SECOND), None, "a creation that failed");
    }
}
