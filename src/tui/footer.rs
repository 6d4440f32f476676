//! Owns the last line: the keys that matter here, or what is typed.
//! It must not name a key that the table of keys does not.
//!
//! ```text
//! Enter open  / filter  Esc clear  f failing  p pause  ? help  q quit              1-22 of 46
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::cells::{put, put_right};
use super::keys::{Action, Context, footer};
use super::theme::{Role, Theme};

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, app: &App, theme: &Theme) {
    let mut x = area.x;
    let context = app.context();
    if context == Context::Typing {
        x = put(buffer, x, area.y, area.right(), "/", theme.style(Role::Key));
        // The end of what is long is what is being typed.
        let chars: Vec<char> = app.words().chars().collect();
        let room = usize::from(area.width / 2);
        let tail: String = chars[chars.len().saturating_sub(room)..].iter().collect();
        x = put(buffer, x, area.y, area.right(), &tail, theme.style(Role::Plain));
        x = put(buffer, x, area.y, area.right(), " ", theme.style(Role::Selected)) + 2;
    }
    for binding in footer(context) {
        if binding.action == Action::ClearFilter && context == Context::List && app.filter.words.is_empty() {
            continue;
        }
        let Some(key) = binding.keys.first() else { continue };
        x = put(buffer, x, area.y, area.right(), &key.name(), theme.style(Role::Key)) + 1;
        x = put(buffer, x, area.y, area.right(), binding.short, theme.style(Role::Plain)) + 2;
    }
    if let Some((first, last, all)) = app.view.position {
        put_right(buffer, area, 0, x, &format!("{first}-{last} of {all}"), theme.style(Role::Muted));
    }
}
