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
pub(super) enum Promise {
    /// It is listed.
    There,
    /// It runs, or has run.
    Started,
    /// It does not run, or is not listed any more.
    Ended,
    /// It is not listed any more.
    Gone,
}

/// How a container or a sandbox stands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Created,
    Running,
    Ended,
}

impl Promise {
    fn is_kept(self, standing: Option<Standing>) -> bool {
        match self {
            Promise::There => standing.is_some(),
            Promise::Started => matches!(standing, Some(Standing::Running | Standing::Ended)),
            Promise::Ended => matches!(standing, Some(Standing::Ended) | None),
            Promise::Gone => standing.is_none(),
        }
    }
}

/// The last promise of each container and sandbox, with the lists that did not keep it.
#[derive(Debug, Default)]
pub(super) struct Owed(BTreeMap<Text, (Promise, u8)>);

impl Owed {
    /// An event was told.
    pub fn promised(&mut self, id: Text, promise: Promise) {
        if self.0.len() < MOST || self.0.contains_key(&id) {
            self.0.insert(id, (promise, 0));
        }
    }

    /// A list was answered.
    pub fn listed(&mut self, standing: impl Fn(&Text) -> Option<Standing>) {
        self.0.retain(|id, (promise, tries)| {
            *tries += 1;
            !promise.is_kept(standing(id)) && *tries <= TRIES
        });
    }

    /// How long after the begin of the last list the next one may show more: `spacing`, and twice as long each time.
    pub fn again_after(&self, spacing: Duration) -> Option<Duration> {
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
        let mut owed = Owed::default();
        assert_eq!(owed.again_after(SECOND), None);
        owed.promised("a".into(), Promise::Ended);
        owed.listed(|_| Some(Standing::Running));
        assert_eq!(owed.again_after(SECOND), Some(SECOND));
        owed.listed(|_| Some(Standing::Running));
        assert_eq!(owed.again_after(SECOND), Some(2 * SECOND));
        owed.promised("b".into(), Promise::There);
        owed.listed(|id| (id == "a").then_some(Standing::Ended));
        assert_eq!(owed.again_after(SECOND), Some(SECOND), "another is owed still");
        owed.listed(|_| Some(Standing::Created));
        assert_eq!(owed.again_after(SECOND), None);
    }

    #[test]
    fn what_never_comes_is_given_up() {
        let mut owed = Owed::default();
        owed.promised("a".into(), Promise::There);
        let waits: Vec<_> = std::iter::from_fn(|| {
            owed.listed(|_| None);
            owed.again_after(SECOND)
        })
        .map(|wait| wait.as_secs())
        .collect();
        assert_eq!(waits, [1, 2, 4, 8]);
    }

    #[test]
    fn the_last_word_counts() {
        let kept = |promise: Promise, standing| promise.is_kept(standing);
        assert!(kept(Promise::Started, Some(Standing::Ended)), "it has run");
        assert!(!kept(Promise::Started, Some(Standing::Created)) && !kept(Promise::Started, None));
        assert!(kept(Promise::Ended, None) && kept(Promise::Gone, None) && !kept(Promise::There, None));
        let mut owed = Owed::default();
        owed.promised("a".into(), Promise::There);
        owed.promised("a".into(), Promise::Gone);
        owed.listed(|_| None);
        assert_eq!(owed.again_after(SECOND), None, "a creation that failed");
    }
}
