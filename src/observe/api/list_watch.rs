//! One list and its watch: epochs, resource versions and bookmarks. While a resource version is usable no new list is
//! made, and after a failure there is no immediate retry.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use kube::client::Body;

use super::super::{Attempt, ObservationSink, OmitReason, SourceFailure};
use super::ApiAccess;
use super::access::ApiConnection;
use super::body::{BodyChunks, BodyError, WatchLine, WatchLines, read_all};
use super::connection_error::{request_failed, timed_out};
use super::facts::{gone_fact, object_fact, resource_version};
use super::resource::WatchedResource;
use super::response::{ApiError, MAX_ERROR_BODY, failed, malformed, refused};
use crate::decode::{
    DecodeError, ListItem, ListMeta, ListSplitter, MAX_ITEM, Object, WatchEvent, item, objects, watch_event,
};
use crate::observation::{ErrorKind, Fact, Source, SourceError};

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// Most bytes read of one list, all its pages together: 150,000 events are about 180 MiB.
const MAX_LIST: usize = 512 << 20;
/// Most pages read of one list: 500,000 objects.
const MAX_PAGES: u32 = 1000;
/// Objects that are read and left out before the list is given up, once the memory budget is used up.
const MAX_LEFT_OUT: u64 = 5000;
/// Bytes that are decoded at once: decoded objects are up to a hundred times as large.
const PART: usize = 16 << 10;
/// Nodes that are named when the API server does not have this one.
const NODES_SHOWN: usize = 10;
/// Error for a response that is not a page of a list.
const NO_LIST: &str = "the response is not a list";

/// Deadlines of a list and its watch.
#[derive(Clone, Copy, Debug)]
pub struct WatchTimings {
    /// Longest wait for the head of a response.
    pub response: Duration,
    /// Longest time for a page of a list.
    pub page: Duration,
    /// Requested duration of a watch (`timeoutSeconds`), in whole seconds; the server closes it then.
    pub watch: Duration,
    /// How late the server may close it.
    pub slack: Duration,
    /// Longest silence of a watch for which the server sends bookmarks (every minute). For events it sends none, since it
    /// has no watch cache of them.
    pub silence: Duration,
    /// A watch that closes sooner and without an event is a failure: a proxy closes it.
    pub short: Duration,
}

impl Default for WatchTimings {
    fn default() -> Self {
        Self {
            response: Duration::from_secs(15),
            page: Duration::from_secs(60),
            watch: Duration::from_secs(290),
            slack: Duration::from_secs(20),
            silence: Duration::from_secs(150),
            short: Duration::from_secs(1),
        }
    }
}

/// Lists and watches one resource.
pub struct ListWatch {
    access: ApiAccess,
    what: WatchedResource,
    timings: WatchTimings,
    /// Resource version to watch from; None when a list is needed.
    version: Option<String>,
    /// A list was started, and no watch event has arrived since: another list would return the same.
    fresh: bool,
    /// A bookmark has arrived: silence is a failure from then on.
    bookmarks: bool,
    /// The last response was a 401.
    rejected: bool,
}

impl ListWatch {
    /// A source of the resource `what`.
    pub fn new(access: ApiAccess, what: WatchedResource) -> Self {
        Self {
            access,
            what,
            timings: WatchTimings::default(),
            version: None,
            fresh: false,
            bookmarks: false,
            rejected: false,
        }
    }

    /// With other timings.
    #[must_use]
    pub fn with_timings(self, timings: WatchTimings) -> Self {
        Self { timings, ..self }
    }

    /// Runs until something fails. An expired version is followed by a new list, a 401 by a new client, each at once and
    /// once only.
    async fn run(&mut self, out: &mut ObservationSink) -> SourceFailure {
        loop {
            let conn = match self.access.connection().await {
                Ok(conn) => conn,
                Err(failure) => return failure,
            };
            out.set_verified(conn.verified).await;
            match self.list_and_watch(&conn, out).await {
                // Another list returns what was left out, now that the budget has room.
                Ok(()) if out.needs_list() => self.version = None,
                Ok(()) => {}
                Err(ApiError::Expired) if !self.fresh => self.version = None,
                Err(ApiError::Expired) => {
                    let fix = "the API server compacts faster than a list is read, or several servers with different data respond";
                    return failed(&self.what, &conn, "410 Gone right after the list", ErrorKind::Other, fix);
                }
                Err(ApiError::Unauthorized(failure)) => {
                    self.access.discard(&conn).await;
                    // The files may have been rotated in the meantime.
                    if std::mem::replace(&mut self.rejected, true) {
                        return failure;
                    }
                }
                Err(ApiError::Failed(failure) | ApiError::NotFound(failure)) => return failure,
            }
        }
    }

