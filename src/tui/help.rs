//! Owns the help: every key of the pane with what it does, and what the glyphs mean.
//! It must not hold a list of its own: keys come from the table of keys, glyphs from the theme.
//!
//! ```text
//! PODS
//!   Enter l Right        open the selected pod
//! PIPELINE
//!   ● done   ◐ active   …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::pipeline::{Stage, StageState};
use crate::tui::app::App;
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Binding, Context, Key};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::fit;
use crate::tui::widgets::scroll;

/// Draws the help over the whole body, scrolled.
pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App, theme: &Theme) {
    let lines = lines(&app.keymap, app.place(), theme);
    app.view = scroll::text(buffer, area, &lines, &mut app.help_scroll);
}

fn lines(keymap: &Keymap, place: Context, theme: &Theme) -> Vec<Line<'static>> {
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), theme.style(Role::Heading)));
    let line = |(binding, keys): (&'static Binding, &[Key])| {
        let keys: Vec<String> = keys.iter().map(|k: &Key| k.name()).collect();
        Line::from(vec![
            Span::styled(format!("  {}", fit(&keys.join(" "), 24)), theme.style(Role::Key)),
            Span::raw(binding.long),
        ])
    };
    let mut out = vec![heading(&place.title().to_uppercase())];
    out.extend(keymap.lines(place).filter(|(b, _)| !is_everywhere(b)).map(line));
    out.push(heading("EVERY PANE"));
    out.extend(keymap.lines(place).filter(|(b, _)| is_everywhere(b)).map(line));
    for typing in [Context::Typing, Context::Palette] {
        out.push(heading(&typing.title().to_uppercase()));
        out.extend(keymap.lines(typing).map(line));
    }
    out.push(heading("MOUSE"));
    out.push(Line::raw("  wheel scrolls; click selects, sorts by a heading, goes to a tab; twice opens"));
    out.push(heading("PIPELINE"));
    let mut glyphs = vec![Span::raw("  ")];
    for state in [
        StageState::Done,
        StageState::Active,
        StageState::Waiting,
        StageState::Failed,
        StageState::Skipped,
        StageState::Unknown,
    ] {
        let (glyph, role) = theme.stage(state);
        glyphs.push(Span::styled(glyph, theme.style(role)));
        glyphs.push(Span::raw(format!(" {}   ", state.name())));
    }
    out.push(Line::from(glyphs));
    let names: Vec<&str> = Stage::ALL.iter().map(|s| s.name()).collect();
    out.push(Line::from(format!("  {}", names[..6].join(", "))));
    out.push(Line::from(format!("  {}", names[6..].join(", "))));
    out
}

/// True for what every pane has.
pub fn is_everywhere(line: &Binding) -> bool {
    [Context::List, Context::Pod, Context::Kubelet, Context::Node].iter().all(|c| line.contexts.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_pane_is_told_once() {
        for place in Context::ALL.into_iter().filter(|c| !c.is_typing() && *c != Context::Help) {
            let lines = lines(&Keymap::default(), place, &Theme::new(false, false));
            assert!(lines.iter().all(|l| l.width() <= 80), "{lines:?}");
            // What holds while one types is told below.
            let text = lines.iter().map(ToString::to_string).take_while(|l| !l.starts_with("WHILE"));
            let text: Vec<String> = text.collect();
            for (binding, keys) in Keymap::default().lines(place) {
                let keys: Vec<String> = keys.iter().map(|k| k.name()).collect();
                let told = format!("  {}{}", fit(&keys.join(" "), 24), binding.long);
                let found = text.iter().filter(|l| **l == told).count();
                assert_eq!(found, 1, "{binding:?}");
            }
        }
    }
}
