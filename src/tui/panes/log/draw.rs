//! Draws the log screen: a header, then the visible lines only. Color is never the only mark.
//!
//! ```text
//! shop/web-6d4cf56db6-x2xkq  container web 2 of 3  Running  current run, restart 3  FOLLOW
//! /var/log/pods/shop_web-…/web/3.log  since 2026-03-02 10:00:02  older lines dropped  search error · 3 of 17
//!  10:00:02   GET /healthz 200
//! *10:00:03 E error: no such table
//! ▸10:00:04   GET / 500
//!          -- container restarted (restart 4)
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::container_log::{Instance, LogOrigin, MAX_LOG_BYTES, MAX_LOG_LINES, Stream};
use crate::text::cells::{cut, cut_middle, width};
use crate::tui::panes::log::lines::{DisplayLine, wrapped_rows};
use crate::tui::panes::log::{LogPane, Older};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{flow, put, put_line};
use crate::tui::widgets::scroll::View;
use crate::tui::widgets::steps::{folded, hung};
use crate::view::clock;

/// Width in cells of the columns before the text: mark, time, stream.
const MARK: u16 = 1;
const TIME: u16 = 9;
const STREAM: u16 = 2;

/// Draws the pane and limits its scroll position.
pub fn draw(buffer: &mut Buffer, area: Rect, pane: &mut LogPane, theme: &Theme) -> View {
    let head = head(pane, usize::from(area.width), theme);
    for (row, line) in (0..area.height).zip(&head) {
        put_line(buffer, area, row, line);
    }
    let used = (head.len() as u16).min(area.height);
    let body = Rect { y: area.y + used, height: area.height - used, ..area };
    let page = usize::from(body.height).max(1);
    if pane.lines.is_empty() {
        return draw_empty(buffer, body, pane, theme);
    }
    let gutter = MARK + if pane.times { TIME } else { 0 } + STREAM;
    let cells = usize::from(body.width.saturating_sub(gutter)).max(1);
    set_top(pane, page, cells);
    let (mut y, mut number, mut skip) = (body.y, pane.top.0, pane.top.1);
    let mut visible = (number, number);
    while y < body.bottom() {
        let Some(line) = pane.lines.get(number) else { break };
        visible.1 = number;
        let rows = wrapped_rows(line.text(), cells, pane.wrap);
        for (i, row) in rows.iter().enumerate().skip(skip) {
            if y >= body.bottom() {
                break;
            }
            let x = body.x + gutter;
            if i == 0 {
                draw_gutter(buffer, Rect { y, height: 1, ..body }, pane, number, line, theme);
            }
            draw_text(
                buffer,
                Rect { x, y, width: body.right().saturating_sub(x), height: 1 },
                pane,
                line,
                row.clone(),
                theme,
            );
            y += 1;
        }
        (number, skip) = (number + 1, 0);
    }
    let of = |number: i64| usize::try_from(number - pane.lines.first()).unwrap_or(0) + 1;
    let position = (of(visible.0) > 1 || of(visible.1) < pane.lines.len())
        .then(|| (of(visible.0), of(visible.1), pane.lines.len()));
    let line = pane.lines.safe(pane.cursor).map(str::to_owned);
    View { page, position, rows: None, line }
}

/// Sets the first visible line; the cost depends on the screen size alone.
fn set_top(pane: &mut LogPane, page: usize, cells: usize) {
    let wrap = pane.wrap;
    pane.cells = cells;
    let count =
        |pane: &LogPane, number: i64| pane.lines.get(number).map_or(1, |l| wrapped_rows(l.text(), cells, wrap).len());
    if pane.follow {
        pane.cursor = pane.lines.last();
    }
    let own = count(pane, pane.cursor);
    pane.page = (page, own);
    if own > page {
        if pane.follow {
            pane.inside = own - page;
        }
        pane.inside = pane.inside.min(own - page);
        pane.top = (pane.cursor, pane.inside);
        return;
    }
    pane.inside = 0;
    // The newest line is never above the last row of the screen; the selected line is always visible.
    let lowest = top_for_bottom(pane, pane.lines.last(), page, &count);
    let with_cursor = top_for_bottom(pane, pane.cursor, page, &count);
    let first = (pane.lines.first(), 0);
    pane.top = pane.top.max(first).max(with_cursor).min((pane.cursor, 0)).min(lowest);
}

