//! Reads subject and validity of a certificate in PEM. It verifies nothing and keeps no other section of the file, such as a key.

use base64::engine::general_purpose::{GeneralPurpose, NO_PAD_INDIFFERENT, STANDARD};
use base64::{Engine, alphabet};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

use crate::observation::Time;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const EXPLICIT_0: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// 2.5.4.3, commonName.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Common name of the subject of the first certificate in `pem`.
///
/// # Errors
/// The problem, without a quotation from the file.
pub fn common_name(pem: &str) -> Result<String, &'static str> {
    subject_name(&first_certificate(pem)?).ok_or("not a certificate with a common name")
}

/// `notBefore` and `notAfter` of the first certificate in `pem`.
///
/// # Errors
/// The problem, without a quotation from the file.
pub fn validity(pem: &str) -> Result<(Time, Time), &'static str> {
    times(&first_certificate(pem)?).ok_or("not a certificate with a validity")
}

/// The first certificate; a damaged section before it, such as a key, does not matter.
fn first_certificate(pem: &str) -> Result<CertificateDer<'static>, &'static str> {
    let start = pem.find(BEGIN).ok_or("no certificate in it")?;
    CertificateDer::from_pem_slice(pem.as_bytes().get(start..).unwrap_or_default()).map_err(|error| match error {
        pem::Error::NoItemsFound => "no certificate in it",
        pem::Error::MissingSectionEnd { .. } | pem::Error::IllegalSectionStart { .. } => {
            "a certificate that is truncated"
        }
        _ => "a certificate that is not base64",
    })
}

/// The fields of a certificate from the serial number on.
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
    let (tag, not_before, after) = element(both)?;
    let (other, not_after, _) = element(after)?;
    Some((time(tag, not_before)?, time(other, not_after)?))
}

/// Parses `YYMMDDhhmmssZ` (years 1950 to 2049) or `YYYYMMDDhhmmssZ` (RFC 5280, 4.1.2.5).
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

/// Tag and content of the first element, and the bytes after it.
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

/// Decodes standard base64; white space is ignored, padding is optional. None for another character or a bad length.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose =
        GeneralPurpose::new(&alphabet::STANDARD, NO_PAD_INDIFFERENT.with_decode_allow_trailing_bits(true));
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).take_while(|b| *b != b'=').collect();
    LENIENT.decode(digits).ok()
}

/// Encodes standard base64 with padding.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
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
    fn both_time_formats() {
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
        fn damaged_der_never_panics(at in 0usize..600, with in any::<u8>()) {
            let pem = of_node("system:node:x");
            let mut der = first_certificate(&pem).unwrap().to_vec();
            if let Some(b) = der.get_mut(at) { *b = with; }
            let _ = (subject_name(&der), times(&der));
            der.truncate(at);
            let _ = (subject_name(&der), times(&der));
        }
    }
}
