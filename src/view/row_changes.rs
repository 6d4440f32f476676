//! Owns what differs between the rows of two moments: what a watch prints.
//! It must not take for a difference what time alone moves: ages and countdowns.

use std::collections::{BTreeMap, BTreeSet};

use super::{Filter, NodeView, Row};
use crate::pipeline::LocatedPod;
use crate::text::Text;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was there when watching began.
    Listed,
    /// It is new, or the filter lets it through now.
    Added,
    /// It is another than before.
    Changed,
    /// The filter does not let it through any more; the row is told as it is now.
    Left,
    /// No source shows the pod any more; the row is told as it was last.
    Gone,
}

impl ChangeKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Listed => "listed",
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Left => "left",
            ChangeKind::Gone => "gone",
        }
    }
}

/// One row that is told again.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// Why.
    pub what: ChangeKind,
    /// The row.
    pub row: Row,
    /// Its pod.
    pub placed: LocatedPod,
}

/// Remembers the rows that a filter has let through.
#[derive(Debug)]
pub struct RowChanges {
    filter: Filter,
    known: BTreeMap<Text, (Row, LocatedPod)>,
    started: bool,
}

impl RowChanges {
    /// Of the rows that `filter` accepts.
    pub fn new(filter: Filter) -> Self {
        Self { filter, known: BTreeMap::new(), started: false }
    }

    /// What is to be told of `moment`, in the order of its rows, and what is gone behind it.
    pub fn update(&mut self, moment: &NodeView) -> Vec<RowChange> {
        let mut news = Vec::new();
        let first = !std::mem::replace(&mut self.started, true);
        // Once for all rows: one by one they would be looked for.
        let pods: BTreeMap<&Text, &LocatedPod> = moment.pods.iter().map(|p| (&p.facts.key, p)).collect();
        let asked = self.filter.matcher();
        for row in moment.rows() {
            let Some(placed) = pods.get(&row.key) else { continue };
            let what = match (self.known.get(&row.key), asked.accepts(row)) {
                (None, false) => continue,
                (Some((old, _)), true) if same(old, row) => continue,
                (None, true) if first => ChangeKind::Listed,
                (None, true) => ChangeKind::Added,
                (Some(_), true) => ChangeKind::Changed,
                (Some(_), false) => ChangeKind::Left,
            };
            let change = RowChange { what, row: row.clone(), placed: (*placed).clone() };
            match what {
                ChangeKind::Left => _ = self.known.remove(&row.key),
                _ => _ = self.known.insert(row.key.clone(), (row.clone(), change.placed.clone())),
            }
            news.push(change);
        }
        let rows: BTreeSet<&Text> = moment.rows().iter().map(|row| &row.key).collect();
        let gone: Vec<Text> = self.known.keys().filter(|key| !rows.contains(key)).cloned().collect();
        for (row, placed) in gone.iter().filter_map(|key| self.known.remove(key)) {
            news.push(RowChange { what: ChangeKind::Gone, row, placed });
        }
        news
    }
}

/// Nothing but ages and countdowns differs.
fn same(a: &Row, b: &Row) -> bool {
    // `3 (27s ago)`, `restart in 12s`: the number, and what comes.
    let first = |text: &str| text.split(' ').next().map(str::to_owned);
    let words = |row: &Row| (row.ready.clone(), row.status.clone(), row.reason.clone());
    let place = |row: &Row| (row.stage, row.state, row.health);
    (words(a), place(a), first(&a.restarts), first(&a.next)) == (words(b), place(b), first(&b.restarts), first(&b.next))
}
