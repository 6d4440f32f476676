//! Owns the report on the node as text: what is wrong first, then what it has left, then who would die first.
//! It must not hide that something is not known.

use super::columns::{Align, Columns};
use crate::objects::Quantity;
use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{EvictionThreshold, NodeDetail, NodeView, ResourceLine, Victim, amount_text, bytes, clock};

/// Pods printed of each order.
const PODS: usize = 10;

/// The report.
pub fn node_text(moment: &NodeView) -> String {
    let (view, header) = (NodeDetail::new(moment), moment.header());
    let node = if header.node.is_empty() { "this node" } else { header.node.as_str() };
    let mut out = format!("NODE {node} at {} UTC\n", moment.now.format("%Y-%m-%d %H:%M:%S"));
    for fault in &header.faults {
        out.push_str(&format!("  {fault}\n"));
    }
    out.push_str("\nCONDITIONS\n");
    out.push_str(&conditions(&view, moment));
    out.push_str("\nRESOURCES\n");
    out.push_str(&resources(&view));
    out.push_str("\nEVICTION THRESHOLDS, THE NEAREST FIRST\n");
    out.push_str(&thresholds(&view));
    out.push_str("\nFILE SYSTEMS AND PRESSURE\n");
    out.push_str(&disks(&view));
    out.push_str("\nEVICTED FIRST WHEN MEMORY IS SHORT\n");
    out.push_str(&order(&view.eviction, view.knows_use()));
    out.push_str("\nKILLED FIRST BY THE KERNEL\n");
    out.push_str(&order(&view.kernel, true));
    out.push_str("\nPROCESSORS, THE BUSIEST FIRST\n");
    out.push_str(&busy(&view));
    out.push_str("\nRUNTIME, OUT OF MEMORY, CERTIFICATES\n");
    out.push_str(&others(&view, moment));
    out
}

fn conditions(view: &NodeDetail, moment: &NodeView) -> String {
    let mut table = Columns::new(["TYPE", "STATUS", "FOR", "REASON", "MESSAGE"].map(|name| (name, Align::Left)));
    for line in &view.conditions {
        let c = &line.condition;
        table.row([
            c.kind.one_line().into_owned(),
            c.status.one_line().into_owned(),
            line.age.map(human_duration).unwrap_or_default(),
            c.reason.one_line().into_owned(),
            c.message.one_line().into_owned(),
        ]);
    }
    let mut out =
        if view.conditions.is_empty() { "  no source shows the node object\n".into() } else { table.render(None) };
    if !view.taints.is_empty() {
        out.push_str(&format!("taints: {}\n", view.taints.join(", ")));
    }
    if let Some(life) = &view.lease {
        let left = life.not_ready_at - moment.now;
        let when = match life.is_unknown {
            true => "; the cluster calls the node Unknown".to_owned(),
            false if life.lease.expired.is_none() => String::new(),
            false if left > TimeDelta::zero() => format!("; NotReady in {} unless it is renewed", human_duration(left)),
            false => "; NotReady is due".to_owned(),
        };
        out.push_str(&format!("{}{when}\n", life.lease.text));
    }
    out
}

fn resources(view: &NodeDetail) -> String {
    if view.resources.is_empty() {
        return "  what the node has is not known\n".into();
    }
    let names = ["CAPACITY", "ALLOCATABLE", "REQUESTED", "SHARE", "LIMITS", "IN-USE"].map(|n| (n, Align::Right));
    let mut table = Columns::new(std::iter::once(("RESOURCE", Align::Left)).chain(names));
    let share = |r: &ResourceLine| r.requested.share_of(r.allocatable).map(percent).unwrap_or_default();
    for r in &view.resources {
        table.row([
            r.resource.name().to_owned(),
            r.text(r.capacity),
            r.text(r.allocatable),
            r.text(r.requested),
            share(r),
            r.text(r.limits),
            r.used.map_or_else(|| "-".into(), |used| r.text(used)),
        ]);
    }
    table.render(None)
}

fn thresholds(view: &NodeDetail) -> String {
    let mut table = Columns::new([
        ("SIGNAL", Align::Left),
        ("EVICTS-BELOW", Align::Right),
        ("LEFT", Align::Right),
        ("AWAY", Align::Left),
    ]);
    for t in &view.thresholds {
        let amount = |q: Quantity| match t.is_bytes() {
            true => bytes(u64::try_from(q.ceil()).unwrap_or(0)),
            false => q.ceil().to_string(),
        };
        table.row([
            t.signal.one_line().into_owned(),
            setting(t),
            t.left.map(amount).unwrap_or_default(),
            away(t, amount),
        ]);
    }
    let assumed = view.thresholds.iter().any(|t| t.assumed);
    let note = if assumed { "(the defaults: the kubelet's settings were not read)\n" } else { "" };
    format!("{}{note}", table.render(None))
}

