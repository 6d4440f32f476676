//! Matches signals against all conditions: one pass over a text selects the patterns to try; a pattern is compiled when it is
//! first tried.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::prefilter::Prefilter;
use super::rule::{Rule, SignalCondition};
use super::signal::{Signal, SignalKind};
use super::template::Vars;

/// What one pattern may take when it is compiled, bytes: a pattern of a team's own cannot eat the node's memory.
const PATTERN_LIMIT: usize = 4 << 20;

/// Of one text so much is matched, bytes. A line of a log is cut at 4096 characters; what is longer has several lines.
const TEXT_LIMIT: usize = 4096;
/// Of all texts of one subject so much is matched, bytes: the lines that are kept of a node's logs, three times over. Patterns
/// cost some 50 ns a byte at worst.
const SUBJECT_LIMIT: usize = 1 << 20;

/// Conditions, and their patterns, compiled when they are first needed.
#[derive(Debug, Default)]
pub(super) struct SignalMatcher {
    conditions: Vec<SignalCondition>,
    regexes: Vec<OnceLock<Option<Regex>>>,
    prefilter: Prefilter,
    by_kind: BTreeMap<SignalKind, OfKind>,
    /// Rules that a condition helps to prove, by its number.
    proves: Vec<Vec<usize>>,
}

/// Conditions on one kind of signal.
#[derive(Debug, Default)]
struct OfKind {
    /// Conditions without a pattern that require an exact word, by the word.
    by_word: HashMap<String, Vec<usize>>,
    /// The others without a pattern.
    loose: Vec<usize>,
    /// Numbers at which a condition begins or ceases to hold, ascending.
    thresholds: Vec<i64>,
}

impl OfKind {
    fn add(&mut self, number: usize, condition: &SignalCondition) {
        let ends = condition.code.into_iter().flat_map(|(from, to)| [from, to.saturating_add(1)]);
        self.thresholds.extend(ends);
        if condition.text.is_some() {
            return;
        }
        if condition.words.is_empty() || condition.words.iter().any(|w| w.ends_with('*')) {
            return self.loose.push(number);
        }
        for word in &condition.words {
            self.by_word.entry(word.clone()).or_default().push(number);
        }
    }

    /// The conditions without a pattern that a signal of that word may meet, as `word_matches` reads it.
    fn bare(&self, word: &str) -> impl Iterator<Item = usize> {
        let begin = word.split_once('/').map(|(begin, _)| begin);
        let of = |word: &str| self.by_word.get(word).into_iter().flatten();
        self.loose.iter().chain(of(word)).chain(begin.into_iter().flat_map(of)).copied()
    }
}

/// One rule that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Number of the rule in the runbook.
    pub rule: usize,
    /// Numbers of the signals that prove it.
    pub signals: Vec<usize>,
    /// The container it is about; empty for the pod or the node.
    pub container: String,
}

/// Compiles one pattern as the matcher does.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(true).unicode(false).dot_matches_new_line(true).size_limit(PATTERN_LIMIT).build()
}

/// Signals that meet a condition, by container; those of the pod or the node are under the empty name.
type Met<'s> = BTreeMap<&'s str, Vec<usize>>;

/// What of a signal's text is matched.
fn matched(signal: &Signal) -> &[u8] {
    let text = signal.text.as_bytes();
    text.get(..TEXT_LIMIT).unwrap_or(text)
}

impl SignalMatcher {
    pub fn new(conditions: Vec<SignalCondition>, rules: &[Rule]) -> Self {
        let mut by_kind: BTreeMap<SignalKind, OfKind> = BTreeMap::new();
        for (i, condition) in conditions.iter().enumerate() {
            condition.kinds.iter().for_each(|kind| by_kind.entry(*kind).or_default().add(i, condition));
        }
        for of_kind in by_kind.values_mut() {
            of_kind.thresholds.sort_unstable();
            of_kind.thresholds.dedup();
        }
        let mut proves = vec![Vec::new(); conditions.len()];
        for (number, rule) in rules.iter().enumerate() {
            for condition in rule.positive() {
                proves.get_mut(condition).into_iter().for_each(|rules: &mut Vec<usize>| rules.push(number));
            }
        }
        let regexes = conditions.iter().map(|_| OnceLock::new()).collect();
        let prefilter = Prefilter::new(conditions.iter().map(|c| c.text.as_deref()));
        Self { conditions, regexes, prefilter, by_kind, proves }
    }

    pub fn thresholds(&self, kind: SignalKind) -> &[i64] {
        self.by_kind.get(&kind).map_or(&[], |of_kind| &of_kind.thresholds)
    }

