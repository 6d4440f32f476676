//! Versions and size limits of the recording format.

/// Major version of the format; this program cannot read a higher one.
pub const FORMAT_MAJOR: u16 = 2;
/// Minor version of the format; a higher one only adds fields that can be ignored.
pub const FORMAT_MINOR: u16 = 0;
/// Longest payload of a frame before compression, bytes.
pub const MAX_RAW: u32 = 64 << 20;
/// Longest payload that is written, bytes before compression: half of what a reader accepts.
pub(super) const FRAME_LEN: usize = (MAX_RAW / 2) as usize;
/// Longest line of an observation, bytes: more than any API server stores. Longer lines count as malformed, since the decoded
/// value is many times as large.
pub const MAX_LINE_LEN: usize = 2 << 20;
/// Most observations in one frame.
pub const FRAME_OBSERVATIONS: usize = 4096;
/// Longest JSON text of a state, bytes: more than that of a node with 60,000 visible pods.
pub const MAX_STATE: usize = 256 << 20;
