//! Percent-encoding of names that become part of a request's path or query.

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but letters, digits, `-`, `.` and `_`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// `name` as one segment of a path or one value of a query: a name from outside must not add a segment or a parameter.
pub(super) fn encode_segment(name: &str) -> impl Display {
    utf8_percent_encode(name, ENCODED)
}
