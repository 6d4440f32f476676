//! Channels of the kubelet sync loop, pod workers by state, pod start latency.

use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::text::cells::{fit, width, wrap};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{nothing, number, paragraph, table, text, title};
use crate::view::{ChannelHealth, KubeletView, LoopChannel, age, milliseconds, quantile};

/// Channels of the sync loop.
pub fn feeds(view: &KubeletView, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut notes = Vec::new();
    notes.extend(view.started.map(|at| format!("kubelet started {} ago", age(now, at))));
    notes.extend(
        view.healthz.as_ref().map(|h| format!("healthz {} {} ago", if h.ok { "ok" } else { "failed" }, age(now, h.at))),
    );
    let mut lines = vec![title("SYNC LOOP", &notes.join("; "), cells, theme)];
    let names = view.channels.iter().map(|f| width(f.name)).max().unwrap_or(0);
    for feed in &view.channels {
        lines.extend(one(feed, names, cells, theme));
    }
    lines
}

fn one(feed: &LoopChannel, names: usize, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (glyph, role) = match feed.health {
        ChannelHealth::Healthy => ("●", Role::Ok),
        ChannelHealth::Slow => ("◐", Role::Warning),
        ChannelHealth::Failing => ("✗", Role::Error),
        ChannelHealth::Unknown => ("?", Role::Muted),
    };
    let indent = 4 + names + 2;
    let words = match feed.health {
        ChannelHealth::Healthy | ChannelHealth::Unknown => Role::Plain,
        _ => role,
    };
    let mut known = wrap(&feed.known, cells.saturating_sub(indent).max(1)).into_iter();
    let mut out = vec![Line::from(vec![
        Span::styled(format!("  {glyph} "), theme.style(role)),
        Span::styled(fit(feed.name, names), theme.style(Role::Heading)),
        Span::styled(format!("  {}", known.next().unwrap_or_default()), theme.style(words)),
    ])];
    out.extend(known.map(|l| Line::styled(format!("{}{l}", " ".repeat(indent)), theme.style(words))));
    out.push(Line::styled(format!("{}{}", " ".repeat(indent), feed.what), theme.style(Role::Muted)));
    out
}

/// Workers and starts.
pub fn workers(view: &KubeletView, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("POD WORKERS", "from kubelet housekeeping, every 2s", cells, theme)];
    if view.workers.is_empty() {
        lines.extend(nothing("no data", cells, theme));
    }
    let row = |w: &crate::view::Workers| {
        let odd = w.config != "desired" && w.pods > 0;
        let words = match w.config.as_str() {
            "desired" => "",
            "orphan" => "deleted from the API, cleanup pending",
            _ => "known to the runtime only",
        };
        let role = if odd { Role::Warning } else { Role::Plain };
        vec![
            text(w.lifecycle.one_line()),
            text(w.config.one_line()),
            number(w.pods.to_string()).role(role),
            text(words).role(Role::Muted),
        ]
    };
    lines.extend(table(&["", "", "", ""], view.workers.iter().map(row).collect(), cells, theme));
    lines.push(title(
        "POD START LATENCY",
        "creation to Running, excluding image pulls and init containers",
        cells,
        theme,
    ));
    match view.starts.filter(|s| s.count > 0) {
        Some(s) => {
            let mean = s.mean.map(milliseconds).unwrap_or_default();
            let words = format!(
                "{} since the kubelet started: mean {mean}, p50 {}, p99 {}",
                s.count,
                quantile(s.p50),
                quantile(s.p99)
            );
            lines.extend(paragraph(&words, Role::Plain, cells, theme));
        }
        None => lines.extend(nothing("no data", cells, theme)),
    }
    lines
}
