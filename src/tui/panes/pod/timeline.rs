//! Owns the bar of a pod's life: its phases over time, from its creation to now.
//! It must not let colour alone tell phases apart: each has its letter.
//!
//! ```text
//! LIFE  4m12s
//!   pppppIIIsssRRRRRRRRxxxxRRRRxxxxxxxx
//!   pending 12s · pulling 8s · starting 3s · ready 1m40s · failing 2m9s
//! ```

use ratatui::text::{Line, Span};

use crate::pipeline::human_duration;
use crate::tui::theme::Role;
use crate::tui::theme::Theme;
use crate::tui::widgets::sections::said;
use crate::view::{Phase, Stretch};

/// Widest bar: beyond it a cell says no more.
const WIDEST: usize = 120;
/// Shortest stretch that always has a cell: what was short is seen nevertheless.
const PHASES: [Phase; 7] =
    [Phase::Pending, Phase::Pulling, Phase::Starting, Phase::Ready, Phase::Failing, Phase::Terminating, Phase::Ended];

/// The lines of the section; none when nothing is known of its begin.
pub fn lines(life: &[Stretch], cells: usize, theme: &Theme) -> Vec<Line<'static>> {
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
    let total = |phase: Phase| -> i64 {
        life.iter().filter(|s| s.phase == phase).map(|s| (s.to - s.from).num_milliseconds()).sum()
    };
    let had = PHASES.into_iter().filter(|phase| life.iter().any(|s| s.phase == *phase));
    let words: Vec<String> = had
        .map(|phase| {
            let took = crate::time::TimeDelta::milliseconds(total(phase));
            format!("{} {} {}", look(phase).0, phase.name(), human_duration(took))
        })
        .collect();
    let mut out = vec![Line::from(spans)];
    out.extend(said(&words.join(" · "), Role::Muted, cells, theme));
    out
}

fn part(all: i64, i: usize, cells: usize) -> i64 {
    (all as i128 * i as i128 / cells.max(1) as i128) as i64
}

/// What is worst in a cell's share of time.
fn worst(life: &[Stretch], first: &Stretch, from: i64, to: i64) -> Phase {
    let rank = |phase: Phase| match phase {
        Phase::Failing => 6,
        Phase::Terminating => 5,
        Phase::Pulling => 4,
        Phase::Starting => 3,
        Phase::Pending => 2,
        Phase::Ready => 1,
        Phase::Ended => 0,
    };
    let ms = |at: crate::observation::Time| (at - first.from).num_milliseconds();
    let seen = life.iter().filter(|s| ms(s.from) < to.max(from + 1) && ms(s.to) > from);
    seen.map(|s| s.phase).max_by_key(|phase| rank(*phase)).unwrap_or(Phase::Pending)
}

fn look(phase: Phase) -> (&'static str, Role) {
    match phase {
        Phase::Pending => (".", Role::Muted),
        Phase::Pulling => ("i", Role::Active),
        Phase::Starting => ("s", Role::Active),
        Phase::Ready => ("=", Role::Good),
        Phase::Failing => ("x", Role::Trouble),
        Phase::Terminating => ("t", Role::Slow),
        Phase::Ended => ("-", Role::Muted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Time;

    #[test]
    fn the_bar_is_true_to_time_and_shows_what_is_worst() {
        let at = |s: i64| Time::from_timestamp(1_790_000_000 + s, 0).unwrap();
        let stretch = |phase, from, to| Stretch { phase, from: at(from), to: at(to) };
        let life = [
            stretch(Phase::Pending, 0, 10),
            stretch(Phase::Pulling, 10, 30),
            stretch(Phase::Ready, 30, 61),
            stretch(Phase::Failing, 61, 62),
            stretch(Phase::Ready, 62, 100),
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
