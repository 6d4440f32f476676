//! Owns what both consumers show of a moment: rows and their order, the header, PLEG, words and durations.
//! It must not draw, print, or decide anything that the pipeline decides.

mod busy;
mod changes;
mod column;
mod detail;
mod entry;
mod events;
mod eviction;
mod exits;
mod explained;
mod faults;
mod filter;
mod header;
mod kubelet;
mod life;
mod log;
mod node_detail;
mod node_view;
mod pleg;
mod resources;
mod row;
mod settings;
mod thresholds;
mod why;
mod words;

pub use busy::{Busy, by_cpu};
pub use changes::{Change, Changes, What};
pub use column::{Column, Sort};
pub use detail::{Detail, Sides};
pub use entry::Entry;
pub use events::{EventLine, events, newest_events};
pub use eviction::{Victim, by_eviction, by_kernel};
pub use exits::{exit_words, restart_strip};
pub use explained::{Asked, Explained, explain_all, explain_named};
pub use faults::Fault;
pub use filter::{Filter, Matcher, has_words, is_near};
pub use header::{Header, LeaseLine, POD_LISTS, SourceLine};
pub use kubelet::{Feed, Health, KubeletView, Relists, SLOW_S, Workers};
pub use life::{Phase, Stretch, life};
pub use log::{LogChoice, first_choice, left_out, log_choices, log_commands, log_request};
pub use node_detail::{CertificateLine, ConditionLine, Kill, LifeLine, NodeDetail};
pub use node_view::NodeView;
pub use pleg::{METRICS_STALE_S, PlegView};
pub use resources::{ResourceLine, amount_text, resources};
pub use row::{Row, Trouble};
pub use settings::{SettingLine, settings};
pub use thresholds::{Disk, Threshold};
pub use why::Why;
pub use words::{
    alarm_text, bytes, clock, first_text, milliseconds, next_text, quantile, source_state_text, source_state_word,
};
