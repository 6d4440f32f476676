//! Owns the runtime as a source: its lists, what wakes them, its status, the details of what changed, and its images.
//! It must not have two lists in flight, nor hide that one has not been answered.

use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use tokio::sync::mpsc;
use tonic::Status;

use super::endpoint::connect;
use super::events::Change;
use super::failure::CallError;
use super::inventory::Inventory;
use super::looking::Looking;
use super::owed::Owed;
use super::pace::{Listed, Pace};
use super::runtime::{Ask, Details, Lists, ReadOnlyRuntime};
use super::shelf::{Seen, Shelf};
use super::waits::{Coming, Pending, at, at_some, coming, pending};
use crate::observation::{Call, Fact, RuntimeStatus};
use crate::observe::ended::Told;
use crate::observe::{Attempt, Failure, LeftOut, Outlet};
use crate::trust::KnownFile;

/// Sandboxes, containers and images of the runtime behind one socket; for [`crate::observation::Source::Cri`].
#[derive(Debug)]
pub struct CriSource {
    endpoint: KnownFile,
    pace: Pace,
    /// Outlives an attempt: what a container's start was stays true.
    inventory: Inventory,
    shelf: Shelf,
    /// Who reads the logs of what ended badly.
    ends: Option<mpsc::Sender<Told>>,
}

impl CriSource {
    /// The runtime whose socket is at `endpoint`.
    pub fn new(endpoint: impl Into<KnownFile>) -> Self {
        Self {
            endpoint: endpoint.into(),
            pace: Pace::default(),
            inventory: Inventory::default(),
            shelf: Shelf::default(),
            ends: None,
        }
    }

    /// The same, which tells which containers ended badly.
    pub fn telling(self, ends: mpsc::Sender<Told>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Tells what was learned of ends, and then how it stands. Nobody waits for who reads logs.
    fn tell_ends(&mut self, then: Told) {
        let ended = self.inventory.take_ended().map(Told::Ended);
        if let Some(ends) = &self.ends {
            ended.chain([then]).for_each(|told| _ = ends.try_send(told));
        }
    }

    /// The same at another pace.
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }
}

impl Attempt for CriSource {
    async fn attempt(&mut self, out: &mut Outlet) -> Failure {
        let failure = match connect(&self.endpoint).await {
            Ok(channel) => {
                let runtime = ReadOnlyRuntime::new(channel, out.share());
                Watch::new(self, runtime).run(out).await
            }
            Err(failure) => failure,
        };
        self.tell_ends(Told::Away);
        failure
    }
}

/// One attempt: what is in flight, and what is due.
struct Watch<'a> {
    source: &'a mut CriSource,
    runtime: ReadOnlyRuntime,
    /// Nothing was listed yet in this attempt: the next list is an epoch.
    first: bool,
    list: Pending<Result<Lists, CallError>>,
    /// Entries of the last list that there was no room for.
    left_out: u64,
    list_began: Instant,
    list_due: Instant,
    last: Option<Listed>,
    /// First event since the last list began.
    woken: Option<Instant>,
    /// What events told of and no list has shown.
    owed: Owed,
    changes: Coming<Result<Change, Status>>,
    /// The runtime has no event service.
    no_events: bool,
    identity: Pending<Result<RuntimeStatus, CallError>>,
    identity_due: Instant,
    said: Option<RuntimeStatus>,
    details: Coming<(Ask, Result<Details, CallError>)>,
    /// When to look again for what lacks details, if anything might.
    details_due: Option<Instant>,
    /// No details are asked for before that.
    details_rest: Instant,
    looking: Looking,
}

