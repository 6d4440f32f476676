//! Owns the last line: the keys that matter here, or what is typed, and the tabs.
//! It must not name a key that the table of keys does not.
//!
//! ```text
//! Enter open  / filter  ? help  q quit  1-22 of 46          1Pods 2Pod 3Kubelet 4Node 5Events 6Runbook
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::cells::{put, width};
use super::keys::{Action, Binding, Context, footer};
use super::tabs;
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
    let right = if context == Context::Typing { area.right() } else { tabs::draw(buffer, area, app.pane, theme) - 1 };
    let position = app.view.position.map(|(first, last, all)| format!("{first}-{last} of {all}")).unwrap_or_default();
    let room = usize::from(right.saturating_sub(x)).saturating_sub(width(&position));
    for binding in fitting(app, context, room) {
        let Some(key) = binding.keys.first() else { continue };
        x = put(buffer, x, area.y, right, &key.name(), theme.style(Role::Key)) + 1;
        x = put(buffer, x, area.y, right, binding.short, theme.style(Role::Plain)) + 2;
    }
    put(buffer, x, area.y, right, &position, theme.style(Role::Muted));
}

/// The lines of the table that find room, in order; help and quit lead on, and are there before all others.
fn fitting(app: &App, context: Context, room: usize) -> Vec<&'static Binding> {
    let cells = |b: &Binding| b.keys.first().map_or(0, |key| width(&key.name()) + width(b.short) + 3);
    let first = |b: &Binding| matches!(b.action, Action::Help | Action::Quit | Action::Back);
    let of_use =
        |b: &&Binding| b.action != Action::ClearFilter || context != Context::List || !app.filter.words.is_empty();
    let all: Vec<&Binding> = footer(context).filter(of_use).collect();
    let mut left = room;
    let mut keep = vec![false; all.len()];
    for pass in [true, false] {
        for (kept, binding) in keep.iter_mut().zip(&all).filter(|(_, b)| first(b) == pass) {
            *kept = cells(binding) <= left;
            left = left.saturating_sub(cells(binding));
        }
    }
    all.into_iter().zip(keep).filter_map(|(binding, kept)| kept.then_some(binding)).collect()
}
