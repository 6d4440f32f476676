//! The Events pane: events of the node and its pods, repeats folded, newest first.
//!
//! ```text
//! EVENTS  214 of 37 subjects                                        filter backoff · 12 shown
//!    AGE  COUNT  OBJECT                 REASON     FINDING             MESSAGE
//!    34s     ×4  shop/web-6d4cf (web)   BackOff    run.crash           Back-off restarting …
//! the message of the selected one, in full
//! ```

use crate::time::TimeDelta;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::observation::{Source, Time};
use crate::pipeline::human_duration;
use crate::text::cells::{cut, fit, width, wrap};
use crate::text::one_line;
use crate::tui::keys::press::BACK;
use crate::tui::keys::{Action, Binding, Context, char_key};
use crate::tui::pane_table::PaneId;
use crate::tui::panes::{DrawContext, Pane, PaneOutcome};
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{pod_name, put, put_right};
use crate::tui::widgets::scroll::{Cursor, Rows, View};
use crate::view::{EventLine, clock};

/// Lines above the rows.
const HEAD: u16 = 2;
/// Lines below them for the message of the selected event, in a pane of at least this height.
const FOOT: u16 = 4;
const HIGH: u16 = 14;

/// State of the pane.
#[derive(Clone, Debug, Default)]
pub struct EventsPane {
    /// The filter.
    pub words: String,
    /// The selected event.
    pub cursor: Cursor,
}

/// Keys of the pane.
pub const KEYS: &[Binding] = &[
    Binding::new(Action::Back, BACK, HERE, "back", "clear the filter, then back to the table"),
    Binding::new(Action::Filter, &[char_key('/')], HERE, "filter", "filter by words"),
    Binding::new(Action::Secrets, &[char_key('x')], HERE, "", "show / redact credentials in messages"),
    Binding::new(Action::Copy, &[char_key('y')], HERE, "copy", "copy the selected line"),
];
const HERE: &[Context] = &[Context::Pane(PaneId::Events)];

impl Pane for EventsPane {
    fn context(&self) -> Context {
        Context::Pane(PaneId::Events)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &DrawContext<'_>) -> View {
        draw(buffer, area, context.screen, self, context.theme)
    }

    fn act(&mut self, action: Action, screen: Option<&mut ScreenState>) -> PaneOutcome {
        if action != Action::Back || self.words.is_empty() {
            return PaneOutcome::Unhandled;
        }
        self.words.clear();
        self.search(screen);
        PaneOutcome::Done
    }

    fn words(&self) -> &str {
        &self.words
    }

    fn words_mut(&mut self) -> Option<&mut String> {
        Some(&mut self.words)
    }

    fn search(&mut self, _screen: Option<&mut ScreenState>) {
        self.cursor = Cursor::default();
    }

    fn position(&self) -> usize {
        self.cursor.index
    }

    fn select(&mut self, row: usize, _screen: &ScreenState) {
        self.cursor.index = row;
    }
}

/// Widths of the columns before the message.
struct Widths {
    subject: usize,
    reason: usize,
    cause: usize,
}

/// Draws the pane.
fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, pane: &mut EventsPane, theme: &Theme) -> View {
    let (all, older) = screen.events();
    let shown: Vec<&EventLine> = all.iter().filter(|e| e.matches(&pane.words)).collect();
    let foot = if area.height >= HIGH { FOOT } else { 0 };
    let list = Rect { height: area.height.saturating_sub(foot), ..area };
    let rows = usize::from(list.height.saturating_sub(HEAD));
    pane.cursor.keep(shown.len(), rows);
    counts(buffer, area, (all, older), shown.len(), &pane.words, theme);
    if area.height <= HEAD {
        return View { page: rows.max(1), ..View::default() };
    }
    if shown.is_empty() {
        let text = nothing(screen, all.is_empty());
        put(buffer, area.x + 1, area.y + HEAD, area.right(), text, theme.style(Role::Muted));
        return View { page: rows.max(1), ..View::default() };
    }
    let widths = widths(&shown, usize::from(area.width));
    let cause = if widths.cause > 0 { format!("{} ", fit("FINDING", widths.cause)) } else { String::new() };
    let heading = format!(
        "{:>5} {:>6}   {} {} {cause}MESSAGE",
        "AGE",
        "COUNT",
        fit("OBJECT", widths.subject),
        fit("REASON", widths.reason)
    );
    put(buffer, area.x + 1, area.y + 1, area.right(), &heading, theme.style(Role::Heading));
    let now = screen.node_view.now;
    let seen = shown.iter().skip(pane.cursor.top).take(rows);
    for (i, (y, event)) in (list.y + HEAD..list.bottom()).zip(seen).enumerate() {
        let selected = pane.cursor.top + i == pane.cursor.index;
        row(buffer, Rect { y, height: 1, ..area }, event, &widths, (now, screen.secrets), selected, theme);
    }
    let selected = shown.get(pane.cursor.index);
    if let Some(event) = selected.filter(|_| foot > 0) {
        detail(buffer, Rect { y: list.bottom(), height: foot, ..area }, event, (now, screen.secrets), theme);
    }
    let count = shown.len().saturating_sub(pane.cursor.top).min(rows);
    let position = (shown.len() > rows).then_some((pane.cursor.top + 1, pane.cursor.top + count, shown.len()));
    View {
        page: rows.max(1),
        position,
        rows: Some(Rows { y: list.y + HEAD, first: pane.cursor.top, count }),
        line: selected.map(|e| format!("{} {}: {}", e.subject, e.reason.one_line(), e.message.one_line())),
    }
}

