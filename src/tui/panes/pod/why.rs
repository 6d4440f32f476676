//! Findings of a pod: cause, explanation, evidence, next event, steps. A fault of the node comes first.
//!
//! ```text
//! ✗ The container exceeds its memory limit [run.oom-killed, certain] in web
//!   The kernel ended it because …
//!     api-pods 12:41:20 web ended: oom, exit code 137
//!   next: restart in 12s
//!   1. …          widgets/steps.rs
//!   also, possible: … [probe.timeout]
//! ```

use ratatui::text::Line;

use crate::diagnose::{Finding, HEALTHY};
use crate::observation::Time;
use crate::runbook::Severity;
use crate::text::cells::wrap;
use crate::tui::panes::pod::stages::evidence;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::chosen_step::StepCursor;
use crate::tui::widgets::steps::{self, hung};
use crate::view::{PodDiagnosis, next_text};

/// The lines of the section; `step` is marked.
pub fn lines(why: &PodDiagnosis, step: StepCursor, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    if let Some(fault) = &why.of_node {
        out.extend(title(fault, "caused by the node: ", cells, theme));
    }
    let mut findings = why.own.findings.iter();
    if let Some(first) = findings.next() {
        out.extend(title(first, "", cells, theme));
        if first.cause != HEALTHY {
            out.extend(body(first, step, now, cells, theme));
        }
    }
    for other in findings {
        let (sure, cause) = (other.confidence.name(), &other.cause);
        let text = format!("also, {sure}: {} [{cause}]", other.headline().one_line());
        out.extend(hung("  ", &text, Role::Plain, cells, theme));
    }
    out
}

fn title(finding: &Finding, before: &str, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (glyph, role) = match finding.severity {
        Severity::Error => ("✗ ", Role::Error),
        Severity::Warning => ("! ", Role::Warning),
        Severity::Info => ("● ", Role::Ok),
    };
    let (sure, cause) = (finding.confidence.name(), &finding.cause);
    let text = format!("{before}{} [{cause}, {sure}]", finding.headline().one_line());
    hung(glyph, &text, role, cells, theme)
}

fn body(finding: &Finding, step: StepCursor, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out: Vec<Line> = Vec::new();
    let room = cells.saturating_sub(2);
    out.extend(wrap(&finding.explanation, room).into_iter().map(|l| Line::from(format!("  {l}"))));
    for said in &finding.evidence {
        out.extend(evidence(said, "    ", cells, theme));
    }
    if let Some(next) = &finding.next {
        out.push(Line::styled(format!("  next: {}", next_text(next, now)), theme.style(Role::Active)));
    }
    out.extend(steps::steps(&finding.steps, step.of(&finding.steps), cells, theme));
    out.extend(steps::docs(&finding.docs, cells, theme));
    out
}
