//! Selects the patterns that can match a text by the literals that each needs, in one pass. A runbook has about a thousand
//! patterns; most nodes need a few dozen.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Shorter literals are in nearly every text.
const SHORTEST: usize = 3;
/// In half of all messages.
const COMMON: &[&str] =
    &["fail", "failed", "failed to ", "error", "image", "container", "not found", "volume", "unable to "];
/// Least length of the further literals of a pattern: shorter ones cost more than they exclude.
const WORTH_A_LOOK: usize = 6;
/// Most alternatives of a clause: more exclude little.
const MOST_ALTERNATIVES: usize = 64;

/// One of these must be in the text.
type Clause = Vec<Vec<u8>>;

/// The literals of many patterns, compiled for one search.
#[derive(Debug, Default)]
pub(super) struct Prefilter {
    automaton: Option<AhoCorasick>,
    /// Patterns without a usable literal.
    always: Vec<usize>,
    /// For each literal the patterns whose most selective clause contains it: only these are tried if it is found.
    begins: Vec<Vec<usize>>,
    /// For each pattern, by its number, the other clauses of literals by their numbers.
    others: Vec<Vec<Vec<usize>>>,
}

impl Prefilter {
    /// `None` is a condition without a pattern.
    pub fn new<'a>(patterns: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut numbers: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let (mut always, mut begins, mut others) = (Vec::new(), Vec::<Vec<usize>>::new(), Vec::new());
        for (pattern, text) in patterns.enumerate() {
            let Some(text) = text else {
                others.push(Vec::new());
                continue;
            };
            let mut clauses = clauses_of(text);
            clauses.sort_by_key(|clause| std::cmp::Reverse(selectivity(clause)));
            let first = clauses.len().min(1);
            let rest = clauses.split_off(first);
            clauses.extend(rest.into_iter().filter(|clause| shortest(clause) >= WORTH_A_LOOK));
            let mut numbered = clauses.into_iter().map(|clause| {
                let number = |literal: Vec<u8>| {
                    let next = numbers.len();
                    *numbers.entry(literal).or_insert(next)
                };
                clause.into_iter().map(number).collect::<Vec<usize>>()
            });
            match numbered.next() {
                None => always.push(pattern),
                Some(first) => {
                    begins.resize(begins.len().max(first.iter().max().map_or(0, |n| n + 1)), Vec::new());
                    for literal in first {
                        begins.get_mut(literal).into_iter().for_each(|patterns| patterns.push(pattern));
                    }
                }
            }
            others.push(numbered.collect());
        }
        let mut literals: Vec<(usize, Vec<u8>)> = numbers.into_iter().map(|(literal, n)| (n, literal)).collect();
        literals.sort_unstable();
        begins.resize(literals.len(), Vec::new());
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard).prefilter(false);
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        let automaton = builder.build(literals.iter().map(|(_, literal)| literal)).ok();
        Self { automaton, always, begins, others }
    }

    /// The numbers of the patterns that may match a text, ascending; all others cannot.
    pub fn may_match(&self, text: &[u8]) -> Vec<usize> {
        let Some(automaton) = &self.automaton else { return (0..self.others.len()).collect() };
        let mut held: Vec<usize> = automaton.find_overlapping_iter(text).map(|m| m.pattern().as_usize()).collect();
        held.sort_unstable();
        held.dedup();
        let has = |literal: &usize| held.binary_search(literal).is_ok();
        let has_others = |pattern: &usize| {
            self.others.get(*pattern).is_none_or(|clauses| clauses.iter().all(|clause| clause.iter().any(has)))
        };
        let begun = held.iter().filter_map(|literal| self.begins.get(*literal)).flatten();
        let mut patterns: Vec<usize> = begun.chain(&self.always).filter(|p| has_others(p)).copied().collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }
}

/// The clauses that a text must meet, in lower case; none if that cannot be decided.
fn clauses_of(pattern: &str) -> Vec<Clause> {
    // Case counts here, so that letters stay literals; the automaton ignores it as the compiled pattern does.
    let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
    let mut clauses = parsed.map(|hir| clauses(&hir)).unwrap_or_default();
    clauses.iter_mut().flatten().for_each(|literal| literal.make_ascii_lowercase());
    clauses.retain(|clause| shortest(clause) >= SHORTEST && clause.len() <= MOST_ALTERNATIVES);
    clauses
}

/// How selective a clause is, for comparison: the length of its literals, and how few they are.
fn selectivity(clause: &Clause) -> (usize, std::cmp::Reverse<usize>) {
    let common = |literal: &Vec<u8>| COMMON.iter().any(|c| literal.eq_ignore_ascii_case(c.as_bytes()));
    let least = clause.iter().map(|literal| if common(literal) { 1 } else { literal.len() }).min();
    (least.unwrap_or(0), std::cmp::Reverse(clause.len()))
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
            // One clause for all branches: the most selective one of each.
            let best = |branch: &Hir| clauses(branch).into_iter().max_by_key(selectivity);
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
    fn patterns_are_selected_by_the_literals_in_a_text() {
        let patterns = ["no space left", "quota|no space", "[0-9]+", "left.*device"];
        let filter = Prefilter::new(patterns.iter().copied().map(Some).chain([None]));
        let may = |text: &str| filter.may_match(text.as_bytes());
        assert_eq!(may("write: NO SPACE LEFT on device"), [0, 1, 2, 3]);
        assert_eq!(may("exceeded quota: compute"), [1, 2]);
        assert_eq!(may("a device is left"), [2, 3], "order is the pattern's affair");
        assert_eq!(may("a device"), [2, 3], "a short literal is not asked for beside a longer one");
        assert_eq!(may("nothing is left"), [2]);
    }
}
