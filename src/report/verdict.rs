//! Owns the sentence with which a PLEG report begins.
//! It must not decide how PLEG is: the view has decided that.

use crate::observation::{Source, Time};
use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{NodeView, PlegView, clock, milliseconds};

/// What is said of PLEG, in one sentence that names the numbers it rests on.
pub fn sentence(moment: &NodeView, pleg: &PlegView) -> String {
    let now = moment.now;
    let age = pleg.last_seen_age.map(human_duration).unwrap_or_default();
    match pleg.verdict(now) {
        "hanging" => {
            let waited = pleg.unanswered_for(now).map(human_duration).unwrap_or_default();
            format!(
                "the container runtime has not answered ListPodSandbox and ListContainers for {waited}; \
                 the kubelet's relist waits for the same two calls"
            )
        }
        "down" => {
            let waited = pleg.unanswered_for(now).map(human_duration).unwrap_or_default();
            format!("the container runtime cannot be reached for {waited}; the kubelet's relists fail at once too")
        }
        "silent" => format!(
            "no relist has begun for {age}, the kubelet calls PLEG unhealthy after {} and the node goes NotReady",
            human_duration(pleg.threshold)
        ),
        "stale" => format!("the kubelet's metrics were last read {}: nothing is known of now", read(pleg, now)),
        "slow" | "ok" => of_last_window(pleg, &age),
        _ if pleg.scraped_at.is_some() => "one page of metrics was read, and it takes two to tell a rate".into(),
        _ => "the kubelet's metrics have not been read".into(),
    }
}

/// Since when the page of metrics has had no answer, as a line; None while it answers.
pub fn metrics_silent(moment: &NodeView, pleg: &PlegView) -> Option<String> {
    let now = moment.now;
    let facts = moment.snapshot.sources.get(&Source::KubeletMetrics)?;
    match facts.unanswered_since() {
        Some(since) if now - since >= TimeDelta::seconds(1) => {
            let waited = human_duration(now - since);
            Some(format!("the kubelet's metrics have not answered for {waited} (last read {})", read(pleg, now)))
        }
        _ if pleg.stale && pleg.scraped_at.is_some() => {
            Some(format!("the kubelet's metrics are old: last read {}", read(pleg, now)))
        }
        _ => None,
    }
}

fn read(pleg: &PlegView, now: Time) -> String {
    pleg.scraped_at.map_or_else(
        || "never".into(),
        |at| format!("{} ago, at {}", human_duration((now - at).max(TimeDelta::zero())), clock(at)),
    )
}

fn of_last_window(pleg: &PlegView, age: &str) -> String {
    let Some(window) = pleg.windows.last() else { return String::new() };
    let mut text = format!("{} relists from {} to {}", window.relists, clock(window.from), clock(window.to));
    if let Some(mean) = window.mean {
        text.push_str(&format!(", mean {}", milliseconds(mean)));
    }
    if window.beyond > 0 {
        text.push_str(&format!(", {} of them longer than 10s", window.beyond));
    }
    if !age.is_empty() {
        text.push_str(&format!("; the last that is known began {age} ago"));
    }
    text
}
