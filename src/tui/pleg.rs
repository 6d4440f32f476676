//! Owns the line that tells how PLEG does, as the kubelet says and as our own list calls measure it.
//! It must not show an interpolated figure without its mark.
//!
//! ```text
//! PLEG slow  0.9/s  mean 812ms  p99 ≥10s  seen 12s ago of 3m  own list 34ms  ▁▁▁▁▃▇██
//! ```

use crate::thresholds::{METRICS_HISTORY, METRICS_PERIOD};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Picture;
use super::cells::{put, put_right};
use super::glyphs::LEVELS;
use super::theme::{Role, Theme};
use crate::model::RelistWindow;
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::view::{PlegView, age, milliseconds, quantile, relist_rate};

/// Mean relist at the lowest and the highest level of the sparkline, seconds: a scale that does not move, so that
/// two nodes, or two moments, look alike only if they are.
const SCALE: (f64, f64) = (0.002, 10.0);

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let (pleg, now) = (&picture.pleg, picture.header.now);
    let verdict = pleg.verdict;
    let role = theme.verdict(verdict);
    let mut x = put(buffer, area.x, area.y, area.right(), "PLEG ", theme.style(Role::Heading));
    x = put(buffer, x, area.y, area.right(), verdict.name(), theme.style(role));
    for (text, role) in figures(pleg, now) {
        x = put(buffer, x + 2, area.y, area.right(), &text, theme.style(role));
    }
    let room = usize::from(area.right().saturating_sub(x + 2))
        .min((METRICS_HISTORY.num_seconds() / METRICS_PERIOD.num_seconds()) as usize);
    if room >= 8 {
        put_right(buffer, area, 0, x, &sparkline(&pleg.windows, now, room), theme.style(Role::Plain));
    }
}

fn figures(pleg: &PlegView, now: Time) -> Vec<(String, Role)> {
    let mut out = Vec::new();
    let dim = if pleg.stale { Role::Muted } else { Role::Plain };
    if let Some(window) = pleg.windows.last() {
        out.extend(relist_rate(window).map(|rate| (format!("{rate:.1}/s"), dim)));
        out.extend(window.mean.map(|mean| (format!("mean {}", milliseconds(mean)), dim)));
        out.extend(window.p99.map(|p99| (format!("p99 {}", quantile(Some(p99))), dim)));
    }
    if let Some(age) = pleg.last_seen_age {
        let role = if age >= pleg.threshold { Role::Trouble } else { dim };
        let (age, threshold) = (human_duration(age), human_duration(pleg.threshold));
        out.push((format!("last relist {age} ago (unhealthy at {threshold})"), role));
    }
    if let Some(at) = pleg.restarted.filter(|at| now - *at < METRICS_HISTORY) {
        out.push((format!("kubelet restarted {} ago", age(now, at)), Role::Slow));
    }
    if let Some(waited) = pleg.own.waiting_for() {
        let what = if pleg.own.is_first_unanswered() { "in flight for" } else { "no response for" };
        out.push((format!("CRI list: {what} {}", human_duration(waited)), Role::Trouble));
    } else if let Some(last) = pleg.own.last {
        out.push((format!("CRI list probe {}", milliseconds(last.seconds)), Role::Plain));
    }
    // What is wrong is seen whatever the room.
    out.sort_by_key(|(_, role)| *role != Role::Trouble);
    out
}

/// The longest mean relist in each of `cells` equal parts of the last 15 minutes; `·` where none ended, nothing where
/// nothing is known.
pub(super) fn sparkline(windows: &[RelistWindow], now: Time, cells: usize) -> String {
    let part = METRICS_HISTORY.num_seconds() as f64 / cells.max(1) as f64;
    let ago = |at: Time| (now - at).num_milliseconds() as f64 / 1000.0;
    let cell = |i: usize| {
        let (end, begin) = (part * (cells - 1 - i) as f64, part * (cells - i) as f64);
        let mut known = windows.iter().filter(|w| ago(w.from) > end && ago(w.to) < begin).peekable();
        known.peek()?;
        Some(known.filter_map(|w| w.mean).max_by(f64::total_cmp).map_or("·", level))
    };
    (0..cells).map(|i| cell(i).unwrap_or(" ")).collect()
}

fn level(seconds: f64) -> &'static str {
    let (low, high) = SCALE;
    let share = (seconds.max(low) / low).ln() / (high / low).ln();
    let step = (share * LEVELS.len() as f64) as usize;
    LEVELS[step.min(LEVELS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TimeDelta;

    #[test]
    fn levels_are_on_a_fixed_scale() {
        assert_eq!((level(0.0), level(0.001), level(1e9)), ("▁", "▁", "█"));
        assert!(level(0.004) < level(0.1) && level(0.1) < level(3.0));
    }

    #[test]
    fn the_sparkline_is_true_to_time() {
        let now = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let at = |s: i64| now - TimeDelta::seconds(s);
        let window = |from, to, mean| RelistWindow {
            from: at(from),
            to: at(to),
            relists: 0,
            mean,
            p50: None,
            p90: None,
            p99: None,
            beyond: 0,
            interval: None,
            discarded: 0,
        };
        let windows = [window(400, 390, Some(9.9)), window(390, 200, None), window(100, 50, Some(0.001))];
        // Nine parts of 100 seconds.
        assert_eq!(sparkline(&windows, now, 9), "     █· ▁");
    }
}
