//! One runbook entry.
//!
//! ```text
//! run.oom-killed  stage running  error
//! The container exceeds its memory limit
//! …
//! NEXT STEPS       widgets/steps.rs
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::text::cells::wrap;
use crate::tui::panes::runbook::EntryPage;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::flow;
use crate::tui::widgets::scroll::{self, View};
use crate::tui::widgets::steps;

/// Draws the page, scrolled.
pub fn draw(buffer: &mut Buffer, area: Rect, page: &mut EntryPage, theme: &Theme) -> View {
    let lines = lines(page, usize::from(area.width), theme);
    page.step.scroll_to(&lines, usize::from(area.height), &mut page.scroll);
    scroll::text(buffer, area, &lines, &mut page.scroll)
}

fn lines(page: &EntryPage, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let entry = &page.entry;
    let heading = |text: &str| Line::styled(text.to_owned(), theme.style(Role::Heading));
    let first = vec![
        Span::styled(entry.id.to_string(), theme.style(Role::Heading)),
        Span::raw(format!("stage {}", entry.stage)),
        Span::raw(entry.severity),
    ];
    let mut out = flow(first, cells);
    out.extend(wrap(&entry.title, cells).iter().map(|l| heading(l)));
    out.extend(wrap(&entry.explanation, cells).into_iter().map(Line::from));
    if !entry.reasons.is_empty() {
        let reasons = format!("shown in Kubernetes as: {}", entry.reasons.join(", "));
        out.extend(wrap(&reasons, cells).into_iter().map(|l| Line::styled(l, theme.style(Role::Muted))));
    }
    if !entry.steps.is_empty() {
        out.push(heading("NEXT STEPS"));
        out.extend(steps::steps(&entry.steps, page.step.of(&entry.steps), cells, theme));
    }
    out.extend(steps::docs(&entry.docs, cells, theme));
    out
}