/// The first visible line, and how many of its rows are above the screen, with line `number` at the bottom.
fn top_for_bottom(pane: &LogPane, number: i64, page: usize, count: &impl Fn(&LogPane, i64) -> usize) -> (i64, usize) {
    let (mut number, mut room) = (number, page);
    loop {
        let rows = count(pane, number);
        if rows >= room {
            return (number, rows - room);
        }
        if number <= pane.lines.first() {
            return (pane.lines.first(), 0);
        }
        (number, room) = (number - 1, room - rows);
    }
}

fn draw_gutter(buffer: &mut Buffer, area: Rect, pane: &LogPane, number: i64, line: &DisplayLine, theme: &Theme) {
    let found = pane.lines.found(number).1.is_some();
    let (mark, role) = match (number == pane.cursor && !pane.follow, found) {
        (true, _) => ("▸", Role::Heading),
        (false, true) => ("*", Role::Key),
        (false, false) => (" ", Role::Plain),
    };
    put(buffer, area.x, area.y, area.right(), mark, theme.style(role));
    let DisplayLine::Output { at, stream, .. } = line else { return };
    let mut x = area.x + MARK;
    if pane.times {
        let time = at.map(clock).unwrap_or_default();
        put(buffer, x, area.y, area.right(), &time, theme.style(Role::Muted));
        x += TIME;
    }
    if *stream == Stream::Err {
        put(buffer, x, area.y, area.right(), "E", theme.style(Role::Error));
    }
}

fn draw_text(
    buffer: &mut Buffer,
    area: Rect,
    pane: &LogPane,
    line: &DisplayLine,
    row: std::ops::Range<usize>,
    theme: &Theme,
) {
    let all = line.text();
    if matches!(line, DisplayLine::Notice(_)) {
        put(buffer, area.x, area.y, area.right(), all.get(row).unwrap_or_default(), theme.style(Role::Active));
        return;
    }
    let shown = all.get(row.clone()).unwrap_or_default();
    if !pane.wrap && width(shown) > usize::from(area.width) {
        // A match in the part that is cut off shows in the mark of the line only.
        let cut = cut(shown, usize::from(area.width));
        put(buffer, area.x, area.y, area.right(), &cut, theme.style(Role::Plain));
        return;
    }
    let (mut x, mut at) = (area.x, row.start);
    for place in pane.lines.term().ranges(all) {
        let (begin, end) = (place.start.clamp(at, row.end.max(at)), place.end.min(row.end));
        if end <= begin {
            continue;
        }
        x = put(buffer, x, area.y, area.right(), all.get(at..begin).unwrap_or_default(), theme.style(Role::Plain));
        x = put(buffer, x, area.y, area.right(), all.get(begin..end).unwrap_or_default(), theme.style(Role::Selected));
        at = end;
    }
    put(buffer, x, area.y, area.right(), all.get(at..row.end).unwrap_or_default(), theme.style(Role::Plain));
}

