//! Owns what a frame is drawn from: one moment with its rows, header and PLEG, and what a pane needs, worked out once.
//! It must not change while it is shown: the next moment makes a new one.

use std::sync::OnceLock;

use crate::text::Text;
use crate::view::{
    EventLine, Filter, KubeletView, NodeDetail, NodeHeader, NodeView, PlegView, Row, Sort, newest_events,
};

use crate::tui::widgets::cells::width;

/// Events in their pane: what can be folded and sorted within one frame.
const EVENTS: usize = 10_000;

/// A moment, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The moment.
    pub moment: NodeView,
    /// What is shown: a recording's name and speed, or that it is live.
    pub title: Text,
    /// The header.
    pub header: NodeHeader,
    /// PLEG.
    pub pleg: PlegView,
    /// The rows that the filter shows, as they are sorted.
    pub shown: Vec<usize>,
    /// Widest `namespace/name` and STATUS of all rows, cells.
    pub widest: (usize, usize),
    /// Credentials in messages are shown.
    pub secrets: bool,
    // These look at every pod: once a moment, not once a key, and only while their pane is open.
    node: OnceLock<NodeDetail>,
    kubelet: OnceLock<KubeletView>,
    events: OnceLock<(Vec<EventLine>, usize)>,
}

impl Picture {
    /// Works a moment out.
    pub fn new(moment: NodeView, title: &str, filter: &Filter, sort: Sort) -> Self {
        let (header, pleg, rows) = (moment.header(), moment.pleg(), moment.rows());
        let name = rows.iter().map(|r| width(&r.namespace) + 1 + width(&r.name)).max().unwrap_or(0);
        let status = rows.iter().map(|r| width(&r.status)).max().unwrap_or(0);
        let mut picture = Self {
            moment,
            title: title.into(),
            header,
            pleg,
            shown: Vec::new(),
            widest: (name, status),
            secrets: false,
            node: OnceLock::new(),
            kubelet: OnceLock::new(),
            events: OnceLock::new(),
        };
        picture.choose(filter, sort);
        picture
    }

    /// The node.
    pub fn node(&self) -> &NodeDetail {
        self.node.get_or_init(|| NodeDetail::new(&self.moment))
    }

    /// The kubelet.
    pub fn kubelet(&self) -> &KubeletView {
        self.kubelet.get_or_init(|| KubeletView::new(&self.moment))
    }

    /// The newest events, and how many older ones are left out.
    pub fn events(&self) -> (&[EventLine], usize) {
        let (events, older) = self.events.get_or_init(|| newest_events(&self.moment, EVENTS));
        (events, *older)
    }

    /// Chooses the rows again.
    pub fn choose(&mut self, filter: &Filter, sort: Sort) {
        self.shown = self.moment.chosen(filter, sort);
    }

    /// The row at a place in the table.
    pub fn row(&self, index: usize) -> Option<&Row> {
        self.shown.get(index).and_then(|&i| self.moment.rows().get(i))
    }

    /// The place in the table of the pod with that UID.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.shown.iter().position(|&i| self.moment.rows()[i].key == key)
    }
}
