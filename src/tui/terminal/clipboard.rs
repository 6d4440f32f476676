//! Copies text to the terminal clipboard (OSC 52). The text never has a line feed, so a shell does not run it when
//! pasted.

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
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes())).into_bytes()
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().chain([0, 0].iter()).take(3).fold(0_u32, |bits, b| bits << 8 | u32::from(*b));
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, coded) in cases {
            assert_eq!(base64(text.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn nothing_that_acts_is_copied() {
        let text = copyable("kubectl get pod\n; reboot\r\n\x1b[2J\u{202e}x \n");
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(copyable(&"é".repeat(LONGEST)).len() <= LONGEST);
        assert_eq!(copyable("shop/web-0"), "shop/web-0");
    }
}
