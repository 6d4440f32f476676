//! The Pods pane: the table of all pods of the node, with the node's state above it.

pub mod alarms;
pub mod columns;
pub mod counts;
pub mod pleg;
pub mod selected;
pub mod sources;
pub mod table;
