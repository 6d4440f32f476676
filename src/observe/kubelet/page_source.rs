//! A source that reads one page of the kubelet at regular intervals.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;

use reqwest::Response;

use super::super::{Attempt, ObservationSink, SourceFailure};
use super::KubeletClient;
use super::timed_call::{ticks, timed_call};
use crate::observation::{Call, Fact};

/// A page that becomes one fact.
pub trait KubeletPage: Send {
    /// Its path.
    const PATH: &str;
    /// The call that is timed.
    const CALL: Call;
    /// Time between two requests.
    const EVERY: Duration;

    /// Reads the page; `what` is the request in errors.
    fn read(response: Response, what: &str) -> impl Future<Output = Result<Fact, SourceFailure>> + Send;
}

/// The source of a page.
#[derive(Debug)]
pub struct PageSource<P> {
    client: KubeletClient,
    every: Duration,
    page: PhantomData<P>,
}

impl<P: KubeletPage> PageSource<P> {
    /// Requests the page at once and every [`KubeletPage::EVERY`].
    pub fn new(client: KubeletClient) -> Self {
        Self { client, every: P::EVERY, page: PhantomData }
    }

    /// With another time between two requests.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<Infallible, SourceFailure> {
        let what = self.client.describe(P::PATH);
        let mut ticks = ticks(self.every);
        out.set_verified(self.client.trust().is_verified()).await;
        loop {
            ticks.tick().await;
            let read = async { P::read(self.client.get(P::PATH).await?, &what).await };
            let fact = timed_call(out, P::CALL, &what, self.client.deadline(), read).await?;
            out.set_live().await;
            out.emit(fact).await;
        }
    }
}

impl<P: KubeletPage + Sync> Attempt for PageSource<P> {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let Err(failure) = self.observe(out).await;
        failure
    }
}
