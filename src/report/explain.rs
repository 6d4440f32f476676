//! An explanation as text: the cause, the evidence, what happens next, the steps.

use std::fmt::Write;
use std::sync::Arc;

use crate::diagnose::{Finding, RemedyStep};
use crate::observation::Time;
use crate::runbook::Cause;
use crate::text::cells::wrap_whole_words;
use crate::view::{ExplainedSubject, RunbookEntry, clock, next_text};

/// Width of wrapped text where the output is not a terminal.
const WIDTH: usize = 100;
/// Characters of one piece of evidence: the kubelet can put a list of every pod into one line.
const EVIDENCE_MAX: usize = 600;

/// The explanation of these subjects.
pub fn explain_text(subjects: &[ExplainedSubject], now: Time, width: Option<usize>) -> String {
    let width = width.unwrap_or(WIDTH).clamp(40, 120);
    let mut out = String::new();
    for (i, subject) in subjects.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        one(subject, now, width, &mut out);
    }
    out
}

fn one(e: &ExplainedSubject, now: Time, width: usize, out: &mut String) {
    let name = if e.namespace.is_empty() { e.name.to_string() } else { format!("{}/{}", e.namespace, e.name) };
    let status = if e.status.is_empty() { String::new() } else { format!("  {}", e.status) };
    let kind = e.kind.to_lowercase();
    _ = writeln!(out, "{kind} {name}{status}  (stage {})", e.stage);
    if let Some(node) = &e.of_node {
        fold(&format!("caused by the node: {} [{}]", node.title, node.cause), "  ", "  ", width, out);
    }
    for left_out in &e.left_out {
        _ = writeln!(out, "  {left_out}");
    }
    for (i, finding) in e.diagnosis.findings.iter().enumerate() {
        if i == 0 {
            first(finding, now, width, out);
        } else {
            _ = writeln!(out, "  also {}: {} [{}]", finding.confidence.name(), finding.headline(), finding.cause);
        }
    }
}

fn first(f: &Finding, now: Time, width: usize, out: &mut String) {
    fold(&format!("{} [{}, {}]", f.headline(), f.cause, f.confidence.name()), "  ", "  ", width, out);
    fold(&f.explanation, "  ", "  ", width, out);
    if !f.evidence.is_empty() {
        out.push_str("  evidence\n");
        for e in &f.evidence {
            let at = e.at.map_or_else(|| "        ".to_owned(), clock);
            let whole = e.text.chars().count() <= EVIDENCE_MAX;
            let text =
                if whole { e.text.to_string() } else { e.text.chars().take(EVIDENCE_MAX).chain(['…']).collect() };
            fold(&text, &format!("    {at} {:<12} ", e.source.name()), "                          ", width, out);
        }
    }
    if let Some(next) = &f.next {
        _ = writeln!(out, "  next      {}", next_text(next, now));
    }
    steps(&f.steps, width, out);
    for doc in &f.docs {
        _ = writeln!(out, "  see       {doc}");
    }
}

fn steps(steps: &[RemedyStep], width: usize, out: &mut String) {
    if !steps.is_empty() {
        out.push_str("  to do\n");
    }
    for (i, step) in steps.iter().enumerate() {
        fold(&step.text, &format!("    {}. ", i + 1), "       ", width, out);
        if let Some(command) = &step.command {
            // A command is not wrapped, so that it can be copied.
            _ = writeln!(out, "       $ {command}");
        }
        if let Some(disrupts) = &step.disrupts {
            fold(&format!("! {disrupts}"), "       ", "         ", width, out);
        }
    }
}

/// Entries of the runbook, with places to fill in angle brackets.
pub fn entry_text(causes: &[Arc<Cause>], width: Option<usize>) -> String {
    let width = width.unwrap_or(WIDTH).clamp(40, 120);
    let mut out = String::new();
    for (i, entry) in causes.iter().map(|cause| RunbookEntry::new(cause)).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        _ = writeln!(out, "{}  (stage {}, {})", entry.id, entry.stage, entry.severity);
        fold(&entry.title, "  ", "  ", width, &mut out);
        fold(&entry.explanation, "  ", "  ", width, &mut out);
        steps(&entry.steps, width, &mut out);
        for doc in &entry.docs {
            _ = writeln!(out, "  see       {doc}");
        }
    }
    out
}

/// What rules can look for in each subject, one signal a line.
pub fn signals_text(subjects: &[ExplainedSubject]) -> String {
    let mut out = String::new();
    for subject in subjects {
        let name = [&*subject.namespace, &*subject.name].into_iter().filter(|n| !n.is_empty()).collect::<Vec<_>>();
        _ = writeln!(out, "{} {}", subject.kind.to_lowercase(), name.join("/"));
        for s in &subject.diagnosis.signals {
            _ = write!(out, "  {:<14} {:<12}", s.kind.name(), s.source.name());
            let code = s.code.map(|c| c.to_string()).unwrap_or_default();
            let count = if s.count > 1 { s.count.to_string() } else { String::new() };
            let fields = [("word", s.word.as_str()), ("container", &s.container), ("code", &code), ("count", &count)];
            for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
                _ = write!(out, " {field}={value}");
            }
            _ = writeln!(out, " {}", s.text.one_line());
        }
    }
    out
}

/// Adds a text in lines of at most `width` cells; the first line starts with `first`, the others with `rest`.
fn fold(text: &str, first: &str, rest: &str, width: usize, out: &mut String) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = wrap_whole_words(&text, width.saturating_sub(rest.len()));
    for (line, prefix) in lines.iter().zip(std::iter::once(first).chain(std::iter::repeat(rest))) {
        _ = writeln!(out, "{prefix}{line}");
    }
}
