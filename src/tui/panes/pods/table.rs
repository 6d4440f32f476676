//! The table of pods. Only visible rows are laid out.
//!
//! ```text
//!  NAMESPACE/POD           READY STATUS            PIPELINE     STAGE       IN STAGE WHY
//! ▸shop/web-6d4cf56db6-x2  0/1   CrashLoopBackOff  ●●●●·●●●○○✗○ running     2m3s     Out of memory
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::pipeline::Stage;
use crate::text::cells::{fit, wrap};
use crate::tui::panes::pods::PodsPane;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{pod_name, put};
use crate::tui::widgets::scroll::{Rows, View};
use crate::view::{Column, POD_LISTS, PodHealth, Row};

/// Draws heading and rows; keeps the selected row visible.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, pane: &mut PodsPane, theme: &Theme) -> View {
    if area.height == 0 {
        return View::default();
    }
    let columns = pane.visible_columns(area.width, screen);
    let mut x = area.x + 1;
    for (column, cells) in &columns {
        let end = put(buffer, x, area.y, x + *cells as u16, column.heading(), theme.style(Role::Heading));
        if pane.sort.by == Some(*column) {
            // At most in the space after the column.
            let arrow = if pane.sort.is_descending() { "▼" } else { "▲" };
            put(buffer, end, area.y, area.right(), arrow, theme.style(Role::Key));
        }
        x += *cells as u16 + 1;
    }
    let rows = usize::from(area.height - 1);
    let count = screen.shown.len();
    pane.cursor.keep(count, rows);
    let seen = Rows { y: area.y + 1, first: pane.cursor.top, count: rows.min(count - pane.cursor.top) };
    let line = screen.row(pane.cursor.index).map(|row| format!("{}/{}", row.namespace, row.name));
    let view = View { page: rows.max(1), position: None, rows: Some(seen), line };
    if count == 0 {
        let lines = wrap(&empty(screen, pane), usize::from(area.width.saturating_sub(2)));
        for (line, y) in lines.iter().zip(area.y + 2..area.bottom()) {
            put(buffer, area.x + 1, y, area.right(), line, theme.style(Role::Muted));
        }
        return view;
    }
    for (i, y) in (pane.cursor.top..count).zip(area.y + 1..area.bottom()) {
        if let Some(row) = screen.row(i) {
            draw_row(buffer, Rect { y, height: 1, ..area }, &columns, row, i == pane.cursor.index, theme);
        }
    }
    view
}

fn draw_row(buffer: &mut Buffer, area: Rect, columns: &[(Column, usize)], row: &Row, selected: bool, theme: &Theme) {
    let base = if selected { theme.style(Role::Selected) } else { Style::new() };
    let (right, y) = (area.right(), area.y);
    if selected {
        buffer.set_style(area, base);
        put(buffer, area.x, y, right, "▸", base);
    }
    let mut x = area.x + 1;
    for &(column, cells) in columns {
        let (text, role): (&str, Role) = match column {
            Column::Name => (&pod_name(&row.namespace, &row.name, cells), Role::Plain),
            Column::Ready => (&row.ready, Role::Plain),
            Column::Status => (&row.status, theme.health(row.health)),
            Column::Stage => (row.stage.name(), Role::Plain),
            Column::InStage => {
                let late = row.health == PodHealth::Slow;
                (&row.in_stage, if late { Role::Warning } else { Role::Plain })
            }
            Column::Restarts => (&row.restarts, Role::Plain),
            // `<unknown>` would be cut.
            Column::Age if row.age.len() > cells => ("?", Role::Muted),
            Column::Age => (&row.age, Role::Plain),
            Column::Next => (&row.next, Role::Active),
            Column::Why => (&row.why, Role::Plain),
            Column::Pipeline => {
                glyphs(buffer, x, y, right, row, base, theme);
                x += cells as u16 + 1;
                continue;
            }
        };
        put(buffer, x, y, right, &fit(text, cells), base.patch(theme.style(role)));
        x += cells as u16 + 1;
    }
}

/// One glyph per stage; the current stage is underlined and bold.
fn glyphs(buffer: &mut Buffer, mut x: u16, y: u16, right: u16, row: &Row, base: Style, theme: &Theme) {
    for (stage, state) in Stage::ALL.iter().zip(&row.glyphs) {
        let (glyph, role) = theme.stage(*state);
        let mut style = base.patch(theme.style(role));
        if *stage == row.stage {
            style = style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD).remove_modifier(Modifier::DIM);
        }
        x = put(buffer, x, y, right, glyph, style);
    }
}

/// Why the table is empty.
fn empty(screen: &ScreenState, pane: &PodsPane) -> String {
    if !screen.node_view.rows().is_empty() {
        let only = if pane.filter.failing && pane.filter.words.is_empty() {
            "no failing or slow pod"
        } else {
            "no pod matches the filter"
        };
        return format!("{only} ({} pods in total)", screen.node_view.rows().len());
    }
    let lists: Vec<_> = screen.header.sources.iter().filter(|s| POD_LISTS.contains(&s.source)).collect();
    let with_sources = |first: &str| {
        let states: Vec<String> = lists.iter().map(|s| format!("{} {}", s.source.name(), s.text)).collect();
        format!("{first}: {}", states.join(" · "))
    };
    match lists.as_slice() {
        [] => "no pods yet: no source has responded".to_owned(),
        _ if screen.header.pods_so_far => with_sources("no pods yet, waiting for the first list"),
        lists if lists.iter().any(|s| s.live) => with_sources("no pods on this node"),
        _ => with_sources("no pods yet"),
    }
}
