//! Owns one moment of the node, placed: what a command prints and what a frame draws.
//! It must not change: a new moment is made from a new snapshot.

use std::sync::Arc;

use super::row::turns_at;
use super::{Header, PlegView, Row};
use crate::model::{Alarm, Snapshot};
use crate::observation::Time;
use crate::pipeline::{Placed, Placer};

/// The node at `now`.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The time that is shown: durations and countdowns refer to it.
    pub now: Time,
    /// What is known.
    pub snapshot: Arc<Snapshot>,
    /// Every pod with its place, by UID.
    pub pods: Arc<Vec<Placed>>,
    /// What is alarming about the node.
    pub alarms: Vec<Alarm>,
    rows: Arc<Vec<Row>>,
}

impl Moment {
    /// Places what changed since `placer` was last used.
    pub fn new(snapshot: Snapshot, placer: &mut Placer, now: Time) -> Self {
        let pods = Arc::new(placer.place_all(&snapshot));
        let alarms = snapshot.alarms(now);
        let rows = Arc::new(rows(&pods, now));
        Self { now, snapshot: Arc::new(snapshot), pods, alarms, rows }
    }

    /// One row per pod, trouble first, then by namespace and name.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The pod of that UID.
    pub fn pod(&self, key: &str) -> Option<&Placed> {
        self.pods.iter().find(|p| p.facts.key == key)
    }

    /// Node, versions, sources, alarms.
    pub fn header(&self) -> Header {
        Header::new(self)
    }

    /// PLEG, and our own measure of what it pays.
    pub fn pleg(&self) -> PlegView {
        PlegView::new(self)
    }

    /// The next moment at which something changes by waiting alone.
    pub fn next_change(&self) -> Option<Time> {
        let alarm = self.snapshot.next_alarm(self.now);
        let next = self.pods.iter().filter_map(|p| p.place.next).map(|n| n.at);
        let turns = self.pods.iter().filter_map(|p| turns_at(p, self.now));
        next.chain(turns).chain(alarm).filter(|at| *at > self.now).min()
    }
}

fn rows(pods: &[Placed], now: Time) -> Vec<Row> {
    let mut rows: Vec<Row> = pods.iter().map(|p| Row::new(p, now)).collect();
    rows.sort_by(|a, b| (b.trouble, &a.namespace, &a.name, &a.key).cmp(&(a.trouble, &b.namespace, &b.name, &b.key)));
    rows
}
