//! The help: the keys of the open pane, and the meaning of the glyphs.
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
use crate::text::cells::fit;
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Binding, Context, KeyPress};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::scroll::{self, View};

/// Draws the help over the whole body, scrolled.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    (keymap, context): (&Keymap, Context),
    scroll: &mut usize,
    theme: &Theme,
) -> View {
    scroll::text(buffer, area, &lines(keymap, context, theme), scroll)
}

fn lines(keymap: &Keymap, place: Context, theme: &Theme) -> Vec<Line<'static>> {
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), theme.style(Role::Heading)));
    let line = |(binding, keys): (&'static Binding, &[KeyPress])| {
        let keys: Vec<String> = keys.iter().map(|k: &KeyPress| k.name()).collect();
        Line::from(vec![
            Span::styled(format!("  {}", fit(&keys.join(" "), 24)), theme.style(Role::Key)),
            Span::raw(binding.long),
        ])
    };
    let mut out = vec![heading(&place.title().to_uppercase())];
    out.extend(keymap.bindings(place).filter(|(b, _)| !b.is_global()).map(line));
    out.push(heading("EVERY PANE"));
    out.extend(keymap.bindings(place).filter(|(b, _)| b.is_global()).map(line));
    for typing in [Context::FilterInput, Context::CommandInput] {
        out.push(heading(&typing.title().to_uppercase()));
        out.extend(keymap.bindings(typing).map(line));
    }
    out.push(heading("MOUSE"));
    out.push(Line::raw("  wheel: scroll; click: select, sort by heading, open tab; double click: open"));
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
    out.push(heading("SYMBOLS"));
    out.push(Line::raw("  ~ estimated; a STATUS with ~ is derived from the runtime alone"));
    out.push(Line::raw("  > longer than; in IN STAGE: earlier exits of a crash loop are not known"));
    out.push(Line::raw("  ? unknown; in READY: only kubelet and API server know it"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_pane_is_listed_once() {
        for place in Context::all().filter(|c| !c.is_typing() && *c != Context::Help) {
            let lines = lines(&Keymap::default(), place, &Theme::new(false, false));
            assert!(lines.iter().all(|l| l.width() <= 80), "{lines:?}");
            // The keys of the input lines follow below.
            let text = lines.iter().map(ToString::to_string).take_while(|l| !l.starts_with("FILTER INPUT"));
            let text: Vec<String> = text.collect();
            for (binding, keys) in Keymap::default().bindings(place) {
                let keys: Vec<String> = keys.iter().map(|k| k.name()).collect();
                let row = format!("  {}{}", fit(&keys.join(" "), 24), binding.long);
                let found = text.iter().filter(|l| **l == row).count();
                assert_eq!(found, 1, "{binding:?}");
            }
        }
    }
}
