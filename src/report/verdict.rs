//! The sentences about PLEG's verdict.

use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{NodeView, PlegVerdict, PlegView, age, clock, milliseconds, plural};

/// The verdict on PLEG in one sentence, with the numbers behind it.
pub fn sentence(view: &NodeView, pleg: &PlegView) -> String {
    let duration = |span: Option<TimeDelta>| span.map(human_duration).unwrap_or_default();
    let waited = duration(pleg.own.unanswered_for);
    match pleg.verdict {
        PlegVerdict::Hanging => format!(
            "the container runtime has not responded to ListPodSandbox and ListContainers for {waited}; the kubelet's \
             relist makes the same calls and hangs too"
        ),
        PlegVerdict::Down => {
            format!("the container runtime has been unreachable for {waited}; the kubelet's relists fail too")
        }
        PlegVerdict::Silent => format!(
            "no relist has started for {}; after {} the kubelet reports PLEG as unhealthy and the node becomes NotReady",
            duration(pleg.last_seen_age),
            human_duration(pleg.threshold)
        ),
        PlegVerdict::Stale => format!("the kubelet's metrics are stale: last read {}", last_read(view, pleg)),
        PlegVerdict::Slow | PlegVerdict::Ok => of_last_window(pleg),
        PlegVerdict::Unknown if pleg.scraped_at.is_some() => {
            "two reads of the kubelet's metrics are needed to compute a rate; only one is available".into()
        }
        PlegVerdict::Unknown => "the kubelet's metrics have not been read".into(),
    }
}

/// A line about metrics that are unreadable or stale; None while they are read.
pub fn stale_metrics(view: &NodeView, pleg: &PlegView) -> Option<String> {
    let read = last_read(view, pleg);
    match pleg.metrics_unanswered_for {
        Some(waited) => {
            Some(format!("no response from the kubelet's metrics for {} (last read {read})", human_duration(waited)))
        }
        None if pleg.stale && pleg.scraped_at.is_some() => {
            Some(format!("the kubelet's metrics are stale: last read {read}"))
        }
        None => None,
    }
}

fn last_read(view: &NodeView, pleg: &PlegView) -> String {
    pleg.scraped_at.map_or_else(|| "never".into(), |at| format!("{} ago, at {}", age(view.now, at), clock(at)))
}

fn of_last_window(pleg: &PlegView) -> String {
    let Some(window) = pleg.windows.last() else { return String::new() };
    let mut text = format!("{} from {} to {}", plural(window.relists, "relist"), clock(window.from), clock(window.to));
    if let Some(mean) = window.mean {
        text.push_str(&format!(", mean {}", milliseconds(mean)));
    }
    if window.beyond > 0 {
        text.push_str(&format!(", {} of them longer than 10s", window.beyond));
    }
    if let Some(age) = pleg.last_seen_age {
        text.push_str(&format!("; the last known relist started {} ago", human_duration(age)));
    }
    text
}
