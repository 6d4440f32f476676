//! Owns one list and its watch: epochs, versions, bookmarks, and what is said of each object.
//! It must not begin a new epoch while the last version still serves, nor ask again at once where nothing came of it.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde::Deserialize;

use super::super::{Attempt, ObservationSink, OmitReason, SourceFailure};
use super::ApiAccess;
use super::access::ApiConnection;
use super::body::{BodyChunks, BodyError, WatchLine, WatchLines, whole};
use super::connection_error::{request_failed, timed_out};
use super::resource::WatchedResource;
use super::response::{ApiError, failed, malformed, refused};
use crate::decode::{
    DecodeError, Item, ListMeta, ListSplitter, MAX_ITEM, Object, WatchEvent, item, objects, watch_event,
};
use crate::observation::{ErrorKind, Fact};

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// Bytes of one list that are read, all its pages together: 150,000 events have about 180 MiB.
const MAX_LIST: usize = 512 << 20;
/// Pages of one list that are read: 500,000 objects.
const MAX_PAGES: u32 = 1000;
/// Objects of a list that are read for nothing, once there is no room for more of them.
const MAX_LEFT_OUT: u64 = 5000;
/// Bytes that are taken apart at once: what they are decoded to is a hundred times as large at worst.
const PART: usize = 16 << 10;
/// Longest refusal that is read, bytes.
const MAX_REFUSAL: usize = 64 << 10;
/// Said of what is not a page of a list.
const NO_LIST: &str = "the answer is not a list";

/// Deadlines of a list and its watch.
#[derive(Clone, Copy, Debug)]
pub struct WatchTimings {
    /// Longest wait for an answer to begin.
    pub answer: Duration,
    /// Longest time for a page of a list to come in.
    pub page: Duration,
    /// How long a watch is asked to last, in whole seconds; the server ends it then.
    pub watch: Duration,
    /// What the server may be timed_out in ending it.
    pub slack: Duration,
    /// A watch that is silent for longer is dead, where the server sends bookmarks (every minute). Of events it sends
    /// none: there is no cache of them that would know.
    pub silence: Duration,
    /// A watch that ends sooner and has said nothing is a failure: something on the conn ends it.
    pub short: Duration,
}

impl Default for WatchTimings {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(15),
            page: Duration::from_secs(60),
            watch: Duration::from_secs(290),
            slack: Duration::from_secs(20),
            silence: Duration::from_secs(150),
            short: Duration::from_secs(1),
        }
    }
}

/// Lists and watches one thing.
pub struct ListWatch {
    access: ApiAccess,
    what: WatchedResource,
    timings: WatchTimings,
    /// Version to go on from; None when everything must be listed.
    version: Option<String>,
    /// A list has begun, and no watch has brought anything since: to list again would bring the same.
    fresh: bool,
    /// A watch has brought a bookmark: silence means something.
    bookmarks: bool,
    /// A 401 came, and nothing better since.
    denied: bool,
}

impl ListWatch {
    /// A source of `what`.
    pub fn new(access: ApiAccess, what: WatchedResource) -> Self {
        Self {
            access,
            what,
            timings: WatchTimings::default(),
            version: None,
            fresh: false,
            bookmarks: false,
            denied: false,
        }
    }

    /// With other deadlines.
    #[must_use]
    pub fn with_timings(self, timings: WatchTimings) -> Self {
        Self { timings, ..self }
    }

    /// Runs until something fails. At once and once only, an expired version is followed by a new list, a 401 by a new
    /// client.
    async fn run(&mut self, out: &mut ObservationSink) -> SourceFailure {
        loop {
            let conn = match self.access.connection().await {
                Ok(conn) => conn,
                Err(failure) => return failure,
            };
            out.set_verified(conn.verified).await;
            match self.round(&conn, out).await {
                // What was left out comes with the next list, if there is room for it now.
                Ok(()) if out.needs_list() => self.version = None,
                Ok(()) => {}
                Err(ApiError::Expired) if !self.fresh => self.version = None,
                Err(ApiError::Expired) => {
                    let fix = "the API server forgets faster than it can be read, or several that differ answer";
                    return failed(&self.what, &conn, "410 Gone, right after the list", ErrorKind::Other, fix);
                }
                Err(ApiError::Unauthorized(failure)) => {
                    self.access.discard(&conn).await;
                    // The files may have been rotated meanwhile.
                    if std::mem::replace(&mut self.denied, true) {
                        return failure;
                    }
                }
                Err(ApiError::Failed(failure) | ApiError::NotFound(failure)) => return failure,
            }
        }
    }

    /// What is read by its name, whole; None when there is none.
    pub(super) async fn one(&mut self) -> Result<Option<Object>, SourceFailure> {
        loop {
            let conn = self.access.connection().await?;
            match self.one_by(&conn).await {
                Ok(object) => return Ok(Some(object)),
                Err(ApiError::NotFound(_)) => return Ok(None),
                Err(ApiError::Unauthorized(failure)) => {
                    self.access.discard(&conn).await;
                    if std::mem::replace(&mut self.denied, true) {
                        return Err(failure);
                    }
                }
                Err(ApiError::Failed(failure)) => return Err(failure),
                Err(ApiError::Expired) => {
                    return Err(failed(&self.what, &conn, "410 Gone", ErrorKind::Other, ""));
                }
            }
        }
    }

