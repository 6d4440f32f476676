//! PLEG: relists of the last 15 minutes, age of the last relist, own CRI list probe.

use crate::thresholds::SLOW_OPERATION_S;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{bar, paragraph, title};
use crate::tui::widgets::sparkline::sparkline;
use crate::view::{KubeletView, clock, is_slow, milliseconds, plural, quantile};

/// Cells of the bar of age.
const BAR: usize = 12;
/// Most cells of the sparkline: one a scrape.
const SPARK: usize = 90;

/// The section.
pub fn lines(view: &KubeletView, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let pleg = &view.pleg;
    let relists = &pleg.relists;
    let mut head = title("PLEG", "", cells, theme);
    head.spans.push(Span::styled(format!("  {}", pleg.verdict.name()), theme.style(theme.verdict(pleg.verdict))));
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
        let role = if is_slow(relists.worst.map(|(mean, _)| mean)) { Role::Warning } else { stale };
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
        let role = if is_slow(w.mean) { Role::Warning } else { stale };
        lines.extend(paragraph(&words, role, cells, theme));
    } else {
        lines.extend(paragraph(
            "no data yet: two reads of the kubelet's metrics are needed",
            Role::Muted,
            cells,
            theme,
        ));
    }
    if relists.beyond + relists.discarded > 0 {
        let words = format!(
            "{} longer than 10s, {} discarded",
            plural(relists.beyond, "relist"),
            plural(relists.discarded, "event")
        );
        lines.extend(paragraph(&words, Role::Error, cells, theme));
    }
    if let (Some(age), Some(share)) = (pleg.last_seen_age, pleg.last_seen_share()) {
        let role = if share >= 1.0 { Role::Error } else { stale };
        let words = format!(
            "last relist {} ago, unhealthy at {} {}; relists above {} count as slow",
            human_duration(age),
            human_duration(pleg.threshold),
            bar(share, BAR),
            milliseconds(SLOW_OPERATION_S)
        );
        lines.extend(paragraph(&words, role, cells, theme));
    }
    lines.extend(own(view, cells, theme));
    let legend = "~ interpolated within a histogram bucket; ≥ above the last bucket bound";
    lines.extend(paragraph(legend, Role::Muted, cells, theme));
    lines
}

fn own(view: &KubeletView, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let own = &view.pleg.own;
    let mut parts = Vec::new();
    let mut role = Role::Plain;
    if let Some(waited) = own.waiting_for() {
        let what = if own.is_first_unanswered() { "in flight for" } else { "no response for" };
        parts.push(format!("{what} {}", human_duration(waited)));
        role = Role::Error;
    } else if own.in_flight_since.is_some() {
        parts.push("one in flight".into());
    }
    if let (Some(last), Some(worst), Some(mean)) = (own.last, own.worst, own.mean) {
        let failed = if last.ok { "" } else { " (failed)" };
        parts.push(format!("last {}{failed}", milliseconds(last.seconds)));
        parts.push(format!("mean {} of {}", milliseconds(mean), plural(own.count, "call")));
        parts.push(format!("worst {} at {}", milliseconds(worst.seconds), clock(worst.at)));
    }
    if parts.is_empty() {
        parts.push("not measured: no CRI socket in this input".into());
        role = Role::Muted;
    }
    let what = "our own ListPodSandbox/ListContainers calls (the same calls a relist makes)";
    paragraph(&format!("{what}: {}", parts.join(", ")), role, cells, theme)
}
