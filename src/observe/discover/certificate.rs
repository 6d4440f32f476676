//! Owns reading the common name of a certificate's subject: PEM, base64, and as much of DER as lies on the way to it.
//! It must not verify anything, and must not keep what else is in the file: a key may lie beside the certificate.

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const EXPLICIT_0: u8 = 0xa0;
/// 2.5.4.3, commonName.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// The subject's common name of the first certificate in `pem`.
///
/// # Errors
/// What is wrong, without quoting.
pub fn common_name(pem: &str) -> Result<String, &'static str> {
    let (_, rest) = pem.split_once(BEGIN).ok_or("no certificate in it")?;
    let (body, _) = rest.split_once(END).ok_or("a certificate that is cut")?;
    let der = base64(body).ok_or("not base64")?;
    subject_name(&der).ok_or("not a certificate with a common name")
}

fn subject_name(der: &[u8]) -> Option<String> {
    let (certificate, _) = expect(der, SEQUENCE)?;
    let (mut rest, _) = expect(certificate, SEQUENCE)?;
    if let Some((_, after)) = expect(rest, EXPLICIT_0) {
        rest = after;
    }
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
    }

    proptest! {
        #[test]
        fn cut_and_flipped_never_panics(at in 0usize..600, with in any::<u8>()) {
            let pem = of_node("system:node:x");
            let body = pem.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
            let mut der = base64(body).unwrap();
            if let Some(b) = der.get_mut(at) { *b = with; }
            let _ = subject_name(&der);
            der.truncate(at);
            let _ = subject_name(&der);
        }
    }
}
