//! Durations as Go and kubectl print them (`time.Duration.String`): `1m30s`, `250ms`, `0s`.

/// Reads a duration of hours, minutes, seconds and smaller units, such as `1h2m3.5s`, `-10s` or `0`. Returns seconds; None for
/// anything else, such as a number without a unit.
pub fn parse_duration_seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
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
    fn reads_every_unit_and_their_sums() {
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
            assert!((parse_duration_seconds(text).unwrap() - seconds).abs() < 1e-12, "{text}");
        }
        for bad in ["", "-", "5", "s", "1x", "1..2s", "5m0"] {
            assert_eq!(parse_duration_seconds(bad), None, "{bad}");
        }
    }
}
