//! Owns the screen of one pod: its heading, which stays, and its sections, which scroll.
//! It must not lose the pod: one that is gone is shown as it was last seen, and said to be gone.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq  CrashLoopBackOff  restarts 3 (27s ago)
//! uid 8f3c…  QoS Burstable  pod IP 10.244.0.9  node node-7  owner ReplicaSet/web
//! WHY           pod_why.rs
//! LIFE          pod_life.rs
//! STAGES        pod_stages.rs
//! CONTAINERS    pod_containers.rs
//! LOG           pod_log.rs
//! EVENTS        pod_events.rs
//! ```

pub mod containers;
pub mod events;
pub mod log_lines;
pub mod stages;
pub mod timeline;
pub mod why;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::observation::Time;
use crate::pipeline::LocatedPod;
use crate::tui::app::Open;
use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{flow, put, put_line, wrap};
use crate::tui::widgets::chosen_step::Step;
use crate::tui::widgets::scroll::{self, View};
use crate::view::{PodDetail, PodDiagnosis, timeline};

/// Draws heading and sections.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, open: Option<&mut Open>, theme: &Theme) -> View {
    let Some(open) = open else {
        put(buffer, area.x, area.y, area.right(), "no pod is selected", theme.style(Role::Muted));
        return View::default();
    };
    let Some(placed) = &open.last else {
        put(buffer, area.x, area.y, area.right(), "the pod is gone", theme.style(Role::Muted));
        return View::default();
    };
    let now = picture.moment.now;
    let mut detail = PodDetail::new(placed, now);
    if let Some(row) = picture.moment.rows().iter().find(|row| row.key == placed.facts.key) {
        detail.row.next.clone_from(&row.next);
    }
    let heading = heading(&detail, open.gone, usize::from(area.width), theme);
    for (row, line) in (0..area.height).zip(&heading) {
        put_line(buffer, area, row, line);
    }
    let head = (heading.len() as u16).min(area.height);
    let body = Rect { y: area.y + head, height: area.height - head, ..area };
    let why = open.why.as_ref().map(|why| (why, open.step));
    let lines = sections(placed, &detail, why, (now, picture.secrets), usize::from(body.width), theme);
    open.step.show(&lines, usize::from(body.height), &mut open.scroll);
    scroll::text(buffer, body, &lines, &mut open.scroll)
}

fn heading(detail: &PodDetail, gone: bool, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let row = &detail.row;
    let plain = |text: String| Span::raw(text);
    // Here the name is never cut.
    let mut name = wrap(&format!("{}/{}", row.namespace, row.name), cells);
    let first = vec![
        Span::styled(name.pop().unwrap_or_default(), theme.style(Role::Heading)),
        Span::styled(if gone { "gone" } else { "" }, theme.style(Role::Selected)),
        Span::styled(row.status.to_string(), theme.style(theme.trouble(row.health))),
        plain(format!("ready {}", row.ready)),
        plain(format!("restarts {}", row.restarts)),
        plain(format!("age {}", row.age)),
    ];
    let muted = |what: &str, text: &str| {
        let text = if text.is_empty() { String::new() } else { format!("{what} {text}") };
        Span::styled(text, theme.style(Role::Muted))
    };
    let second = vec![
        muted("uid", &detail.uid),
        muted("QoS", &detail.qos),
        muted("pod IP", &detail.ip),
        muted("node", &detail.node),
        muted("owner", &detail.owner),
        muted("static", if detail.is_static { "pod" } else { "" }),
    ];
    let mut lines: Vec<Line> = name.into_iter().map(|l| Line::styled(l, theme.style(Role::Heading))).collect();
    lines.extend(flow(first, cells));
    lines.extend(flow(second, cells));
    if !detail.left_out.is_empty() {
        let words: Vec<String> = detail.left_out.iter().map(ToString::to_string).collect();
        let words = wrap(&words.join("; "), cells);
        lines.extend(words.into_iter().map(|l| Line::styled(l, theme.style(Role::Slow))));
    }
    lines
}

fn sections(
    placed: &LocatedPod,
    detail: &PodDetail,
    why: Option<(&PodDiagnosis, Step)>,
    (now, secrets): (Time, bool),
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let row = &detail.row;
    let told = why.and_then(|(why, _)| why.own.top()).is_some_and(|finding| finding.next.is_some());
    let what = [if told { "" } else { row.next.as_str() }, placed.position.reason.shown(secrets)];
    for text in what.into_iter().filter(|t| !t.is_empty()) {
        let role = theme.trouble(row.health);
        lines.extend(wrap(text, cells).into_iter().map(|l| Line::styled(l, theme.style(role))));
    }
    if let Some((why, step)) = why {
        lines.push(title("WHY", theme));
        lines.extend(why::lines(why, step, now, cells, theme));
    }
    let life = timeline(placed, now);
    if !life.is_empty() {
        lines.push(title("LIFE", theme));
        lines.extend(timeline::lines(&life, cells, theme));
    }
    lines.push(title("STAGES", theme));
    lines.extend(stages::lines(&placed.position, now, cells, theme));
    lines.push(title("CONTAINERS", theme));
    lines.extend(containers::lines(placed, detail, (now, secrets), cells, theme));
    let log = log_lines::lines(placed, cells, theme);
    if !log.is_empty() {
        lines.push(title("LOG", theme));
        lines.extend(log);
    }
    lines.push(title("EVENTS", theme));
    lines.extend(events::lines(placed, (now, secrets), cells, theme));
    lines
}

fn title(text: &'static str, theme: &Theme) -> Line<'static> {
    Line::styled(text, theme.style(Role::Heading))
}