fn head(pane: &LogPane, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let heading = |text: String| Span::styled(text, theme.style(Role::Heading));
    let muted = |text: String| Span::styled(text, theme.style(Role::Muted));
    let mut first = vec![heading(cut_middle(&pane.pod(), cells).into_owned())];
    if let Some(choice) = pane.choice() {
        let count = pane.choices.len();
        let which = if count > 1 { format!(" {} of {count}", pane.chosen + 1) } else { String::new() };
        let name = choice.name.one_line();
        let kind = if choice.kind == "app" { String::new() } else { format!("{} ", choice.kind) };
        first.push(heading(format!("{kind}container {}{which}", cut_middle(&name, cells / 2))));
        first.push(Span::raw(choice.word.one_line().into_owned()));
    }
    let restart = pane.restart.map(|n| format!(", restart {n}")).unwrap_or_default();
    first.push(Span::raw(match pane.instance {
        Instance::Current => format!("current run{restart}"),
        Instance::Previous => format!("previous run{restart}"),
    }));
    if pane.gone {
        first.push(Span::styled("pod deleted", theme.style(Role::Warning)));
    }
    first.push(match (pane.follow, pane.unseen) {
        _ if pane.lines.is_empty() => Span::raw(""),
        _ if pane.closed => muted("log closed".into()),
        _ if !pane.unavailable.is_empty() => Span::styled("no longer readable", theme.style(Role::Warning)),
        // A previous run writes no more lines.
        (true, _) if pane.instance == Instance::Previous => Span::raw(""),
        (true, _) => Span::styled("FOLLOW", theme.style(Role::Ok)),
        (false, 0) => muted("follow off".into()),
        (false, 1) => Span::styled("1 new line below", theme.style(Role::Active)),
        (false, unseen) => Span::styled(format!("{unseen} new lines below"), theme.style(Role::Active)),
    });
    let mut second = Vec::new();
    if let Some(origin) = &pane.origin {
        second.push(muted(match origin {
            LogOrigin::File(path) => cut_middle(&path.one_line(), cells).into_owned(),
            other => other.to_string(),
        }));
        second.extend(pane.lines.since().map(|at| Span::raw(format!("since {}", at.format("%Y-%m-%d %H:%M:%S")))));
        second.push(Span::raw(match pane.older {
            _ if pane.lines.is_truncated() => {
                format!("older lines dropped (limit {} lines, {} MiB)", MAX_LOG_LINES, MAX_LOG_BYTES >> 20)
            }
            Older::Available => "older lines above: scroll up".into(),
            Older::Requested => "reading older lines".into(),
            Older::None => String::new(),
        }));
    }
    if !pane.words.is_empty() {
        let (count, place) = pane.lines.found(pane.cursor);
        let place = place.map(|i| format!("{i} of ")).unwrap_or_default();
        let lines = if count == 1 { "line" } else { "lines" };
        second.push(heading(format!("search {} · {place}{count} {lines}", cut(&pane.words, cells / 3))));
    }
    let mut head = flow(first, cells);
    head.extend(flow(second, cells));
    head
}

/// Draws why there are no lines, and the commands that print the log.
fn draw_empty(buffer: &mut Buffer, area: Rect, pane: &LogPane, theme: &Theme) -> View {
    let cells = usize::from(area.width).saturating_sub(2).max(1);
    let commands = pane.commands();
    let mut lines = Vec::new();
    if pane.unavailable.is_empty() {
        let text = if pane.origin.is_some() { "no output yet" } else { "reading" };
        lines.push(Line::styled(format!(" {text}"), theme.style(Role::Muted)));
    } else {
        lines.push(Line::styled(" Log not available:", theme.style(Role::Heading)));
        for why in &pane.unavailable {
            lines.extend(hung(" - ", &why.one_line(), Role::Plain, cells, theme));
        }
        lines.push(Line::styled(" Get it with:", theme.style(Role::Heading)));
        for command in &commands {
            let rows = folded(command, cells.saturating_sub(2));
            lines.extend(rows.into_iter().map(|row| Line::styled(format!("   {row}"), theme.style(Role::Key))));
        }
    }
    for (row, line) in (0..area.height).zip(&lines) {
        put_line(buffer, area, row, line);
    }
    let line = commands.into_iter().next().filter(|_| !pane.unavailable.is_empty());
    View { page: usize::from(area.height).max(1), position: None, rows: None, line }
}
