//! The sparkline of relist durations over the last 15 minutes.

use crate::model::RelistWindow;
use crate::observation::Time;
use crate::thresholds::METRICS_HISTORY;
use crate::tui::theme::glyphs::LEVELS;

/// Mean relist at the lowest and the highest level of the sparkline, seconds: a scale that does not move, so that
/// two nodes, or two times, look alike only if they are.
const SCALE: (f64, f64) = (0.002, 10.0);

/// The longest mean relist in each of `cells` equal parts of the last 15 minutes: `·` without a relist, blank without data.
pub fn sparkline(windows: &[RelistWindow], now: Time, cells: usize) -> String {
    let part = METRICS_HISTORY.num_seconds() as f64 / cells.max(1) as f64;
    let ago = |at: Time| (now - at).num_milliseconds() as f64 / 1000.0;
    let cell = |i: usize| {
        let (end, start) = (part * (cells - 1 - i) as f64, part * (cells - i) as f64);
        let mut known = windows.iter().filter(|w| ago(w.from) > end && ago(w.to) < start).peekable();
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
