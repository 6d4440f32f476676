//! Owns the PLEG report as text: the verdict, our own calls, relists by window, runtime operations.
//! It must not hide that a number is interpolated or old.

use super::columns::{Align, Columns};
use super::kubelet::kubelet_text;
use super::verdict::{metrics_silent, sentence};
use crate::model::{OperationWindow, RelistWindow};
use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{KubeletView, NodeView, PlegView, clock, milliseconds};

/// Windows that are printed.
const WINDOWS_SHOWN: usize = 10;

/// The report as it is read at three in the morning: what matters first.
pub fn pleg_text(moment: &NodeView) -> String {
    let pleg = moment.pleg();
    let node = moment.header().node;
    let node = if node.is_empty() { "this node" } else { node.as_str() };
    let now = moment.now.format("%Y-%m-%d %H:%M:%S");
    let mut out = format!("PLEG on {node} at {now} UTC\n\n");
    let word = pleg.verdict(moment.now).to_uppercase();
    out.push_str(&format!("{word}: {}.\n", sentence(moment, &pleg)));
    for line in context(moment, &pleg) {
        out.push_str(&format!("  {line}\n"));
    }
    out.push_str("\nOUR OWN LIST CALLS (ListPodSandbox and ListContainers, what a relist pays)\n");
    for line in own_calls(moment, &pleg) {
        out.push_str(&format!("  {line}\n"));
    }
    out.push_str("\nRELISTS BETWEEN TWO READINGS OF THE KUBELET'S METRICS\n");
    out.push_str(&relists(moment, &pleg));
    let last = pleg.windows.last().map(|w| format!(" FROM {} TO {}", clock(w.from), clock(w.to)));
    out.push_str(&format!("\nRUNTIME OPERATIONS{}, SLOWEST FIRST\n", last.unwrap_or_default()));
    out.push_str(&operations(&pleg));
    out.push_str(&kubelet_text(&KubeletView::new(moment)));
    out.push_str("\n~ interpolated inside a histogram bucket, >= above its highest bound; times are UTC\n");
    out
}

fn context(moment: &NodeView, pleg: &PlegView) -> Vec<String> {
    let mut lines: Vec<String> = metrics_silent(moment, pleg).into_iter().collect();
    if let (Some(at), Some(age)) = (pleg.last_seen, pleg.last_seen_age) {
        let read = pleg.scraped_at.map(|at| format!(", as read at {}", clock(at))).unwrap_or_default();
        lines.push(format!(
            "last relist that is known began {} ago, at {}{read}; unhealthy after {}",
            human_duration(age),
            clock(at),
            human_duration(pleg.threshold)
        ));
    }
    if let Some((since, text)) = &moment.snapshot.loop_blocked {
        lines.push(format!("kubelet log at {}: {}", clock(*since), text.one_line()));
    }
    if let Some((since, text)) = &moment.snapshot.pleg_trouble {
        lines.push(format!("kubelet log at {}: {}", clock(*since), text.one_line()));
    }
    if let Some(at) = pleg.restarted {
        lines.push(format!("the kubelet restarted before {}: what was counted earlier is not mixed in", clock(at)));
    }
    let beyond: u64 = pleg.windows.iter().map(|w| w.beyond).sum();
    if let (Some(first), Some(w)) = (pleg.windows.first(), pleg.windows.iter().rfind(|w| w.beyond > 0)) {
        lines.push(format!(
            "since {}: {beyond} relists longer than 10s, the last between {} and {}",
            clock(first.from),
            clock(w.from),
            clock(w.to)
        ));
    }
    if let Some((count, mean)) = pleg.total {
        let mean = mean.map(|m| format!(", mean {}", milliseconds(m))).unwrap_or_default();
        lines.push(format!("since the kubelet started: {count} relists{mean}"));
    }
    lines
}

