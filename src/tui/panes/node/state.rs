//! State of the node: faults, conditions, lease, runtime, OOM kills, certificates.

use crate::time::TimeDelta;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::text::cells::wrap;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{nothing, number, paragraph, table, text, title};
use crate::view::{CertificateState, ConditionLine, LeaseOutlook, NodeDetail, NodeFault};

/// Kills shown.
const KILLS: usize = 5;

/// Faults of the node; empty without faults.
pub fn faults(faults: &[NodeFault], cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let lines = faults.iter().flat_map(|fault| paragraph(&format!("✗ {fault}"), Role::Error, cells, theme));
    let head = (!faults.is_empty()).then(|| title("FAULTS", "", cells, theme));
    head.into_iter().chain(lines).collect()
}

/// Conditions, taints and the lease.
pub fn conditions(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("CONDITIONS", "", cells, theme)];
    if view.conditions.is_empty() {
        lines.extend(nothing("no data", cells, theme));
    }
    let heard = view.conditions.iter().filter_map(|c| c.heartbeat_age).min();
    for c in &view.conditions {
        lines.extend(condition(c, cells, theme));
    }
    let mut below = Vec::new();
    below.extend(heard.map(|at| format!("node status last updated {} ago", human_duration(at))));
    if !view.taints.is_empty() {
        below.push(format!("taints {}", view.taints.join(", ")));
    }
    if !below.is_empty() {
        lines.extend(paragraph(&below.join("; "), Role::Muted, cells, theme));
    }
    match &view.lease {
        Some(life) => {
            let (words, role) = lease(life, now);
            lines.extend(paragraph(&words, role, cells, theme));
        }
        None => lines.extend(nothing("node lease: no data", cells, theme)),
    }
    lines
}

fn condition(line: &ConditionLine, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let c = &line.condition;
    let (glyph, role) = if line.well { ("●", Role::Ok) } else { ("✗", Role::Error) };
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
            true => format!("pod eviction in {}", in_words(life.evicted_at)),
            false => "pods are being evicted".into(),
        };
        return (
            format!("{text}; node status is Unknown: {evicted}, except pods with longer tolerations"),
            Role::Error,
        );
    }
    if life.lease.expired.is_none() {
        return (text.clone(), Role::Muted);
    }
    let due = left(life.not_ready_at) <= TimeDelta::zero();
    let when = if due { "due".to_owned() } else { format!("in {}", in_words(life.not_ready_at)) };
    let words = format!("{text}; without renewal NotReady {when}, pod eviction 5m later (cluster defaults)");
    let role = match (due, life.lease.expired) {
        (true, _) => Role::Error,
        (_, Some(true)) => Role::Warning,
        _ => Role::Plain,
    };
    (words, role)
}

/// Runtime conditions, OOM kills, certificates.
pub fn others(view: &NodeDetail, now: Time, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("RUNTIME", "", cells, theme)];
    if view.runtime.is_empty() {
        lines.extend(nothing("no runtime conditions reported", cells, theme));
    }
    for c in &view.runtime {
        let (glyph, role) = if c.ok { ("●", Role::Ok) } else { ("✗", Role::Error) };
        let state = if c.ok { "true" } else { "false" };
        let why = format!("{} {}", c.reason.one_line(), c.message.one_line());
        let words = format!("{glyph} {}={state}  {}", c.kind.one_line(), why.trim());
        lines.extend(paragraph(&words, if c.ok { Role::Plain } else { role }, cells, theme));
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
        lines.extend(paragraph(&format!("{age} ago{pod}: {}", kill.text.one_line()), Role::Warning, cells, theme));
    }
    lines
}

fn certificates(view: &NodeDetail, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    if view.certificates.is_empty() && view.sampled_at.is_none() {
        return Vec::new();
    }
    let mut lines = vec![title("KUBELET CERTIFICATES", "", cells, theme)];
    if view.certificates.is_empty() {
        lines.extend(nothing("none found", cells, theme));
        return lines;
    }
    let row = |c: &crate::view::CertificateLine| {
        let state = c.state();
        let left = if state == CertificateState::Expired { "expired" } else { "expires in" };
        let (mark, role) = match state {
            CertificateState::Expired => ("EXPIRED: the API server rejects the kubelet", Role::Error),
            CertificateState::RenewalLate => ("renewal overdue", Role::Warning),
            CertificateState::ExpiresSoon => ("soon", Role::Warning),
            CertificateState::Valid => ("", Role::Plain),
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
