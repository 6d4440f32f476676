//! Owns the runtime as a source: its lists, what wakes them, its status, the details of what changed, and its images.
//! It must not have two lists in flight, nor hide that one has not been answered.

use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;
use tonic::Status;

use super::call_error::CallError;
use super::endpoint::connect;
use super::events::RuntimeChange;
use super::image_poll::ImagePoll;
use super::images::{ImageAnswer, ImageInventory};
use super::inventory::Inventory;
use super::pending::{PendingFuture, PendingStream, at, at_some, next_item, pending};
use super::pending_events::PendingEvents;
use super::runtime::{DetailRequest, Details, Lists, ReadOnlyRuntime};
use super::timings::{CriTimings, ListTimes};
use crate::observation::{Call, Fact, RuntimeStatus};
use crate::observe::exit_channel::ExitUpdate;
use crate::observe::{Attempt, ObservationSink, OmitReason, SourceFailure};
use crate::trust::KnownFile;

/// Sandboxes, containers and images of the runtime behind one socket; for [`crate::observation::Source::Cri`].
#[derive(Debug)]
pub struct CriSource {
    endpoint: KnownFile,
    timings: CriTimings,
    /// Outlives an attempt: what a container's start was stays true.
    inventory: Inventory,
    images: ImageInventory,
    /// Who reads the logs of what ended badly.
    ends: Option<mpsc::Sender<ExitUpdate>>,
}

impl CriSource {
    /// The runtime whose socket is at `endpoint`.
    pub fn new(endpoint: impl Into<KnownFile>) -> Self {
        Self {
            endpoint: endpoint.into(),
            timings: CriTimings::default(),
            inventory: Inventory::default(),
            images: ImageInventory::default(),
            ends: None,
        }
    }

    /// The same, which tells which containers ended badly.
    pub fn with_exit_updates(self, ends: mpsc::Sender<ExitUpdate>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Tells what was learned of ends, and then how it stands. Nobody waits for who reads logs.
    fn send_exits(&mut self, then: ExitUpdate) {
        let ended = self.inventory.take_failed_exits().map(ExitUpdate::Failed);
        if let Some(ends) = &self.ends {
            ended.chain([then]).for_each(|told| _ = ends.try_send(told));
        }
    }

    /// The same at another timings.
    pub fn with_timings(self, timings: CriTimings) -> Self {
        Self { timings, ..self }
    }
}

impl Attempt for CriSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        let failure = match connect(&self.endpoint).await {
            Ok(channel) => {
                let runtime = ReadOnlyRuntime::new(channel, out.share());
                CriSession::new(self, runtime).run(out).await
            }
            Err(failure) => failure,
        };
        self.send_exits(ExitUpdate::RuntimeDown);
        failure
    }
}

/// One attempt: what is in flight, and what is due.
struct CriSession<'a> {
    source: &'a mut CriSource,
    runtime: ReadOnlyRuntime,
    /// Nothing was listed yet in this attempt: the next list is an epoch.
    first: bool,
    list: PendingFuture<Result<Lists, CallError>>,
    /// ListEntries of the last list that there was no room for.
    left_out: u64,
    list_began: Instant,
    list_due: Instant,
    last: Option<ListTimes>,
    /// First event since the last list began.
    woken: Option<Instant>,
    /// What events told of and no list has shown.
    pending_events: PendingEvents,
    changes: PendingStream<Result<RuntimeChange, Status>>,
    /// The runtime has no event service.
    no_events: bool,
    identity: PendingFuture<Result<RuntimeStatus, CallError>>,
    identity_due: Instant,
    said: Option<RuntimeStatus>,
    details: PendingStream<(DetailRequest, Result<Details, CallError>)>,
    /// When to look again for what lacks details, if anything might.
    details_due: Option<Instant>,
    /// No details are asked for before that.
    details_rest: Instant,
    image_poll: ImagePoll,
}

impl<'a> CriSession<'a> {
    fn new(source: &'a mut CriSource, runtime: ReadOnlyRuntime) -> Self {
        let now = Instant::now();
        Self {
            source,
            runtime,
            first: true,
            list: None,
            left_out: 0,
            list_began: now,
            list_due: now,
            last: None,
            woken: None,
            pending_events: PendingEvents::default(),
            changes: None,
            no_events: false,
            identity: None,
            identity_due: now,
            said: None,
            details: None,
            details_due: None,
            details_rest: now,
            image_poll: ImagePoll::new(now),
        }
    }

    /// Observes until a list fails. The status calls go beside the lists: a runtime that hangs from the beginning must
    /// show as a list in flight and not as silence.
    async fn run(mut self, out: &mut ObservationSink) -> SourceFailure {
        loop {
            if let Some(last) = self.last {
                let (timings, events) = (&self.source.timings, self.changes.is_some());
                self.list_due =
                    timings.due(last, self.woken, events, self.pending_events.relist_after(timings.spacing));
            }
            let may_look = self.list.is_none() && !self.first;
            let look_due = self.image_poll.due(self.last, &self.source.timings).filter(|_| may_look);
            tokio::select! {
                biased;
                () = at(self.identity_due), if self.identity.is_none() => self.ask_identity(),
                () = at(self.list_due), if self.list.is_none() => self.begin_list(out).await,
                answer = pending(&mut self.list) => {
                    if let Err(failure) = self.end_list(answer, out).await {
                        return failure;
                    }
                }
                answer = pending(&mut self.identity) => self.end_identity(answer, out).await,
                answer = next_item(&mut self.details) => self.take_details(answer, out).await,
                () = at_some(self.details_due), if self.details.is_none() => self.begin_details(),
                change = next_item(&mut self.changes) => self.take_change(change),
                answer = pending(&mut self.image_poll.flight) => self.end_look(answer, out).await,
                () = at_some(look_due), if self.image_poll.flight.is_none() => {
                    self.image_poll.begin(self.runtime.clone(), &self.source.timings);
                }
            }
        }
    }

