//! Owns the matching of signals against all conditions: one pass over a text tells which patterns are worth a try, and a
//! pattern is compiled when it is first tried. It must not rank what matches.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::kind::{Kind, Signal};
use super::prefilter::Prefilter;
use super::rule::{Condition, Rule};
use super::template::Vars;

/// What one pattern may take when it is compiled, bytes: a pattern of a team's own cannot eat the node's memory.
const PATTERN_LIMIT: usize = 4 << 20;

/// Conditions, and their patterns made ready when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    conditions: Vec<Condition>,
    regexes: Vec<OnceLock<Option<Regex>>>,
    prefilter: Prefilter,
    by_kind: BTreeMap<Kind, OfKind>,
}

#[derive(Debug, Default)]
struct OfKind {
    conditions: Vec<usize>,
    /// Numbers at which a condition begins or ceases to hold, ascending.
    thresholds: Vec<i64>,
}

/// One rule that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Number of the rule in the runbook.
    pub rule: usize,
    /// Numbers of the signals that prove it.
    pub signals: Vec<usize>,
    /// What the patterns pulled out.
    pub vars: Vars,
    /// The container it is about; empty for the pod or the node.
    pub container: String,
}

/// Compiles one pattern as the matcher does.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(true).unicode(false).dot_matches_new_line(true).size_limit(PATTERN_LIMIT).build()
}

impl Matcher {
    pub fn new(conditions: Vec<Condition>) -> Self {
        let mut by_kind: BTreeMap<Kind, OfKind> = BTreeMap::new();
        for (i, condition) in conditions.iter().enumerate() {
            for kind in &condition.kinds {
                let of_kind = by_kind.entry(*kind).or_default();
                let ends = condition.code.into_iter().flat_map(|(from, to)| [from, to.saturating_add(1)]);
                of_kind.thresholds.extend(ends);
                of_kind.conditions.push(i);
            }
        }
        for of_kind in by_kind.values_mut() {
            of_kind.thresholds.sort_unstable();
            of_kind.thresholds.dedup();
        }
        let regexes = conditions.iter().map(|_| OnceLock::new()).collect();
        let prefilter = Prefilter::new(conditions.iter().map(|c| c.text.as_deref()));
        Self { conditions, regexes, prefilter, by_kind }
    }

    pub fn thresholds(&self, kind: Kind) -> &[i64] {
        self.by_kind.get(&kind).map_or(&[], |of_kind| &of_kind.thresholds)
    }

    fn regex(&self, condition: usize) -> Option<&Regex> {
        let text = self.conditions.get(condition)?.text.as_deref()?;
        self.regexes.get(condition)?.get_or_init(|| compile(text).ok()).as_ref()
    }

    /// For each signal the conditions that it meets.
    fn met(&self, signals: &[Signal]) -> Vec<Vec<usize>> {
        let met = signals.iter().map(|signal| {
            let Some(of_kind) = self.by_kind.get(&signal.kind) else { return Vec::new() };
            let text = signal.text.as_bytes();
            let held = self.prefilter.held(text);
            let meets = |number: &usize| {
                self.conditions.get(*number).is_some_and(|c| {
                    c.accepts(signal)
                        && (c.text.is_none()
                            || self.prefilter.may_match(*number, &held)
                                && self.regex(*number).is_some_and(|r| r.is_match(text)))
                })
            };
            of_kind.conditions.iter().copied().filter(meets).collect()
        });
        met.collect()
    }

    /// Every rule that holds, for the whole subject or for one of its containers.
    pub fn hits(&self, rules: &[Rule], signals: &[Signal]) -> Vec<Hit> {
        let met = self.met(signals);
        let mut by_condition: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (signal, conditions) in met.iter().enumerate() {
            for condition in conditions {
                by_condition.entry(*condition).or_default().push(signal);
            }
        }
        let mut containers: Vec<&str> =
            signals.iter().map(|s| s.container.as_str()).filter(|c| !c.is_empty()).collect();
        containers.sort_unstable();
        containers.dedup();
        containers.push("");
        let mut hits = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            if !rule.positive().any(|c| by_condition.contains_key(&c)) {
                continue;
            }
            for container in &containers {
                // What is said of the pod counts for each of its containers; what is said of one, not for another.
                let own = |signal: usize| {
                    signals.get(signal).is_some_and(|s| s.container.is_empty() || s.container == *container)
                };
                let holds = |c: usize| by_condition.get(&c).is_some_and(|found| found.iter().any(|s| own(*s)));
                let all = rule.all.iter().all(|t| t.is_true(holds));
                let any = rule.any.is_empty() || rule.any.iter().any(|t| t.is_true(holds));
                if !all || !any || rule.not.iter().any(|t| t.is_true(holds)) {
                    continue;
                }
                let mut used: Vec<usize> = rule
                    .positive()
                    .filter_map(|c| by_condition.get(&c))
                    .flatten()
                    .copied()
                    .filter(|s| own(*s))
                    .collect();
                used.sort_unstable();
                used.dedup();
                let about_it = used.iter().any(|s| signals.get(*s).is_some_and(|s| s.container == *container));
                if about_it {
                    let vars = self.vars(rule, &used, signals, &by_condition);
                    hits.push(Hit { rule: number, signals: used, vars, container: (*container).to_owned() });
                }
            }
        }
        hits
    }

    fn vars(
        &self,
        rule: &Rule,
        used: &[usize],
        signals: &[Signal],
        by_condition: &BTreeMap<usize, Vec<usize>>,
    ) -> Vars {
        let mut vars = Vars::new();
        for condition in rule.positive() {
            let Some(regex) = self.regex(condition).filter(|r| r.captures_len() > 1) else { continue };
            let found = by_condition.get(&condition).into_iter().flatten().filter(|s| used.contains(s));
            for signal in found.filter_map(|s| signals.get(*s)) {
                let Some(groups) = regex.captures(signal.text.as_bytes()) else { continue };
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
