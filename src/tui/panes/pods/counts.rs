//! Owns the line that counts pods and says which of them are shown.
//! It must not count what the header of the view does not.
//!
//! ```text
//! 42 pods  3 failing  1 slow  2 moving               4 shown · only failing · filter web
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::{App, Typing};
use crate::tui::panes::pods::columns::columns;
use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right};
use crate::view::Sort;

/// Draws the line; with the title, where it found no room above.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, app: &App, title: bool, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let (all, failing, slow, moving) = picture.header.pods;
    let so_far = if picture.header.pods_so_far { " so far" } else { "" };
    let pieces = [
        (format!("{all} pod{}{so_far}", if all == 1 { "" } else { "s" }), Role::Heading),
        (format!("{failing} failing"), if failing > 0 { Role::Trouble } else { Role::Muted }),
        (format!("{slow} slow"), if slow > 0 { Role::Slow } else { Role::Muted }),
        (format!("{moving} moving"), if moving > 0 { Role::Active } else { Role::Muted }),
    ];
    let mut x = area.x;
    for (text, role) in &pieces {
        x = put(buffer, x, area.y, area.right(), text, theme.style(*role)) + 2;
    }
    let mut shown = Vec::new();
    if let Some(namespace) = &app.filter.namespace {
        shown.push(format!("namespace {namespace}"));
    }
    if app.filter.failing {
        shown.push("only failing".to_owned());
    }
    if !app.filter.words.is_empty() && app.typing != Typing::Words {
        shown.push(format!("filter {}", app.filter.words));
    }
    if app.sort != Sort::default() && !sorted_in_sight(area.width, picture, app) {
        shown.push(format!("by {}", app.sort.name()));
    }
    if picture.shown.len() < picture.moment.rows().len() || !shown.is_empty() {
        // First, because what follows may be cut.
        shown.insert(0, format!("{} shown", picture.shown.len()));
    }
    let wrong = app.filter.problem();
    if let Some(wrong) = &wrong {
        shown = vec![wrong.clone()];
    }
    let title = title && shown.is_empty();
    let text = if title { picture.title.to_string() } else { shown.join(" · ") };
    let room = usize::from(area.right().saturating_sub(x + 1));
    put_right(
        buffer,
        area,
        0,
        x,
        &crate::tui::widgets::cells::cut(&text, room),
        theme.style(match (title, wrong) {
            (true, _) => Role::Muted,
            (_, Some(_)) => Role::Trouble,
            _ => Role::Heading,
        }),
    );
}

/// The column that is sorted by has its arrow.
fn sorted_in_sight(width: u16, picture: &Picture, app: &App) -> bool {
    let columns = columns(usize::from(width.saturating_sub(1)), picture.widest, &app.columns);
    columns.iter().any(|(column, _)| app.sort.by == Some(*column))
}