fn setting(t: &EvictionThreshold) -> String {
    let grace = if t.grace.is_empty() { String::new() } else { format!("/{}", t.grace.one_line()) };
    format!("{}{grace}", t.setting.one_line())
}

fn away(t: &EvictionThreshold, amount: impl Fn(Quantity) -> String) -> String {
    let share = t.margin_share().map(|s| format!(" ({})", percent(s))).unwrap_or_default();
    match t.margin() {
        Some(margin) if margin < Quantity::ZERO => format!("PASSED by {}{share}", amount(Quantity::ZERO - margin)),
        Some(margin) => format!("{}{share}", amount(margin)),
        None => t.condition_text().unwrap_or_else(|| "not known".into()),
    }
}

fn disks(view: &NodeDetail) -> String {
    if view.sampled_at.is_none() {
        return format!("  not known: {}\n", view.unavailable);
    }
    let mut out = String::new();
    for disk in &view.disks {
        let fs = &disk.filesystem;
        let inodes = if fs.inodes > 0 { format!(", {} inodes", fs.inodes_free) } else { String::new() };
        out.push_str(&format!("  {}: {} of {} left{inodes}\n", disk.role, bytes(fs.available), bytes(fs.size)));
    }
    if let Some(m) = view.memory {
        out.push_str(&format!("  memory: {} of {} left\n", bytes(m.available), bytes(m.total)));
    }
    for (kind, p) in &view.pressure {
        let figures = |of: [f64; 3]| of.map(|p| format!("{p:.1}%")).join(" ");
        let full = p.full.map(|full| format!(", full {}", figures(full))).unwrap_or_default();
        out.push_str(&format!("  pressure {kind}: some {}{full} (10s 60s 300s)\n", figures(p.some)));
    }
    out
}

fn order(all: &[Victim], knows_use: bool) -> String {
    let text = |q: Quantity| amount_text(&crate::objects::Resource::Memory, q);
    let mut table = Columns::new([
        ("POD", Align::Left),
        ("REQUEST", Align::Right),
        ("USES", Align::Right),
        ("OVER", Align::Left),
        ("PRIORITY", Align::Right),
        ("ADJ", Align::Right),
        ("QOS", Align::Left),
    ]);
    for v in all.iter().take(PODS) {
        let over = match v.over {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not-known",
        };
        table.row([
            format!("{}/{}", v.namespace, v.name),
            text(v.request),
            v.used.map(text).unwrap_or_default(),
            over.to_owned(),
            v.priority.to_string(),
            v.adj.to_string(),
            v.class.to_string(),
        ]);
    }
    let more = if all.len() > PODS { format!("and {} more\n", all.len() - PODS) } else { String::new() };
    let note = if knows_use || all.is_empty() {
        ""
    } else {
        "(what pods use is not known: only requests and priorities order them)\n"
    };
    format!("{}{more}{note}", table.render(None))
}

fn busy(view: &NodeDetail) -> String {
    if view.busy.is_empty() {
        return "  what pods use of them is not known: it takes two looks at the machine\n".into();
    }
    let names = ["USES", "SHARE", "REQUEST", "LIMIT"].map(|n| (n, Align::Right));
    let mut table = Columns::new(std::iter::once(("POD", Align::Left)).chain(names).chain([("OVER", Align::Left)]));
    let text = |q: Quantity| amount_text(&crate::objects::Resource::Cpu, q);
    for b in view.busy.iter().take(PODS) {
        table.row([
            format!("{}/{}", b.namespace, b.name),
            text(b.used),
            b.share.map(percent).unwrap_or_default(),
            text(b.request),
            b.limit.map_or_else(|| "-".into(), text),
            if b.is_over() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    let more = if view.busy.len() > PODS { format!("and {} more\n", view.busy.len() - PODS) } else { String::new() };
    format!("{}{more}", table.render(None))
}

fn others(view: &NodeDetail, moment: &NodeView) -> String {
    let mut out = String::new();
    for c in &view.runtime {
        let why = format!("{} {}", c.reason.one_line(), c.message.one_line());
        out.push_str(&format!("  {}: {} {}\n", c.kind.one_line(), if c.ok { "true" } else { "FALSE" }, why.trim()));
    }
    if let Some(count) = view.oom_kills {
        out.push_str(&format!("  processes killed for lack of memory since boot: {count}\n"));
    }
    for kill in &view.kills {
        out.push_str(&format!("  {} {} {}\n", clock(kill.at), kill.pod.one_line(), kill.text.one_line()));
    }
    for c in &view.certificates {
        let left = c.certificate.ends - moment.now;
        let when = match left > TimeDelta::zero() {
            true => format!("ends in {}", human_duration(left)),
            false => format!("ENDED {} ago", human_duration(-left)),
        };
        let late = if c.late && left > TimeDelta::zero() { ", should have been renewed by now" } else { "" };
        out.push_str(&format!("  {}: {when}{late}\n", c.certificate.path.one_line()));
    }
    if out.is_empty() { "  nothing is known of them\n".into() } else { out }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
