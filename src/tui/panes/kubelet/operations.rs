//! Runtime operations of the last metrics window, slowest first.

use ratatui::text::Line;

use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{nothing, number, table, text, title};
use crate::view::{KubeletView, clock, is_slow_operation, milliseconds, quantile};

/// The section.
pub fn lines(view: &KubeletView, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let note = view.pleg.windows.last().map(|w| format!("{} to {}, slowest first", clock(w.from), clock(w.to)));
    let mut lines = vec![title("RUNTIME OPERATIONS", &note.unwrap_or_default(), cells, theme)];
    if view.pleg.operations.is_empty() {
        lines.extend(nothing("none in the last window, or no kubelet metrics", cells, theme));
        return lines;
    }
    let row = |o: &crate::model::OperationWindow| {
        let slow = is_slow_operation(o);
        let (errors, role) = (o.errors, if slow { Role::Warning } else { Role::Plain });
        let errors = number(errors.to_string()).role(if errors > 0 { Role::Error } else { Role::Muted });
        vec![
            text(o.name.one_line()).role(role),
            number(format!("{:.1}/s", o.rate)),
            number(o.mean.map(milliseconds).unwrap_or_default()).role(role),
            number(quantile(o.p50)),
            number(quantile(o.p99)).role(role),
            errors,
            number(o.total_errors.to_string()).role(Role::Muted),
            text(if slow { "slow" } else { "" }).role(role),
        ]
    };
    let head = ["OPERATION", "RATE", "MEAN", "P50", "P99", "ERRORS", "TOTAL ERR", ""];
    lines.extend(table(&head, view.pleg.operations.iter().map(row).collect(), cells, theme));
    lines
}
