//! The runtime as a source: its lists, the events that cause them, its status, the details of changed objects, and its
//! images. At most one list is in flight, and one without a response is shown as such.

use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;
use tonic::Status;

use super::call_error::CallError;
use super::endpoint::connect;
use super::events::RuntimeChange;
use super::image_poll::ImagePoll;
use super::images::{ImageInventory, ImageResponse};
use super::inventory::Inventory;
use super::pending::{PendingFuture, PendingStream, at, at_some, next_item, pending};
use super::pending_events::PendingEvents;
use super::runtime::{DetailRequest, Details, Lists, ReadOnlyRuntime};
use super::timings::{CriTimings, ListTimes};
use crate::observation::{Call, Fact, RuntimeStatus};
use crate::observe::exit_channel::ExitUpdate;
use crate::observe::{Attempt, ObservationSink, OmitReason, SourceFailure};
use crate::trust::KnownFile;

/// Sandboxes, containers and images of the runtime with one socket; for [`crate::observation::Source::Cri`].
#[derive(Debug)]
pub struct CriSource {
    endpoint: KnownFile,
    timings: CriTimings,
    /// Outlives an attempt: details stay valid.
    inventory: Inventory,
    images: ImageInventory,
    /// The reader of failed containers' logs.
    exits: Option<mpsc::Sender<ExitUpdate>>,
}

impl CriSource {
    /// The runtime with the socket `endpoint`.
    pub fn new(endpoint: impl Into<KnownFile>) -> Self {
        Self {
            endpoint: endpoint.into(),
            timings: CriTimings::default(),
            inventory: Inventory::default(),
            images: ImageInventory::default(),
            exits: None,
        }
    }

    /// Sends failed exits to this channel.
    pub fn with_exit_updates(self, exits: mpsc::Sender<ExitUpdate>) -> Self {
        Self { exits: Some(exits), ..self }
    }

    /// Sends the new failed exits, and then `update`. It does not wait for the reader.
    fn send_exits(&mut self, update: ExitUpdate) {
        let failed = self.inventory.take_failed_exits().map(ExitUpdate::Failed);
        if let Some(exits) = &self.exits {
            failed.chain([update]).for_each(|update| _ = exits.try_send(update));
        }
    }

