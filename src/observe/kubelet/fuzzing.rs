//! Entry points of fuzz targets to the parsers of this module.

use reqwest::StatusCode;

use super::KubeletAuth;
use super::body::PageLines;
use super::status_error::{not_served, refused};

/// The body of a response with this status.
pub fn refusal(status: u16, body: &str) {
    let Ok(status) = StatusCode::from_u16(status) else { return };
    for auth in [KubeletAuth::None, KubeletAuth::TokenFile("/token".into())] {
        let _ = refused("GET /pods", status, body, &auth);
    }
    let _ = not_served("GET /containerLogs", status, body);
}

/// A page that arrives in chunks of `piece` bytes, split into lines. Returns the number of lines.
pub fn lines(page: &[u8], piece: usize) -> usize {
    let (mut lines, mut count) = (PageLines::default(), 0);
    for chunk in page.chunks(piece.max(1)) {
        lines.push(chunk, &mut |_: &str| count += 1);
    }
    lines.finish(&mut |_: &str| count += 1);
    count
}