impl<'a> Watch<'a> {
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
            owed: Owed::default(),
            changes: None,
            no_events: false,
            identity: None,
            identity_due: now,
            said: None,
            details: None,
            details_due: None,
            details_rest: now,
            looking: Looking::new(now),
        }
    }

    /// Observes until a list fails. The status calls go beside the lists: a runtime that hangs from the beginning must
    /// show as a list in flight and not as silence.
    async fn run(mut self, out: &mut Outlet) -> Failure {
        loop {
            if let Some(last) = self.last {
                let (pace, events) = (&self.source.pace, self.changes.is_some());
                self.list_due = pace.due(last, self.woken, events, self.owed.again_after(pace.spacing));
            }
            let may_look = self.list.is_none() && !self.first;
            let look_due = self.looking.due(self.last, &self.source.pace).filter(|_| may_look);
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
                answer = coming(&mut self.details) => self.take_details(answer, out).await,
                () = at_some(self.details_due), if self.details.is_none() => self.begin_details(),
                change = coming(&mut self.changes) => self.take_change(change),
                answer = pending(&mut self.looking.flight) => self.end_look(answer, out).await,
                () = at_some(look_due), if self.looking.flight.is_none() => {
                    self.looking.begin(self.runtime.clone(), &self.source.pace);
                }
            }
        }
    }

    async fn begin_list(&mut self, out: &mut Outlet) {
        self.looking.give_up(&self.source.pace);
        self.list_began = out.call_begin(Call::CriList).await;
        self.woken = None;
        self.list = Some(Box::pin(self.runtime.clone().lists(self.source.pace.list_deadline)));
    }

    async fn end_list(&mut self, answer: Result<Lists, CallError>, out: &mut Outlet) -> Result<(), Failure> {
        let (began, ended) = (self.list_began, Instant::now());
        self.list = None;
        let took = ended.duration_since(began);
        let lists = match answer {
            Ok(lists) => lists,
            Err(error) => {
                out.call_took(Call::CriList, took, Some(error.told(self.source.endpoint.path()))).await;
                return Err(error.ends(self.source.endpoint.path()));
            }
        };
        out.call_took(Call::CriList, took, None).await;
        out.live().await;
        self.left_out = lists.left_out;
        self.tell_left_out(out).await;
        let epoch = std::mem::take(&mut self.first) || out.wants_list();
        if epoch {
            out.begin_epoch().await;
        }
        let facts = self.source.inventory.listed(lists, epoch);
        self.owed.listed(|id| self.source.inventory.standing(id));
        if facts.iter().any(|fact| matches!(fact, Fact::Container(_))) {
            self.looking.woken(&self.source.pace);
        }
        for fact in facts {
            out.say(fact).await;
        }
        if epoch {
            for fact in self.source.shelf.all() {
                out.say(fact).await;
            }
            out.end_epoch().await;
        }
        self.last = Some(Listed { began, ended });
        self.details_due = Some(self.details_rest.max(ended));
        Ok(())
    }

    async fn end_look(&mut self, answer: Result<Seen, CallError>, out: &mut Outlet) {
        let Some(seen) = self.looking.end(answer, &self.source.pace) else { return };
        for fact in self.source.shelf.seen(seen) {
            out.say(fact).await;
        }
        self.tell_left_out(out).await;
    }

    async fn tell_left_out(&mut self, out: &mut Outlet) {
        let count = self.left_out.saturating_add(self.source.shelf.left_out);
        out.left_out_of_list(count, LeftOut::Share).await;
    }

    fn ask_identity(&mut self) {
        self.identity = Some(Box::pin(self.runtime.clone().identity(self.source.pace.status_deadline)));
        if self.changes.is_none() && !self.no_events {
            self.changes = Some(Box::pin(self.runtime.clone().changes()));
        }
    }

    /// That the status cannot be had ends nothing: the lists tell whether the runtime is there.
    async fn end_identity(&mut self, answer: Result<RuntimeStatus, CallError>, out: &mut Outlet) {
        self.identity = None;
        self.identity_due = Instant::now() + self.source.pace.status_every;
        let Ok(status) = answer else { return };
        out.live().await;
        if self.said.as_ref() != Some(&status) {
            self.said = Some(status.clone());
            out.say(Fact::RuntimeStatus(Box::new(status))).await;
        }
    }

    /// A stream that ends means that something happened to the runtime: the list that follows finds out.
    fn take_change(&mut self, change: Option<Result<Change, Status>>) {
        match change {
            Some(Ok(Change::Lists(promised))) => {
                if let Some((id, promise)) = promised {
                    self.owed.promised(id, promise);
                }
            }
            Some(Ok(Change::Images)) => return self.looking.woken(&self.source.pace),
            Some(Err(status)) if status.code() == tonic::Code::Unimplemented => {
                (self.changes, self.no_events) = (None, true);
                return;
            }
            Some(Err(_)) | None => {
                self.changes = None;
                // The rest after a slow list is for a runtime that is slow; this one has gone or has started anew.
                self.last = None;
                self.list_due =
                    (self.list_began + self.source.pace.spacing).max(Instant::now() + self.source.pace.settle);
            }
        }
        self.woken.get_or_insert_with(Instant::now);
    }

    fn begin_details(&mut self) {
        self.details_due = None;
        let asks = self.source.inventory.wanted(self.source.pace.details);
        if asks.is_empty() {
            return self.source.tell_ends(Told::All);
        }
        let (runtime, deadline) = (self.runtime.clone(), self.source.pace.status_deadline);
        self.details = Some(Box::pin(stream::iter(asks).then(move |ask| {
            let runtime = runtime.clone();
            async move {
                let answer = runtime.details(&ask, deadline).await;
                (ask, answer)
            }
        })));
    }

    async fn take_details(&mut self, answer: Option<(Ask, Result<Details, CallError>)>, out: &mut Outlet) {
        let rest = match answer {
            Some((ask, Ok(details))) => {
                if let Some(fact) = self.source.inventory.learned(&ask, details) {
                    out.say(fact).await;
                }
                return;
            }
            Some((ask, Err(error))) => {
                self.source.inventory.unanswered(&ask);
                // One that hangs in the runtime is not followed by sixty more.
                if !error.is_late() {
                    return;
                }
                self.source.pace.rest
            }
            None => self.source.pace.spacing,
        };
        self.source.tell_ends(Told::All);
        self.details = None;
        self.details_rest = Instant::now() + rest;
        self.details_due = Some(self.details_rest);
    }
}
