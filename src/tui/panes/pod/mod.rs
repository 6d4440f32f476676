//! The Pod pane: a heading that stays visible, and sections that scroll. A deleted pod is shown in its last known
//! state.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq  CrashLoopBackOff  restarts 3 (27s ago)
//! uid 8f3c…  QoS Burstable  pod IP 10.244.0.9  node node-7  owner ReplicaSet/web
//! WHY           why.rs
//! TIMELINE          timeline.rs
//! STAGES        stages.rs
//! CONTAINERS    containers.rs
//! LOG           log_lines.rs
//! EVENTS        events.rs
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

use crate::diagnose::RemedyStep;
use crate::observation::Time;
use crate::pipeline::LocatedPod;
use crate::text::Text;
use crate::text::cells::wrap;
use crate::tui::keys::press::{BACK, LOG};
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::log::LogPane;
use crate::tui::panes::{DrawContext, Pane, PaneOutcome};
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{flow, put, put_line};
use crate::tui::widgets::chosen_step::StepCursor;
use crate::tui::widgets::scroll::{self, View};
use crate::view::{PodDetail, PodDiagnosis, timeline};

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Back, BACK, HERE, "back", "back to the table"),
    Binding::new(Action::Secrets, &[char_key('x')], HERE, "", "show / redact credentials in messages"),
    Binding::new(Action::NextStep, &[char_key(']')], HERE, "", "select the next command"),
    Binding::new(Action::PreviousStep, &[char_key('[')], HERE, "", "select the previous command"),
    Binding::new(Action::Log, LOG, HERE, "log", "log of the failing container"),
    Binding::new(Action::LookUp, &[char_key('r')], HERE, "runbook", "runbook entry of this pod"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the selected command, marked with ▸"),
];
const HERE: &[Context] = &[Context::Pane(PaneId::Pod)];

/// The open pod. It stays visible after its deletion.
#[derive(Clone, Debug)]
pub struct OpenPod {
    /// UID.
    pub key: Text,
    /// Its last known state; None if no source ever reported it.
    pub last: Option<LocatedPod>,
    /// The diagnosis of that state.
    pub why: Option<PodDiagnosis>,
    /// No source reports the pod any more.
    pub gone: bool,
    /// First visible line.
    pub scroll: usize,
    /// The selected step.
    pub step: StepCursor,
}

impl OpenPod {
    /// Remedy steps of the first finding.
    pub fn steps(&self) -> &[RemedyStep] {
        self.why.as_ref().and_then(|why| why.own.top()).map_or(&[], |finding| &finding.steps)
    }
}

/// State of the pane.
#[derive(Clone, Debug, Default)]
pub struct PodPane {
    /// The open pod.
    pub open: Option<OpenPod>,
    /// The open log, which covers the pod.
    pub log: Option<LogPane>,
}

impl PodPane {
    /// Opens a pod.
    pub fn open_pod(&mut self, key: Text, screen: &ScreenState) {
        let (last, why) = (screen.node_view.pod(&key).cloned(), screen.node_view.why(&key));
        self.open = Some(OpenPod { gone: last.is_none(), key, last, why, scroll: 0, step: StepCursor::default() });
    }
}

impl Pane for PodPane {
    fn context(&self) -> Context {
        self.log.as_ref().map_or(Context::Pane(PaneId::Pod), Pane::context)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        match &mut self.log {
            Some(log) => log.draw(buffer, area, context),
            None => draw(buffer, area, context.screen, self.open.as_mut(), context.theme),
        }
    }

    fn update(&mut self, screen: &mut ScreenState) {
        if let Some(open) = &mut self.open {
            match screen.node_view.pod(&open.key) {
                Some(placed) => {
                    let why = screen.node_view.why(&open.key);
                    (open.last, open.why, open.gone) = (Some(placed.clone()), why, false);
                }
                None => open.gone = true,
            }
        }
        if let Some(log) = &mut self.log {
            log.update(screen);
        }
    }

    fn act(&mut self, action: Action, screen: Option<&mut ScreenState>) -> PaneOutcome {
        match (&mut self.log, &mut self.open, action) {
            (Some(log), _, action) => return log.act(action, screen),
            (None, Some(open), Action::NextStep) => {
                let mut step = open.step;
                step.move_by(1, open.steps());
                open.step = step;
            }
            (None, Some(open), Action::PreviousStep) => {
                let mut step = open.step;
                step.move_by(-1, open.steps());
                open.step = step;
            }
            _ => return PaneOutcome::Unhandled,
        }
        PaneOutcome::Done
    }

    fn words(&self) -> &str {
        self.log.as_ref().map_or("", Pane::words)
    }