    /// Reads the object by name; None when it does not exist.
    pub(super) async fn get_by_name(&mut self) -> Result<Option<Object>, SourceFailure> {
        loop {
            let conn = self.access.connection().await?;
            match self.get_once(&conn).await {
                Ok(object) => return Ok(Some(object)),
                Err(ApiError::NotFound(_)) => return Ok(None),
                Err(ApiError::Unauthorized(failure)) => {
                    self.access.discard(&conn).await;
                    if std::mem::replace(&mut self.rejected, true) {
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

    async fn get_once(&mut self, conn: &ApiConnection) -> Result<Object, ApiError> {
        const OTHER_OBJECT: &str = "the response is not the requested object";
        let response = self.get(conn, "").await?;
        let body = read_all(response, MAX_ITEM, self.timings.page).await.map_err(|e| self.broken(conn, e))?;
        let found = String::from_utf8(body).ok().and_then(|body| objects(&body).ok()?.into_iter().next());
        found.ok_or_else(|| malformed(&self.what, conn, OTHER_OBJECT))
    }

    /// A list, if one is needed, and one watch.
    async fn list_and_watch(&mut self, conn: &ApiConnection, out: &mut ObservationSink) -> Result<(), ApiError> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => self.list(conn, out).await?,
        };
        self.version = Some(version.clone());
        let began = Instant::now();
        let events = self.watch(conn, &version, out).await?;
        if events == 0 && began.elapsed() < self.timings.short {
            let fix = "a proxy or a load balancer in between closes silent connections";
            return Err(ApiError::Failed(failed(
                &self.what,
                conn,
                "the watch was closed at once",
                ErrorKind::Other,
                fix,
            )));
        }
        Ok(())
    }

    async fn get(&mut self, conn: &ApiConnection, query: &str) -> Result<Response<Body>, ApiError> {
        let request = Request::get(self.what.uri(query)).body(Body::empty());
        let request = request.map_err(|e| malformed(&self.what, conn, &e.to_string()))?;
        let response = match tokio::time::timeout(self.timings.response, conn.client.send(request)).await {
            Err(_) => return Err(ApiError::Failed(timed_out(&self.what.request(), conn, self.timings.response))),
            Ok(Err(error)) => return Err(ApiError::Failed(request_failed(&self.what.request(), conn, &error))),
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::OK {
            self.rejected = false;
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = read_all(response, MAX_ERROR_BODY, self.timings.response).await.unwrap_or_default();
        Err(refused(&self.what, conn, status, &headers, &body))
    }

    /// Lists all objects as a new epoch; returns the version to watch from. The epoch begins with the first object.
    async fn list(&mut self, conn: &ApiConnection, out: &mut ObservationSink) -> Result<String, ApiError> {
        self.fresh = true;
        let mut list = ListProgress { pages: 0, read: 0, objects: 0, is_epoch_open: false };
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
                        out.leave_out(rest, OmitReason::ListSize).await;
                    }
                    out.end_epoch().await;
                    if self.what.source == Source::ApiNode && list.objects == 0 {
                        return Err(ApiError::Failed(self.no_such_node(conn).await));
                    }
                    return Ok(head.resource_version);
                }
            }
        }
    }

    /// The API server has no node of this name: the failure names those that it has.
    async fn no_such_node(&mut self, conn: &ApiConnection) -> SourceFailure {
        let name = self.what.object_name().to_owned();
        let names = self.node_names(conn).await;
        let shown = names.iter().take(NODES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let others = match names.len() {
            0 => String::new(),
            1..=NODES_SHOWN => format!("; it has {shown}"),
            _ => format!("; it has {shown} and more"),
        };
        SourceFailure::Retry(SourceError {
            tried: format!("the API server {} has no node \"{name}\"{others}", conn.server).into(),
            kind: ErrorKind::NoSuchNode,
            fix: "name the node with --node".into(),
        })
    }

    /// Names of nodes of the cluster, as many as are shown and one more; none without the permission to list nodes.
    async fn node_names(&mut self, conn: &ApiConnection) -> Vec<String> {
        let uri = format!("/api/v1/nodes?limit={}", NODES_SHOWN + 1);
        let Ok(request) = Request::get(uri).body(Body::empty()) else { return Vec::new() };
        let Ok(Ok(response)) = tokio::time::timeout(self.timings.response, conn.client.send(request)).await else {
            return Vec::new();
        };
        if response.status() != StatusCode::OK {
            return Vec::new();
        }
        let body = read_all(response, MAX_ITEM, self.timings.page).await.unwrap_or_default();
        let found = String::from_utf8(body).ok().and_then(|body| objects(&body).ok()).unwrap_or_default();
        let names = found.into_iter().filter_map(|object| match object {
            Object::Node(node) => Some(node.metadata.name.one_line().into_owned()),
            _ => None,
        });
        names.collect()
    }

    /// Reads one page, and emits its objects as they arrive.
    async fn page(
        &mut self,
        conn: &ApiConnection,
        query: &str,
        list: &mut ListProgress,
        out: &mut ObservationSink,
    ) -> Result<ListPage, ApiError> {
        let no_list = |what: &WatchedResource| malformed(what, conn, NO_LIST);
        let mut chunks = BodyChunks::new(self.get(conn, query).await?, self.timings.page);
        let (mut splitter, mut checked) = (ListSplitter::default(), false);
        let mut found = Vec::new();
        while let Some(chunk) = chunks.next().await.map_err(|e| self.broken(conn, e))? {
            list.read = list.read.saturating_add(chunk.len());
            for part in chunk.chunks(PART) {
                let mut take = |raw: ListItem<'_>| {
                    let preferred = matches!(raw, ListItem::Json(json) if self.what.is_preferred(json));
                    found.push((item(raw, self.what.kind()), preferred));
                };
                splitter.push(part, &mut take).map_err(|_| no_list(&self.what))?;
                if found.is_empty() {
                    continue;
                }
                if !std::mem::replace(&mut checked, true) && splitter.kind().is_some_and(|k| !k.ends_with("List")) {
                    return Err(no_list(&self.what));
                }
                out.set_live().await;
                list.objects += found.len();
                list.begin(out).await;
                emit_objects(&mut found, out).await;
            }
            // Preferred objects may still follow.
            let is_full = !self.what.has_preference() && out.left_out() > MAX_LEFT_OUT;
            if list.read > MAX_LIST || is_full {
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

    /// Watches until the server closes the watch; returns the number of lines. Each event updates the resource version.
    async fn watch(&mut self, conn: &ApiConnection, version: &str, out: &mut ObservationSink) -> Result<u64, ApiError> {
        let seconds = self.timings.watch.as_secs().max(1);
        let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}");
        let mut lines = WatchLines::new(self.get(conn, &query).await?);
        out.set_live().await;
        // Without bookmarks this is the only sign that the server responds.
        out.emit(Fact::Alive).await;
        let mut count = 0;
        loop {
            let idle = if self.bookmarks { self.timings.silence } else { self.timings.watch + self.timings.slack };
            let line = match lines.next(idle).await.map_err(|e| self.broken(conn, e))? {
                Some(WatchLine::Complete(line)) => String::from_utf8(line).unwrap_or_default(),
                Some(WatchLine::TooLong) => {
                    (count, self.fresh) = (count + 1, false);
                    out.leave_out(1, OmitReason::ObjectSize).await;
                    continue;
                }
                None => return Ok(count),
            };
            count += 1;
            if let Some(newer) = resource_version(&line) {
                self.version = Some(newer);
            }
            let fact = match watch_event(&line) {
                Ok(WatchEvent::Is(object)) => object_fact(object),
                Ok(WatchEvent::Gone(object)) => gone_fact(object),
                Ok(WatchEvent::Bookmark { .. }) => {
                    self.bookmarks = true;
                    Some(Fact::Alive)
                }
                Ok(WatchEvent::Error { code: 410, .. }) => return Err(ApiError::Expired),
                Ok(WatchEvent::Error { code, message }) => {
                    let why = format!("the watch failed: {code} {message}");
                    let fix = if message.contains("etcd") {
                        "check etcd (crictl ps --name etcd)"
                    } else {
                        "read the API server's log"
                    };
                    return Err(ApiError::Failed(failed(&self.what, conn, &why, ErrorKind::Other, fix)));
                }
                Err(DecodeError::TooLarge) => {
                    self.fresh = false;
                    out.leave_out(1, OmitReason::ObjectSize).await;
                    continue;
                }
                Err(_) => None,
            };
            self.fresh = false;
            // An object that cannot be decoded does not affect the others.
            let preferred = self.what.is_preferred(line.as_bytes());
            out.emit_near(fact.unwrap_or(Fact::Unreadable { count: 1 }), preferred).await;
        }
    }

    fn broken(&self, conn: &ApiConnection, why: BodyError) -> ApiError {
        match why {
            BodyError::Connection(error) => ApiError::Failed(request_failed(&self.what.request(), conn, &error)),
            BodyError::TimedOut(waited) => ApiError::Failed(timed_out(&self.what.request(), conn, waited)),
            BodyError::TooLong => malformed(&self.what, conn, "the response is longer than an object may be"),
        }
    }
}

/// The end of one page, whose objects were emitted.
struct ListPage {
    head: ListMeta,
    /// The page was read to its end.
    whole: bool,
}

/// How far a list of several pages is.
struct ListProgress {
    pages: u32,
    read: usize,
    objects: usize,
    is_epoch_open: bool,
}

impl ListProgress {
    async fn begin(&mut self, out: &mut ObservationSink) {
        if !std::mem::replace(&mut self.is_epoch_open, true) {
            out.begin_epoch().await;
        }
    }
}

async fn emit_objects(found: &mut Vec<(Object, bool)>, out: &mut ObservationSink) {
    let (mut unreadable, mut too_large) = (0, 0);
    for (object, preferred) in found.drain(..) {
        match object {
            Object::Unreadable(DecodeError::TooLarge) => too_large += 1,
            object => match object_fact(object) {
                Some(fact) => out.emit_near(fact, preferred).await,
                None => unreadable += 1,
            },
        }
    }
    if unreadable > 0 {
        out.emit(Fact::Unreadable { count: unreadable }).await;
    }
    if too_large > 0 {
        out.leave_out(too_large, OmitReason::ObjectSize).await;
    }
}

impl Attempt for ListWatch {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        // Changes since the last attempt are unknown.
        self.version = None;
        self.run(out).await
    }
}
