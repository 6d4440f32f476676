//! The PLEG line: verdict, relist rate and duration, own CRI list probe, sparkline.
//!
//! ```text
//! PLEG slow  0.9/s  mean 812ms  p99 ≥10s  last relist 12s ago (unhealthy at 3m)  CRI list probe 34ms  ▁▁▁▁▃▇██
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::thresholds::{METRICS_HISTORY, METRICS_PERIOD};
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right};
use crate::tui::widgets::sparkline::sparkline;
use crate::view::{PlegView, age, milliseconds, quantile, relist_rate};

/// Widest sparkline, cells: one for each metrics scrape.
const SPARKLINE: usize = (METRICS_HISTORY.num_seconds() / METRICS_PERIOD.num_seconds()) as usize;

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let (pleg, now) = (&screen.pleg, screen.header.now);
    let verdict = pleg.verdict;
    let role = theme.verdict(verdict);
    let mut x = put(buffer, area.x, area.y, area.right(), "PLEG ", theme.style(Role::Heading));
    x = put(buffer, x, area.y, area.right(), verdict.name(), theme.style(role));
    for (text, role) in figures(pleg, now) {
        x = put(buffer, x + 2, area.y, area.right(), &text, theme.style(role));
    }
    let room = usize::from(area.right().saturating_sub(x + 2)).min(SPARKLINE);
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
    if let Some(last_seen) = pleg.last_seen_age {
        let role = if last_seen >= pleg.threshold { Role::Error } else { dim };
        out.push((
            format!("last relist {} ago (unhealthy at {})", human_duration(last_seen), human_duration(pleg.threshold)),
            role,
        ));
    }
    if let Some(at) = pleg.restarted.filter(|at| now - *at < METRICS_HISTORY) {
        out.push((format!("kubelet restarted {} ago", age(now, at)), Role::Warning));
    }
    if let Some(waited) = pleg.own.waiting_for() {
        let what = if pleg.own.is_first_unanswered() { "in flight for" } else { "no response for" };
        out.push((format!("CRI list: {what} {}", human_duration(waited)), Role::Error));
    } else if let Some(last) = pleg.own.last {
        out.push((format!("CRI list probe {}", milliseconds(last.seconds)), Role::Plain));
    }
    // Problems first.
    out.sort_by_key(|(_, role)| *role != Role::Error);
    out
}
