//! Owns what Go prints: quoted strings (`strconv.Quote`) and durations (`time.Duration.String`).
//! It must not know which program printed them.

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

/// Seconds of a Go duration such as `1h2m3.5s`, `250ms` or `0s`.
pub fn go_duration(s: &str) -> Option<f64> {
    let (sign, mut rest) = match s.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, s),
    };
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Some(sign * total).filter(|s| s.is_finite())
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

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("0s", 0.0),
            ("0", 0.0),
            ("5m0s", 300.0),
            ("1h2m3.5s", 3723.5),
            ("250ms", 0.25),
            ("1.5µs", 1.5e-6),
            ("-10s", -10.0),
            ("1.701633604s", 1.701633604),
        ] {
            assert!((go_duration(text).unwrap() - seconds).abs() < 1e-12, "{text}");
        }
        for bad in ["", "-", "5", "s", "1x", "1..2s", "5m0"] {
            assert_eq!(go_duration(bad), None, "{bad}");
        }
    }
}
