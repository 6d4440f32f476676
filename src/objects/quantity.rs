//! Resource quantities of Kubernetes, exact to a billionth (`k8s.io/apimachinery/pkg/api/resource`).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Billionths of one.
const NANO: i128 = 1_000_000_000;
/// The largest amount; larger ones are set to it, as upstream does.
const MAX: i128 = i64::MAX as i128 * NANO;
/// Longest text that is parsed, bytes; upstream writes at most 20 digits and a suffix.
const MAX_LEN: usize = 64;

/// An amount of a resource: bytes, cores, or a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// A whole number of bytes, cores or items.
    pub const fn whole(count: i64) -> Self {
        Self(count as i128 * NANO)
    }

    /// A number of thousandths.
    pub const fn milli(count: i64) -> Self {
        Self(count as i128 * (NANO / 1000))
    }

    /// A number of billionths.
    pub const fn nano(count: i64) -> Self {
        Self(count as i128)
    }

    /// Parses `500m`, `1.5Gi`, `2e3`; None for text that Kubernetes rejects. Digits beyond a billionth are rounded away from zero.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LEN {
            return None;
        }
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if part.contains('.') || whole.len() + part.len() == 0 {
            return None;
        }
        let digits = whole.chars().chain(part.chars()).filter_map(|c| c.to_digit(10));
        // More digits than fit saturate.
        let value = digits.fold(0i128, |v, digit| v.saturating_mul(10).saturating_add(i128::from(digit)));
        let shift = 9 - i32::try_from(part.len()).ok()?;
        let nano = match Suffix::parse(suffix)? {
            Suffix::Ten(power) => scale(value, shift + power),
            Suffix::Two(power) => scale(value.saturating_mul(1i128 << power), shift),
        };
        let nano = nano.min(MAX);
        Some(Self(if negative { -nano } else { nano }))
    }

    /// The amount as a whole number, rounded up.
    pub fn ceil(self) -> i64 {
        let whole = self.0.div_euclid(NANO) + i128::from(self.0.rem_euclid(NANO) > 0);
        i64::try_from(whole).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }

    /// The amount in thousandths, rounded up.
    pub fn as_milli(self) -> i64 {
        let unit = NANO / 1000;
        let milli = self.0.div_euclid(unit) + i128::from(self.0.rem_euclid(unit) > 0);
        i64::try_from(milli).unwrap_or(if self.0 < 0 { i64::MIN } else { i64::MAX })
    }

    /// The amount as a floating-point number, for shares.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / NANO as f64
    }

    /// The share of `whole`, 1 for all of it; None if `whole` is not positive.
    pub fn share_of(self, whole: Self) -> Option<f64> {
        (whole.0 > 0).then(|| self.0 as f64 / whole.0 as f64)
    }

    /// True for zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The factor of a number.
enum Suffix {
    Ten(i32),
    Two(u32),
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "n" => Self::Ten(-9),
            "u" => Self::Ten(-6),
            "m" => Self::Ten(-3),
            "" => Self::Ten(0),
            "k" => Self::Ten(3),
            "M" => Self::Ten(6),
            "G" => Self::Ten(9),
            "T" => Self::Ten(12),
            "P" => Self::Ten(15),
            "E" => Self::Ten(18),
            "Ki" => Self::Two(10),
            "Mi" => Self::Two(20),
            "Gi" => Self::Two(30),
            "Ti" => Self::Two(40),
            "Pi" => Self::Two(50),
            "Ei" => Self::Two(60),
            _ => {
                let power = text.strip_prefix(['e', 'E'])?;
                let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                let power: i32 = digits.parse().unwrap_or(i32::MAX / 4).min(i32::MAX / 4);
                Self::Ten(if text[1..].starts_with('-') { -power } else { power })
            }
        })
    }
}

/// `value` times ten to the power of `power`, rounded up.
fn scale(value: i128, power: i32) -> i128 {
    let ten = |n: u32| 10i128.checked_pow(n);
    match (value, power) {
        (0, _) => 0,
        (_, 0..) => ten(power.unsigned_abs()).map_or(i128::MAX, |by| value.saturating_mul(by)),
        _ => match ten(power.unsigned_abs()) {
            Some(by) => value / by + i128::from(value % by > 0),
            None => 1,
        },
    }
}

