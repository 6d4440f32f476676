//! The lines of `pleg --watch`, in the style of vmstat.

use super::columns::{Align, Columns};
use super::pleg::per_second;
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::thresholds::{METRICS_PERIOD, METRICS_STALE};
use crate::time::TimeDelta;
use crate::view::{NodeView, PlegVerdict, PlegView, clock, milliseconds, quantile, relist_rate};

/// Shortest time between two lines for which only our own calls are new, while the metrics are read: their next page is a
/// line anyway.
const WITH_METRICS: TimeDelta = TimeDelta::seconds(15);

/// Remembers the last line.
#[derive(Debug, Default)]
pub struct PlegLines {
    last: Option<LastLine>,
    widths: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct LastLine {
    at: Time,
    verdict: PlegVerdict,
    /// End of the newest window.
    window: Option<Time>,
    /// That window has not been printed before.
    fresh: bool,
}

impl PlegLines {
    /// True when `moment` has news, which is remembered.
    pub fn needs_line(&mut self, moment: &NodeView) -> bool {
        let (pleg, now) = (moment.pleg(), moment.now);
        let (verdict, window) = (pleg.verdict, pleg.windows.last().map(|w| w.to));
        let news = self.last.is_none_or(|last| {
            let own = pleg.own.in_flight_since.is_some() || pleg.own.last.is_some_and(|call| call.at > last.at);
            let beside = window.is_some() && !pleg.stale && pleg.own.unanswered_since.is_none();
            let due = now - last.at >= if beside { WITH_METRICS } else { METRICS_PERIOD };
            last.verdict != verdict || last.window != window || due && own
        });
        if news {
            let fresh = window.is_some() && self.last.is_none_or(|last| last.window != window);
            self.last = Some(LastLine { at: now, verdict, window, fresh });
        }
        news
    }

    /// When there may be news by waiting alone: the metrics grow old, a call stays without an answer.
    pub fn wake(&self, moment: &NodeView) -> Option<Time> {
        let pleg = moment.pleg();
        let stale = pleg.scraped_at.map(|at| at + METRICS_STALE + TimeDelta::seconds(1));
        let own = pleg.own.in_flight_since.and(self.last).map(|last| last.at + METRICS_PERIOD);
        stale.into_iter().chain(own).filter(|at| *at > moment.now).min()
    }

    /// The line, the first with the names of the columns.
    pub fn line(&mut self, moment: &NodeView) -> String {
        let names = ["OWN CALL", "RELISTS", "RATE", "MEAN", "P50", "P99", ">10s"].map(|name| (name, Align::Right));
        let head = [("TIME", Align::Left), ("VERDICT", Align::Left)].into_iter().chain(names);
        let mut table = Columns::new(head);
        let pleg = moment.pleg();
        let mut cells = vec![clock(moment.now), pleg.verdict.name().to_owned(), own(&pleg)];
        // Each window is printed once, so that it is not read as the present.
        match pleg.windows.last().filter(|_| self.last.is_some_and(|last| last.fresh)) {
            Some(w) => cells.extend([
                w.relists.to_string(),
                per_second(relist_rate(w)),
                w.mean.map(milliseconds).unwrap_or_default(),
                quantile(w.p50),
                quantile(w.p99),
                w.beyond.to_string(),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 5).chain(["-".into()])),
        }
        table.row(cells);
        let named = self.widths.is_empty();
        table.render_on(&mut self.widths, named, None)
    }
}

/// How long no call of ours has returned, else how long the last one took.
fn own(pleg: &PlegView) -> String {
    match (pleg.own.waiting_for(), pleg.own.last) {
        (Some(waited), _) => format!("waits {}", human_duration(waited)),
        (None, Some(last)) => milliseconds(last.seconds),
        (None, None) => String::new(),
    }
}
