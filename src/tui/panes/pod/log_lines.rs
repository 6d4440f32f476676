//! The last log lines of the containers of a pod, as far as a source has them.

use ratatui::text::{Line, Span};

use crate::pipeline::LocatedPod;
use crate::text::cells::wrap;
use crate::tui::theme::{Role, Theme};
use crate::view::clock;

/// Most lines of each container.
const SHOWN: usize = 10;

/// The lines of the section; empty without container output.
pub fn lines(placed: &LocatedPod, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for container in &placed.position.containers {
        let written: Vec<_> = placed.facts.log_lines().filter(|l| l.container == container.name).collect();
        if written.is_empty() {
            continue;
        }
        out.push(Line::styled(format!("  {}", container.name.one_line()), theme.style(Role::Heading)));
        for line in written.iter().skip(written.len().saturating_sub(SHOWN)) {
            let words = wrap(&line.text.one_line(), cells.saturating_sub(13).max(1));
            for (i, text) in words.into_iter().take(3).enumerate() {
                let at = if i == 0 { clock(line.at) } else { " ".repeat(8) };
                out.push(Line::from(vec![
                    Span::styled(format!("    {at} "), theme.style(Role::Muted)),
                    Span::raw(text),
                ]));
            }
        }
    }
    out
}
