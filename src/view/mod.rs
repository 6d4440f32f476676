//! Owns what both consumers show of a moment: rows and their order, the header, PLEG, words and durations.
//! It must not draw, print, or decide anything that the pipeline decides.

mod detail;
mod explained;
mod header;
mod moment;
mod pleg;
mod row;
mod words;

pub use detail::{Detail, Sides};
pub use explained::{Asked, Explained, explain_all, explain_named};
pub use header::{Header, LeaseLine, SourceLine};
pub use moment::Moment;
pub use pleg::PlegView;
pub use row::{Filter, Row, Trouble};
pub use words::{alarm_text, bytes, clock, milliseconds, next_text, source_state_text, source_state_word};