    async fn begin_list(&mut self, out: &mut ObservationSink) {
        self.image_poll.give_up(&self.source.timings);
        self.list_began = out.begin_call(Call::CriList).await;
        self.woken = None;
        self.list = Some(Box::pin(self.runtime.clone().lists(self.source.timings.list_deadline)));
    }

    async fn end_list(
        &mut self,
        answer: Result<Lists, CallError>,
        out: &mut ObservationSink,
    ) -> Result<(), SourceFailure> {
        let (began, ended) = (self.list_began, Instant::now());
        self.list = None;
        let took = ended.duration_since(began);
        let lists = match answer {
            Ok(lists) => lists,
            Err(error) => {
                out.record_call(Call::CriList, took, Some(error.to_source_error(self.source.endpoint.path()))).await;
                return Err(error.to_failure(self.source.endpoint.path()));
            }
        };
        out.record_call(Call::CriList, took, None).await;
        out.set_live().await;
        self.left_out = lists.left_out;
        self.emit_left_out(out).await;
        let epoch = std::mem::take(&mut self.first) || out.needs_list();
        if epoch {
            out.begin_epoch().await;
        }
        let facts = self.source.inventory.apply_lists(lists, epoch);
        self.pending_events.listed(|id| self.source.inventory.listed_state(id));
        if facts.iter().any(|fact| matches!(fact, Fact::Container(_))) {
            self.image_poll.woken(&self.source.timings);
        }
        for fact in facts {
            out.emit(fact).await;
        }
        if epoch {
            for fact in self.source.images.all() {
                out.emit(fact).await;
            }
            out.end_epoch().await;
        }
        self.last = Some(ListTimes { began, ended });
        self.details_due = Some(self.details_rest.max(ended));
        Ok(())
    }

    async fn end_look(&mut self, answer: Result<ImageAnswer, CallError>, out: &mut ObservationSink) {
        let Some(seen) = self.image_poll.end(answer, &self.source.timings) else { return };
        for fact in self.source.images.apply(seen) {
            out.emit(fact).await;
        }
        self.emit_left_out(out).await;
    }

    async fn emit_left_out(&mut self, out: &mut ObservationSink) {
        let count = self.left_out.saturating_add(self.source.images.left_out);
        out.set_left_out_of_list(count, OmitReason::Share).await;
    }

    fn ask_identity(&mut self) {
        self.identity = Some(Box::pin(self.runtime.clone().identity(self.source.timings.status_deadline)));
        if self.changes.is_none() && !self.no_events {
            self.changes = Some(Box::pin(self.runtime.clone().changes()));
        }
    }

    /// That the status cannot be had ends nothing: the lists tell whether the runtime is there.
    async fn end_identity(&mut self, answer: Result<RuntimeStatus, CallError>, out: &mut ObservationSink) {
        self.identity = None;
        self.identity_due = Instant::now() + self.source.timings.status_every;
        let Ok(status) = answer else { return };
        out.set_live().await;
        if self.said.as_ref() != Some(&status) {
            self.said = Some(status.clone());
            out.emit(Fact::RuntimeStatus(Box::new(status))).await;
        }
    }

    /// A stream that ends means that something happened to the runtime: the list that follows finds out.
    fn take_change(&mut self, change: Option<Result<RuntimeChange, Status>>) {
        match change {
            Some(Ok(RuntimeChange::Lists(promised))) => {
                if let Some((id, expected)) = promised {
                    self.pending_events.expect(id, expected);
                }
            }
            Some(Ok(RuntimeChange::Images)) => return self.image_poll.woken(&self.source.timings),
            Some(Err(status)) if status.code() == tonic::Code::Unimplemented => {
                (self.changes, self.no_events) = (None, true);
                return;
            }
            Some(Err(_)) | None => {
                self.changes = None;
                // The rest after a slow list is for a runtime that is slow; this one has gone or has started anew.
                self.last = None;
                self.list_due =
                    (self.list_began + self.source.timings.spacing).max(Instant::now() + self.source.timings.settle);
            }
        }
        self.woken.get_or_insert_with(Instant::now);
    }

    fn begin_details(&mut self) {
        self.details_due = None;
        let requests = self.source.inventory.missing_details(self.source.timings.details);
        if requests.is_empty() {
            return self.source.send_exits(ExitUpdate::Complete);
        }
        let (runtime, deadline) = (self.runtime.clone(), self.source.timings.status_deadline);
        self.details = Some(Box::pin(stream::iter(requests).then(move |request| {
            let runtime = runtime.clone();
            async move {
                let answer = runtime.details(&request, deadline).await;
                (request, answer)
            }
        })));
    }

    async fn take_details(
        &mut self,
        answer: Option<(DetailRequest, Result<Details, CallError>)>,
        out: &mut ObservationSink,
    ) {
        let rest = match answer {
            Some((request, Ok(details))) => {
                if let Some(fact) = self.source.inventory.apply_details(&request, details) {
                    out.emit(fact).await;
                }
                return;
            }
            Some((request, Err(error))) => {
                self.source.inventory.detail_failed(&request);
                // One that hangs in the runtime is not followed by sixty more.
                if !error.is_late() {
                    return;
                }
                self.source.timings.rest
            }
            None => self.source.timings.spacing,
        };
        self.source.send_exits(ExitUpdate::Complete);
        self.details = None;
        self.details_rest = Instant::now() + rest;
        self.details_due = Some(self.details_rest);
    }
}