    fn regex(&self, condition: usize) -> Option<&Regex> {
        let text = self.conditions.get(condition)?.text.as_deref()?;
        self.regexes.get(condition)?.get_or_init(|| compile(text).ok()).as_ref()
    }

    /// For each condition the signals that meet it.
    fn met<'s>(&self, signals: &'s [Signal]) -> BTreeMap<usize, Met<'s>> {
        let mut met: BTreeMap<usize, Met> = BTreeMap::new();
        let mut left = SUBJECT_LIMIT;
        // One text often has signals of several kinds.
        let mut worth_trying: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, signal) in signals.iter().enumerate() {
            let accepts = |c: &usize| self.conditions.get(*c).is_some_and(|c| c.accepts(signal));
            let bare = self.by_kind.get(&signal.kind).into_iter().flat_map(|of_kind| of_kind.bare(&signal.word));
            let text = matched(signal);
            let patterns = worth_trying.entry(text).or_insert_with(|| match left.checked_sub(text.len()) {
                Some(less) => {
                    left = less;
                    self.prefilter.may_match(text)
                }
                None => Vec::new(),
            });
            let matches = |c: &usize| self.regex(*c).is_some_and(|r| r.is_match(text));
            let patterned = patterns.iter().copied().filter(|c| accepts(c) && matches(c));
            for condition in bare.filter(accepts).chain(patterned) {
                let signals = met.entry(condition).or_default().entry(&signal.container).or_default();
                if signals.last() != Some(&number) {
                    signals.push(number);
                }
            }
        }
        met
    }

    /// Every rule that holds, for the whole subject or for one of its containers.
    pub fn hits(&self, rules: &[Rule], signals: &[Signal]) -> Vec<Hit> {
        let by_condition = self.met(signals);
        let proved: BTreeSet<usize> =
            by_condition.keys().filter_map(|c| self.proves.get(*c)).flatten().copied().collect();
        let mut containers: Vec<&str> =
            signals.iter().map(|s| s.container.as_str()).filter(|c| !c.is_empty()).collect();
        containers.sort_unstable();
        containers.dedup();
        containers.push("");
        let mut hits = Vec::new();
        for number in proved {
            let Some(rule) = rules.get(number) else { continue };
            for container in &containers {
                // A signal of the pod counts for each of its containers; a signal of one container only for that one.
                let subjects = ["", container];
                let subjects = if container.is_empty() { &subjects[..1] } else { &subjects[..] };
                let own = |c: usize| {
                    let met = by_condition.get(&c);
                    subjects.iter().filter_map(move |subject| met?.get(subject))
                };
                let holds = |c: usize| own(c).next().is_some();
                let all = rule.all.iter().all(|t| t.is_true(holds));
                let any = rule.any.is_empty() || rule.any.iter().any(|t| t.is_true(holds));
                if !all || !any || rule.not.iter().any(|t| t.is_true(holds)) {
                    continue;
                }
                let mut used: Vec<usize> = rule.positive().flat_map(own).flatten().copied().collect();
                used.sort_unstable();
                used.dedup();
                let about_it = used.iter().any(|s| signals.get(*s).is_some_and(|s| s.container == *container));
                if about_it {
                    hits.push(Hit { rule: number, signals: used, container: (*container).to_owned() });
                }
            }
        }
        hits
    }

    /// What a rule's patterns pull out of the signals that it used.
    pub fn pulled_out(&self, rule: &Rule, used: &[usize], signals: &[Signal]) -> Vars {
        let mut vars = Vars::new();
        for number in rule.positive() {
            let Some(regex) = self.regex(number).filter(|r| r.captures_len() > 1) else { continue };
            let accepts = |s: &&Signal| self.conditions.get(number).is_some_and(|c| c.accepts(s));
            for signal in used.iter().filter_map(|s| signals.get(*s)).filter(accepts) {
                let Some(groups) = regex.captures(matched(signal)) else { continue };
                for name in regex.capture_names().flatten() {
                    let Some(group) = groups.name(name).filter(|g| !g.is_empty()) else { continue };
                    vars.entry(name.to_owned())
                        .or_insert_with(|| String::from_utf8_lossy(group.as_bytes()).trim().to_owned());
                }
            }
        }
        vars
    }

    /// The names that a rule's patterns pull out.
    pub fn names(&self, rule: &Rule) -> Vec<String> {
        let regexes = rule.positive().filter_map(|c| self.regex(c));
        regexes.flat_map(|r| r.capture_names().flatten()).map(str::to_owned).collect()
    }
}
