//! Owns what the node and its parts say of themselves: conditions, lease, runtime, kills for memory, certificates.
//! It must not cut a message of a condition that is not as it should be.

use crate::time::TimeDelta;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::wrap;
use crate::tui::widgets::sections::{nothing, number, said, table, text, title};
use crate::view::{ConditionLine, LeaseOutlook, NodeDetail, NodeFault};

/// A certificate that ends so soon is marked, days.
const SOON_DAYS: i64 = 7;
/// Kills shown.
const KILLS: usize = 5;

/// What is wrong with the node; nothing while nothing is.
pub fn faults(faults: &[NodeFault], cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let lines = faults.iter().flat_map(|fault| said(&format!("✗ {fault}"), Role::Trouble, cells, theme));
    let head = (!faults.is_empty()).then(|| title("FAULTS", "", cells, theme));
    head.into_iter().chain(lines).collect()
}

/// Conditions, taints and the lease.
pub fn conditions(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("CONDITIONS", "", cells, theme)];
    if view.conditions.is_empty() {
        lines.extend(nothing("no source shows the node object", cells, theme));
    }
    let heard = view.conditions.iter().filter_map(|c| c.heartbeat_age).min();
    for c in &view.conditions {
        lines.extend(condition(c, cells, theme));
    }
    let mut below = Vec::new();
    below.extend(heard.map(|at| format!("status last written {} ago", human_duration(at))));
    if !view.taints.is_empty() {
        below.push(format!("taints {}", view.taints.join(", ")));
    }
    if !below.is_empty() {
        lines.extend(said(&below.join("; "), Role::Muted, cells, theme));
    }
    match &view.lease {
        Some(life) => {
            let (words, role) = lease(life, now);
            lines.extend(said(&words, role, cells, theme));
        }
        None => lines.extend(nothing("no source shows the node's lease", cells, theme)),
    }
    lines
}

fn condition(line: &ConditionLine, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let c = &line.condition;
    let (glyph, role) = if line.well { ("●", Role::Good) } else { ("✗", Role::Trouble) };
    let age = line.age.map(|age| format!(" for {}", human_duration(age))).unwrap_or_default();
    let words = format!("{}={}{age}  {}", c.kind.one_line(), c.status.one_line(), c.reason.one_line());
    let mut out = Vec::new();
    for (i, text) in wrap(&words, cells.saturating_sub(4).max(1)).into_iter().enumerate() {
        let role = if line.well { Role::Plain } else { role };
        let mark = Span::styled(if i == 0 { format!("  {glyph} ") } else { "    ".into() }, theme.style(role));
        out.push(Line::from(vec![mark, Span::styled(text, theme.style(role))]));
    }
    if !line.well {
        let message = wrap(&c.message.one_line(), cells.saturating_sub(4).max(1));
        out.extend(message.into_iter().map(|l| Line::raw(format!("    {l}"))));
    }
    out
}

fn lease(life: &LeaseOutlook, now: Time) -> (String, Role) {
    let left = |at: Time| at - now;
    let in_words = |at: Time| human_duration(left(at).max(TimeDelta::zero()));
    let text = &life.lease.text;
    if life.is_unknown {
        let evicted = match left(life.evicted_at) > TimeDelta::zero() {
            true => format!("its pods are evicted in {}", in_words(life.evicted_at)),
            false => "its pods are being evicted".into(),
        };
        return (
            format!("{text}; the cluster calls the node Unknown: {evicted}, unless they tolerate it longer"),
            Role::Trouble,
        );
    }
    if life.lease.expired.is_none() {
        return (text.clone(), Role::Muted);
    }
    let due = left(life.not_ready_at) <= TimeDelta::zero();
    let when = if due { "due".to_owned() } else { format!("in {}", in_words(life.not_ready_at)) };
    let words =
        format!("{text}; without another NotReady is {when}, and pods are evicted 5m later (the cluster's defaults)");
    let role = match (due, life.lease.expired) {
        (true, _) => Role::Trouble,
        (_, Some(true)) => Role::Slow,
        _ => Role::Plain,
    };
    (words, role)
}

/// Kills for memory, the runtime's conditions, certificates.
pub fn others(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("RUNTIME", "", cells, theme)];
    if view.runtime.is_empty() {
        lines.extend(nothing("it has not told its conditions", cells, theme));
    }
    for c in &view.runtime {
        let (glyph, role) = if c.ok { ("●", Role::Good) } else { ("✗", Role::Trouble) };
        let state = if c.ok { "true" } else { "false" };
        let why = format!("{} {}", c.reason.one_line(), c.message.one_line());
        let words = format!("{glyph} {}={state}  {}", c.kind.one_line(), why.trim());
        lines.extend(said(&words, if c.ok { Role::Plain } else { role }, cells, theme));
    }
    lines.extend(kills(view, now, cells, theme));
    lines.extend(certificates(view, cells, theme));
    lines
}

fn kills(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let since = view.boot.map(|at| format!(" since boot {} ago", human_duration((now - at).max(TimeDelta::zero()))));
    let note = match view.oom_kills {
        Some(count) => format!("{count} processes killed{}", since.unwrap_or_default()),
        None if view.kills.is_empty() => return Vec::new(),
        None => String::new(),
    };
    let mut lines = vec![title("OUT OF MEMORY", &note, cells, theme)];
    for kill in view.kills.iter().take(KILLS) {
        let age = human_duration((now - kill.at).max(TimeDelta::zero()));
        let pod = if kill.pod.is_empty() { String::new() } else { format!(" {}", kill.pod.one_line()) };
        lines.extend(said(&format!("{age} ago{pod}: {}", kill.text.one_line()), Role::Slow, cells, theme));
    }
    lines
}

fn certificates(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    if view.certificates.is_empty() && view.sampled_at.is_none() {
        return Vec::new();
    }
    let mut lines = vec![title("CERTIFICATES OF THE KUBELET", "", cells, theme)];
    if view.certificates.is_empty() {
        lines.extend(nothing("none was read", cells, theme));
        return lines;
    }
    let row = |c: &crate::view::CertificateLine| {
        let ended = c.left <= TimeDelta::zero();
        let left = if ended { "ended" } else { "ends in" };
        let (mark, role) = match (ended, c.late) {
            (true, _) => ("ENDED: the kubelet is not let in any more", Role::Trouble),
            (_, true) => ("it should have been renewed by now", Role::Slow),
            _ if c.left < TimeDelta::days(SOON_DAYS) => ("soon", Role::Slow),
            _ => ("", Role::Plain),
        };
        vec![
            text(format!("{left} {}", human_duration(c.left.abs()))).role(role),
            number(c.certificate.ends.format("%Y-%m-%d %H:%M").to_string()),
            text(mark).role(role),
            text(c.certificate.path.one_line()),
        ]
    };
    lines.extend(table(&["", "", "", ""], view.certificates.iter().map(row).collect(), cells, theme));
    lines
}
