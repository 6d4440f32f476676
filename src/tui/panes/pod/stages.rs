//! Pipeline stages of a pod, each with times and evidence, newest first.
//!
//! ```text
//! ● sandbox      14:02:10  took 1s
//!     cri 14:02:10 sandbox ready
//! ✗ image        14:02:11  for 34s
//! ```

use std::cmp::Reverse;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::{Evidence, PipelinePosition, StageProgress, StageState, human_duration};
use crate::text::cells::{cut, fit, wrap};
use crate::tui::theme::{Role, Theme};
use crate::view::{clock, milliseconds};

/// Most lines of one piece of evidence.
const LINES: usize = 3;
/// Most pieces of evidence of one stage.
const EVIDENCE: usize = 4;

/// The lines of the section.
pub fn lines(place: &PipelinePosition, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for step in &place.stages {
        out.push(stage(step, step.stage == place.stage, now, theme));
        let mut evidence: Vec<&Evidence> = step.evidence.iter().collect();
        evidence.sort_by_key(|e| Reverse(e.at));
        for said in evidence.into_iter().take(EVIDENCE) {
            out.extend(self::evidence(said, "    ", cells, theme));
        }
    }
    out
}

fn stage(step: &StageProgress, here: bool, now: Time, theme: &Theme) -> Line<'static> {
    let (glyph, role) = theme.stage(step.state);
    let name = theme.style(if here { Role::Heading } else { Role::Plain });
    let name = if here { name.add_modifier(Modifier::UNDERLINED) } else { name };
    let since = step.since.map(clock).unwrap_or_default();
    let open = matches!(step.state, StageState::Active | StageState::Failed | StageState::Waiting);
    let took = match (step.took_ms(), step.since) {
        (Some(ms), _) if !open && ms > 0 => format!("took {}", milliseconds(ms as f64 / 1000.0)),
        (_, Some(since)) if open => {
            format!("for {}", human_duration((now - since).max(crate::time::TimeDelta::zero())))
        }
        _ => String::new(),
    };
    Line::from(vec![
        Span::styled(format!("{glyph} "), theme.style(role)),
        Span::styled(step.stage.name(), name),
        Span::raw(" ".repeat(13usize.saturating_sub(step.stage.name().len()))),
        Span::styled(fit(step.state.name(), 9), theme.style(role)),
        Span::raw(format!("{}  {took}", fit(&since, 8))),
    ])
}

/// One piece of evidence, wrapped under its indent.
pub fn evidence(said: &Evidence, indent: &str, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let at = said.at.map(|at| format!("{} ", clock(at))).unwrap_or_default();
    let text = format!("{} {at}{}", said.source.name(), said.text.one_line());
    let room = cells.saturating_sub(indent.len() + 2);
    let mut lines = wrap(&text, room);
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.iter_mut().skip(LINES - 1).for_each(|line| *line = format!("{}…", cut(line, room.saturating_sub(1))));
    }
    lines
        .into_iter()
        .enumerate()
        .map(|(i, l)| Line::styled(format!("{indent}{}{l}", if i == 0 { "" } else { "  " }), theme.style(Role::Muted)))
        .collect()
}
