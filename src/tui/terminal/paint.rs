//! Encodes a frame as bytes: only what differs from the previous frame, in few bytes.

use std::io::Write;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

/// Plain style, clear, cursor hidden.
const WHOLE: &[u8] = b"\x1b[0m\x1b[2J\x1b[?25l";
/// Plain style.
const PLAIN: &[u8] = b"\x1b[0m";

/// The frame before.
#[derive(Debug)]
pub struct Painter {
    last: Buffer,
    whole: bool,
}

impl Default for Painter {
    fn default() -> Self {
        Self::new()
    }
}

impl Painter {
    /// Without a previous frame.
    pub fn new() -> Self {
        Self { last: Buffer::empty(Rect::ZERO), whole: true }
    }

    /// Draws the next frame whole, on a cleared screen.
    pub fn forget(&mut self) {
        self.whole = true;
    }

    /// The bytes that turn the previous frame into `next`; None if nothing differs.
    pub fn paint(&mut self, next: Buffer) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.whole || self.last.area != next.area {
            bytes.extend_from_slice(WHOLE);
            self.last = Buffer::empty(next.area);
            self.whole = false;
        }
        bytes.extend(encode(&self.last.diff(&next), next.area.width));
        self.last = next;
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Style of a cell: foreground, background, modifiers.
type Style = (Color, Color, Modifier);

const PLAIN_STYLE: Style = (Color::Reset, Color::Reset, Modifier::empty());

/// A cell that differs: column, row, cell.
type Changed<'a> = (u16, u16, &'a Cell);

fn style(cell: &Cell) -> Style {
    (cell.fg, cell.bg, cell.modifier)
}