fn nothing(screen: &ScreenState, none: bool) -> &'static str {
    let live =
        screen.node_view.snapshot.sources.get(&Source::ApiEvents).is_some_and(|facts| facts.last_answer.is_some());
    match (none, live) {
        (true, false) => "no data: the kubelet's credential is not allowed to list events",
        (true, true) => "none",
        (false, _) => "no matching event",
    }
}

fn counts(
    buffer: &mut Buffer,
    area: Rect,
    (all, older): (&[EventLine], usize),
    shown: usize,
    words: &str,
    theme: &Theme,
) {
    if area.height == 0 {
        return;
    }
    let warnings = all.iter().filter(|e| e.warning).count();
    let x = put(buffer, area.x, area.y, area.right(), "EVENTS", theme.style(Role::Heading)) + 2;
    let left_out = if older > 0 { format!(" · {older} older omitted") } else { String::new() };
    let text = format!("{} distinct, {warnings} warnings{left_out}", all.len());
    let x = put(buffer, x, area.y, area.right(), &text, theme.style(Role::Plain));
    if !words.is_empty() {
        let room = usize::from(area.right().saturating_sub(x + 1));
        put_right(
            buffer,
            area,
            0,
            x,
            &cut(&format!("filter {words} · {shown} shown"), room),
            theme.style(Role::Heading),
        );
    }
}

fn widths(shown: &[&EventLine], cells: usize) -> Widths {
    let widest = |of: fn(&EventLine) -> usize, most: usize| shown.iter().map(|e| of(e)).max().unwrap_or(0).min(most);
    let cause = if cells >= 100 { widest(|e| width(&e.cause), cells / 6).max(7) } else { 0 };
    Widths {
        subject: widest(|e| width(&subject(e)), cells * 3 / 10).max(6),
        reason: widest(|e| width(&e.reason), (cells / 6).max(10)).max(6),
        cause,
    }
}

fn subject(event: &EventLine) -> String {
    let container = if event.container.is_empty() { String::new() } else { format!(" ({})", event.container) };
    let kind = if event.kind == "Pod" { String::new() } else { format!("{} ", event.kind) };
    format!("{kind}{}{container}", event.subject)
}

/// The subject in `max` cells; of a pod, namespace and name stay visible.
fn short(event: &EventLine, max: usize) -> String {
    let whole = subject(event);
    match event.subject.split_once('/') {
        Some((namespace, name)) if event.kind == "Pod" && width(&whole) > max => pod_name(namespace, name, max),
        _ => whole,
    }
}

fn row(
    buffer: &mut Buffer,
    area: Rect,
    event: &EventLine,
    widths: &Widths,
    (now, secrets): (Time, bool),
    selected: bool,
    theme: &Theme,
) {
    let base = if selected { theme.style(Role::Selected) } else { Style::new() };
    if selected {
        buffer.set_style(area, base);
        put(buffer, area.x, area.y, area.right(), "▸", base);
    }
    let role = base.patch(theme.style(if event.warning { Role::Warning } else { Role::Plain }));
    let muted = base.patch(theme.style(Role::Muted));
    let times = if event.count > 1 { format!("×{}", event.count) } else { String::new() };
    let pieces = [
        (format!("{:>5}", age(event.last, now)), base),
        (format!("{times:>6}"), base),
        (if event.warning { "!" } else { " " }.to_owned(), role),
        (fit(&short(event, widths.subject), widths.subject), base),
        (fit(&event.reason, widths.reason), role),
        (if widths.cause > 0 { fit(&event.cause, widths.cause) } else { String::new() }, muted),
        (one_line(event.message.shown(secrets)).into_owned(), base),
    ];
    let mut x = area.x + 1;
    for (text, style) in pieces.iter().filter(|(text, _)| !text.is_empty()) {
        x = put(buffer, x, area.y, area.right(), text, *style).saturating_add(1);
    }
}

fn detail(buffer: &mut Buffer, area: Rect, event: &EventLine, (now, secrets): (Time, bool), theme: &Theme) {
    let times = match (event.count > 1, event.first) {
        (true, Some(first)) => format!("{} times since {}", event.count, clock(first)),
        _ => event.last.map(clock).unwrap_or_default(),
    };
    let kind = if event.warning { "Warning" } else { "Normal" };
    let cause = if event.cause.is_empty() { String::new() } else { format!("  [{}]", event.cause) };
    let head = format!(
        "{} {}  {kind} {}{cause}  by {}, {times}, last {} ago",
        event.kind.one_line(),
        event.subject,
        event.reason.one_line(),
        event.reporter.one_line(),
        age(event.last, now)
    );
    put(buffer, area.x, area.y, area.right(), &cut(&head, usize::from(area.width)), theme.style(Role::Heading));
    let lines = wrap(&one_line(event.message.shown(secrets)), usize::from(area.width).saturating_sub(1).max(1));
    for (y, line) in (area.y + 1..area.bottom()).zip(lines) {
        put(buffer, area.x + 1, y, area.right(), &line, theme.style(Role::Plain));
    }
}

fn age(at: Option<Time>, now: Time) -> String {
    at.map_or_else(|| "-".into(), |at| human_duration((now - at).max(TimeDelta::zero())))
}
