//! Containers of a pod: state, last exit and back-off, and their states at API server, kubelet and runtime.
//!
//! ```text
//! ✗ app   web   nginx:1.27   CrashLoopBackOff   not ready   restarts 3   restart in 12s
//!     last exit: code 1 (Error), 8s ago - application error
//! CONTAINER   API                 KUBELET             RUNTIME
//! web         CrashLoopBackOff    CrashLoopBackOff    exited 1 Error, attempt 3
//! ```

use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::{ContainerKind, ContainerPosition, LocatedPod, Next, NextKind, human_duration};
use crate::text::cells::{fit, width, wrap};
use crate::tui::panes::pod::stages::evidence;
use crate::tui::theme::{Role, Theme};
use crate::view::{PodDetail, SourceWords, exit_words, next_text, restart_strip};

/// Narrowest pane that shows the three states in one row.
const SIDE_BY_SIDE: usize = 120;

/// Mark of sources that disagree on whether the container runs.
const DIFFER: &str = "  (differ)";

/// The lines of the section.
pub fn lines(
    placed: &LocatedPod,
    detail: &PodDetail,
    at: (Time, bool),
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let containers = &placed.position.containers;
    if containers.is_empty() {
        return vec![Line::styled("  no data", theme.style(Role::Muted))];
    }
    let names = containers.iter().map(|c| width(&c.name)).max().unwrap_or(0).min(30);
    let mut out = Vec::new();
    for container in containers {
        out.extend(one(container, names, at, cells, theme));
        let strip = restart_strip(placed, &container.name, at.0).filter(|_| container.restarts > 1);
        out.extend(
            strip.iter().flat_map(|strip| wrap(strip, cells.saturating_sub(4))).map(|l| Line::from(format!("    {l}"))),
        );
        let sides = detail.sides.iter().find(|s| s.container == container.name);
        if cells < SIDE_BY_SIDE {
            out.extend(sides.into_iter().flat_map(|s| stacked(s, cells, theme)));
            out.extend(container.evidence.iter().flat_map(|e| evidence(e, "    ", cells, theme)));
        }
    }
    if cells >= SIDE_BY_SIDE {
        out.extend(beside(&detail.sides, names.max(9), cells, theme));
    }
    out
}

fn one(
    place: &ContainerPosition,
    names: usize,
    (now, secrets): (Time, bool),
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (glyph, role) = theme.stage(place.state);
    let counts = matches!(place.kind, ContainerKind::App | ContainerKind::Sidecar);
    let ready = match (counts, place.ready) {
        (false, _) => "",
        (_, true) => "  ready",
        (_, false) => "  not ready",
    };
    let mut first = vec![
        Span::styled(format!("{glyph} "), theme.style(role)),
        Span::raw(format!("{:9} ", place.kind.name())),
        Span::styled(fit(&place.name, names), theme.style(Role::Heading)),
        Span::styled(format!("  {}", place.word), theme.style(role)),
        Span::raw(format!("{ready}  restarts {}", place.restarts)),
    ];
    if let Some((at, estimated)) = place.retry_at {
        let next = Next { kind: NextKind::Restart, at: Some(at), estimated };
        first.push(Span::styled(format!("  {}", next_text(&next, now)), theme.style(Role::Active)));
    }
    let image = Span::styled(format!("  {}", place.image), theme.style(Role::Muted));
    let fits = first.iter().chain([&image]).map(|s| width(&s.content)).sum::<usize>() <= cells;
    if fits {
        first.push(image);
    }
    let mut out = vec![Line::from(first)];
    if !fits {
        let lines = wrap(&place.image, cells.saturating_sub(4));
        out.extend(lines.into_iter().map(|l| Line::styled(format!("    {l}"), theme.style(Role::Muted))));
    }
    if let Some((code, reason, at)) = &place.last_exit {
        let meaning = exit_words(*code, reason);
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        let ago = at.map(|at| format!(", {} ago", human_duration(now - at))).unwrap_or_default();
        let words = format!("last exit: code {code}{reason}{ago} - {meaning}");
        out.extend(wrap(&words, cells.saturating_sub(4)).into_iter().map(|l| Line::from(format!("    {l}"))));
    }
    let message = wrap(place.message.shown(secrets), cells.saturating_sub(4)).into_iter().take(4);
    out.extend(message.map(|l| Line::from(format!("    {l}"))));
    out
}

fn stacked(sides: &SourceWords, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let words = [("API", &sides.api), ("kubelet", &sides.kubelet), ("runtime", &sides.runtime)];
    let states: Vec<String> =
        words.iter().filter(|(_, w)| !w.is_empty()).map(|(who, word)| format!("{who}: {word}")).collect();
    let (differ, role) = if sides.differ { (DIFFER, Role::Warning) } else { ("", Role::Muted) };
    wrap(&format!("{}{differ}", states.join(" · ")), cells.saturating_sub(4))
        .into_iter()
        .map(|l| Line::styled(format!("    {l}"), theme.style(role)))
        .collect()
}

fn beside(sides: &[SourceWords], names: usize, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let column = (cells.saturating_sub(names + 2 + 3 + DIFFER.len())) / 3;
    let row = |name: &str, words: [&str; 3]| {
        let words: Vec<String> = words.iter().map(|w| fit(if w.is_empty() { "-" } else { w }, column)).collect();
        format!("  {} {}", fit(name, names), words.join(" "))
    };
    let heading = row("CONTAINER", ["API SERVER", "KUBELET", "RUNTIME"]);
    let mut out = vec![Line::styled(heading, theme.style(Role::Heading))];
    for s in sides {
        let text = row(&s.container, [&s.api, &s.kubelet, &s.runtime]);
        let (differ, role) = if s.differ { (DIFFER, Role::Warning) } else { ("", Role::Plain) };
        out.push(Line::styled(format!("{text}{differ}"), theme.style(role)));
    }
    out
}
