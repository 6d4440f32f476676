//! Owns the help: every key with what it does, and what the glyphs mean.
//! It must not hold a list of its own: keys come from the table of keys, glyphs from the theme.
//!
//! ```text
//! TABLE
//!   Enter l Right        open the selected pod
//! PIPELINE
//!   ● done   ◐ active   …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::app::App;
use super::cells::fit;
use super::keys::{BINDINGS, Binding, Context, Key};
use super::scroll;
use super::theme::{Role, Theme};
use crate::pipeline::{Stage, StageState};

/// Draws the help over the whole body, scrolled.
pub fn draw(buffer: &mut Buffer, area: Rect, app: &mut App, theme: &Theme) {
    app.view = scroll::text(buffer, area, &lines(theme), &mut app.help_scroll);
}

fn lines(theme: &Theme) -> Vec<Line<'static>> {
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), theme.style(Role::Heading)));
    let mut out = Vec::new();
    let places = [
        (
            "EVERYWHERE",
            &[
                Context::List,
                Context::Pod,
                Context::Kubelet,
                Context::Node,
                Context::Events,
                Context::Book,
                Context::Entry,
            ][..],
        ),
        ("TABLE", &[Context::List][..]),
        ("POD", &[Context::Pod][..]),
        ("KUBELET", &[Context::Kubelet][..]),
        ("NODE", &[Context::Node][..]),
        ("EVENTS", &[Context::Events][..]),
        ("RUNBOOK", &[Context::Book][..]),
        ("RUNBOOK ENTRY", &[Context::Entry][..]),
        ("WHILE TYPING", &[Context::Typing][..]),
        ("HELP", &[Context::Help][..]),
    ];
    let mut told: Vec<*const Binding> = Vec::new();
    for (name, contexts) in places {
        let here =
            |b: &&Binding| contexts.iter().all(|c| b.contexts.contains(c)) && !told.contains(&std::ptr::from_ref(*b));
        let found: Vec<&Binding> = BINDINGS.iter().filter(here).collect();
        if found.is_empty() {
            continue;
        }
        out.push(heading(name));
        for binding in found {
            told.push(std::ptr::from_ref(binding));
            let keys: Vec<String> = binding.keys.iter().map(|k: &Key| k.name()).collect();
            out.push(Line::from(vec![
                Span::styled(format!("  {}", fit(&keys.join(" "), 24)), theme.style(Role::Key)),
                Span::raw(binding.long),
            ]));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_told_once() {
        assert!(lines(&Theme::new(false, false)).iter().all(|l| l.width() <= 80));
        let text: Vec<String> = lines(&Theme::new(false, false)).iter().map(ToString::to_string).collect();
        for binding in BINDINGS {
            let keys: Vec<String> = binding.keys.iter().map(|k| k.name()).collect();
            let found =
                text.iter().filter(|l| **l == format!("  {}{}", fit(&keys.join(" "), 24), binding.long)).count();
            assert_eq!(found, 1, "{binding:?}");
        }
    }
}
