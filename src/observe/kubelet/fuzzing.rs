//! Owns the entrances of fuzz targets to the parsers of this module.
//! It must not do anything but call them.

use reqwest::StatusCode;

use super::KubeletAuth;
use super::body::LineAssembler;
use super::status_error::{not_served, refused};

/// The body of an answer with such a status.
pub fn refusal(status: u16, body: &str) {
    let Ok(status) = StatusCode::from_u16(status) else { return };
    for auth in [KubeletAuth::None, KubeletAuth::TokenFile("/token".into())] {
        let _ = refused("GET /pods", status, body, &auth);
    }
    let _ = not_served("GET /containerLogs", status, body);
}

/// A page in pieces of `piece` bytes, cut into lines. Gives the number of lines.
pub fn lines(page: &[u8], piece: usize) -> usize {
    let (mut lines, mut count) = (LineAssembler::default(), 0);
    for piece in page.chunks(piece.max(1)) {
        lines.push(piece, &mut |_: &str| count += 1);
    }
    lines.end(&mut |_: &str| count += 1);
    count
}
