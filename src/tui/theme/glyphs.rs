//! ASCII replacements for glyphs, applied to a finished frame.

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

/// Replaces all other characters. In a terminal without UTF-8 their bytes can be control codes.
pub fn to_ascii(buffer: &mut Buffer) {
    for cell in buffer.content.iter_mut().filter(|cell| !cell.symbol().is_ascii()) {
        let found = ASCII.iter().find(|(glyph, _)| *glyph == cell.symbol());
        cell.set_symbol(found.map_or("?", |(_, ascii)| ascii));
    }
}
