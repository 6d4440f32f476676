//! Owns arithmetic on histograms between two scrapes: differences, means and interpolated quantiles.
//! It must not pretend to precision: a quantile is a value on a straight line inside one bucket.

use serde::Serialize;

use crate::observation::{Bucket, Histogram};

/// What happened between two scrapes of one histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramDelta {
    buckets: Vec<Bucket>,
    /// Observations.
    pub count: u64,
    /// Their sum, seconds.
    pub sum: f64,
}

/// A quantile by linear interpolation inside its bucket, as Prometheus' `histogram_quantile` computes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// Seconds.
    pub seconds: f64,
    /// The rank lies above the highest finite bound: the value is that bound, and the truth is at least that.
    pub at_least: bool,
}

impl HistogramDelta {
    /// The difference `now - before`; None when a counter went backwards, which is a restart of the process.
    pub fn between(before: &Histogram, now: &Histogram) -> Option<HistogramDelta> {
        let count = now.count.checked_sub(before.count)?;
        let mut buckets = Vec::with_capacity(now.buckets.len());
        for bucket in &now.buckets {
            let old = before.buckets.iter().find(|b| b.0 == bucket.0).map_or(0, |b| b.1);
            buckets.push(Bucket(bucket.0, bucket.1.checked_sub(old)?));
        }
        // A sum of durations only shrinks by rounding.
        Some(HistogramDelta { buckets, count, sum: (now.sum - before.sum).max(0.0) })
    }

    /// Mean in seconds; None when nothing was observed.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Observations above the highest finite bound.
    pub fn beyond(&self) -> u64 {
        self.count.saturating_sub(self.buckets.last().map_or(0, |b| b.1))
    }

    /// The `q`-quantile (0 to 1) with the semantics of Prometheus' `histogram_quantile`: linear inside a bucket, zero as
    /// the lower bound of the first, the highest finite bound when the rank lies in the `+Inf` bucket.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        if self.count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let last = self.buckets.last()?;
        let rank = q * self.count as f64;
        let (mut lower, mut below) = (0.0, 0u64);
        for &Bucket(bound, cumulative) in &self.buckets {
            let cumulative = cumulative.max(below);
            if cumulative as f64 >= rank && cumulative > below {
                // Prometheus takes the bound itself when the first bucket's is not positive.
                if bound <= 0.0 {
                    return Some(Quantile { seconds: bound, at_least: false });
                }
                let share = (rank - below as f64) / (cumulative - below) as f64;
                return Some(Quantile { seconds: lower + (bound - lower) * share, at_least: false });
            }
            (lower, below) = (bound, cumulative);
        }
        Some(Quantile { seconds: last.0, at_least: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(buckets: &[(f64, u64)], count: u64, sum: f64) -> Histogram {
        Histogram { buckets: buckets.iter().map(|&(b, c)| Bucket(b, c)).collect(), count, sum }
    }

    #[test]
    fn quantiles_worked_by_hand() {
        // 10 observations: 4 up to 0.1 s, 4 more up to 0.5 s, 2 above.
        let delta =
            HistogramDelta::between(&Histogram::default(), &histogram(&[(0.1, 4), (0.5, 8), (1.0, 8)], 10, 30.0))
                .unwrap();
        let value = |q| delta.quantile(q).unwrap();
        // rank 2 of 4 in (0, 0.1]: half way.
        assert!((value(0.2).seconds - 0.05).abs() < 1e-12);
        // rank 5: one of four in (0.1, 0.5]: 0.1 + 0.4 / 4.
        assert!((value(0.5).seconds - 0.2).abs() < 1e-12);
        // rank 8: the upper bound of that bucket.
        assert!((value(0.8).seconds - 0.5).abs() < 1e-12);
        // rank 9 lies in +Inf: the highest finite bound, and at least that.
        assert_eq!(value(0.9), Quantile { seconds: 1.0, at_least: true });
        assert_eq!(delta.beyond(), 2);
        assert_eq!(delta.mean(), Some(3.0));
    }

    #[test]
    fn only_what_happened_between_two_scrapes_counts() {
        let before = histogram(&[(0.1, 100), (1.0, 100)], 100, 5.0);
        let now = histogram(&[(0.1, 100), (1.0, 103)], 103, 6.5);
        let delta = HistogramDelta::between(&before, &now).unwrap();
        assert_eq!((delta.count, delta.mean()), (3, Some(0.5)));
        // All three in (0.1, 1]: the median is the middle of that bucket.
        assert!((delta.quantile(0.5).unwrap().seconds - 0.55).abs() < 1e-12);
    }

    #[test]
    fn backwards_is_a_restart_and_nothing_is_no_quantile() {
        let big = histogram(&[(1.0, 9)], 9, 1.0);
        assert_eq!(HistogramDelta::between(&big, &histogram(&[(1.0, 2)], 2, 0.1)), None);
        let none = HistogramDelta::between(&big, &big).unwrap();
        assert_eq!((none.quantile(0.5), none.mean()), (None, None));
    }
}
