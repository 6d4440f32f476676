//! The PLEG line: verdict, relist rate and duration, own CRI list probe, sparkline.
//!
//! ```text
//! PLEG slow  0.9/s  mean 812ms  p99 ≥10s  seen 12s ago of 3m  own list 34ms  ▁▁▁▁▃▇██
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right};
use crate::tui::widgets::sparkline::{SPAN, sparkline};
use crate::view::{PlegView, milliseconds, quantile};

/// Widest sparkline, cells: one for each 10 s, the period of metrics scrapes.
const SPARKLINE: usize = 90;

/// Draws the line.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, theme: &Theme) {
    if area.height == 0 {
        return;
    }
    let (pleg, now) = (&screen.pleg, screen.header.now);
    let verdict = pleg.verdict(now);
    let role = match verdict {
        "ok" => Role::Ok,
        "silent" | "hanging" | "down" => Role::Error,
        "slow" | "stale" => Role::Warning,
        _ => Role::Muted,
    };
    let mut x = put(buffer, area.x, area.y, area.right(), "PLEG ", theme.style(Role::Heading));
    x = put(buffer, x, area.y, area.right(), verdict, theme.style(role));
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
        let seconds = ((window.to - window.from).num_milliseconds() as f64 / 1000.0).max(0.001);
        out.push((format!("{:.1}/s", window.relists as f64 / seconds), dim));
        out.extend(window.mean.map(|mean| (format!("mean {}", milliseconds(mean)), dim)));
        out.extend(window.p99.map(|p99| (format!("p99 {}", quantile(Some(p99))), dim)));
    }
    if let Some(age) = pleg.last_seen_age {
        let role = if age >= pleg.threshold { Role::Error } else { dim };
        out.push((
            format!("last relist {} ago (unhealthy at {})", human_duration(age), human_duration(pleg.threshold)),
            role,
        ));
    }
    if let Some(at) = pleg.restarted.filter(|at| now - *at < SPAN) {
        out.push((format!("kubelet restarted {} ago", human_duration(now - at)), Role::Warning));
    }
    let calls = &pleg.own;
    if let Some(waiting) = pleg.unanswered_for(now).filter(|w| w.num_seconds() >= 1) {
        let first = calls.in_flight == calls.unanswered_since;
        let what = if first { "in flight for" } else { "no response for" };
        out.push((format!("CRI list: {what} {}", human_duration(waiting)), Role::Error));
    } else if let Some(last) = calls.done.back() {
        out.push((format!("CRI list probe {}", milliseconds(last.took_us as f64 / 1e6)), Role::Plain));
    }
    // Problems first.
    out.sort_by_key(|(_, role)| *role != Role::Error);
    out
}
