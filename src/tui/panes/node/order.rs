//! Eviction order, OOM-kill order, and the pods with the highest CPU use.

use ratatui::text::Line;

use crate::objects::{Quantity, Resource};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::pod_name;
use crate::tui::widgets::sections::{Cell, nothing, number, table, text, title};
use crate::view::{CpuUse, NodeDetail, Victim, amount_text, percent};

/// Most pods of each list.
const SHOWN: usize = 12;

/// Pods in the order of eviction by the kubelet.
pub fn evicted(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let note = match view.knows_use() {
        true => "exceeds request, then priority, then excess",
        false => "exceeds request, then priority",
    };
    let mut lines = vec![title("EVICTION ORDER (memory)", note, cells, theme)];
    let row = |(i, v): (usize, &Victim)| {
        let (over, role) = match (v.over, v.excess()) {
            (Some(true), Some(excess)) => (format!("over request by {}", memory(excess)), Role::Warning),
            (Some(true), None) => ("over request (no request set)".into(), Role::Warning),
            (Some(false), Some(excess)) => (format!("{} below request", memory(Quantity::ZERO - excess)), Role::Plain),
            _ => (String::new(), Role::Muted),
        };
        let mut cells = numbered(i, v, cells);
        cells.extend([
            text(over).role(role),
            number(format!("request {}", memory(v.request))),
            number(format!("priority {}", v.priority)),
            text(v.class.one_line()).role(Role::Muted),
        ]);
        cells
    };
    let never = view.kernel.len() - view.eviction.len();
    lines.extend(list(&view.eviction, row, cells, theme));
    if never > 0 {
        lines.extend(nothing(&format!("never evicted: {never} static or critical pods"), cells, theme));
    }
    lines
}

/// Pods in the order of OOM kills by the kernel.
pub fn killed(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let note = match view.knows_use() {
        true => "~score = oom_score_adj + memory use in 1/1000",
        false => "by oom_score_adj only",
    };
    let mut lines = vec![title("OOM-KILL ORDER", note, cells, theme)];
    let row = |(i, v): (usize, &Victim)| {
        let mut cells = numbered(i, v, cells);
        cells.extend([
            number(format!("adj {}", v.adj)),
            number(v.score.map(|score| format!("~score {score}")).unwrap_or_default()),
            number(v.used.map(|used| format!("uses {}", memory(used))).unwrap_or_default()),
            text(v.class.one_line()).role(Role::Muted),
        ]);
        cells
    };
    lines.extend(list(&view.kernel, row, cells, theme));
    lines
}

/// The pods with the highest CPU use; empty without data.
pub fn busy(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    if view.busy.is_empty() {
        return Vec::new();
    }
    let cpu = |amount: Quantity| amount_text(&Resource::Cpu, amount);
    let row = |(i, b): (usize, &CpuUse)| {
        let name = pod_name(&b.namespace, &b.name, (cells / 3).max(12));
        vec![
            number((i + 1).to_string()),
            text(name),
            number(format!("uses {}", cpu(b.used))),
            number(b.share.map(percent).unwrap_or_default()),
            number(format!("request {}", cpu(b.request))).role(if b.is_over() { Role::Warning } else { Role::Plain }),
            text(b.limit.map_or_else(|| "no limit".into(), |limit| format!("limit {}", cpu(limit)))).role(Role::Muted),
        ]
    };
    let mut lines = vec![title("CPU USE", "busiest pods, between the last two samples", cells, theme)];
    lines.extend(list(&view.busy, row, cells, theme));
    lines
}

fn list<T>(all: &[T], row: impl Fn((usize, &T)) -> Vec<Cell>, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    if all.is_empty() {
        return nothing("no pods", cells, theme);
    }
    let rows: Vec<_> = all.iter().take(SHOWN).enumerate().map(row).collect();
    let mut lines = table(&[""; 6], rows, cells, theme);
    if all.len() > SHOWN {
        lines.extend(nothing(&format!("and {} more", all.len() - SHOWN), cells, theme));
    }
    lines
}

fn numbered(i: usize, v: &Victim, cells: usize) -> Vec<Cell> {
    vec![number((i + 1).to_string()), text(pod_name(&v.namespace, &v.name, (cells / 3).max(12)))]
}

fn memory(amount: Quantity) -> String {
    amount_text(&Resource::Memory, amount)
}
