//! The view model: what the screen and the reports show, computed once as typed values. No drawing, no printing.

mod channels;
mod column;
mod cpu_use;
mod events;
mod eviction;
mod eviction_thresholds;
mod exits;
mod faults;
mod filter;
mod format;
mod header;
mod kubelet;
mod log;
mod node_detail;
mod node_view;
mod pleg;
mod pod_detail;
mod pod_diagnosis;
mod resources;
mod row;
mod row_changes;
mod runbook_entry;
mod settings;
mod subjects;
mod timeline;

pub use channels::{ChannelHealth, LoopChannel};
pub use column::{Column, SEVERITY, Sort};
pub use cpu_use::{CpuUse, by_cpu};
pub use events::{EventLine, events, newest_events};
pub use eviction::{Victim, by_eviction, by_kernel};
pub use eviction_thresholds::{Disk, Distance, EvictionThreshold, is_nearly_full};
pub use exits::{exit_words, restart_strip};
pub use faults::NodeFault;
pub use filter::{Filter, RowMatcher, has_words, is_near};
pub use format::{
    age, alarm_text, bytes, clock, first_text, milliseconds, next_text, percent, plural, quantile, source_state_text,
    source_state_word,
};
pub use header::{LeaseLine, NodeHeader, POD_LISTS, SourceLine};
pub use kubelet::{Healthz, KubeletView, Workers};
pub use log::{LogChoice, first_choice, left_out, log_choices, log_commands, log_request};
pub use node_detail::{
    CertificateLine, CertificateState, ConditionLine, LeaseOutlook, NodeDetail, OomKill, is_high_pressure,
};
pub use node_view::NodeView;
pub use pleg::{OwnCall, OwnCalls, PlegVerdict, PlegView, RelistSummary, is_slow, is_slow_operation, relist_rate};
pub use pod_detail::{PodDetail, SourceWords};
pub use pod_diagnosis::PodDiagnosis;
pub use resources::{Load, ResourceLine, amount_text, resources};
pub use row::{PodHealth, Row};
pub use row_changes::{ChangeKind, RowChange, RowChanges};
pub use runbook_entry::RunbookEntry;
pub use settings::{SettingLine, settings};
pub use subjects::{ExplainedSubject, SubjectName, explain_all, explain_named};
pub use timeline::{TimelinePhase, TimelineSpan, timeline};
