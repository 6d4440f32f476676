//! Owns which patterns a text can match at all: the literals that each of them needs, looked for in one pass.
//! It must not compile a pattern: a runbook has a thousand of them, and a node's troubles need a few dozen.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Shorter literals are in nearly every text.
const SHORTEST: usize = 3;
/// More alternatives than these tell little.
const MOST_ALTERNATIVES: usize = 64;

/// One of these must be in the text.
type Clause = Vec<Vec<u8>>;

/// The literals of many patterns, ready to be looked for.
#[derive(Debug, Default)]
pub(super) struct Prefilter {
    automaton: Option<AhoCorasick>,
    /// For each pattern, by its number, clauses of literals by their numbers: one of each clause must be there.
    needed: Vec<Vec<Vec<usize>>>,
    literals: usize,
}

/// Which literals a text holds.
#[derive(Debug)]
pub(super) struct Held(Vec<bool>);

impl Prefilter {
    /// A pattern that cannot be read, and no pattern, need nothing.
    pub fn new<'a>(patterns: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut numbers: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let needed = patterns.map(|pattern| {
            let each_clause = pattern.map(clauses_of).unwrap_or_default().into_iter().map(|clause| {
                let number = |literal: Vec<u8>| {
                    let next = numbers.len();
                    *numbers.entry(literal).or_insert(next)
                };
                clause.into_iter().map(number).collect()
            });
            each_clause.collect()
        });
        let needed = needed.collect();
        let mut literals: Vec<(usize, Vec<u8>)> = numbers.into_iter().map(|(literal, n)| (n, literal)).collect();
        literals.sort_unstable();
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard).prefilter(false);
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        let automaton = builder.build(literals.iter().map(|(_, literal)| literal)).ok();
        Self { automaton, needed, literals: literals.len() }
    }

    /// Looks at a text once.
    pub fn held(&self, text: &[u8]) -> Held {
        let Some(automaton) = &self.automaton else { return Held(vec![true; self.literals]) };
        let mut held = vec![false; self.literals];
        for found in automaton.find_overlapping_iter(text) {
            if let Some(held) = held.get_mut(found.pattern().as_usize()) {
                *held = true;
            }
        }
        Held(held)
    }

    /// False when that pattern cannot match the text.
    pub fn may_match(&self, pattern: usize, held: &Held) -> bool {
        let is_held = |literal: &usize| held.0.get(*literal).copied().unwrap_or(true);
        self.needed.get(pattern).is_none_or(|clauses| clauses.iter().all(|clause| clause.iter().any(is_held)))
    }
}

/// The clauses that a text must meet, as lower case; none when nothing can be said.
fn clauses_of(pattern: &str) -> Vec<Clause> {
    // Case counts here, so that letters stay literals; the automaton ignores it as the compiled pattern does.
    let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
    let mut clauses = parsed.map(|hir| clauses(&hir)).unwrap_or_default();
    clauses.iter_mut().flatten().for_each(|literal| literal.make_ascii_lowercase());
    clauses.retain(|clause| shortest(clause) >= SHORTEST && clause.len() <= MOST_ALTERNATIVES);
    clauses
}

fn shortest(clause: &Clause) -> usize {
    clause.iter().map(Vec::len).min().unwrap_or(0)
}

fn clauses(hir: &Hir) -> Vec<Clause> {
    match hir.kind() {
        HirKind::Literal(literal) => vec![vec![literal.0.to_vec()]],
        HirKind::Capture(capture) => clauses(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => clauses(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().flat_map(clauses).collect(),
        HirKind::Alternation(branches) => {
            // One clause for all: of each branch the one that says most.
            let best = |branch: &Hir| clauses(branch).into_iter().max_by_key(shortest);
            let each: Option<Vec<Clause>> = branches.iter().map(best).collect();
            each.map(|each| vec![each.concat()]).unwrap_or_default()
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) | HirKind::Repetition(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(pattern: &str) -> Vec<Vec<String>> {
        let text = |literal: Vec<u8>| String::from_utf8(literal).unwrap();
        clauses_of(pattern).into_iter().map(|clause| clause.into_iter().map(text).collect()).collect()
    }

    #[test]
    fn a_pattern_needs_its_literals() {
        assert_eq!(
            needed("Failed to (?:pull|resolve) .*image"),
            [vec!["failed to "], vec!["pull", "resolve"], vec!["image"]]
        );
        assert_eq!(needed("(?P<name>[a-z]+) not found"), [[" not found"]]);
        assert_eq!(needed("(?:deadline exceeded)+"), [["deadline exceeded"]]);
    }

    #[test]
    fn what_may_be_absent_is_not_needed() {
        assert!(needed("(?:timeout)?").is_empty());
        assert!(needed("(?:timeout|[0-9]+)").is_empty(), "one branch has no literal");
        assert!(needed("no|ab").is_empty(), "too short to tell anything");
        assert!(needed("(?i)timeout").is_empty(), "folded by itself: nothing is said, nothing is lost");
        assert!(needed("(").is_empty());
    }

    #[test]
    fn patterns_are_told_apart_by_what_a_text_holds() {
        let patterns = ["no space left", "quota|no space", "[0-9]+"];
        let filter = Prefilter::new(patterns.iter().copied().map(Some).chain([None]));
        let may = |text: &str| -> Vec<usize> {
            let held = filter.held(text.as_bytes());
            (0..4).filter(|p| filter.may_match(*p, &held)).collect()
        };
        assert_eq!(may("write: NO SPACE LEFT on device"), [0, 1, 2, 3]);
        assert_eq!(may("exceeded quota: compute"), [1, 2, 3]);
        assert_eq!(may(""), [2, 3]);
    }
}