    /// With other timings.
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

/// One attempt: the calls in flight, and those that are due.
struct CriSession<'a> {
    source: &'a mut CriSource,
    runtime: ReadOnlyRuntime,
    /// True before the first list of this attempt, which is an epoch.
    first: bool,
    list: PendingFuture<Result<Lists, CallError>>,
    /// Entries of the last lists beyond the memory budget.
    left_out: u64,
    list_began: Instant,
    list_due: Instant,
    last: Option<ListTimes>,
    /// The first event since the last list began.
    woken: Option<Instant>,
    /// Events whose effect no list has shown yet.
    pending_events: PendingEvents,
    changes: PendingStream<Result<RuntimeChange, Status>>,
    /// The runtime has no event service.
    no_events: bool,
    heartbeat: PendingFuture<Result<(), CallError>>,
    heartbeat_due: Instant,
    identity: PendingFuture<Result<RuntimeStatus, CallError>>,
    identity_due: Instant,
    known: Option<RuntimeStatus>,
    details: PendingStream<(DetailRequest, Result<Details, CallError>)>,
    /// When to request missing details, if some may be missing.
    details_due: Option<Instant>,
    /// No details are requested before this.
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
            heartbeat: None,
            heartbeat_due: now,
            identity: None,
            identity_due: now,
            known: None,
            details: None,
            details_due: None,
            details_rest: now,
            image_poll: ImagePoll::new(now),
        }
    }

    /// Observes until a list fails. Status calls run in parallel with the lists: a runtime that hangs from the start must be
    /// shown as a list in flight.
    async fn run(mut self, out: &mut ObservationSink) -> SourceFailure {
        loop {
            if let Some(last) = self.last {
                let (timings, events) = (&self.source.timings, self.changes.is_some());
                self.list_due =
                    timings.due(last, self.woken, events, self.pending_events.relist_after(timings.min_interval));
            }
            let may_poll = self.list.is_none() && !self.first;
            let images_due = self.image_poll.due(self.last, &self.source.timings).filter(|_| may_poll);
            tokio::select! {
                biased;
                () = at(self.identity_due), if self.identity.is_none() => self.begin_identity(),
                () = at(self.list_due), if self.list.is_none() => self.begin_list(out).await,
                response = pending(&mut self.list) => {
                    if let Err(failure) = self.end_list(response, out).await {
                        return failure;
                    }
                }
                () = at(self.heartbeat_due), if self.is_quiet() && self.heartbeat.is_none() => {
                    self.heartbeat = Some(Box::pin(self.runtime.clone().heartbeat(self.source.timings.heartbeat_deadline)));
                }
                response = pending(&mut self.heartbeat) => self.end_heartbeat(response),
                response = pending(&mut self.identity) => self.end_identity(response, out).await,
                response = next_item(&mut self.details) => self.take_details(response, out).await,
                () = at_some(self.details_due), if self.details.is_none() => self.begin_details(),
                change = next_item(&mut self.changes) => self.take_change(change),
                response = pending(&mut self.image_poll.flight) => self.end_image_call(response, out).await,
                () = at_some(images_due), if self.image_poll.flight.is_none() => {
                    self.image_poll.begin(self.runtime.clone(), &self.source.timings);
                }
            }
        }
    }

    /// True between two lists, when no other call shows whether the runtime responds.
    fn is_quiet(&self) -> bool {
        self.list.is_none() && self.identity.is_none() && !self.first
    }

    /// A runtime without a response is listed at once: the list in flight is what is shown and measured.
    fn end_heartbeat(&mut self, response: Result<(), CallError>) {
        self.heartbeat = None;
        let now = Instant::now();
        self.heartbeat_due = now + self.source.timings.heartbeat_every;
        if response.is_err() && self.list.is_none() {
            self.last = None;
            self.list_due = now;
        }
    }

    async fn begin_list(&mut self, out: &mut ObservationSink) {
        self.image_poll.cancel(&self.source.timings);
        self.list_began = out.begin_call(Call::CriList).await;
        self.heartbeat = None;
        self.woken = None;
        self.list = Some(Box::pin(self.runtime.clone().lists(self.source.timings.list_deadline)));
    }

    async fn end_list(
        &mut self,
        response: Result<Lists, CallError>,
        out: &mut ObservationSink,
    ) -> Result<(), SourceFailure> {
        let (began, ended) = (self.list_began, Instant::now());
        self.list = None;
        let took = ended.duration_since(began);
        let lists = match response {
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
        self.pending_events.apply_list(|id| self.source.inventory.listed_state(id));
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
        self.heartbeat_due = ended + self.source.timings.heartbeat_every;
        self.details_due = Some(self.details_rest.max(ended));
        Ok(())
    }

    async fn end_image_call(&mut self, result: Result<ImageResponse, CallError>, out: &mut ObservationSink) {
        let Some(response) = self.image_poll.end(result, &self.source.timings) else { return };
        for fact in self.source.images.apply(response) {
            out.emit(fact).await;
        }
        self.emit_left_out(out).await;
    }

    async fn emit_left_out(&mut self, out: &mut ObservationSink) {
        let count = self.left_out.saturating_add(self.source.images.left_out);
        out.set_left_out_of_list(count, OmitReason::Budget).await;
    }

    fn begin_identity(&mut self) {
        self.identity = Some(Box::pin(self.runtime.clone().identity(self.source.timings.status_deadline)));
        if self.changes.is_none() && !self.no_events {
            self.changes = Some(Box::pin(self.runtime.clone().changes()));
        }
    }

    /// A failed status call does not fail the attempt: the lists show whether the runtime is up.
    async fn end_identity(&mut self, response: Result<RuntimeStatus, CallError>, out: &mut ObservationSink) {
        self.identity = None;
        self.identity_due = Instant::now() + self.source.timings.status_every;
        let Ok(status) = response else { return };
        out.set_live().await;
        if self.known.as_ref() != Some(&status) {
            self.known = Some(status.clone());
            out.emit(Fact::RuntimeStatus(Box::new(status))).await;
        }
    }

    /// Handles an event. A closed stream means that the runtime may have restarted: the next list shows it.
    fn take_change(&mut self, change: Option<Result<RuntimeChange, Status>>) {
        match change {
            Some(Ok(RuntimeChange::Lists(expected))) => {
                if let Some((id, state)) = expected {
                    self.pending_events.add(id, state);
                }
            }
            Some(Ok(RuntimeChange::Images)) => return self.image_poll.woken(&self.source.timings),
            Some(Err(status)) if status.code() == tonic::Code::Unimplemented => {
                (self.changes, self.no_events) = (None, true);
                return;
            }
            Some(Err(_)) | None => {
                self.changes = None;
                // No rest after a slow list: this runtime exited or restarted.
                self.last = None;
                self.list_due = (self.list_began + self.source.timings.min_interval)
                    .max(Instant::now() + self.source.timings.event_delay);
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
                let response = runtime.details(&request, deadline).await;
                (request, response)
            }
        })));
    }

    async fn take_details(
        &mut self,
        response: Option<(DetailRequest, Result<Details, CallError>)>,
        out: &mut ObservationSink,
    ) {
        let rest = match response {
            Some((request, Ok(details))) => {
                if let Some(fact) = self.source.inventory.apply_details(&request, details) {
                    out.emit(fact).await;
                }
                return;
            }
            Some((request, Err(error))) => {
                self.source.inventory.detail_failed(&request);
                // After a status call that hangs, the rest of the round is dropped.
                if !error.is_timeout() {
                    return;
                }
                self.source.timings.max_rest
            }
            None => self.source.timings.min_interval,
        };
        self.source.send_exits(ExitUpdate::Complete);
        self.details = None;
        self.details_rest = Instant::now() + rest;
        self.details_due = Some(self.details_rest);
    }
}