    fn words_mut(&mut self) -> Option<&mut String> {
        self.log.as_mut().and_then(Pane::words_mut)
    }

    fn search(&mut self, screen: Option<&mut ScreenState>) {
        if let Some(log) = &mut self.log {
            Pane::search(log, screen);
        }
    }

    fn position(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.scroll)
    }

    fn select(&mut self, row: usize, _screen: &ScreenState) {
        if let Some(open) = &mut self.open {
            open.scroll = row;
        }
    }

    fn move_to(&mut self, row: usize, screen: &ScreenState) -> PaneOutcome {
        match &mut self.log {
            Some(log) => Pane::move_to(log, row, screen),
            None => {
                self.select(row, screen);
                PaneOutcome::Done
            }
        }
    }

    fn move_by(&mut self, step: isize, screen: &ScreenState) -> PaneOutcome {
        match &mut self.log {
            Some(log) => Pane::move_by(log, step, screen),
            None => self.move_to(self.position().saturating_add_signed(step), screen),
        }
    }

    fn page_by(&mut self, down: bool, rows: usize, screen: &ScreenState) -> PaneOutcome {
        match &mut self.log {
            Some(log) => Pane::page_by(log, down, rows, screen),
            None => self.move_by(if down { rows as isize } else { -(rows as isize) }, screen),
        }
    }

    fn copy_text(&self, line: Option<&str>) -> Option<String> {
        if let Some(log) = &self.log {
            return log.copy_text(line);
        }
        let open = self.open.as_ref()?;
        let name = || open.last.as_ref().map(|placed| format!("{}/{}", placed.facts.namespace, placed.facts.name));
        open.step.command(open.steps()).map(str::to_owned).or_else(name)
    }
}

fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, open: Option<&mut OpenPod>, theme: &Theme) -> View {
    let Some(open) = open else {
        put(buffer, area.x, area.y, area.right(), "no pod selected", theme.style(Role::Muted));
        return View::default();
    };
    let Some(placed) = &open.last else {
        put(buffer, area.x, area.y, area.right(), "no data: pod deleted", theme.style(Role::Muted));
        return View::default();
    };
    let now = screen.node_view.now;
    let mut detail = PodDetail::new(placed, now);
    if let Some(row) = screen.node_view.rows().iter().find(|row| row.key == placed.facts.key) {
        detail.row.next.clone_from(&row.next);
    }
    let heading = heading(&detail, open.gone, usize::from(area.width), theme);
    for (row, line) in (0..area.height).zip(&heading) {
        put_line(buffer, area, row, line);
    }
    let head = (heading.len() as u16).min(area.height);
    let body = Rect { y: area.y + head, height: area.height - head, ..area };
    let why = open.why.as_ref().map(|why| (why, open.step));
    let lines = sections(placed, &detail, why, (now, screen.secrets), usize::from(body.width), theme);
    open.step.scroll_to(&lines, usize::from(body.height), &mut open.scroll);
    scroll::text(buffer, body, &lines, &mut open.scroll)
}

fn heading(detail: &PodDetail, gone: bool, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let row = &detail.row;
    let plain = |text: String| Span::raw(text);
    // The name is never cut here.
    let mut name = wrap(&format!("{}/{}", row.namespace, row.name), cells);
    let first = vec![
        Span::styled(name.pop().unwrap_or_default(), theme.style(Role::Heading)),
        Span::styled(if gone { "gone" } else { "" }, theme.style(Role::Selected)),
        Span::styled(row.status.to_string(), theme.style(theme.health(row.health))),
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
        lines.extend(words.into_iter().map(|l| Line::styled(l, theme.style(Role::Warning))));
    }
    lines
}

fn sections(
    placed: &LocatedPod,
    detail: &PodDetail,
    why: Option<(&PodDiagnosis, StepCursor)>,
    (now, secrets): (Time, bool),
    cells: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let row = &detail.row;
    let has_next = why.and_then(|(why, _)| why.own.top()).is_some_and(|finding| finding.next.is_some());
    let what = [if has_next { "" } else { row.next.as_str() }, placed.position.reason.shown(secrets)];
    for text in what.into_iter().filter(|t| !t.is_empty()) {
        let role = theme.health(row.health);
        lines.extend(wrap(text, cells).into_iter().map(|l| Line::styled(l, theme.style(role))));
    }
    if let Some((why, step)) = why {
        lines.push(title("WHY", theme));
        lines.extend(why::lines(why, step, now, cells, theme));
    }
    let life = timeline(placed, now);
    if !life.is_empty() {
        lines.push(title("TIMELINE", theme));
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
