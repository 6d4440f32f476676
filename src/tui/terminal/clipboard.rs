//! Copies text to the terminal clipboard (OSC 52). The text never has a line feed, so a shell does not run it when
//! pasted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::text::Text;

/// Longest text that is copied, bytes; terminals ignore much longer ones.
const LONGEST: usize = 64 * 1024;

/// Text for the clipboard: one line, no control characters.
pub fn copyable(text: &str) -> String {
    let text = Text::new(text).one_line().trim().to_owned();
    let end = (0..=LONGEST.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    text[..end].to_owned()
}

/// The sequence that sets the clipboard.
pub fn sequence(text: &str) -> Vec<u8> {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_holds_the_text_in_base64() {
        assert_eq!(sequence("foob"), b"\x1b]52;c;Zm9vYg==\x07");
    }

    #[test]
    fn nothing_that_acts_is_copied() {
        let text = copyable("kubectl get pod\n; reboot\r\n\x1b[2J\u{202e}x \n");
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(copyable(&"é".repeat(LONGEST)).len() <= LONGEST);
        assert_eq!(copyable("shop/web-0"), "shop/web-0");
    }
}
