//! The PLEG report as text: the verdict, our own CRI list calls, relists by window, runtime operations, the sync loop.

use super::columns::{Align, Columns};
use super::kubelet::kubelet_text;
use super::verdict::{sentence, stale_metrics};
use crate::pipeline::human_duration;
use crate::view::{KubeletView, NodeView, PlegView, clock, milliseconds, plural, quantile, relist_rate};

/// Windows that are printed, the newest ones.
const WINDOWS_SHOWN: usize = 10;

/// The report.
pub fn pleg_text(view: &NodeView) -> String {
    let kubelet = KubeletView::new(view);
    let pleg = &kubelet.pleg;
    let node = view.header().node;
    let node = if node.is_empty() { "this node" } else { node.as_str() };
    let now = view.now.format("%Y-%m-%d %H:%M:%S");
    let mut out = format!("PLEG on {node} at {now} UTC\n\n");
    let verdict = pleg.verdict.name().to_uppercase();
    out.push_str(&format!("{verdict}: {}.\n", sentence(view, pleg)));
    for line in context(view, pleg) {
        out.push_str(&format!("  {line}\n"));
    }
    out.push_str("\nCRI LIST LATENCY (ListPodSandbox and ListContainers, measured by kpodtrace)\n");
    for line in own_calls(pleg) {
        out.push_str(&format!("  {line}\n"));
    }
    out.push_str("\nRELISTS BETWEEN TWO READS OF THE KUBELET'S METRICS\n");
    out.push_str(&relists(view, pleg));
    let last = pleg.windows.last().map(|w| format!(" FROM {} TO {}", clock(w.from), clock(w.to)));
    out.push_str(&format!("\nRUNTIME OPERATIONS{}, SLOWEST FIRST\n", last.unwrap_or_default()));
    out.push_str(&operations(pleg));
    out.push_str(&kubelet_text(&kubelet));
    out.push_str("\n~ interpolated within a histogram bucket, ≥ above the last bucket bound; times are UTC\n");
    out
}

fn context(view: &NodeView, pleg: &PlegView) -> Vec<String> {
    let mut lines: Vec<String> = stale_metrics(view, pleg).into_iter().collect();
    if let (Some(at), Some(age)) = (pleg.last_seen, pleg.last_seen_age) {
        let read = pleg.scraped_at.map(|at| format!(", from metrics read at {}", clock(at))).unwrap_or_default();
        lines.push(format!(
            "last known relist started {} ago ({}{read}); unhealthy at {}",
            human_duration(age),
            clock(at),
            human_duration(pleg.threshold)
        ));
    }
    let logged = [&view.snapshot.loop_blocked, &view.snapshot.pleg_error].into_iter().flatten();
    lines.extend(logged.map(|(at, text)| format!("kubelet log at {}: {}", clock(*at), text.one_line())));
    if let Some(at) = pleg.restarted {
        lines.push(format!("the kubelet restarted before {}; earlier counts are not included", clock(at)));
    }
    if let (Some(first), Some(w)) = (pleg.windows.first(), pleg.last_beyond()) {
        lines.push(format!(
            "since {}: {} longer than 10s, the last between {} and {}",
            clock(first.from),
            plural(pleg.relists.beyond, "relist"),
            clock(w.from),
            clock(w.to)
        ));
    }
    if let Some((count, mean)) = pleg.total {
        let mean = mean.map(|m| format!(", mean {}", milliseconds(m))).unwrap_or_default();
        lines.push(format!("since the kubelet started: {}{mean}", plural(count, "relist")));
    }
    lines
}

fn own_calls(pleg: &PlegView) -> Vec<String> {
    let own = &pleg.own;
    let mut lines = Vec::new();
    if let (Some(at), Some(age)) = (own.in_flight_since, own.in_flight_for) {
        lines.push(format!("in flight for {}, since {}", human_duration(age), clock(at)));
    }
    if let (Some(at), Some(age), false) = (own.unanswered_since, own.unanswered_for, own.is_first_unanswered()) {
        lines.push(format!("no call has returned for {}, since {}", human_duration(age), clock(at)));
    }
    let (Some(last), Some(first), Some(worst), Some(mean)) = (own.last, own.first, own.worst, own.mean) else {
        if lines.is_empty() {
            lines.push("not measured: no CRI socket in this input".into());
        }
        return lines;
    };
    let failed = |ok: bool| if ok { "" } else { ", failed" };
    lines.push(format!("last   {} at {}{}", milliseconds(last.seconds), clock(last.at), failed(last.ok)));
    lines.push(format!(
        "mean   {} of {} since {}, {} of them failed",
        milliseconds(mean),
        plural(own.count, "call"),
        clock(first.at),
        own.failed
    ));
    lines.push(format!("worst  {} at {}{}", milliseconds(worst.seconds), clock(worst.at), failed(worst.ok)));
    lines
}

fn relists(view: &NodeView, pleg: &PlegView) -> String {
    if pleg.windows.is_empty() {
        return "  no data yet: two reads are needed\n".into();
    }
    let names = ["FROM", "TO", "RELISTS", "RATE", "MEAN", "P50", "P90", "P99", ">10s", "INTERVAL", "DISCARDED"];
    let mut table = Columns::new(names.map(|name| (name, Align::Right)));
    let skipped = pleg.windows.len().saturating_sub(WINDOWS_SHOWN);
    for w in pleg.windows.iter().skip(skipped) {
        table.row([
            clock(w.from),
            clock(w.to),
            w.relists.to_string(),
            per_second(relist_rate(w)),
            w.mean.map(milliseconds).unwrap_or_default(),
            quantile(w.p50),
            quantile(w.p90),
            quantile(w.p99),
            w.beyond.to_string(),
            w.interval.map(milliseconds).unwrap_or_default(),
            w.discarded.to_string(),
        ]);
    }
    let mut out = table.render(None);
    if let Some(line) = stale_metrics(view, pleg) {
        // Without it the last window reads as the present.
        out.push_str(&format!("(no later data: {line})\n"));
    }
    out
}

fn operations(pleg: &PlegView) -> String {
    if pleg.operations.is_empty() {
        return "  none\n".into();
    }
    let names = ["CALLS", "RATE", "MEAN", "P50", "P99", "ERRORS", "TOTAL-CALLS", "TOTAL-ERR"];
    let head = std::iter::once(("OPERATION", Align::Left)).chain(names.map(|name| (name, Align::Right)));
    let mut table = Columns::new(head);
    for o in &pleg.operations {
        table.row([
            o.name.one_line().into_owned(),
            o.calls.to_string(),
            per_second(o.rate),
            o.mean.map(milliseconds).unwrap_or_default(),
            quantile(o.p50),
            quantile(o.p99),
            o.errors.to_string(),
            o.total_calls.to_string(),
            o.total_errors.to_string(),
        ]);
    }
    table.render(None)
}

/// A rate as `0.97/s`; empty when unknown.
pub(super) fn per_second(rate: impl Into<Option<f64>>) -> String {
    rate.into().map(|r| format!("{r:.2}/s")).unwrap_or_default()
}
