//! Owns the ASCII form of every glyph that is drawn, applied to a finished frame.
//! It must not be needed by a region: regions draw the one form, and a foreign character becomes `?`.

use ratatui::buffer::Buffer;

/// Levels of a sparkline, lowest first.
pub const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

const ASCII: [(&str, &str); 21] = [
    ("●", "="),
    ("◐", ">"),
    ("○", "."),
    ("✗", "x"),
    ("·", "-"),
    ("…", "~"),
    ("─", "-"),
    ("│", "|"),
    ("≥", ">"),
    ("×", "x"),
    ("▸", ">"),
    ("▲", "^"),
    ("▼", "v"),
    ("▁", "."),
    ("▂", ":"),
    ("▃", "-"),
    ("▄", "="),
    ("▅", "+"),
    ("▆", "*"),
    ("▇", "#"),
    ("█", "@"),
];

/// Replaces all that is not ASCII. In a terminal that is not UTF-8 the bytes of other characters can be control codes.
pub fn to_ascii(buffer: &mut Buffer) {
    for cell in buffer.content.iter_mut().filter(|cell| !cell.symbol().is_ascii()) {
        let found = ASCII.iter().find(|(glyph, _)| *glyph == cell.symbol());
        cell.set_symbol(found.map_or("?", |(_, ascii)| ascii));
    }
}
