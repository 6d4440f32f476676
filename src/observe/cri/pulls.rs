//! Image pulls as a source: the active ingests of containerd's content store. Which image an ingest belongs to is not
//! guessed.

use std::time::{Duration, Instant};

use super::endpoint::connect;
use super::runtime::ReadOnlyRuntime;
use super::timings::CriTimings;
use crate::observation::{Fact, Pull};
use crate::observe::differences::{KeyedObjects, emit_listing};
use crate::observe::{Attempt, ObservationSink, OmitReason, SourceFailure};
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
    /// The pulls of the containerd with the socket `endpoint`.
    pub fn new(endpoint: impl Into<KnownFile>) -> Self {
        Self { endpoint: endpoint.into(), timings: CriTimings::default() }
    }

    /// With other timings.
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
        let mut known: Option<KeyedObjects<Pull>> = None;
        loop {
            let began = Instant::now();
            let pulls = match runtime.clone().ingests(DEADLINE).await {
                Ok(pulls) => pulls,
                Err(error) if error.is_unimplemented() => {
                    return SourceFailure::Off(
                        "not supported by this runtime: only containerd reports the progress of pulls".into(),
                    );
                }
                Err(error) => return error.to_failure(self.endpoint.path()),
            };
            let took = began.elapsed();
            out.set_live().await;
            out.set_left_out_of_list(pulls.left_out, OmitReason::Budget).await;
            let now: KeyedObjects<Pull> = pulls.all.into_iter().map(|pull| (pull.reference.clone(), pull)).collect();
            emit_listing(out, known.as_ref(), &now, |pull| Fact::Pull(pull.clone()), Fact::PullGone).await;
            known = Some(now);
            tokio::time::sleep(self.timings.spacing.max(self.timings.rest_after(took))).await;
        }
    }
}
