//! Owns what both consumers show of a moment: rows and their order, the header, PLEG, words and durations.
//! It must not draw, print, or decide anything that the pipeline decides.

mod changes;
mod detail;
mod header;
mod moment;
mod pleg;
mod row;
mod words;

pub use changes::{Change, Changes, What};
pub use detail::{Detail, Sides};
pub use header::{Header, SourceLine};
pub use moment::Moment;
pub use pleg::{METRICS_STALE_S, PlegView};
pub use row::{Filter, Row, Trouble};
pub use words::{alarm_text, clock, milliseconds, next_text, source_state_text, source_state_word};
