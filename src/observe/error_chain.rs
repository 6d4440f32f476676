//! The causes below an error: HTTP and gRPC clients wrap the error that matters in several others.

use std::error::Error;
use std::io;

/// Longest part of an error's text that is kept, in characters.
const MAX_TEXT: usize = 600;

/// The first error of type `T` in the chain, outermost first.
pub(super) fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// True when the chain contains an I/O error of one of these kinds.
pub(super) fn has_io_kind(error: &(dyn Error + 'static), kinds: &[io::ErrorKind]) -> bool {
    chain(error).any(|error| error.downcast_ref::<io::Error>().is_some_and(|e| kinds.contains(&e.kind())))
}

/// The text of the innermost error, which contains no URL and no header: those are in the errors around it.
pub(super) fn root_text(error: &(dyn Error + 'static)) -> String {
    if has_io_kind(error, &[io::ErrorKind::UnexpectedEof]) {
        return "the connection was closed early".into();
    }
    let text = chain(error).last().map(ToString::to_string).unwrap_or_default();
    text.chars().take(MAX_TEXT).collect()
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

/// `io::Error::source` skips the error that the `io::Error` wraps, and returns the source of that one.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_error_that_io_errors_wrap() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let wrapped = io::Error::other(io::Error::other(refused));
        assert!(has_io_kind(&wrapped, &[io::ErrorKind::ConnectionRefused]));
        assert!(!has_io_kind(&wrapped, &[io::ErrorKind::TimedOut]));
        let tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::HandshakeNotComplete);
        let wrapped = io::Error::other(tls);
        assert_eq!(find::<rustls::Error>(&wrapped), Some(&rustls::Error::HandshakeNotComplete));
        assert_eq!(root_text(&wrapped), rustls::Error::HandshakeNotComplete.to_string());
        assert!(find::<std::fmt::Error>(&wrapped).is_none());
        assert_eq!(root_text(&io::Error::other("x".repeat(9999))).len(), MAX_TEXT);
    }
}
