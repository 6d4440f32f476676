//! Checks the quality of a runbook: every rule has examples that hold, every entry has steps.

use std::collections::BTreeSet;

use super::Runbook;
use super::entry::Cause;

/// Variables that every template may use.
const KNOWN: &[&str] = &[
    "pod",
    "namespace",
    "node",
    "uid",
    "container",
    "image",
    "owner",
    "claim",
    "exit",
    "restarts",
    "ip",
    "container_id",
    "sandbox_id",
    "waited",
    "runtime_unit",
    "finalizers",
    "gates",
    "held_by",
    "short_cpu",
    "short_memory",
    "short_storage",
    "short_pods",
    "short_extended",
    "scheduler",
    "runtime_class",
    "signal_name",
    "reason",
    "message",
    "grace",
    "memory_limit",
    "liveness_command",
    "readiness_command",
    "startup_command",
    "restart_rule",
    "after_kill",
    "gate_state",
    "memory_limit",
];

pub(super) fn check(book: &Runbook) -> Vec<String> {
    let mut wrong = Vec::new();
    for cause in book.causes.values() {
        for id in cause.excludes.iter().filter(|id| book.cause(id).is_none()) {
            wrong.push(format!("{}: excludes {id}, which is not a cause", cause.id));
        }
    }
    let mut ids = BTreeSet::new();
    for (number, rule) in book.rules.iter().enumerate() {
        if !ids.insert(&rule.id) {
            wrong.push(format!("{}: two rules have this name", rule.id));
        }
        let holds = |signals: &[super::Signal]| book.hits(signals).iter().any(|hit| hit.rule == number);
        if rule.matches.is_empty() || rule.misses.is_empty() {
            wrong.push(format!("{}: it needs an example that matches, and one that nearly does", rule.id));
        }
        for (i, example) in rule.matches.iter().enumerate() {
            if !holds(example) {
                wrong.push(format!("{}: its example {} does not match", rule.id, i + 1));
            }
        }
        for (i, example) in rule.misses.iter().enumerate() {
            if holds(example) {
                wrong.push(format!("{}: its near miss {} matches", rule.id, i + 1));
            }
        }
        if let Some(explanation) = &rule.explanation {
            let own = book.matcher.names(rule);
            let unknown = explanation.names().filter(|n| !KNOWN.contains(n) && !own.iter().any(|o| o == n));
            wrong.extend(unknown.map(|name| format!("{}: nothing fills {{{name}}}", rule.id)));
        }
    }
    book.causes().for_each(|cause| entry(book, cause, &mut wrong));
    wrong
}

fn entry(book: &Runbook, cause: &Cause, wrong: &mut Vec<String>) {
    if cause.steps.len() < 2 {
        wrong.push(format!("{}: an entry has two steps or more", cause.id));
    }
    let rules: Vec<_> = book.rules.iter().filter(|r| r.cause == cause.id).collect();
    let pulled: BTreeSet<String> = rules.iter().flat_map(|r| book.matcher.names(r)).collect();
    let texts = [&cause.title, &cause.explanation].into_iter();
    let texts = texts.chain(cause.steps.iter().flat_map(|s| [Some(&s.text), s.run.as_ref()]).flatten());
    let unknown: BTreeSet<&str> =
        texts.flat_map(|t| t.names()).filter(|n| !KNOWN.contains(n) && !pulled.contains(*n)).collect();
    wrong.extend(unknown.into_iter().map(|name| format!("{}: nothing fills {{{name}}}", cause.id)));
}
