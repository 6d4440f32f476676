//! Capacity of the node: requests, limits and use, eviction thresholds, file systems, pressure.

use crate::time::TimeDelta;
use ratatui::text::Line;

use crate::objects::Quantity;
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{Cell, bar, nothing, number, table, text, title};
use crate::view::{
    Distance, EvictionThreshold, Load, NodeDetail, ResourceLine, bytes, is_high_pressure, is_nearly_full, percent,
};

/// Narrowest pane that shows pods without a limit.
const WIDE: usize = 100;
/// Cells of a bar.
const BAR: usize = 6;

/// Resources.
pub fn resources(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("RESOURCES", &view.unavailable, cells, theme)];
    if view.resources.is_empty() {
        lines.extend(nothing("node capacity unknown", cells, theme));
        return lines;
    }
    let head = ["", "ALLOCATABLE", "REQUESTED", "", "", "LIMITS", "IN USE", ""];
    let rows = view.resources.iter().map(|r| row(r, cells >= WIDE)).collect();
    lines.extend(table(&head, rows, cells, theme));
    lines
}

fn row(r: &ResourceLine, wide: bool) -> Vec<Cell> {
    let share = r.requested_share();
    let role = match r.load() {
        Load::Over => Role::Error,
        Load::NearlyFull => Role::Warning,
        Load::Normal => Role::Plain,
    };
    let of = |amount: Quantity, whole: Quantity| amount.share_of(whole).map(percent).unwrap_or_default();
    let both = |amount: Quantity, whole: Quantity| format!("{} {:>3}", r.text(amount), of(amount, whole));
    let limits = if r.limits.is_zero() { String::new() } else { both(r.limits, r.allocatable) };
    let is_pods = r.resource == crate::objects::Resource::Pods;
    let used = r.used.filter(|_| !is_pods);
    vec![
        text(r.resource.name()),
        number(r.text(r.allocatable)),
        number(r.text(r.requested)).role(role),
        number(of(r.requested, r.allocatable)).role(role),
        text(bar(share.unwrap_or(0.0), BAR)).role(role),
        number(limits),
        number(used.map(|u| both(u, r.capacity)).unwrap_or_default()),
        text(if wide && r.unbounded > 0 && r.resource.is_bytes() && !is_pods {
            format!("{} pods without limit", r.unbounded)
        } else {
            String::new()
        })
        .role(Role::Muted),
    ]
}

/// Thresholds, file systems, pressure.
pub fn bounds(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let assumed = view.thresholds.iter().any(|t| t.assumed);
    let note = if assumed { "defaults (kubelet configuration not read)" } else { "" };
    let mut lines = vec![title("EVICTION THRESHOLDS", note, cells, theme)];
    if view.thresholds.is_empty() {
        lines.extend(nothing("none: eviction disabled", cells, theme));
    }
    lines.extend(table(&["", "", "", "", ""], view.thresholds.iter().map(threshold).collect(), cells, theme));
    // RESOURCES shows the missing data.
    let Some(looked) = view.sampled_at else { return lines };
    let note = format!("sampled {} ago", human_duration((now - looked).max(TimeDelta::zero())));
    lines.push(title("FILE SYSTEMS AND PRESSURE", &note, cells, theme));
    if !view.disks.is_empty() {
        let head = ["", "FREE", "SIZE", "", "INODES FREE", "IMAGES"];
        lines.extend(table(&head, view.disks.iter().map(disk).collect(), cells, theme));
    }
    if let Some(memory) = view.memory {
        let of = Quantity::whole(i64::try_from(memory.available).unwrap_or(i64::MAX));
        let all = Quantity::whole(i64::try_from(memory.total).unwrap_or(i64::MAX));
        let share = of.share_of(all).unwrap_or(1.0);
        let cpu = view.cpu.map(|share| format!("; CPU {} busy", percent(share))).unwrap_or_default();
        let words = format!(
            "memory: {} of {} available ({}){cpu}",
            bytes(memory.available),
            bytes(memory.total),
            percent(share)
        );
        lines.extend(crate::tui::widgets::sections::paragraph(&words, Role::Plain, cells, theme));
    }
    let rows = view.pressure.iter().map(|(kind, p)| {
        let figures = |of: [f64; 3]| of.map(|p| format!("{p:.0}%")).join(" ");
        let role = if is_high_pressure(p) { Role::Warning } else { Role::Plain };
        let full = p.full.map(|full| format!("full {}", figures(full))).unwrap_or_default();
        vec![
            text(format!("pressure {kind}")),
            text(format!("some {}", figures(p.some))).role(role),
            text(full).role(role),
            text("over 10s 60s 300s").role(Role::Muted),
        ]
    });
    lines.extend(table(&["", "", "", ""], rows.collect(), cells, theme));
    lines
}

fn threshold(t: &EvictionThreshold) -> Vec<Cell> {
    let amount = |q: Quantity| match t.is_bytes() {
        true => bytes(u64::try_from(q.ceil()).unwrap_or(0)),
        false => q.ceil().to_string(),
    };
    let grace = if t.grace.is_empty() { String::new() } else { format!(" for {}", t.grace.one_line()) };
    let (margin, role) = match (t.margin(), t.margin_share()) {
        (Some(margin), share) if margin < Quantity::ZERO => {
            let share = share.map(|s| format!(" ({})", percent(-s))).unwrap_or_default();
            (format!("CROSSED by {}{share}", amount(Quantity::ZERO - margin)), Role::Error)
        }
        (Some(margin), share) => {
            let near = t.distance() == Distance::Near;
            let share = share.map(|s| format!(" ({})", percent(s))).unwrap_or_default();
            let word = if near { " NEAR" } else { "" };
            (format!("{} above{share}{word}", amount(margin)), if near { Role::Warning } else { Role::Plain })
        }
        (None, _) => {
            let crossed = t.distance() == Distance::Crossed;
            (t.condition_text().unwrap_or_default(), if crossed { Role::Error } else { Role::Muted })
        }
    };
    vec![
        text(format!("{}<{}{grace}", t.signal.one_line(), t.setting.one_line())),
        number(t.left.map(|left| format!("{} available", amount(left))).unwrap_or_default()),
        text(margin).role(role),
    ]
}

fn disk(disk: &crate::view::Disk) -> Vec<Cell> {
    let fs = &disk.filesystem;
    let role = |free: f64| if is_nearly_full(free) { Role::Warning } else { Role::Plain };
    let (room, inodes) = (disk.free_share(), disk.free_inodes_share());
    vec![
        text(&disk.role),
        number(bytes(fs.available)).role(role(room)),
        number(bytes(fs.size)),
        number(percent(room)).role(role(room)),
        number(if fs.inodes > 0 { percent(inodes) } else { "-".into() }).role(role(inodes)),
        number(disk.images.map(bytes).unwrap_or_default()),
    ]
}
