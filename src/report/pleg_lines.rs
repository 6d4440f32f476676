//! Owns the lines of `pleg --watch`: how PLEG does, in the manner of vmstat.
//! It must not print a line that says the same as the one before.

use super::columns::{Align, Columns};
use super::pleg::{per_second, quantile, rate};
use crate::observation::Time;
use crate::pipeline::human_duration;
use crate::time::TimeDelta;
use crate::view::{NodeView, PlegView, clock, milliseconds};

/// Shortest time between two lines that only our own calls are news of, seconds: as often as the metrics are read.
const OWN_S: i64 = 10;
/// The same while the metrics are read: their next page is a line anyhow.
const BESIDE_METRICS_S: i64 = 15;

/// Remembers the last line.
#[derive(Debug, Default)]
pub struct PlegLines {
    last: Option<LastLine>,
    widths: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct LastLine {
    at: Time,
    verdict: &'static str,
    /// End of the newest window.
    window: Option<Time>,
    /// That window was not told before.
    fresh: bool,
}

impl PlegLines {
    /// True when `moment` has news, which is remembered.
    pub fn needs_line(&mut self, moment: &NodeView) -> bool {
        let (pleg, now) = (moment.pleg(), moment.now);
        let (verdict, window) = (pleg.verdict(now), pleg.windows.last().map(|w| w.to));
        let news = self.last.is_none_or(|last| {
            let own = pleg.own.in_flight.is_some() || pleg.own.done.back().is_some_and(|done| done.at > last.at);
            let beside = window.is_some() && !pleg.stale && pleg.own.unanswered_since.is_none();
            let due = now - last.at >= TimeDelta::seconds(if beside { BESIDE_METRICS_S } else { OWN_S });
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
        let stale = pleg.scraped_at.map(|at| at + TimeDelta::seconds(crate::view::METRICS_STALE_S + 1));
        let own = pleg.own.in_flight.and(self.last).map(|last| last.at + TimeDelta::seconds(OWN_S));
        stale.into_iter().chain(own).filter(|at| *at > moment.now).min()
    }

    /// The line, the first with the names of the columns.
    pub fn line(&mut self, moment: &NodeView) -> String {
        let names = ["OWN CALL", "RELISTS", "RATE", "MEAN", "P50", "P99", ">10s"].map(|name| (name, Align::Right));
        let head = [("TIME", Align::Left), ("VERDICT", Align::Left)].into_iter().chain(names);
        let mut table = Columns::new(head);
        let pleg = moment.pleg();
        let mut cells = vec![clock(moment.now), pleg.verdict(moment.now).to_owned(), own(&pleg, moment.now)];
        // A window is told once, or it would be taken for the one of now.
        match pleg.windows.last().filter(|_| self.last.is_some_and(|last| last.fresh)) {
            Some(w) => cells.extend([
                w.relists.to_string(),
                per_second(rate(w)),
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

/// How long our own call has had no answer, else how long the last took.
fn own(pleg: &PlegView, now: Time) -> String {
    let waits = pleg.own.unanswered_since.filter(|since| now - *since >= TimeDelta::seconds(1));
    match (waits, pleg.own.done.back()) {
        (Some(since), _) => format!("waits {}", human_duration(now - since)),
        (None, Some(last)) => milliseconds(last.took_us as f64 / 1e6),
        (None, None) => String::new(),
    }
}
