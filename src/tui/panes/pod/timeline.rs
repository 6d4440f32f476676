//! The timeline of a pod: its phases from creation to now. Each phase has a letter, for terminals without color.
//!
//! ```text
//! TIMELINE  4m12s
//!   pppppIIIsssRRRRRRRRxxxxRRRRxxxxxxxx
//!   pending 12s · pulling 8s · starting 3s · ready 1m40s · failing 2m9s
//! ```

use ratatui::text::{Line, Span};

use crate::pipeline::human_duration;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::paragraph;
use crate::view::{TimelinePhase, TimelineSpan};

/// Widest bar, cells.
const WIDEST: usize = 120;
/// Phases in the order of the legend.
const PHASES: [TimelinePhase; 7] = [
    TimelinePhase::Pending,
    TimelinePhase::Pulling,
    TimelinePhase::Starting,
    TimelinePhase::Ready,
    TimelinePhase::Failing,
    TimelinePhase::Terminating,
    TimelinePhase::Ended,
];

/// The lines of the section; empty without a creation time.
pub fn lines(life: &[TimelineSpan], cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (Some(first), Some(last)) = (life.first(), life.last()) else { return Vec::new() };
    let width = cells.saturating_sub(2).min(WIDEST);
    let all = (last.to - first.from).num_milliseconds().max(1);
    let mut spans = vec![Span::raw("  ")];
    spans.extend((0..width).map(|i| {
        let (from, to) = (part(all, i, width), part(all, i + 1, width));
        let phase = worst(life, first, from, to);
        let (letter, role) = look(phase);
        Span::styled(letter, theme.style(role))
    }));
    let total = |phase: TimelinePhase| -> i64 {
        life.iter().filter(|s| s.phase == phase).map(|s| (s.to - s.from).num_milliseconds()).sum()
    };
    let present = PHASES.into_iter().filter(|phase| life.iter().any(|s| s.phase == *phase));
    let words: Vec<String> = present
        .map(|phase| {
            let took = crate::time::TimeDelta::milliseconds(total(phase));
            format!("{} {} {}", look(phase).0, phase.name(), human_duration(took))
        })
        .collect();
    let mut out = vec![Line::from(spans)];
    out.extend(paragraph(&words.join(" · "), Role::Muted, cells, theme));
    out
}

fn part(all: i64, i: usize, cells: usize) -> i64 {
    (all as i128 * i as i128 / cells.max(1) as i128) as i64
}

/// The most severe phase in the time of one cell.
fn worst(life: &[TimelineSpan], first: &TimelineSpan, from: i64, to: i64) -> TimelinePhase {
    let rank = |phase: TimelinePhase| match phase {
        TimelinePhase::Failing => 6,
        TimelinePhase::Terminating => 5,
        TimelinePhase::Pulling => 4,
        TimelinePhase::Starting => 3,
        TimelinePhase::Pending => 2,
        TimelinePhase::Ready => 1,
        TimelinePhase::Ended => 0,
    };
    let ms = |at: crate::observation::Time| (at - first.from).num_milliseconds();
    let seen = life.iter().filter(|s| ms(s.from) < to.max(from + 1) && ms(s.to) > from);
    seen.map(|s| s.phase).max_by_key(|phase| rank(*phase)).unwrap_or(TimelinePhase::Pending)
}

fn look(phase: TimelinePhase) -> (&'static str, Role) {
    match phase {
        TimelinePhase::Pending => (".", Role::Muted),
        TimelinePhase::Pulling => ("i", Role::Active),
        TimelinePhase::Starting => ("s", Role::Active),
        TimelinePhase::Ready => ("=", Role::Ok),
        TimelinePhase::Failing => ("x", Role::Error),
        TimelinePhase::Terminating => ("t", Role::Warning),
        TimelinePhase::Ended => ("-", Role::Muted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Time;

    #[test]
    fn the_bar_is_true_to_time_and_shows_what_is_worst() {
        let at = |s: i64| Time::from_timestamp(1_790_000_000 + s, 0).unwrap();
        let stretch = |phase, from, to| TimelineSpan { phase, from: at(from), to: at(to) };
        let life = [
            stretch(TimelinePhase::Pending, 0, 10),
            stretch(TimelinePhase::Pulling, 10, 30),
            stretch(TimelinePhase::Ready, 30, 61),
            stretch(TimelinePhase::Failing, 61, 62),
            stretch(TimelinePhase::Ready, 62, 100),
        ];
        let theme = Theme::new(false, true);
        let texts: Vec<String> = lines(&life, 12, &theme).iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "  .ii===x===");
        let wide: Vec<String> = lines(&life, 200, &theme).iter().map(ToString::to_string).collect();
        assert_eq!(wide[1], "  . pending 10s · i pulling 20s · = ready 69s · x failing 1s");
        assert!(lines(&[], 80, &theme).is_empty());
        for cells in 0..9 {
            assert!(!lines(&life, cells, &theme).is_empty());
        }
    }
}
