//! Owns the stream of events as text.
//! It must not fold anything: the view has.

use super::columns::{Align, Columns};
use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{EventLine, NodeView};

/// The table, newest first; with a width the message is cut to it.
pub fn events_table(moment: &NodeView, events: &[EventLine], width: Option<usize>) -> String {
    let mut table = Columns::new([
        ("LAST", Align::Right),
        ("COUNT", Align::Right),
        ("TYPE", Align::Left),
        ("OBJECT", Align::Left),
        ("REASON", Align::Left),
        ("FINDING", Align::Left),
        ("MESSAGE", Align::Left),
    ]);
    for e in events {
        let age = e.last.map(|at| human_duration((moment.now - at).max(TimeDelta::zero())));
        let container = if e.container.is_empty() { String::new() } else { format!("/{}", e.container) };
        table.row([
            age.unwrap_or_default(),
            e.count.to_string(),
            if e.warning { "Warning" } else { "Normal" }.to_owned(),
            format!("{}/{}{container}", e.kind.to_lowercase(), e.subject),
            e.reason.one_line().into_owned(),
            e.cause.to_string(),
            e.message.one_line().into_owned(),
        ]);
    }
    table.render(width)
}
