//! Owns reading a certificate's subject and time: PEM, base64, and as much of DER as lies on the way to them.
//! It must not verify anything, and must not keep what else is in the file: a key may lie beside the certificate.

use crate::observation::Time;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const EXPLICIT_0: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// 2.5.4.3, commonName.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// The subject's common name of the first certificate in `pem`.
///
/// # Errors
/// What is wrong, without quoting.
pub fn common_name(pem: &str) -> Result<String, &'static str> {
    subject_name(&first(pem)?).ok_or("not a certificate with a common name")
}

/// From when to when the first certificate in `pem` is valid.
///
/// # Errors
/// What is wrong, without quoting.
pub fn validity(pem: &str) -> Result<(Time, Time), &'static str> {
    times(&first(pem)?).ok_or("not a certificate with a time")
}

fn first(pem: &str) -> Result<Vec<u8>, &'static str> {
    let (_, rest) = pem.split_once(BEGIN).ok_or("no certificate in it")?;
    let (body, _) = rest.split_once(END).ok_or("a certificate that is cut")?;
    base64(body).ok_or("not base64")
}

/// What lies from the serial number on.
fn body(der: &[u8]) -> Option<&[u8]> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (rest, _) = expect(certificate, SEQUENCE)?;
    Some(expect(rest, EXPLICIT_0).map_or(rest, |(_, after)| after))
}

fn times(der: &[u8]) -> Option<(Time, Time)> {
    let mut rest = body(der)?;
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (both, _) = expect(rest, SEQUENCE)?;
    let (tag, begins, after) = element(both)?;
    let (other, ends, _) = element(after)?;
    Some((time(tag, begins)?, time(other, ends)?))
}

/// `YYMMDDhhmmssZ`, whose years are those from 1950 to 2049, or the same with four digits (RFC 5280, 4.1.2.5).
fn time(tag: u8, text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z').filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?;
    let text = match tag {
        UTC_TIME if text.len() == 12 => format!("{}{text}", if text < "50" { "20" } else { "19" }),
        GENERALIZED_TIME if text.len() == 14 => text.to_owned(),
        _ => return None,
    };
    Time::parse_utc(&text, "%Y%m%d%H%M%S")
}

fn subject_name(der: &[u8]) -> Option<String> {
    let mut rest = body(der)?;
    // Serial number, algorithm, issuer, validity.
    for _ in 0..4 {
        rest = element(rest)?.2;
    }
    let (mut names, _) = expect(rest, SEQUENCE)?;
    while !names.is_empty() {
        let (mut set, after) = expect(names, SET)?;
        names = after;
        while !set.is_empty() {
            let (pair, after) = expect(set, SEQUENCE)?;
            set = after;
            let (oid, value) = expect(pair, OID)?;
            if oid == COMMON_NAME {
                return String::from_utf8(element(value)?.1.to_vec()).ok();
            }
        }
    }
    None
}

fn expect(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (is, content, after) = element(der)?;
    (is == tag).then_some((content, after))
}

/// Tag, content, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk()?;
    let (len, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |len, b| len << 8 | usize::from(*b)), rest)
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(len)?;
    Some((tag, content, after))
}

/// Standard base64; white space is skipped.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut have) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0u32);
    for b in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let value = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push(u8::try_from(bits >> have & 0xff).ok()?);
        }
    }
    Some(out)
}

/// The same the other way, with padding.
pub fn to_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0usize, |bits, i| bits << 8 | usize::from(chunk.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS.get(bits >> (18 - 6 * i) & 63).copied().filter(|_| i <= chunk.len());
            out.push(char::from(digit.unwrap_or(b'=')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::of_node;
    use proptest::prelude::*;

    #[test]
    fn the_subject_of_a_node() {
        assert_eq!(common_name(&of_node("system:node:worker-1")).unwrap(), "system:node:worker-1");
        assert!(common_name("").is_err());
        assert_eq!(base64("aGVs\nbG8=").unwrap(), b"hello");
        assert_eq!(base64(&to_base64(b"hello")).unwrap(), b"hello");
    }

    #[test]
    fn both_forms_of_time() {
        let is = |tag, text: &str| time(tag, text.as_bytes()).map(|t| t.to_rfc3339());
        assert_eq!(is(UTC_TIME, "261129204500Z").unwrap(), "2026-11-29T20:45:00Z");
        assert_eq!(is(UTC_TIME, "500101000000Z").unwrap(), "1950-01-01T00:00:00Z");
        assert_eq!(is(GENERALIZED_TIME, "20500101000000Z").unwrap(), "2050-01-01T00:00:00Z");
        for (tag, text) in [
            (UTC_TIME, "20500101000000Z"),
            (UTC_TIME, "261129204500"),
            (UTC_TIME, "261329204500Z"),
            (SET, "261129204500Z"),
        ] {
            assert_eq!(is(tag, text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn cut_and_flipped_never_panics(at in 0usize..600, with in any::<u8>()) {
            let pem = of_node("system:node:x");
            let body = pem.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
            let mut der = base64(body).unwrap();
            if let Some(b) = der.get_mut(at) { *b = with; }
            let _ = (subject_name(&der), times(&der));
            der.truncate(at);
            let _ = (subject_name(&der), times(&der));
        }
    }
}