fn own_calls(moment: &NodeView, pleg: &PlegView) -> Vec<String> {
    let (now, own) = (moment.now, &pleg.own);
    let mut lines = Vec::new();
    let age = |at: crate::observation::Time| human_duration((now - at).max(TimeDelta::zero()));
    if let Some(at) = own.in_flight {
        lines.push(format!("in flight for {}, since {}", age(at), clock(at)));
    }
    if let Some(at) = own.unanswered_since.filter(|at| own.in_flight != Some(*at)) {
        lines.push(format!("no call has brought an answer for {}, since {}", age(at), clock(at)));
    }
    let (Some(last), Some(first)) = (own.done.back(), own.done.front()) else {
        if lines.is_empty() {
            lines.push("none: the runtime's socket is not among the sources".into());
        }
        return lines;
    };
    let took = |us: u64| milliseconds(us as f64 / 1e6);
    let told = |ok: bool| if ok { "" } else { ", failed" };
    lines.push(format!("last   {} at {}{}", took(last.took_us), clock(last.at), told(last.ok)));
    let stats = super::json_pleg::own_stats(own);
    if let (Some(mean), Some(worst)) = (stats.mean_seconds, stats.worst) {
        lines.push(format!(
            "mean   {} of {} calls since {}, {} of them failed",
            milliseconds(mean),
            own.done.len(),
            clock(first.at),
            stats.failed
        ));
        lines.push(format!("worst  {} at {}{}", took(worst.took_us), clock(worst.at), told(worst.ok)));
    }
    lines
}

fn relists(moment: &NodeView, pleg: &PlegView) -> String {
    if pleg.windows.is_empty() {
        return "  none yet: it takes two readings\n".into();
    }
    let names = ["FROM", "TO", "RELISTS", "RATE", "MEAN", "P50", "P90", "P99", ">10s", "INTERVAL", "DISCARDED"];
    let mut table = Columns::new(names.map(|name| (name, Align::Right)));
    let shown = pleg.windows.len().saturating_sub(WINDOWS_SHOWN);
    for w in pleg.windows.iter().skip(shown) {
        table.row([
            clock(w.from),
            clock(w.to),
            w.relists.to_string(),
            per_second(rate(w)),
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
    if let Some(line) = metrics_silent(moment, pleg) {
        // Otherwise the last window would be taken for what is the case now.
        out.push_str(&format!("(nothing after that: {line})\n"));
    }
    out
}

fn operations(pleg: &PlegView) -> String {
    let called: Vec<&OperationWindow> = by_slowness(&pleg.operations);
    if called.is_empty() {
        return "  none\n".into();
    }
    let names = ["CALLS", "RATE", "MEAN", "P50", "P99", "ERRORS", "ALL-CALLS", "ALL-ERRORS"];
    let head = std::iter::once(("OPERATION", Align::Left)).chain(names.map(|name| (name, Align::Right)));
    let mut table = Columns::new(head);
    for o in called {
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

/// Operations that were called or failed in the window, the slowest mean first.
pub fn by_slowness(operations: &[OperationWindow]) -> Vec<&OperationWindow> {
    let mut called: Vec<_> = operations.iter().filter(|o| o.calls > 0 || o.errors > 0).collect();
    let mean = |o: &OperationWindow| o.mean.unwrap_or(-1.0);
    called.sort_by(|a, b| mean(b).total_cmp(&mean(a)).then_with(|| a.name.cmp(&b.name)));
    called
}

/// Relists per second of a window; None when it has no length.
pub fn rate(window: &RelistWindow) -> Option<f64> {
    let seconds = (window.to - window.from).num_milliseconds() as f64 / 1000.0;
    (seconds > 0.0).then(|| window.relists as f64 / seconds)
}

/// A rate in words; empty when it is not known.
pub(super) fn per_second(rate: impl Into<Option<f64>>) -> String {
    rate.into().map(|r| format!("{r:.2}/s")).unwrap_or_default()
}

/// A quantile with what it is worth.
pub(super) fn quantile(value: Option<(f64, bool)>) -> String {
    match value {
        Some((seconds, true)) => format!(">={}", milliseconds(seconds)),
        Some((seconds, false)) => format!("~{}", milliseconds(seconds)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_says_what_it_is_worth() {
        assert_eq!(quantile(Some((0.0042, false))), "~4.2ms");
        assert_eq!(quantile(Some((10.0, true))), ">=10.0s");
        assert_eq!(quantile(None), "");
    }

    #[test]
    fn the_slowest_operation_comes_first_and_the_idle_are_left_out() {
        let operation = |name: &str, calls, mean, errors| OperationWindow {
            name: name.into(),
            calls,
            rate: 1.0,
            mean,
            p50: None,
            p99: None,
            errors,
            total_calls: 9,
            total_errors: errors,
        };
        let all = [
            operation("fast", 3, Some(0.01), 0),
            operation("idle", 0, None, 0),
            operation("failing", 0, None, 2),
            operation("slow", 1, Some(2.0), 0),
        ];
        let names: Vec<_> = by_slowness(&all).iter().map(|o| o.name.to_string()).collect();
        assert_eq!(names, ["slow", "fast", "failing"]);
    }
}
