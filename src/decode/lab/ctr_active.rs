//! The table of `ctr content active`: reference, bytes so far, age.

use super::DecodeError;
use crate::observation::{Pull, Time};
use crate::text::Text;
use crate::time::TimeDelta;

/// Reads the table printed at `at`.
///
/// Ages are whole seconds or coarser, rounded down: start times are later than the real ones by the rounding.
///
/// # Errors
/// When the text is not such a table.
pub fn active_ingests(table: &str, at: Time) -> Result<Vec<Pull>, DecodeError> {
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default();
    if !header.split_whitespace().eq(["REF", "SIZE", "AGE"]) {
        return Err(DecodeError::Shape("not a table of active ingests"));
    }
    Ok(lines.filter_map(|line| row(line, at)).collect())
}

fn row(line: &str, at: Time) -> Option<Pull> {
    let mut words = line.split_whitespace();
    let reference = Text::name(words.next()?);
    let offset = bytes(words.next()?)?;
    let age = age(&words.collect::<Vec<_>>().join(" "));
    let started_at = age.map(|age| at - age);
    Some(Pull { reference, offset, total: None, started_at })
}

/// `2.097MB` is decimal, `2.0MiB` binary.
fn bytes(size: &str) -> Option<u64> {
    let split = size.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = size.split_at(split);
    let (prefix, base) = match unit.strip_suffix("iB") {
        Some(prefix) => (prefix, 1024f64),
        None => (unit.strip_suffix('B')?, 1000f64),
    };
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * base.powi(power);
    bytes.is_finite().then(|| bytes.round() as u64)
}

/// An age as `units.HumanDuration` of docker/go-units prints it.
fn age(text: &str) -> Option<TimeDelta> {
    match text {
        "Less than a second" => return Some(TimeDelta::zero()),
        "About a minute" => return Some(TimeDelta::minutes(1)),
        "About an hour" => return Some(TimeDelta::hours(1)),
        _ => {}
    }
    let (number, unit) = text.split_once(' ')?;
    let number = number.parse().ok()?;
    let unit = match unit.trim_end_matches('s') {
        "second" => TimeDelta::seconds,
        "minute" => TimeDelta::minutes,
        "hour" => TimeDelta::hours,
        "day" => TimeDelta::days,
        "week" => |weeks: i64| TimeDelta::days(weeks.saturating_mul(7)),
        _ => return None,
    };
    Some(unit(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_table() {
        let at: Time = "2026-11-29T12:39:11Z".parse().unwrap();
        let table = "REF\t\t\tSIZE\tAGE\t\t\nlayer-a\t2.097MB\t1 second\t\nlayer-b\t0B\tLess than a second\nlayer-c\t7MiB\tAges\nbroken\n";
        let got = active_ingests(table, at).unwrap();
        let seen: Vec<_> = got.iter().map(|p| (p.reference.as_str(), p.offset, p.started_at)).collect();
        let before = at - TimeDelta::seconds(1);
        assert_eq!(
            seen,
            vec![("layer-a", 2_097_000, Some(before)), ("layer-b", 0, Some(at)), ("layer-c", 7_340_032, None)]
        );
        assert!(active_ingests("ctr: cannot connect", at).is_err());
    }

    #[test]
    fn reads_sizes() {
        for (text, expected) in
            [("0B", 0), ("34.6MB", 34_600_000), ("1.5kB", 1500), ("1KiB", 1024), ("2GB", 2_000_000_000)]
        {
            assert_eq!(bytes(text), Some(expected), "{text}");
        }
        for bad in ["", "5", "MB", "5XB", "..B"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}