    async fn one_by(&mut self, conn: &ApiConnection) -> Result<Object, ApiError> {
        const NO_OBJECT: &str = "the answer is not what was asked for";
        let response = self.get(conn, "").await?;
        let body = whole(response, MAX_ITEM, self.timings.page).await.map_err(|e| self.broken(conn, e))?;
        let found = String::from_utf8(body).ok().and_then(|body| objects(&body).ok()?.into_iter().next());
        found.ok_or_else(|| malformed(&self.what, conn, NO_OBJECT))
    }

    /// A list, if one is needed, and one watch.
    async fn round(&mut self, conn: &ApiConnection, out: &mut ObservationSink) -> Result<(), ApiError> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => self.list(conn, out).await?,
        };
        self.version = Some(version.clone());
        let began = Instant::now();
        let said = self.watch(conn, &version, out).await?;
        if said == 0 && began.elapsed() < self.timings.short {
            let fix = "a proxy or a load balancer on the conn ends what does not speak at once";
            return Err(ApiError::Failed(failed(&self.what, conn, "the watch ended at once", ErrorKind::Other, fix)));
        }
        Ok(())
    }

    async fn get(&mut self, conn: &ApiConnection, query: &str) -> Result<Response<Body>, ApiError> {
        let request = Request::get(self.what.uri(query)).body(Body::empty());
        let request = request.map_err(|e| malformed(&self.what, conn, &e.to_string()))?;
        let response = match tokio::time::timeout(self.timings.answer, conn.client.send(request)).await {
            Err(_) => return Err(ApiError::Failed(timed_out(&self.what.request(), conn, self.timings.answer))),
            Ok(Err(error)) => return Err(ApiError::Failed(request_failed(&self.what.request(), conn, &error))),
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::OK {
            self.denied = false;
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = whole(response, MAX_REFUSAL, self.timings.answer).await.unwrap_or_default();
        Err(refused(&self.what, conn, status, &headers, &body))
    }

    /// Lists everything as a new epoch; gives the version to watch from. Nothing is said before the first object is there.
    async fn list(&mut self, conn: &ApiConnection, out: &mut ObservationSink) -> Result<String, ApiError> {
        self.fresh = true;
        let mut list = ListProgress { pages: 0, read: 0, begun: false };
        let mut query = format!("limit={PAGE}");
        loop {
            let page = self.page(conn, &query, &mut list, out).await?;
            let ListPage { head, whole } = page;
            list.pages += 1;
            list.begin(out).await;
            if let Some(count) = head.remaining_item_count {
                out.emit(Fact::Remaining { count }).await;
            }
            let more = Some(head.more).filter(|more| !more.is_empty());
            match more {
                Some(more) if whole && list.pages < MAX_PAGES => query = format!("limit={PAGE}&continue={more}"),
                more => {
                    if more.is_some() || !whole {
                        let rest = head.remaining_item_count.unwrap_or(1).max(1);
                        out.leave_out(rest, OmitReason::List).await;
                    }
                    out.end_epoch().await;
                    return Ok(head.resource_version);
                }
            }
        }
    }

    /// Reads one page, and says its objects as they come in.
    async fn page(
        &mut self,
        conn: &ApiConnection,
        query: &str,
        list: &mut ListProgress,
        out: &mut ObservationSink,
    ) -> Result<ListPage, ApiError> {
        let no_list = |what: &WatchedResource| malformed(what, conn, NO_LIST);
        let mut pieces = BodyChunks::new(self.get(conn, query).await?, self.timings.page);
        let (mut splitter, mut checked) = (ListSplitter::default(), false);
        let mut found = Vec::new();
        while let Some(piece) = pieces.next().await.map_err(|e| self.broken(conn, e))? {
            list.read = list.read.saturating_add(piece.len());
            for part in piece.chunks(PART) {
                let mut take = |raw: Item<'_>| {
                    let near = matches!(raw, Item::Json(json) if self.what.is_near(json));
                    found.push((item(raw, self.what.kind()), near));
                };
                splitter.push(part, &mut take).map_err(|_| no_list(&self.what))?;
                if found.is_empty() {
                    continue;
                }
                if !std::mem::replace(&mut checked, true) && splitter.kind().is_some_and(|k| !k.ends_with("List")) {
                    return Err(no_list(&self.what));
                }
                out.set_live().await;
                list.begin(out).await;
                say_all(&mut found, out).await;
            }
            // Where some are preferred, those may still come.
            let in_vain = !self.what.has_near() && out.left_out() > MAX_LEFT_OUT;
            if list.read > MAX_LIST || in_vain {
                return Ok(ListPage { head: splitter.head_so_far().metadata, whole: false });
            }
        }
        let head = splitter.finish().map_err(|_| no_list(&self.what))?;
        if !head.kind.ends_with("List") || head.metadata.resource_version.is_empty() {
            return Err(no_list(&self.what));
        }
        out.set_live().await;
        Ok(ListPage { head: head.metadata, whole: true })
    }

    /// Watches until the server ends it; gives how many lines it brought. What comes moves the version on.
    async fn watch(&mut self, conn: &ApiConnection, version: &str, out: &mut ObservationSink) -> Result<u64, ApiError> {
        let seconds = self.timings.watch.as_secs().max(1);
        let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}");
        let mut lines = WatchLines::new(self.get(conn, &query).await?);
        out.set_live().await;
        // Where there are no bookmarks, this is all that says that it still answers.
        out.emit(Fact::Alive).await;
        let mut said = 0;
        loop {
            let idle = if self.bookmarks { self.timings.silence } else { self.timings.watch + self.timings.slack };
            let line = match lines.next(idle).await.map_err(|e| self.broken(conn, e))? {
                Some(WatchLine::Complete(line)) => String::from_utf8(line).unwrap_or_default(),
                Some(WatchLine::TooLong) => {
                    (said, self.fresh) = (said + 1, false);
                    out.leave_out(1, OmitReason::Object).await;
                    continue;
                }
                None => return Ok(said),
            };
            said += 1;
            if let Some(newer) = resource_version(&line) {
                self.version = Some(newer);
            }
            let fact = match watch_event(&line) {
                Ok(WatchEvent::Is(object)) => is(object),
                Ok(WatchEvent::Gone(object)) => gone(object),
                Ok(WatchEvent::Bookmark { .. }) => {
                    self.bookmarks = true;
                    Some(Fact::Alive)
                }
                Ok(WatchEvent::Error { code: 410, .. }) => return Err(ApiError::Expired),
                Ok(WatchEvent::Error { code, message }) => {
                    let why = format!("the watch ended: {code} {message}");
                    let fix = if message.contains("etcd") { "look at etcd" } else { "look at the API server's log" };
                    return Err(ApiError::Failed(failed(&self.what, conn, &why, ErrorKind::Other, fix)));
                }
                Err(DecodeError::TooLarge) => {
                    self.fresh = false;
                    out.leave_out(1, OmitReason::Object).await;
                    continue;
                }
                Err(_) => None,
            };
            self.fresh = false;
            // An object that cannot be read costs itself alone.
            let near = self.what.is_near(line.as_bytes());
            out.emit_near(fact.unwrap_or(Fact::Unreadable { count: 1 }), near).await;
        }
    }

    fn broken(&self, conn: &ApiConnection, why: BodyError) -> ApiError {
        match why {
            BodyError::Connection(error) => ApiError::Failed(request_failed(&self.what.request(), conn, &error)),
            BodyError::TimedOut(waited) => ApiError::Failed(timed_out(&self.what.request(), conn, waited)),
            BodyError::TooLong => malformed(&self.what, conn, "the answer is longer than an object"),
        }
    }
}

