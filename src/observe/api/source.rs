//! Owns one list and its watch: epochs, versions, bookmarks, and what is said of each object.
//! It must not begin a new epoch while the last version still serves, nor ask again at once where nothing came of it.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde::Deserialize;

use super::super::{Attempt, Failure, LeftOut, Outlet};
use super::ApiAccess;
use super::access::Way;
use super::answer::{Ended, failed, malformed, refused};
use super::stream::{Broken, Line, Lines, Pieces, whole};
use super::trouble::{late, unanswered};
use super::watched::Watched;
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
pub struct Pace {
    /// Longest wait for an answer to begin.
    pub answer: Duration,
    /// Longest time for a page of a list to come in.
    pub page: Duration,
    /// How long a watch is asked to last, in whole seconds; the server ends it then.
    pub watch: Duration,
    /// What the server may be late in ending it.
    pub slack: Duration,
    /// A watch that is silent for longer is dead, where the server sends bookmarks (every minute). Of events it sends
    /// none: there is no cache of them that would know.
    pub silence: Duration,
    /// A watch that ends sooner and has said nothing is a failure: something on the way ends it.
    pub short: Duration,
}

impl Default for Pace {
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
    what: Watched,
    pace: Pace,
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
    pub fn new(access: ApiAccess, what: Watched) -> Self {
        Self { access, what, pace: Pace::default(), version: None, fresh: false, bookmarks: false, denied: false }
    }

    /// With other deadlines.
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// Runs until something fails. At once and once only, an expired version is followed by a new list, a 401 by a new
    /// client.
    async fn run(&mut self, out: &mut Outlet) -> Failure {
        loop {
            let way = match self.access.way().await {
                Ok(way) => way,
                Err(failure) => return failure,
            };
            out.verified(way.verified).await;
            match self.round(&way, out).await {
                // What was left out comes with the next list, if there is room for it now.
                Ok(()) if out.wants_list() => self.version = None,
                Ok(()) => {}
                Err(Ended::Expired) if !self.fresh => self.version = None,
                Err(Ended::Expired) => {
                    let fix = "the API server forgets faster than it can be read, or several that differ answer";
                    return failed(&self.what, &way, "410 Gone, right after the list", ErrorKind::Other, fix);
                }
                Err(Ended::Unauthorized(failure)) => {
                    self.access.forget(&way).await;
                    // The files may have been rotated meanwhile.
                    if std::mem::replace(&mut self.denied, true) {
                        return failure;
                    }
                }
                Err(Ended::Failed(failure) | Ended::Absent(failure)) => return failure,
            }
        }
    }

    /// What is read by its name, whole; None when there is none.
    pub(super) async fn one(&mut self) -> Result<Option<Object>, Failure> {
        loop {
            let way = self.access.way().await?;
            match self.one_by(&way).await {
                Ok(object) => return Ok(Some(object)),
                Err(Ended::Absent(_)) => return Ok(None),
                Err(Ended::Unauthorized(failure)) => {
                    self.access.forget(&way).await;
                    if std::mem::replace(&mut self.denied, true) {
                        return Err(failure);
                    }
                }
                Err(Ended::Failed(failure)) => return Err(failure),
                Err(Ended::Expired) => {
                    return Err(failed(&self.what, &way, "410 Gone", ErrorKind::Other, ""));
                }
            }
        }
    }

    async fn one_by(&mut self, way: &Way) -> Result<Object, Ended> {
        const NO_OBJECT: &str = "the answer is not what was asked for";
        let response = self.get(way, "").await?;
        let body = whole(response, MAX_ITEM, self.pace.page).await.map_err(|e| self.broken(way, e))?;
        let found = String::from_utf8(body).ok().and_then(|body| objects(&body).ok()?.into_iter().next());
        found.ok_or_else(|| malformed(&self.what, way, NO_OBJECT))
    }

    /// A list, if one is needed, and one watch.
    async fn round(&mut self, way: &Way, out: &mut Outlet) -> Result<(), Ended> {
        let version = match &self.version {
            Some(version) => version.clone(),
            None => self.list(way, out).await?,
        };
        self.version = Some(version.clone());
        let began = Instant::now();
        let said = self.watch(way, &version, out).await?;
        if said == 0 && began.elapsed() < self.pace.short {
            let fix = "a proxy or a load balancer on the way ends what does not speak at once";
            return Err(Ended::Failed(failed(&self.what, way, "the watch ended at once", ErrorKind::Other, fix)));
        }
        Ok(())
    }

