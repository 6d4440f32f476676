//! The output of the commands: tables, text and JSON, formatted from the view.

mod columns;
mod doctor;
mod events;
mod explain;
mod json;
mod json_events;
mod json_explain;
mod json_node;
mod json_pleg;
mod json_pods;
mod json_watch;
mod kubelet;
mod node;
mod notes;
mod pleg;
mod pleg_lines;
mod table;
mod verdict;

pub use doctor::{
    DiscoveryAttempt, DiscoveryResult, DoctorVerdict, SourceChanges, doctor_json, doctor_text, doctor_verdict,
    source_text,
};
pub use events::events_table;
pub use explain::{entry_text, explain_text, signals_text};
pub use json::API_VERSION;
pub use json_events::{EventList, events_json};
pub use json_explain::{EntryList, Explanation, entry_json, explain_json};
pub use json_node::{NodeReport, node_json};
pub use json_pleg::{PlegReport, pleg_json};
pub use json_pods::{PodList, pods_json};
pub use json_watch::{NodeChange, PodChange, node_change, pod_change};
pub use node::node_text;
pub use notes::{NoteChanges, notes};
pub use pleg::pleg_text;
pub use pleg_lines::PlegLines;
pub use table::{PodLines, TableDetail, pods_table};

use crate::view::{Filter, NodeView, Row, Sort};

/// Rows that a filter accepts, in the requested order.
pub fn shown(moment: &NodeView, filter: &Filter, sort: Sort) -> Vec<Row> {
    moment.chosen(filter, sort).into_iter().filter_map(|i| moment.rows().get(i).cloned()).collect()
}
