//! What proves a cause: conditions on signals, joined by all, any and not, in two levels.

use super::entry::Confidence;
use super::signal::{Signal, SignalKind};
use super::template::Template;

/// Matches one signal. An absent field matches any signal.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalCondition {
    /// Kinds of signals that match.
    pub kinds: Vec<SignalKind>,
    /// The word is one of these; empty for any.
    pub words: Vec<String>,
    /// A pattern in the text, case ignored; its named groups are filled into the words of the finding.
    pub text: Option<String>,
    /// The number lies within.
    pub code: Option<(i64, i64)>,
    /// Least number of repeats.
    pub min_count: u32,
}

impl SignalCondition {
    /// All but the pattern.
    pub fn accepts(&self, signal: &Signal) -> bool {
        self.kinds.contains(&signal.kind)
            && (self.words.is_empty() || self.words.iter().any(|w| word_matches(w, &signal.word)))
            && self.code.is_none_or(|(from, to)| signal.code.is_some_and(|code| (from..=to).contains(&code)))
            && signal.count >= self.min_count
    }
}

/// The exact word, or a prefix if `wanted` ends with `*`.
fn word_matches(wanted: &str, word: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(begin) => word.starts_with(begin),
        None => word == wanted || word.split_once('/').is_some_and(|(begin, _)| begin == wanted),
    }
}

/// Conditions by number, joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleTerm {
    /// That condition.
    One(usize),
    /// All of them.
    All(Vec<usize>),
    /// One of them.
    Any(Vec<usize>),
}

impl RuleTerm {
    /// The conditions in it.
    pub fn conditions(&self) -> &[usize] {
        match self {
            RuleTerm::One(c) => std::slice::from_ref(c),
            RuleTerm::All(cs) | RuleTerm::Any(cs) => cs,
        }
    }

    /// Evaluates the term; `holds` evaluates one condition.
    pub fn is_true(&self, mut holds: impl FnMut(usize) -> bool) -> bool {
        match self {
            RuleTerm::One(c) => holds(*c),
            RuleTerm::All(cs) => cs.iter().all(|c| holds(*c)),
            RuleTerm::Any(cs) => cs.iter().any(|c| holds(*c)),
        }
    }
}

/// One way of proving a cause.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The cause.
    pub cause: String,
    /// `cause#name`, for `runbook check` and for tests.
    pub id: String,
    /// All of these.
    pub all: Vec<RuleTerm>,
    /// One of these, if there are any.
    pub any: Vec<RuleTerm>,
    /// None of these.
    pub not: Vec<RuleTerm>,
    /// How sure it is then.
    pub confidence: Confidence,
    /// Which of several causes is the deeper: the greater weight comes first. 50 is a cause that names itself, below 40
    /// one that is taken when nothing else fits.
    pub weight: u8,
    /// What it means, if this rule knows more than the cause.
    pub explanation: Option<Template>,
    /// Signals that prove it.
    pub matches: Vec<Vec<Signal>>,
    /// Signals that nearly do.
    pub misses: Vec<Vec<Signal>>,
}

impl Rule {
    /// Conditions of `all` and `any`: what shows up as evidence.
    pub fn positive(&self) -> impl Iterator<Item = usize> {
        self.all.iter().chain(&self.any).flat_map(|t| t.conditions().iter().copied())
    }
}

impl Rule {
    /// The same, where the conditions of its file are numbered from `first`.
    #[must_use]
    pub(super) fn shifted(mut self, first: usize) -> Self {
        for term in self.all.iter_mut().chain(&mut self.any).chain(&mut self.not) {
            match term {
                RuleTerm::One(c) => *c += first,
                RuleTerm::All(cs) | RuleTerm::Any(cs) => cs.iter_mut().for_each(|c| *c += first),
            }
        }
        self
    }
}
