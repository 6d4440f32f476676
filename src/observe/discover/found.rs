//! Owns the shape of every search: what was found, and everything that was tried on the way.
//! It must not know what is searched for.

use crate::text::Text;

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStep {
    /// What was looked at.
    pub what: Text,
    /// What the answer was.
    pub answer: Text,
    /// The search took this one.
    pub taken: bool,
}

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered<T> {
    /// What was found.
    pub value: Option<T>,
    /// What was tried, in order; what comes after the one that was taken was not tried.
    pub tried: Vec<SearchStep>,
}

impl<T> Default for Discovered<T> {
    fn default() -> Self {
        Self { value: None, tried: Vec::new() }
    }
}

impl<T> Discovered<T> {
    /// True while nothing was taken.
    pub(super) fn open(&self) -> bool {
        self.value.is_none()
    }

    /// Tried in vain.
    pub(super) fn miss(&mut self, what: impl Into<Text>, answer: impl Into<Text>) {
        self.tried.push(SearchStep { what: what.into(), answer: answer.into(), taken: false });
    }

    /// Tried and taken; the first one that is taken stays.
    pub(super) fn take(&mut self, what: impl Into<Text>, answer: impl Into<Text>, value: T) {
        let taken = self.open();
        self.tried.push(SearchStep { what: what.into(), answer: answer.into(), taken });
        if taken {
            self.value = Some(value);
        }
    }
}
