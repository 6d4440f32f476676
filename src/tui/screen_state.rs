//! What a frame is drawn from: a node view with its rows, header and PLEG, computed once.

use std::sync::OnceLock;

use crate::text::Text;
use crate::view::{
    EventLine, Filter, KubeletView, NodeDetail, NodeHeader, NodeView, PlegView, Row, Sort, newest_events,
};

use crate::text::cells::width;

/// Most events in the Events pane: as many as one frame can fold and sort.
const EVENTS: usize = 10_000;

/// A node view, ready to be drawn.
#[derive(Clone, Debug)]
pub struct ScreenState {
    /// The node view.
    pub node_view: NodeView,
    /// Title: name and speed of a recording, or live.
    pub title: Text,
    /// The header.
    pub header: NodeHeader,
    /// PLEG.
    pub pleg: PlegView,
    /// Indices of the rows that match the filter, sorted.
    pub shown: Vec<usize>,
    /// Widest `namespace/name` and STATUS of all rows, cells.
    pub widest: (usize, usize),
    /// Credentials in messages are visible.
    pub secrets: bool,
    // Computed from every pod: once per node view, and only while their pane is open.
    node: OnceLock<NodeDetail>,
    kubelet: OnceLock<KubeletView>,
    events: OnceLock<(Vec<EventLine>, usize)>,
}

impl ScreenState {
    /// Computes header, PLEG and column widths. `choose` selects the rows.
    pub fn new(node_view: NodeView, title: &str) -> Self {
        let (header, pleg, rows) = (node_view.header(), node_view.pleg(), node_view.rows());
        let name = rows.iter().map(|r| width(&r.namespace) + 1 + width(&r.name)).max().unwrap_or(0);
        let status = rows.iter().map(|r| width(&r.status)).max().unwrap_or(0);
        Self {
            node_view,
            title: title.into(),
            header,
            pleg,
            shown: Vec::new(),
            widest: (name, status),
            secrets: false,
            node: OnceLock::new(),
            kubelet: OnceLock::new(),
            events: OnceLock::new(),
        }
    }

    /// The node.
    pub fn node(&self) -> &NodeDetail {
        self.node.get_or_init(|| NodeDetail::new(&self.node_view))
    }

    /// The kubelet.
    pub fn kubelet(&self) -> &KubeletView {
        self.kubelet.get_or_init(|| KubeletView::new(&self.node_view))
    }

    /// The newest events, and the number of older ones omitted.
    pub fn events(&self) -> (&[EventLine], usize) {
        let (events, older) = self.events.get_or_init(|| newest_events(&self.node_view, EVENTS));
        (events, *older)
    }

    /// Selects and sorts the rows.
    pub fn choose(&mut self, filter: &Filter, sort: Sort) {
        self.shown = self.node_view.chosen(filter, sort);
    }

    /// A row of the table.
    pub fn row(&self, index: usize) -> Option<&Row> {
        self.shown.get(index).and_then(|&i| self.node_view.rows().get(i))
    }

    /// Index in the table of the pod with this UID.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.shown.iter().position(|&i| self.node_view.rows()[i].key == key)
    }
}
