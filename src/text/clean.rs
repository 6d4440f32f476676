//! Which characters of a text from the node are kept, replaced by a visible symbol, or dropped; one function for free text,
//! one for names.

use std::borrow::Cow;

use super::{MAX_LINE, MAX_TEXT};

/// Combining marks kept per base character.
const MAX_MARKS: usize = 4;

/// Makes free text safe to print; it may have several lines.
///
/// Complete escape sequences are dropped; an unterminated one is shown as text, so that it hides nothing. Other control
/// characters become their symbols (U+2400 block) or `\xNN`; bidirectional controls and invisible characters are dropped;
/// combining marks, lines and the text are cut at fixed lengths.
pub fn sanitize(raw: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, ' '..='~');
    if raw.len() <= MAX_LINE && raw.chars().all(plain) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len().min(MAX_TEXT));
    let (mut line, mut total, mut marks) = (0usize, 0usize, 0usize);
    let (mut rest, mut unterminated) = (raw, usize::MAX);
    while let Some(c) = rest.chars().next() {
        if total >= MAX_TEXT {
            if !out.ends_with('…') {
                out.push('…');
            }
            break;
        }
        if let Some(len) = escape_len(rest, &mut unterminated) {
            rest = &rest[len..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c == '\r' && rest.starts_with('\n') {
            continue;
        }
        if c == '\n' {
            out.push('\n');
            total += 1;
            (line, marks) = (0, 0);
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        marks = if is_mark(c) { marks + 1 } else { 0 };
        if marks > MAX_MARKS || line > MAX_LINE {
            continue;
        }
        let shown = match c {
            '\t' => None,
            _ if is_separator(c) => Some(Cow::Owned(escaped_code(c))),
            _ => control_symbol(c),
        };
        let length = shown.as_ref().map_or(1, |shown| shown.chars().count());
        if line + length > MAX_LINE {
            if line == MAX_LINE && !out.ends_with('…') {
                out.pop();
            }
            if !out.ends_with('…') {
                out.push('…');
            }
            line = MAX_LINE + 1;
            continue;
        }
        (line, total) = (line + length, total + length);
        match shown {
            Some(shown) => out.push_str(&shown),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Makes a name safe to print: one line, nothing dropped, so that two names never look the same and one never looks like two.
///
/// An invisible character is shown by its symbol or code: `␊`, `\x85`, `\u{ad}`. A space at either end, and each space that
/// follows another, is shown as `␠`.
pub fn name(raw: &str) -> Cow<'_, str> {
    let plain = |b: &u8| matches!(b, b'!'..=b'~');
    if raw.len() <= MAX_LINE && raw.as_bytes().iter().all(plain) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len().min(MAX_LINE));
    let (mut length, mut marks) = (0, MAX_MARKS);
    let mut before = ' ';
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let is_ambiguous_space = c == ' ' && (before == ' ' || chars.peek().is_none());
        let shown = if is_ambiguous_space {
            Cow::Borrowed("␠")
        } else if let Some(symbol) = control_symbol(c) {
            symbol
        } else if is_hidden(c) || is_separator(c) || is_blank(c) || is_mark(c) && marks >= MAX_MARKS {
            Cow::Owned(escaped_code(c))
        } else {
            Cow::Owned(c.to_string())
        };
        // A mark at the start would combine with the character printed before the name.
        marks = if is_mark(c) { marks + 1 } else { 0 };
        before = c;
        length += shown.chars().count();
        if length > MAX_LINE {
            while out.chars().count() >= MAX_LINE {
                out.pop();
            }
            out.push('…');
            break;
        }
        out.push_str(&shown);
    }
    Cow::Owned(out)
}

/// The visible symbol of a control character.
fn control_symbol(c: char) -> Option<Cow<'static, str>> {
    Some(match c {
        '\0'..='\x1f' => Cow::Owned(char::from_u32(0x2400 + c as u32).unwrap_or('?').to_string()),
        '\x7f' => Cow::Borrowed("\u{2421}"),
        '\u{80}'..='\u{9f}' => Cow::Owned(format!("\\x{:02x}", c as u32)),
        _ => return None,
    })
}

fn escaped_code(c: char) -> String {
    format!("\\u{{{:x}}}", c as u32)
}

/// Length in bytes of the complete escape sequence at the start of `s`, if any; `unterminated` as for [`string_len`].
fn escape_len(s: &str, unterminated: &mut usize) -> Option<usize> {
    let mut chars = s.char_indices();
    let first = chars.next()?.1;
    let kind = match first {
        '\x1b' => chars.next()?.1,
        '\u{9b}' => '[',
        '\u{9d}' => ']',
        '\u{90}' => 'P',
        _ => return None,
    };
    match kind {
        '[' => chars
            .take_while(|(_, c)| matches!(c, ' '..='~'))
            .find(|(_, c)| matches!(c, '@'..='~'))
            .map(|(i, c)| i + c.len_utf8()),
        ']' | 'P' | 'X' | '^' | '_' => string_len(s, unterminated),
        ' '..='/' => chars
            .take_while(|(_, c)| matches!(c, ' '..='~'))
            .find(|(_, c)| matches!(c, '0'..='~'))
            .map(|(i, c)| i + c.len_utf8()),
        '0'..='~' => Some(2),
        _ => None,
    }
}

/// Length of a control string including its terminator: BEL, ESC `\`, or the one-character ST.
///
/// `unterminated` is the number of bytes left at the end of the last line with an unterminated string. No later string on
/// that line is terminated, and searching for each would take quadratic time.
fn string_len(s: &str, unterminated: &mut usize) -> Option<usize> {
    if s.len() > *unterminated {
        return None;
    }
    let mut escaped = false;
    for (i, c) in s.char_indices().skip(2) {
        match c {
            '\x07' | '\u{9c}' => return Some(i + c.len_utf8()),
            '\\' if escaped => return Some(i + 1),
            '\n' => {
                *unterminated = s.len() - i;
                return None;
            }
            _ => escaped = c == '\x1b',
        }
    }
    *unterminated = 0;
    None
}

/// Invisible characters: `Default_Ignorable_Code_Point` of Unicode 16 (DerivedCoreProperties.txt), and the interlinear
/// annotation.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Line and paragraph separator: a line break for some programs only.
fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Characters that look like a space or are blank.
fn is_blank(c: char) -> bool {
    c != ' ' && c.is_whitespace() || c == '\u{2800}'
}

fn is_mark(c: char) -> bool {
    !c.is_control() && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}