impl fmt::Display for Quantity {
    /// The shortest text that parses as the same amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [(NANO << 30, "Gi"), (NANO << 20, "Mi"), (NANO << 10, "Ki"), (NANO, ""), (1_000_000, "m"), (1000, "u")];
        let found = units.into_iter().find(|(unit, _)| self.0 % unit == 0);
        match found.filter(|_| self.0 != 0) {
            Some((unit, suffix)) => f.pad(&format!("{}{suffix}", self.0 / unit)),
            None if self.0 == 0 => f.pad("0"),
            None => f.pad(&format!("{}n", self.0)),
        }
    }
}

impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self((self.0 + other.0).clamp(-MAX, MAX))
    }
}

impl Sub for Quantity {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self((self.0 - other.0).clamp(-MAX, MAX))
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Text, or a number as in handwritten manifests.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl de::Visitor<'_> for QuantityVisitor {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).ok_or_else(|| E::custom("not a quantity"))
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Quantity, E> {
                Ok(Quantity::whole(count))
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Quantity, E> {
                Ok(Quantity::whole(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: de::Error>(self, count: f64) -> Result<Quantity, E> {
                self.visit_str(&count.to_string())
            }
        }
        d.deserialize_any(QuantityVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Quantity::parse(text).map_or_else(|| "refused".into(), |q| q.to_string())
    }

    #[test]
    fn every_suffix_is_parsed() {
        let all = [
            ("0", "0"),
            ("1", "1"),
            ("500m", "500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("5.", "5"),
            ("+5", "5"),
            ("-100m", "-100m"),
            ("250u", "250u"),
            ("1n", "1n"),
            ("1000n", "1u"),
            ("2k", "2000"),
            ("1M", "1000000"),
            ("128M", "125000Ki"),
            ("3G", "3000000000"),
            ("1Ki", "1Ki"),
            ("128Mi", "128Mi"),
            ("1.5Gi", "1536Mi"),
            ("1Ti", "1024Gi"),
            ("1Pi", "1048576Gi"),
            ("1Ei", "1073741824Gi"),
            ("2e3", "2000"),
            ("2E3", "2000"),
            ("15e-1", "1500m"),
            ("1E", "976562500000000Ki"),
            ("3894908Ki", "3894908Ki"),
        ];
        for (text, expected) in all {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert_eq!(Quantity::parse("128Mi").unwrap().ceil(), 134_217_728);
        assert_eq!(Quantity::parse("1T").unwrap(), Quantity::whole(1_000_000_000_000));
        assert_eq!(Quantity::parse("1P").unwrap(), Quantity::whole(1_000_000_000_000_000));
    }

    #[test]
    fn small_fractions_are_rounded_up_and_large_amounts_saturate() {
        assert_eq!(shown("0.0000000001"), "1n");
        assert_eq!(shown("1e-400"), "1n");
        assert_eq!(shown("0e999999999999"), "0");
        let most = Quantity::whole(i64::MAX);
        for large in
            ["9223372036854775807", "10E", "9e99", "99999999999999999999999999999999999999999999Ei", "1e9999999999"]
        {
            assert_eq!(Quantity::parse(large), Some(most), "{large}");
        }
        assert_eq!(most + most, most);
        assert_eq!(
            (Quantity::milli(1500).ceil(), Quantity::nano(1).as_milli(), Quantity::milli(-1500).ceil()),
            (2, 1, -1)
        );
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in ["", ".", "-", "m", "1.2.3", "1 Gi", "1gi", "1K", "0x10", "1e", "1e+", "1e1.5", "١", "5Mi "] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
        assert_eq!(Quantity::parse(&"9".repeat(65)), None);
    }

    proptest! {
        #[test]
        fn display_and_parse_agree(nano in any::<i64>(), text in ".{0,70}") {
            let quantity = Quantity::nano(nano);
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Some(quantity));
            if let Some(found) = Quantity::parse(&text) {
                prop_assert_eq!(Quantity::parse(&found.to_string()), Some(found));
            }
        }
    }
}
