//! The line with the number of pods, and the filter.
//!
//! ```text
//! 42 pods  3 failing  1 slow  2 moving               4 shown · only failing · filter web
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::cells::cut;
use crate::tui::input::InputMode;
use crate::tui::panes::DrawContext;
use crate::tui::panes::pods::PodsPane;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::Role;
use crate::tui::widgets::cells::{put, put_right};
use crate::view::Sort;

/// Draws the line; with the title, if it did not fit above.
pub fn draw(buffer: &mut Buffer, area: Rect, pane: &PodsPane, context: &DrawContext<'_>, title: bool) {
    let (screen, theme) = (context.screen, context.theme);
    if area.height == 0 {
        return;
    }
    let (all, failing, slow, moving) = screen.header.pods;
    let so_far = if screen.header.pods_so_far { " so far" } else { "" };
    let pieces = [
        (format!("{all} pod{}{so_far}", if all == 1 { "" } else { "s" }), Role::Heading),
        (format!("{failing} failing"), if failing > 0 { Role::Error } else { Role::Muted }),
        (format!("{slow} slow"), if slow > 0 { Role::Warning } else { Role::Muted }),
        (format!("{moving} moving"), if moving > 0 { Role::Active } else { Role::Muted }),
    ];
    let mut x = area.x;
    for (text, role) in &pieces {
        x = put(buffer, x, area.y, area.right(), text, theme.style(*role)) + 2;
    }
    let mut shown = Vec::new();
    if let Some(namespace) = &pane.filter.namespace {
        shown.push(format!("namespace {namespace}"));
    }
    if pane.filter.failing {
        shown.push("failing or slow".to_owned());
    }
    if !pane.filter.words.is_empty() && *context.mode != InputMode::Filter {
        shown.push(format!("filter {}", pane.filter.words));
    }
    if pane.sort != Sort::default() && !is_sort_column_visible(area.width, screen, pane) {
        shown.push(format!("by {}", pane.sort.name()));
    }
    if screen.shown.len() < screen.node_view.rows().len() || !shown.is_empty() {
        // First, because the rest may be cut.
        shown.insert(0, format!("{} shown", screen.shown.len()));
    }
    let wrong = pane.filter.problem();
    if let Some(wrong) = &wrong {
        shown = vec![wrong.clone()];
    }
    let title = title && shown.is_empty();
    let text = if title { screen.title.to_string() } else { shown.join(" · ") };
    let room = usize::from(area.right().saturating_sub(x + 1));
    put_right(
        buffer,
        area,
        0,
        x,
        &cut(&text, room),
        theme.style(match (title, wrong) {
            (true, _) => Role::Muted,
            (_, Some(_)) => Role::Error,
            _ => Role::Heading,
        }),
    );
}

/// True if the table shows the arrow of the sort column.
fn is_sort_column_visible(width: u16, screen: &ScreenState, pane: &PodsPane) -> bool {
    let columns = pane.visible_columns(width, screen);
    columns.iter().any(|(column, _)| pane.sort.by == Some(*column))
}
