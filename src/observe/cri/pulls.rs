//! Owns image pulls as a source: what is on its way into containerd's content store.
//! It must not guess which image an ingest belongs to.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::endpoint::connect;
use super::runtime::ReadOnlyRuntime;
use super::timings::CriTimings;
use crate::observation::{Fact, Pull};
use crate::observe::{Attempt, ObservationSink, OmitReason, SourceFailure};
use crate::text::Text;
use crate::trust::KnownFile;

/// Reading a directory of the content store takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(5);

/// Active ingests of the containerd behind one socket; for [`crate::observation::Source::Pulls`].
#[derive(Debug)]
pub struct PullsSource {
    endpoint: KnownFile,
    timings: CriTimings,
}

impl PullsSource {
    /// The containerd whose socket is at `endpoint`.
    pub fn new(endpoint: impl Into<KnownFile>) -> Self {
        Self { endpoint: endpoint.into(), timings: CriTimings::default() }
    }

    /// The same at another timings.
    pub fn with_timings(self, timings: CriTimings) -> Self {
        Self { timings, ..self }
    }
}

impl Attempt for PullsSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let runtime = match connect(&self.endpoint).await {
            Ok(channel) => ReadOnlyRuntime::new(channel, out.share()),
            Err(failure) => return failure,
        };
        let mut said: Option<BTreeMap<Text, Pull>> = None;
        loop {
            let began = Instant::now();
            let pulls = match runtime.clone().ingests(DEADLINE).await {
                Ok(pulls) => pulls,
                Err(error) if error.is_unimplemented() => {
                    return SourceFailure::Off("this runtime does not tell how far a pull is; containerd does".into());
                }
                Err(error) => return error.to_failure(self.endpoint.path()),
            };
            let took = began.elapsed();
            out.set_live().await;
            out.set_left_out_of_list(pulls.left_out, OmitReason::Share).await;
            let now: BTreeMap<_, _> = pulls.all.into_iter().map(|pull| (pull.reference.clone(), pull)).collect();
            match &said {
                None => {
                    out.begin_epoch().await;
                    for fact in differences(&BTreeMap::new(), &now) {
                        out.emit(fact).await;
                    }
                    out.end_epoch().await;
                }
                Some(before) if *before == now => out.emit(Fact::Alive).await,
                Some(before) => {
                    for fact in differences(before, &now) {
                        out.emit(fact).await;
                    }
                }
            }
            said = Some(now);
            tokio::time::sleep(self.timings.spacing.max(self.timings.rest_after(took))).await;
        }
    }
}

fn differences(before: &BTreeMap<Text, Pull>, now: &BTreeMap<Text, Pull>) -> Vec<Fact> {
    let gone = before.keys().filter(|key| !now.contains_key(*key)).cloned().map(Fact::PullGone);
    let moved = now.iter().filter(|(key, pull)| before.get(*key) != Some(*pull));
    gone.chain(moved.map(|(_, pull)| Fact::Pull(pull.clone()))).collect()
}
