//! The kubelet's sections of the PLEG report: channels of the sync loop, pod workers, pod start latency, settings.

use super::columns::{Align, Columns};
use crate::pipeline::human_duration;
use crate::view::{KubeletView, clock, milliseconds, plural, quantile};

/// The sections.
pub fn kubelet_text(view: &KubeletView) -> String {
    let mut out = String::from("\nSYNC LOOP CHANNELS\n");
    let mut table = Columns::new([("CHANNEL", Align::Left), ("STATE", Align::Left), ("DETAILS", Align::Left)]);
    for channel in &view.channels {
        table.row([channel.name.to_owned(), channel.health.name().to_owned(), channel.known.clone()]);
    }
    out.push_str(&table.render(None));
    let relists = &view.pleg.relists;
    if let Some(span) = relists.span {
        let mean = relists.mean.map(|m| format!(", mean {}", milliseconds(m))).unwrap_or_default();
        let worst = relists.worst.map(|(m, at)| format!(", worst window {} at {}", milliseconds(m), clock(at)));
        out.push_str(&format!(
            "over {}: {}{mean}{}, {} discarded\n",
            human_duration(span),
            plural(relists.count, "relist"),
            worst.unwrap_or_default(),
            plural(relists.discarded, "event")
        ));
    }
    out.push_str("\nPOD WORKERS AND POD START LATENCY\n");
    for w in &view.workers {
        out.push_str(&format!("  {} {}: {}\n", w.lifecycle.one_line(), w.config.one_line(), w.pods));
    }
    match view.starts.filter(|s| s.count > 0) {
        Some(s) => out.push_str(&format!(
            "  {} from creation to Running, excluding image pulls and init containers: mean {}, p50 {}, p99 {}\n",
            plural(s.count, "pod"),
            s.mean.map(milliseconds).unwrap_or_default(),
            quantile(s.p50),
            quantile(s.p99)
        )),
        None => out.push_str("  pod starts: no data\n"),
    }
    out.push_str("\nNON-DEFAULT OR RISKY SETTINGS\n");
    if view.settings.is_empty() {
        out.push_str("  no data: /configz was not read\n");
    }
    for s in view.settings.iter().filter(|s| s.changed || !s.remark.is_empty()) {
        let value = s.value.as_deref().unwrap_or(s.default);
        let default = if s.changed { format!(" (default {})", s.default) } else { String::new() };
        let remark = if s.remark.is_empty() { String::new() } else { format!(": {}", s.remark) };
        out.push_str(&format!("  {}={value}{default}{remark}\n", s.name));
    }
    out
}