/// Line by line, or column by column in each style, whichever is shorter: text comes in lines, while the ages and
/// countdowns of a table change in columns. Starts and ends in plain style, so that other output is not affected.
fn encode(cells: &[Changed<'_>], width: u16) -> Vec<u8> {
    let runs: Vec<&[Changed]> = cells.chunk_by(is_run).collect();
    let lines = written(&runs, width);
    // A wide character covers the next cell, so it must be written before it.
    if runs.len() > MOST_RUNS || cells.iter().any(|(.., cell)| cell.cell_width() > 1) {
        return lines;
    }
    let mut styles: Vec<Style> = Vec::new();
    let mut order: Vec<(usize, u16, u16, &[Changed])> = Vec::new();
    for run in runs {
        let Some((x, y, cell)) = run.first() else { continue };
        let known = styles.iter().position(|s| *s == style(cell));
        let group = known.unwrap_or_else(|| {
            styles.push(style(cell));
            styles.len() - 1
        });
        order.push((group, *x, *y, run));
    }
    order.sort_by_key(|(group, x, y, _)| (*group, *x, *y));
    let columns = written(&order.into_iter().map(|(.., run)| run).collect::<Vec<_>>(), width);
    if columns.len() < lines.len() { columns } else { lines }
}

/// With more runs than this, most of the screen changed, and column order does not pay off.
const MOST_RUNS: usize = 1000;

/// True if the second cell follows the first in the same style.
fn is_run((x, y, a): &Changed<'_>, (next, line, b): &Changed<'_>) -> bool {
    line == y && *next == x + 1 && style(a) == style(b)
}

fn written(runs: &[&[Changed<'_>]], width: u16) -> Vec<u8> {
    let mut pen = Pen { bytes: Vec::new(), style: PLAIN_STYLE, at: None, width };
    for (x, y, cell) in runs.iter().copied().flatten() {
        pen.go(*x, *y);
        pen.dip(style(cell));
        pen.write(cell);
    }
    pen.dip(PLAIN_STYLE);
    pen.bytes
}

/// Writes cells; tracks cursor and style of the terminal.
struct Pen {
    bytes: Vec<u8>,
    style: Style,
    /// Column, row, and whether the cursor is certain to be there: terminals disagree on the width of some characters and
    /// on what follows the last column. The next cell of the same run is correct even when the position is uncertain.
    at: Option<(u16, u16, bool)>,
    width: u16,
}

impl Pen {
    fn go(&mut self, x: u16, y: u16) {
        let absolute = if x == 0 { format!("\x1b[{}H", y + 1) } else { format!("\x1b[{};{}H", y + 1, x + 1) };
        let bytes = match self.at {
            Some((column, line, _)) if (column, line) == (x, y) => return,
            Some((column, line, true)) => {
                let near =
                    steps(line, y, ("\n", "B"), ("\x1b[A", "A")) + &steps(column, x, ("\x1b[C", "C"), ("\x08", "D"));
                if near.len() < absolute.len() { near } else { absolute }
            }
            _ => absolute,
        };
        self.bytes.extend_from_slice(bytes.as_bytes());
        self.at = Some((x, y, true));
    }

    fn dip(&mut self, wanted: Style) {
        if wanted == self.style {
            return;
        }
        if wanted == PLAIN_STYLE {
            self.bytes.extend_from_slice(PLAIN);
        } else if self.style == PLAIN_STYLE {
            let mut codes = Vec::new();
            select(&mut codes, wanted);
            self.bytes.extend_from_slice(b"\x1b[");
            self.bytes.extend_from_slice(codes.strip_prefix(b";").unwrap_or(&codes));
            self.bytes.push(b'm');
        } else {
            self.bytes.extend_from_slice(b"\x1b[0");
            select(&mut self.bytes, wanted);
            self.bytes.push(b'm');
        }
        self.style = wanted;
    }

    fn write(&mut self, cell: &Cell) {
        let symbol = cell.symbol();
        self.bytes.extend_from_slice(symbol.as_bytes());
        self.at = self.at.map(|(x, y, _)| (x + 1, y, symbol.is_ascii() && x + 1 < self.width));
    }
}

/// Moves from one line or column to another, step by step or in one sequence. A line feed moves straight down, as the
/// terminal is in raw mode, and never from the last line.
fn steps(from: u16, to: u16, (on, many_on): (&str, &str), (back, many_back): (&str, &str)) -> String {
    let (one, many, count) = if to >= from { (on, many_on, to - from) } else { (back, many_back, from - to) };
    let each = one.repeat(usize::from(count.min(4)));
    let once = format!("\x1b[{count}{many}");
    if count <= 4 && each.len() <= once.len() { each } else { once }
}

/// Codes that select this style after a reset.
fn select(bytes: &mut Vec<u8>, (fg, bg, modifier): Style) {
    const CODES: [(Modifier, &[u8]); 8] = [
        (Modifier::BOLD, b";1"),
        (Modifier::DIM, b";2"),
        (Modifier::ITALIC, b";3"),
        (Modifier::UNDERLINED, b";4"),
        (Modifier::SLOW_BLINK, b";5"),
        (Modifier::REVERSED, b";7"),
        (Modifier::HIDDEN, b";8"),
        (Modifier::CROSSED_OUT, b";9"),
    ];
    CODES.iter().filter(|(one, _)| modifier.contains(*one)).for_each(|(_, code)| bytes.extend_from_slice(code));
    colour(bytes, fg, 30);
    colour(bytes, bg, 40);
}

/// `base` is 30 for the foreground, 40 for the background.
fn colour(bytes: &mut Vec<u8>, colour: Color, base: u8) {
    let code = match colour {
        Color::Reset => return,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => base + 60,
        Color::LightRed => base + 61,
        Color::LightGreen => base + 62,
        Color::LightYellow => base + 63,
        Color::LightBlue => base + 64,
        Color::LightMagenta => base + 65,
        Color::LightCyan => base + 66,
        Color::White => base + 67,
        Color::Indexed(index) => {
            let _ = write!(bytes, ";{};5;{index}", base + 8);
            return;
        }
        Color::Rgb(r, g, b) => {
            let _ = write!(bytes, ";{};2;{r};{g};{b}", base + 8);
            return;
        }
    };
    let _ = write!(bytes, ";{code}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;
    use std::num::NonZeroU16;

    /// A frame full of styles and gaps, with or without wide characters; `seed` chooses.
    fn frame(seed: u32, wide: bool) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 12));
        let colours = [Color::Reset, Color::Red, Color::LightYellow, Color::Cyan, Color::Indexed(77), Color::White];
        let modifiers = [Modifier::empty(), Modifier::BOLD, Modifier::REVERSED, Modifier::DIM | Modifier::UNDERLINED];
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for y in 0..12 {
            let mut x = 0;
            while x < 40 {
                let style = Style::new().fg(colours[next(6)]).bg(colours[next(2)]).add_modifier(modifiers[next(4)]);
                let text = ["a", "zz", "✗", "   ", if wide { "日本" } else { "b" }][next(5)];
                x = buffer.set_stringn(x, y, text, usize::from(40 - x), style).0 + next(9) as u16;
            }
        }
        buffer
    }

    fn terminal() -> vt100::Parser {
        let cells = |n| NonZeroU16::new(n).unwrap();
        vt100::Parser::new(cells(12), cells(40), 0)
    }

    #[test]
    fn what_moves_in_columns_is_written_in_columns() {
        let draw = |second: u16| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 12));
            for y in 0..12 {
                buffer.set_string(8, y, format!("{}s", second % 10), Style::new().fg(Color::Cyan));
                buffer.set_string(20, y, format!("{}s", 10 + second), Style::new());
            }
            buffer
        };
        let mut painter = Painter::new();
        painter.paint(draw(1)).unwrap();
        let bytes = String::from_utf8(painter.paint(draw(2)).unwrap()).unwrap();
        let column = |digit: &str| [digit; 12].join("\n\x08");
        assert_eq!(bytes, format!("\x1b[1;9H\x1b[36m{}\x1b[1;22H\x1b[0m{}", column("2"), column("2")));
        assert_eq!(painter.paint(draw(2)), None);
    }

    proptest::proptest! {
        /// After any frames the screen equals the last frame drawn alone.
        #[test]
        fn many_frames_make_the_screen_of_the_last(
            wide in proptest::bool::ANY,
            frames in proptest::collection::vec(
                proptest::collection::vec((0u16..40, 0u16..12, 0usize..7, 0usize..5, 1u16..12), 0..40), 1..6),
        ) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 12));
            let (mut shown, mut painter) = (terminal(), Painter::new());
            for edits in frames {
                for (x, y, text, colour, down) in edits {
                    let text = ["1", "23", "●", " ", "web-0 Running", if wide { "日本" } else { "s" }, "é✗"][text];
                    let plain = Style::reset();
                    let looks = [plain, plain.fg(Color::Cyan), plain.bold(), plain.bg(Color::Red), plain.reversed()];
                    (y..(y + down).min(12)).for_each(|y| _ = buffer.set_stringn(x, y, text, usize::from(40 - x), looks[colour]));
                }
                whole_characters(&mut buffer);
                if let Some(bytes) = painter.paint(buffer.clone()) {
                    shown.process(&bytes);
                }
                let mut alone = terminal();
                alone.process(&Painter::new().paint(buffer.clone()).unwrap());
                for (x, y) in (0..12).flat_map(|y| (0..40).map(move |x| (x, y))) {
                    let (shown, alone) = (looks_of(&shown, x, y), looks_of(&alone, x, y));
                    // What a terminal does with the style of half a wide character is its own affair.
                    let same = shown == alone || wide && shown.as_ref().map(|l| &l.0) == alone.as_ref().map(|l| &l.0);
                    proptest::prop_assert!(same, "{},{}: {:?}, not {:?}", x, y, shown, alone);
                }
            }
        }
    }

    /// A character on half of a wide one replaces it, like in a terminal.
    fn whole_characters(buffer: &mut Buffer) {
        for (x, y) in (0..12).flat_map(|y| (0..40).map(move |x| (x, y))) {
            if buffer[(x, y)].cell_width() > 1 && (x == 39 || buffer[(x + 1, y)].symbol() != " ") {
                buffer[(x, y)].set_symbol(" ");
            }
        }
    }

    /// What a cell shows; None for the second half of a wide character.
    fn looks_of(terminal: &vt100::Parser, x: u16, y: u16) -> Option<(String, [vt100::Color; 2], [bool; 2])> {
        let cell = terminal.screen().cell(y, x).unwrap();
        let text = if cell.contents().is_empty() { " " } else { cell.contents() };
        let looks = ([cell.fgcolor(), cell.bgcolor()], [cell.bold(), cell.inverse()]);
        (!cell.is_wide_continuation()).then(|| (text.to_owned(), looks.0, looks.1))
    }

    #[test]
    fn a_terminal_shows_the_frame_after_any_frame() {
        let (mut terminal, mut painter) = (terminal(), Painter::new());
        for seed in 0..120 {
            // What a terminal does with the style of half a wide character is its own affair.
            let wide = seed >= 60;
            let frame = frame(seed, wide);
            terminal.process(&painter.paint(frame.clone()).unwrap());
            for y in 0..12 {
                for x in 0..40 {
                    let (wanted, shown) = (&frame[(x, y)], terminal.screen().cell(y, x).unwrap());
                    if shown.is_wide_continuation() {
                        continue;
                    }
                    let text = if shown.contents().is_empty() { " " } else { shown.contents() };
                    assert_eq!(text, wanted.symbol(), "{seed}: {x},{y}");
                    if wide {
                        continue;
                    }
                    let colour = |c: Color| match c {
                        Color::Reset => vt100::Color::Default,
                        Color::Red => vt100::Color::Idx(1),
                        Color::Cyan => vt100::Color::Idx(6),
                        Color::LightYellow => vt100::Color::Idx(11),
                        Color::White => vt100::Color::Idx(15),
                        Color::Indexed(i) => vt100::Color::Idx(i),
                        other => panic!("{other:?}"),
                    };
                    assert_eq!((shown.fgcolor(), shown.bgcolor()), (colour(wanted.fg), colour(wanted.bg)), "{seed}");
                    let has = |m| wanted.modifier.contains(m);
                    assert_eq!((shown.bold(), shown.inverse()), (has(Modifier::BOLD), has(Modifier::REVERSED)));
                    assert_eq!((shown.dim(), shown.underline()), (has(Modifier::DIM), has(Modifier::UNDERLINED)));
                }
            }
        }
    }
}
