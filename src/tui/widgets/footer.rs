//! Owns the last line: the keys that matter here, or what is typed, and the tabs.
//! It must not name a key that the table of keys does not.
//!
//! ```text
//! Enter open  / filter  ? help  q quit  1-22 of 46          1Pods 2Pod 3Kubelet 4Node 5Events 6Runbook
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::{App, Typing};
use crate::tui::keys::{Action, Binding, Context, Key};
use crate::tui::palette;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, width};
use crate::tui::widgets::tabs;

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, app: &App, theme: &Theme) {
    let mut x = area.x;
    let context = app.context();
    match &app.typing {
        _ if app.help => {}
        Typing::No => {}
        Typing::Words => x = typed(buffer, area, "/", app.words(), theme),
        Typing::Command(command) => {
            x = typed(buffer, area, ":", command, theme);
            let found = app.picture.as_ref().map(|p| palette::candidates(command, app.place(), p)).unwrap_or_default();
            return offered(buffer, Rect { x, width: area.right().saturating_sub(x), ..area }, command, &found, theme);
        }
    }
    let said = app.said.as_ref().filter(|_| !context.is_typing());
    // What is said is said whole, and the tabs come back with the next key.
    let long = said.is_some_and(|said| width(&said.text) > usize::from(tabs::begin(area, app.pane).saturating_sub(x)));
    let right = match context.is_typing() || long {
        true => area.right(),
        false => tabs::draw(buffer, area, app.pane, theme) - 1,
    };
    if let Some(said) = said {
        put(buffer, x, area.y, right, &said.text, theme.style(if said.wrong { Role::Trouble } else { Role::Good }));
        return;
    }
    let position = app.view.position.map(|(first, last, all)| format!("{first}-{last} of {all}")).unwrap_or_default();
    let room = usize::from(right.saturating_sub(x)).saturating_sub(width(&position));
    for (binding, key) in fitting(app, context, room) {
        x = put(buffer, x, area.y, right, &key.name(), theme.style(Role::Key)) + 1;
        x = put(buffer, x, area.y, right, binding.short, theme.style(Role::Plain)) + 2;
    }
    put(buffer, x, area.y, right, &position, theme.style(Role::Muted));
}

/// What is typed, with the cursor behind it: the end of what is long is what is being typed.
fn typed(buffer: &mut Buffer, area: Rect, prompt: &str, text: &str, theme: &Theme) -> u16 {
    let x = put(buffer, area.x, area.y, area.right(), prompt, theme.style(Role::Key));
    let chars: Vec<char> = text.chars().collect();
    let tail: String = chars[chars.len().saturating_sub(usize::from(area.width / 2))..].iter().collect();
    let x = put(buffer, x, area.y, area.right(), &tail, theme.style(Role::Plain));
    put(buffer, x, area.y, area.right(), " ", theme.style(Role::Selected)) + 2
}

/// What can follow, as far as there is room.
fn offered(buffer: &mut Buffer, area: Rect, typed: &str, found: &[String], theme: &Theme) {
    if found.is_empty() {
        put(buffer, area.x, area.y, area.right(), "no such command", theme.style(Role::Trouble));
    }
    // Behind a command only the word is told again.
    let said = typed.split_once(' ').map_or(0, |(name, _)| name.len() + 1);
    let mut x = area.x;
    for candidate in found {
        x = put(buffer, x, area.y, area.right(), candidate.get(said..).unwrap_or_default(), theme.style(Role::Muted))
            + 2;
    }
}

/// The lines of the table that find room, in order; help, quit and the way back are there before all others.
fn fitting(app: &App, context: Context, room: usize) -> Vec<(&'static Binding, Key)> {
    let of_use = |(b, _): &(&'static Binding, Key)| {
        !b.short.is_empty()
            && (b.action != Action::ClearFilter || context != Context::List || !app.filter.words.is_empty())
    };
    let all = app.keymap.lines(context).filter_map(|(line, keys)| Some((line, *keys.first()?)));
    let all: Vec<(&Binding, Key)> = all.filter(of_use).collect();
    let cells = |(b, key): &(&Binding, Key)| width(&key.name()) + width(b.short) + 3;
    let first = |b: &Binding| matches!(b.action, Action::Help | Action::Quit | Action::Back);
    let mut left = room;
    let mut keep = vec![false; all.len()];
    for pass in [true, false] {
        for (kept, line) in keep.iter_mut().zip(&all).filter(|(_, (b, _))| first(b) == pass) {
            // The last one needs no space behind it.
            *kept = cells(line) <= left + 2;
            if *kept {
                left = left.saturating_sub(cells(line));
            }
        }
    }
    all.into_iter().zip(keep).filter_map(|(line, kept)| kept.then_some(line)).collect()
}
