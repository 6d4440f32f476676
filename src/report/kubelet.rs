//! Owns what the report on PLEG says of the kubelet beyond it: feeds of the loop, pod workers, starts, settings.
//! It must not say more of a feed than the view knows.

use super::columns::{Align, Columns};
use crate::pipeline::human_duration;
use crate::view::{ChannelHealth, KubeletView, clock, milliseconds, quantile};

/// The sections.
pub fn kubelet_text(view: &KubeletView) -> String {
    let mut out = String::from("\nWHAT FEEDS THE SYNC LOOP\n");
    let mut table = Columns::new([("CHANNEL", Align::Left), ("STATE", Align::Left), ("KNOWN", Align::Left)]);
    for feed in &view.channels {
        table.row([feed.name.to_owned(), word(feed.health).to_owned(), feed.known.clone()]);
    }
    out.push_str(&table.render(None));
    let relists = &view.relists;
    if let Some(span) = relists.span {
        let mean = relists.mean.map(|m| format!(", mean {}", milliseconds(m))).unwrap_or_default();
        let worst = relists.worst.map(|(m, at)| format!(", worst window {} at {}", milliseconds(m), clock(at)));
        out.push_str(&format!(
            "over {}: {} relists{mean}{}, {} events discarded\n",
            human_duration(span),
            relists.count,
            worst.unwrap_or_default(),
            relists.discarded
        ));
    }
    out.push_str("\nPOD WORKERS AND STARTS\n");
    for w in &view.workers {
        out.push_str(&format!("  {} {}: {}\n", w.lifecycle.one_line(), w.config.one_line(), w.pods));
    }
    match view.starts.filter(|s| s.count > 0) {
        Some(s) => out.push_str(&format!(
            "  {} pods started without pulls and init containers: mean {}, p50 {}, p99 {}\n",
            s.count,
            s.mean.map(milliseconds).unwrap_or_default(),
            quantile(s.p50),
            quantile(s.p99)
        )),
        None => out.push_str("  no start is counted\n"),
    }
    out.push_str("\nSETTINGS THAT ARE NOT THE DEFAULT, OR BITE\n");
    if view.settings.is_empty() {
        out.push_str("  not known: /configz was not read\n");
    }
    for s in view.settings.iter().filter(|s| s.changed || !s.remark.is_empty()) {
        let value = s.value.as_deref().unwrap_or(s.default);
        let default = if s.changed { format!(" (default {})", s.default) } else { String::new() };
        let remark = if s.remark.is_empty() { String::new() } else { format!(": {}", s.remark) };
        out.push_str(&format!("  {}={value}{default}{remark}\n", s.name));
    }
    out
}

/// A feed's health in a word.
pub fn word(health: ChannelHealth) -> &'static str {
    match health {
        ChannelHealth::Healthy => "well",
        ChannelHealth::Slow => "slow",
        ChannelHealth::Failing => "trouble",
        ChannelHealth::Unknown => "unknown",
    }
}
