//! The result of a search on the node: the value, and each step that was tried.

use crate::text::Text;

/// One step of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStep {
    /// The file, flag or process.
    pub what: Text,
    /// The result.
    pub answer: Text,
    /// This step gave the value.
    pub taken: bool,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered<T> {
    /// The value.
    pub value: Option<T>,
    /// The steps, in order; the search stops at the one that gave the value.
    pub tried: Vec<SearchStep>,
}

impl<T> Default for Discovered<T> {
    fn default() -> Self {
        Self { value: None, tried: Vec::new() }
    }
}

impl<T> Discovered<T> {
    /// True without a value.
    pub(super) fn open(&self) -> bool {
        self.value.is_none()
    }

    /// Adds a step without a value.
    pub(super) fn miss(&mut self, what: impl Into<Text>, answer: impl Into<Text>) {
        self.tried.push(SearchStep { what: what.into(), answer: answer.into(), taken: false });
    }

    /// Adds a step with a value; the first value stays.
    pub(super) fn take(&mut self, what: impl Into<Text>, answer: impl Into<Text>, value: T) {
        let taken = self.open();
        self.tried.push(SearchStep { what: what.into(), answer: answer.into(), taken });
        if taken {
            self.value = Some(value);
        }
    }
}