    async fn get(&mut self, way: &Way, query: &str) -> Result<Response<Body>, Ended> {
        let request = Request::get(self.what.uri(query)).body(Body::empty());
        let request = request.map_err(|e| malformed(&self.what, way, &e.to_string()))?;
        let response = match tokio::time::timeout(self.pace.answer, way.client.send(request)).await {
            Err(_) => return Err(Ended::Failed(late(&self.what.request(), way, self.pace.answer))),
            Ok(Err(error)) => return Err(Ended::Failed(unanswered(&self.what.request(), way, &error))),
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::OK {
            self.denied = false;
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = whole(response, MAX_REFUSAL, self.pace.answer).await.unwrap_or_default();
        Err(refused(&self.what, way, status, &headers, &body))
    }

    /// Lists everything as a new epoch; gives the version to watch from. Nothing is said before the first object is there.
    async fn list(&mut self, way: &Way, out: &mut Outlet) -> Result<String, Ended> {
        self.fresh = true;
        let mut list = ListUnderWay { pages: 0, read: 0, begun: false };
        let mut query = format!("limit={PAGE}");
        loop {
            let page = self.page(way, &query, &mut list, out).await?;
            let Page { head, whole } = page;
            list.pages += 1;
            list.begin(out).await;
            if let Some(count) = head.remaining_item_count {
                out.say(Fact::Remaining { count }).await;
            }
            let more = Some(head.more).filter(|more| !more.is_empty());
            match more {
                Some(more) if whole && list.pages < MAX_PAGES => query = format!("limit={PAGE}&continue={more}"),
                more => {
                    if more.is_some() || !whole {
                        let rest = head.remaining_item_count.unwrap_or(1).max(1);
                        out.leave_out(rest, LeftOut::List).await;
                    }
                    out.end_epoch().await;
                    return Ok(head.resource_version);
                }
            }
        }
    }

    /// Reads one page, and says its objects as they come in.
    async fn page(&mut self, way: &Way, query: &str, list: &mut ListUnderWay, out: &mut Outlet) -> Result<Page, Ended> {
        let no_list = |what: &Watched| malformed(what, way, NO_LIST);
        let mut pieces = Pieces::new(self.get(way, query).await?, self.pace.page);
        let (mut splitter, mut checked) = (ListSplitter::default(), false);
        let mut found = Vec::new();
        while let Some(piece) = pieces.next().await.map_err(|e| self.broken(way, e))? {
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
                out.live().await;
                list.begin(out).await;
                say_all(&mut found, out).await;
            }
            // Where some are preferred, those may still come.
            let in_vain = !self.what.has_near() && out.left_out() > MAX_LEFT_OUT;
            if list.read > MAX_LIST || in_vain {
                return Ok(Page { head: splitter.head_so_far().metadata, whole: false });
            }
        }
        let head = splitter.finish().map_err(|_| no_list(&self.what))?;
        if !head.kind.ends_with("List") || head.metadata.resource_version.is_empty() {
            return Err(no_list(&self.what));
        }
        out.live().await;
        Ok(Page { head: head.metadata, whole: true })
    }

    /// Watches until the server ends it; gives how many lines it brought. What comes moves the version on.
    async fn watch(&mut self, way: &Way, version: &str, out: &mut Outlet) -> Result<u64, Ended> {
        let seconds = self.pace.watch.as_secs().max(1);
        let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}");
        let mut lines = Lines::new(self.get(way, &query).await?);
        out.live().await;
        // Where there are no bookmarks, this is all that says that it still answers.
        out.say(Fact::Alive).await;
        let mut said = 0;
        loop {
            let idle = if self.bookmarks { self.pace.silence } else { self.pace.watch + self.pace.slack };
            let line = match lines.next(idle).await.map_err(|e| self.broken(way, e))? {
                Some(Line::Is(line)) => String::from_utf8(line).unwrap_or_default(),
                Some(Line::TooLong) => {
                    (said, self.fresh) = (said + 1, false);
                    out.leave_out(1, LeftOut::Object).await;
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
                Ok(WatchEvent::Error { code: 410, .. }) => return Err(Ended::Expired),
                Ok(WatchEvent::Error { code, message }) => {
                    let why = format!("the watch ended: {code} {message}");
                    let fix = if message.contains("etcd") { "look at etcd" } else { "look at the API server's log" };
                    return Err(Ended::Failed(failed(&self.what, way, &why, ErrorKind::Other, fix)));
                }
                Err(DecodeError::TooLarge) => {
                    self.fresh = false;
                    out.leave_out(1, LeftOut::Object).await;
                    continue;
                }
                Err(_) => None,
            };
            self.fresh = false;
            // An object that cannot be read costs itself alone.
            let near = self.what.is_near(line.as_bytes());
            out.say_of(fact.unwrap_or(Fact::Unreadable { count: 1 }), near).await;
        }
    }

    fn broken(&self, way: &Way, why: Broken) -> Ended {
        match why {
            Broken::Connection(error) => Ended::Failed(unanswered(&self.what.request(), way, &error)),
            Broken::Late(waited) => Ended::Failed(late(&self.what.request(), way, waited)),
            Broken::TooLong => malformed(&self.what, way, "the answer is longer than an object"),
        }
    }
}

/// One page of a list, its objects said.
struct Page {
    head: ListMeta,
    /// It was read to its end.
    whole: bool,
}

/// A list of several pages.
struct ListUnderWay {
    pages: u32,
    read: usize,
    begun: bool,
}

impl ListUnderWay {
    async fn begin(&mut self, out: &mut Outlet) {
        if !std::mem::replace(&mut self.begun, true) {
            out.begin_epoch().await;
        }
    }
}

async fn say_all(found: &mut Vec<(Object, bool)>, out: &mut Outlet) {
    let (mut unreadable, mut too_large) = (0, 0);
    for (object, near) in found.drain(..) {
        match object {
            Object::Unreadable(DecodeError::TooLarge) => too_large += 1,
            object => match is(object) {
                Some(fact) => out.say_of(fact, near).await,
                None => unreadable += 1,
            },
        }
    }
    if unreadable > 0 {
        out.say(Fact::Unreadable { count: unreadable }).await;
    }
    if too_large > 0 {
        out.leave_out(too_large, LeftOut::Object).await;
    }
}

impl Attempt for ListWatch {
    async fn attempt(&mut self, out: &mut Outlet) -> Failure {
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
