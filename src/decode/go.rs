//! Strings as Go quotes them (`strconv.Quote`).

/// Reads a Go-quoted string at the beginning of `s`; returns it and what follows the closing quote.
pub fn go_unquote(s: &str) -> Option<(String, &str)> {
    let body = s.strip_prefix('"')?;
    let mut out = Vec::new();
    let mut chars = body.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((String::from_utf8_lossy(&out).into_owned(), body.get(i + 1..)?)),
            '\\' => {
                let kind = chars.next()?.1;
                let mut number = |digits: usize, radix: u32, first: u32| {
                    let mut value = first;
                    for _ in 0..digits {
                        value = value.checked_mul(radix)?.checked_add(chars.next()?.1.to_digit(radix)?)?;
                    }
                    Some(value)
                };
                match kind {
                    'n' => out.push(b'\n'),
                    't' => out.push(b'\t'),
                    'r' => out.push(b'\r'),
                    'a' => out.push(7),
                    'b' => out.push(8),
                    'v' => out.push(11),
                    'f' => out.push(12),
                    // A byte, not a character: Go writes so what is not UTF-8.
                    'x' => out.push(u8::try_from(number(2, 16, 0)?).ok()?),
                    '0'..='3' => out.push(u8::try_from(number(2, 8, kind.to_digit(8)?)?).ok()?),
                    'u' => push(&mut out, char::from_u32(number(4, 16, 0)?)?),
                    'U' => push(&mut out, char::from_u32(number(8, 16, 0)?)?),
                    other => push(&mut out, other),
                }
            }
            other => push(&mut out, other),
        }
    }
    None
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted() {
        let ok = |s: &str| go_unquote(s).map(|(v, rest)| (v, rest.to_owned()));
        assert_eq!(ok(r#""a \"b\" \\ \n\t" x=1"#), Some(("a \"b\" \\ \n\t".into(), " x=1".into())));
        assert_eq!(ok(r#""\u00e9\U0001F600\xc3\xa9\303\251""#), Some(("é😀éé".into(), String::new())));
        assert_eq!(ok(r#""\xff""#), Some(("\u{fffd}".into(), String::new())));
        for bad in ["", "a", "\"a", r#""\"#, r#""\u12"#, r#""\xzz""#] {
            assert_eq!(ok(bad), None, "{bad}");
        }
    }
}