/// One page of a list, its objects said.
struct ListPage {
    head: ListMeta,
    /// It was read to its end.
    whole: bool,
}

/// A list of several pages.
struct ListProgress {
    pages: u32,
    read: usize,
    begun: bool,
}

impl ListProgress {
    async fn begin(&mut self, out: &mut ObservationSink) {
        if !std::mem::replace(&mut self.begun, true) {
            out.begin_epoch().await;
        }
    }
}

async fn say_all(found: &mut Vec<(Object, bool)>, out: &mut ObservationSink) {
    let (mut unreadable, mut too_large) = (0, 0);
    for (object, near) in found.drain(..) {
        match object {
            Object::Unreadable(DecodeError::TooLarge) => too_large += 1,
            object => match is(object) {
                Some(fact) => out.emit_near(fact, near).await,
                None => unreadable += 1,
            },
        }
    }
    if unreadable > 0 {
        out.emit(Fact::Unreadable { count: unreadable }).await;
    }
    if too_large > 0 {
        out.leave_out(too_large, OmitReason::Object).await;
    }
}

impl Attempt for ListWatch {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        // What happened since the last attempt is not known.
        self.version = None;
        self.run(out).await
    }
}

pub(super) fn is(object: Object) -> Option<Fact> {
    match object {
        Object::Pod(pod) => Some(Fact::Pod(pod)),
        Object::Node(node) => Some(Fact::Node(node)),
        Object::Event(event) => Some(Fact::Event(event)),
        Object::Lease(lease) => Some(Fact::Lease(lease)),
        Object::OtherKind(_) | Object::Unreadable(_) => None,
    }
}

fn gone(object: Object) -> Option<Fact> {
    match object {
        Object::Pod(pod) => Some(Fact::PodGone(pod.metadata.uid)),
        Object::Node(node) => Some(Fact::NodeGone(node.metadata.name)),
        Object::Event(event) => Some(Fact::EventGone(event.metadata.uid)),
        Object::Lease(lease) => Some(Fact::LeaseGone(lease.metadata.name)),
        Object::OtherKind(_) | Object::Unreadable(_) => None,
    }
}

/// `object.metadata.resourceVersion` of a watch event.
fn resource_version(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: String,
    }
    serde_json::from_str::<Event>(line).ok().map(|e| e.object.metadata.resource_version).filter(|v| !v.is_empty())
}
