//! PLEG: relists of the last 15 minutes, age of the last relist, own CRI list probe.

use crate::time::TimeDelta;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::plural;
use crate::tui::widgets::sections::{bar, paragraph, title};
use crate::tui::widgets::sparkline::sparkline;
use crate::view::{KubeletView, SLOW_S, clock, milliseconds, quantile};

/// Cells of the bar of age.
const BAR: usize = 12;
/// Most cells of the sparkline: one a scrape.
const SPARK: usize = 90;

/// The section.
pub fn lines(view: &KubeletView, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (pleg, relists) = (&view.pleg, &view.relists);
    let verdict = pleg.verdict(now);
    let role = match verdict {
        "ok" => Role::Ok,
        "slow" | "stale" => Role::Warning,
        "unknown" => Role::Muted,
        _ => Role::Error,
    };
    let mut head = title("PLEG", "", cells, theme);
    head.spans.push(Span::styled(format!("  {verdict}"), theme.style(role)));
    let mut lines = vec![head];
    let stale = if pleg.stale { Role::Muted } else { Role::Plain };
    if let Some(span) = relists.span {
        let rate = relists.rate.map(|r| format!(", {r:.2}/s")).unwrap_or_default();
        let mean = relists.mean.map(|m| format!(", mean {}", milliseconds(m))).unwrap_or_default();
        let worst = relists.worst.map(|(m, at)| format!(", worst window {} at {}", milliseconds(m), clock(at)));
        let words = format!(
            "{}: {}{rate}{mean}{}",
            human_duration(span),
            plural(relists.count, "relist"),
            worst.unwrap_or_default()
        );
        let role = if relists.worst.is_some_and(|(m, _)| m >= SLOW_S) { Role::Warning } else { stale };
        lines.extend(paragraph(&words, role, cells, theme));
        let spark = sparkline(&pleg.windows, now, cells.saturating_sub(22).clamp(8, SPARK));
        lines.push(Line::raw(format!("  -15m {spark} now")));
    }
    if let Some(w) = pleg.windows.last() {
        let mean = w.mean.map_or_else(|| "no relist finished".into(), |m| format!("mean {}", milliseconds(m)));
        let words = format!(
            "last window {} to {}: {}, {mean}, p50 {}, p90 {}, p99 {}",
            clock(w.from),
            clock(w.to),
            plural(w.relists, "relist"),
            quantile(w.p50),
            quantile(w.p90),
            quantile(w.p99)
        );
        let role = if w.mean.is_some_and(|m| m >= SLOW_S) { Role::Warning } else { stale };
        lines.extend(paragraph(&words, role, cells, theme));
    } else {
        lines.extend(paragraph("no data: need two metrics scrapes", Role::Muted, cells, theme));
    }
    if relists.beyond + relists.discarded > 0 {
        let words = format!(
            "{} longer than 10s, {} discarded",
            plural(relists.beyond, "relist"),
            plural(relists.discarded, "event")
        );
        lines.extend(paragraph(&words, Role::Error, cells, theme));
    }
    if let Some(age) = pleg.last_seen_age {
        let share = age.num_milliseconds() as f64 / pleg.threshold.num_milliseconds().max(1) as f64;
        let role = if share >= 1.0 { Role::Error } else { stale };
        let words = format!(
            "last relist {} ago (unhealthy at {}) {}; relists above {} count as slow",
            human_duration(age),
            human_duration(pleg.threshold),
            bar(share, BAR),
            milliseconds(SLOW_S)
        );
        lines.extend(paragraph(&words, role, cells, theme));
    }
    lines.extend(own(view, now, cells, theme));
    lines.extend(paragraph(
        "~ interpolated within a histogram bucket; ≥ above the last bucket bound",
        Role::Muted,
        cells,
        theme,
    ));
    lines
}

fn own(view: &KubeletView, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let own = &view.pleg.own;
    let mut parts = Vec::new();
    let mut role = Role::Plain;
    if let Some(waits) = view.pleg.unanswered_for(now).filter(|w| *w >= TimeDelta::seconds(1)) {
        let what = if own.in_flight == own.unanswered_since { "in flight for" } else { "no response for" };
        parts.push(format!("{what} {}", human_duration(waits)));
        role = Role::Error;
    } else if own.in_flight.is_some() {
        parts.push("one in flight".into());
    }
    if let Some(last) = own.done.back() {
        let failed = if last.ok { "" } else { " (failed)" };
        parts.push(format!("last {}{failed}", milliseconds(last.took_us as f64 / 1e6)));
        let mean = own.done.iter().map(|t| t.took_us as f64 / 1e6).sum::<f64>() / own.done.len() as f64;
        let worst = own.done.iter().max_by_key(|t| t.took_us).unwrap_or(last);
        parts.push(format!("mean {} of {} calls", milliseconds(mean), own.done.len()));
        parts.push(format!("worst {} at {}", milliseconds(worst.took_us as f64 / 1e6), clock(worst.at)));
    }
    if parts.is_empty() {
        parts.push("not measured: no CRI socket in this input".into());
        role = Role::Muted;
    }
    paragraph(
        &format!("our own ListPodSandbox/ListContainers calls (the same calls a relist makes): {}", parts.join(", ")),
        role,
        cells,
        theme,
    )
}
