//! Events of a pod, newest first.
//!
//! ```text
//!  34s  Warning  BackOff   ×4  Back-off restarting failed container web in pod …
//! ```

use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::{LocatedPod, human_duration};
use crate::text::cells::{fit, width, wrap};
use crate::tui::theme::{Role, Theme};

/// Most events on the screen.
const SHOWN: usize = 100;

/// The lines of the section.
pub fn lines(placed: &LocatedPod, (now, secrets): (Time, bool), cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let facts = &placed.facts;
    if facts.events.is_empty() {
        let text = if facts.complete.events { "  none" } else { "  no data" };
        return vec![Line::styled(text, theme.style(Role::Muted))];
    }
    let reasons = facts.events.iter().take(SHOWN).map(|e| width(&e.reason)).max().unwrap_or(0).clamp(6, 24);
    let indent = 6 + 9 + reasons + 1 + 6;
    let mut out = Vec::new();
    for event in facts.events.iter().take(SHOWN) {
        let age = event
            .last()
            .map_or_else(|| "-".into(), |at| human_duration((now - at).max(crate::time::TimeDelta::zero())));
        let role = if event.is_warning() { Role::Warning } else { Role::Plain };
        let times = if event.times() > 1 { format!("×{}", event.times()) } else { String::new() };
        let mut message = wrap(event.message.shown(secrets), cells.saturating_sub(indent)).into_iter();
        out.push(Line::from(vec![
            Span::raw(format!("{age:>5} ")),
            Span::styled(fit(&event.kind, 9), theme.style(role)),
            Span::styled(format!("{} ", fit(&event.reason, reasons)), theme.style(role)),
            Span::raw(fit(&times, 6)),
            Span::raw(message.next().unwrap_or_default()),
        ]));
        out.extend(message.take(20).map(|l| Line::from(format!("{}{l}", " ".repeat(indent)))));
    }
    out
}
