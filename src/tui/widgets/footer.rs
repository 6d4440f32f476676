//! The last line of the screen: keys and tabs, a message, or the input line.
//!
//! ```text
//! Enter open  / filter  ? help  q quit  1-22 of 46          1Pods 2Pod 3Kubelet 4Node 5Events 6Runbook
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::cells::width;
use crate::tui::input::{InputMode, StatusMessage};
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Action, Binding, Context, KeyPress};
use crate::tui::palette;
use crate::tui::pane_table::PaneId;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;
use crate::tui::widgets::tabs;

/// What the footer shows.
pub struct Footer<'a> {
    /// The open pane.
    pub pane: PaneId,
    /// The key context.
    pub context: Context,
    /// The key context of the pane below help and input line.
    pub pane_context: Context,
    /// What keys do now.
    pub mode: &'a InputMode,
    /// The help covers the pane.
    pub help: bool,
    /// The filter or search term of the pane.
    pub words: &'a str,
    /// The message.
    pub message: Option<&'a StatusMessage>,
    /// First and last visible line, and the number of lines.
    pub position: Option<(usize, usize, usize)>,
    /// The node, for the completion of commands.
    pub screen: Option<&'a ScreenState>,
    /// The key bindings.
    pub keymap: &'a Keymap,
}

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, footer: &Footer<'_>, theme: &Theme) {
    let mut x = area.x;
    match footer.mode {
        _ if footer.help => {}
        InputMode::Keys => {}
        InputMode::Filter => x = draw_input(buffer, area, "/", footer.words, theme),
        InputMode::Command(command) => {
            x = draw_input(buffer, area, ":", command, theme);
            let complete = |screen| palette::candidates(command, footer.pane_context, screen);
            let candidates = footer.screen.map(complete).unwrap_or_default();
            let room = Rect { x, width: area.right().saturating_sub(x), ..area };
            return draw_candidates(buffer, room, command, &candidates, theme);
        }
    }
    let is_typing = footer.context.is_typing();
    let message = footer.message.filter(|_| !is_typing);
    // A long message covers the tabs until the next key.
    let room = usize::from(tabs::start(area, footer.pane).saturating_sub(x));
    let is_long = message.is_some_and(|message| width(&message.text) > room);
    let right = match is_typing || is_long {
        true => area.right(),
        false => tabs::draw(buffer, area, footer.pane, theme) - 1,
    };
    if let Some(message) = message {
        let role = if message.is_error { Role::Error } else { Role::Ok };
        put(buffer, x, area.y, right, &message.text, theme.style(role));
        return;
    }
    let position = footer.position.map(|(first, last, all)| format!("{first}-{last} of {all}")).unwrap_or_default();
    let room = usize::from(right.saturating_sub(x)).saturating_sub(width(&position));
    for (binding, key) in fitting(footer, room) {
        x = put(buffer, x, area.y, right, &key.name(), theme.style(Role::Key)) + 1;
        x = put(buffer, x, area.y, right, binding.short, theme.style(Role::Plain)) + 2;
    }
    put(buffer, x, area.y, right, &position, theme.style(Role::Muted));
}

/// The input with the cursor after it; of a long input, the end.
fn draw_input(buffer: &mut Buffer, area: Rect, prompt: &str, text: &str, theme: &Theme) -> u16 {
    let x = put(buffer, area.x, area.y, area.right(), prompt, theme.style(Role::Key));
    let chars: Vec<char> = text.chars().collect();
    let tail: String = chars[chars.len().saturating_sub(usize::from(area.width / 2))..].iter().collect();
    let x = put(buffer, x, area.y, area.right(), &tail, theme.style(Role::Plain));
    put(buffer, x, area.y, area.right(), " ", theme.style(Role::Selected)) + 2
}

/// The candidates for completion, as far as there is room.
fn draw_candidates(buffer: &mut Buffer, area: Rect, typed: &str, found: &[String], theme: &Theme) {
    if found.is_empty() {
        put(buffer, area.x, area.y, area.right(), "unknown command", theme.style(Role::Error));
    }
    // After a command only its argument is repeated.
    let skip = typed.split_once(' ').map_or(0, |(name, _)| name.len() + 1);
    let mut x = area.x;
    for candidate in found {
        x = put(buffer, x, area.y, area.right(), candidate.get(skip..).unwrap_or_default(), theme.style(Role::Muted))
            + 2;
    }
}

/// The bindings that fit, in order. Help, quit and back come before all others.
fn fitting(footer: &Footer<'_>, room: usize) -> Vec<(&'static Binding, KeyPress)> {
    let is_useful = |(b, _): &(&'static Binding, KeyPress)| {
        !b.short.is_empty()
            && (b.action != Action::ClearFilter || footer.context.is_typing() || !footer.words.is_empty())
    };
    let all = footer.keymap.bindings(footer.context).filter_map(|(b, keys)| Some((b, *keys.first()?)));
    let all: Vec<(&Binding, KeyPress)> = all.filter(is_useful).collect();
    let cells = |(b, key): &(&Binding, KeyPress)| width(&key.name()) + width(b.short) + 3;
    let is_first = |b: &Binding| matches!(b.action, Action::Help | Action::Quit | Action::Back);
    let mut left = room;
    let mut keep = vec![false; all.len()];
    for pass in [true, false] {
        for (kept, binding) in keep.iter_mut().zip(&all).filter(|(_, (b, _))| is_first(b) == pass) {
            // The last one needs no space after it.
            *kept = cells(binding) <= left + 2;
            if *kept {
                left = left.saturating_sub(cells(binding));
            }
        }
    }
    all.into_iter().zip(keep).filter_map(|(binding, kept)| kept.then_some(binding)).collect()
}
