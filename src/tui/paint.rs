//! Owns how a frame becomes bytes: only what differs from the frame before, in one piece and in few bytes.
//! It must not write: a frame that cannot be handed over must not have been made.

use std::io::Write;

use ratatui::buffer::{Buffer, Cell};
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
    /// Nothing is drawn yet.
    pub fn new() -> Self {
        Self { last: Buffer::empty(Rect::ZERO), whole: true }
    }

    /// The next frame is drawn whole, on a cleared screen.
    pub fn forget(&mut self) {
        self.whole = true;
    }

    /// The bytes that bring the screen from the frame before to `next`; None when nothing differs.
    pub fn paint(&mut self, next: Buffer) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.whole || self.last.area != next.area {
            bytes.extend_from_slice(WHOLE);
            self.last = Buffer::empty(next.area);
            self.whole = false;
        }
        encode(&mut bytes, self.last.diff(&next).into_iter());
        self.last = next;
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Style of a cell: foreground, background, modifiers.
type Style = (Color, Color, Modifier);

const PLAIN_STYLE: Style = (Color::Reset, Color::Reset, Modifier::empty());

/// Each frame begins and ends in plain style, so that what is written beside it looks as it should.
fn encode<'a>(bytes: &mut Vec<u8>, cells: impl Iterator<Item = (u16, u16, &'a Cell)>) {
    let mut style = PLAIN_STYLE;
    let mut last: Option<(u16, u16, bool)> = None;
    for (x, y, cell) in cells {
        match last {
            Some((before, line, _)) if line == y && x == before + 1 => {}
            // Only where the cursor stands for sure: terminals disagree on the width of other characters.
            Some((before, line, true)) if line == y && x > before => {
                // Writing to memory cannot fail.
                let _ = match x - before - 1 {
                    1 => write!(bytes, "\x1b[C"),
                    gap => write!(bytes, "\x1b[{gap}C"),
                };
            }
            _ => {
                let _ = write!(bytes, "\x1b[{};{}H", y + 1, x + 1);
            }
        }
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if wanted != style {
            bytes.extend_from_slice(b"\x1b[0");
            select(bytes, wanted);
            bytes.push(b'm');
            style = wanted;
        }
        bytes.extend_from_slice(cell.symbol().as_bytes());
        last = Some((x, y, cell.symbol().is_ascii()));
    }
    if style != PLAIN_STYLE {
        bytes.extend_from_slice(PLAIN);
    }
}

/// What follows a reset to make this style.
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

/// `base` is 30 for what is written, 40 for what is behind it.
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

    #[test]
    fn a_terminal_shows_the_frame_after_any_frame() {
        let cells = |n| NonZeroU16::new(n).unwrap();
        let (mut terminal, mut painter) = (vt100::Parser::new(cells(12), cells(40), 0), Painter::new());
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
