//! Owns the table of pods: one line a pod, in the manner of `kubectl get pods`, and the lines of a watch below it.
//! It must not print anything but the table: what else is to be said are notes.

use super::columns::{Align, Columns};
use crate::observation::Time;
use crate::pipeline::LocatedPod;
use crate::view::{ChangeKind, NodeView, Row, RowChange, clock};

/// How much of a pod a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableDetail {
    /// Why is cut to the terminal.
    Table,
    /// Since when, the QoS class, the cause, why, and what the sources say.
    Wide,
}

/// The table of these rows; empty when there are none. `width` is the terminal's, if there is one.
pub fn pods_table(moment: &NodeView, rows: &[Row], detail: TableDetail, width: Option<usize>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Columns::new(head(detail).into_iter().map(|name| (name, Align::Left)));
    for row in rows {
        let wide = (detail == TableDetail::Wide).then(|| more(moment.pod(&row.key), row, moment.now));
        table.row(cells(row.clone(), wide));
    }
    table.render(width.filter(|_| detail == TableDetail::Table))
}

/// The rows of a watch: first a table, then lines below it in the same columns.
#[derive(Debug)]
pub struct PodLines {
    detail: TableDetail,
    width: Option<usize>,
    widths: Vec<usize>,
}

impl PodLines {
    /// Lines for a terminal of `width` cells, if there is one.
    pub fn new(detail: TableDetail, width: Option<usize>) -> Self {
        Self { detail, width: width.filter(|_| detail == TableDetail::Table), widths: Vec::new() }
    }

    /// One line for each change; with `timed` the time comes first, for what is not told as it happens.
    pub fn lines(&mut self, changes: Vec<RowChange>, now: Time, timed: bool) -> String {
        if changes.is_empty() {
            return String::new();
        }
        let time = timed.then_some("TIME");
        let head = time.into_iter().chain(head(self.detail));
        let mut table = Columns::new(head.map(|name| (name, Align::Left)));
        for RowChange { what, mut row, placed } in changes {
            match what {
                ChangeKind::Gone => {
                    (row.in_stage, row.next) = Default::default();
                    row.reason = "no source shows it any more".into();
                }
                ChangeKind::Left if row.reason.is_empty() && !row.health.is_failing() => {
                    row.reason = "no longer failing or slow".into()
                }
                ChangeKind::Listed | ChangeKind::Added | ChangeKind::Changed | ChangeKind::Left => {}
            }
            let wide = (self.detail == TableDetail::Wide).then(|| more(Some(&placed), &row, now));
            let mut cells = cells(row, wide);
            if let Some(state) = cells.get_mut(STATE).filter(|_| what == ChangeKind::Gone) {
                *state = what.name().to_owned();
            }
            table.row(time.map(|_| clock(now)).into_iter().chain(cells));
        }
        let named = self.widths.is_empty();
        table.render_on(&mut self.widths, named, self.width)
    }
}

/// The place of STATE in a row.
const STATE: usize = 7;

fn head(detail: TableDetail) -> Vec<&'static str> {
    let mut head = vec!["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "STAGE", "STATE", "IN-STAGE"];
    match detail {
        TableDetail::Table => head.extend(["NEXT", "WHY"]),
        TableDetail::Wide => head.extend(["SINCE", "QOS", "NEXT", "CAUSE", "WHY", "REASON"]),
    }
    head
}

fn cells(row: Row, wide: Option<[String; 2]>) -> Vec<String> {
    let mut cells = vec![
        row.namespace.to_string(),
        row.name.to_string(),
        row.ready,
        row.status.to_string(),
        row.restarts,
        row.age,
        row.stage.name().to_owned(),
        row.state.name().to_owned(),
        row.in_stage,
    ];
    match wide {
        None => cells.extend([row.next, row.why]),
        Some(more) => {
            cells.extend(more);
            cells.extend([row.next, row.cause.to_string(), row.why, row.reason]);
        }
    }
    cells
}

fn more(placed: Option<&LocatedPod>, row: &Row, now: Time) -> [String; 2] {
    let Some(placed) = placed else { return Default::default() };
    let since =
        placed.position.since.filter(|_| !row.in_stage.is_empty()).map(|at| moment_of(at, now)).unwrap_or_default();
    let qos = placed.facts.object().map(|pod| pod.status.qos_class.to_string()).unwrap_or_default();
    [since, qos]
}

/// Time of day, with the date when that is another one.
fn moment_of(at: Time, now: Time) -> String {
    if at.is_same_day(now) { clock(at) } else { at.format("%Y-%m-%dT%H:%M:%SZ").to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_another_day_has_its_date() {
        let at = |text: &str| text.parse::<Time>().unwrap();
        let now = at("2026-01-31T12:00:00Z");
        assert_eq!(moment_of(at("2026-01-31T11:59:58.7Z"), now), "11:59:58");
        assert_eq!(moment_of(at("2026-01-30T12:00:00Z"), now), "2026-01-30T12:00:00Z");
    }
}
