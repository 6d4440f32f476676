//! Owns one list and its watch: epochs, versions, bookmarks, and what is said of each object.
//! It must not begin a new epoch while the last version still serves, nor ask again at once where nothing came of it.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde::Deserialize;

use super::super::{Attempt, Failure, Outlet};
use super::ApiAccess;
use super::access::Way;
use super::answer::{Ended, failed, malformed, refused};
use super::stream::{Broken, Line, Lines, whole};
use super::trouble::{late, unanswered};
use super::watched::Watched;
use crate::decode::{Object, WatchEvent, objects, watch_event};
use crate::observation::{ErrorKind, Fact};

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// Longest page of a list, bytes.
const MAX_PAGE: usize = 256 << 20;
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
        let body = whole(response, MAX_PAGE, self.pace.page).await.map_err(|e| self.broken(way, e))?;
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

    /// Lists everything as a new epoch; gives the version to watch from. Nothing is said before the first page is there.
    async fn list(&mut self, way: &Way, out: &mut Outlet) -> Result<String, Ended> {
        #[derive(Deserialize)]
        struct Page {
            kind: String,
            metadata: PageMeta,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PageMeta {
            resource_version: String,
            #[serde(default, rename = "continue")]
            more: Option<String>,
            #[serde(default)]
            remaining_item_count: Option<u64>,
        }
        self.fresh = true;
        let mut query = format!("limit={PAGE}");
        let mut first = true;
        loop {
            let response = self.get(way, &query).await?;
            let body = whole(response, MAX_PAGE, self.pace.page).await.map_err(|e| self.broken(way, e))?;
            let body = String::from_utf8(body).map_err(|_| malformed(&self.what, way, "the list is not UTF-8"))?;
            let page: Page = serde_json::from_str(&body).map_err(|_| malformed(&self.what, way, NO_LIST))?;
            if !page.kind.ends_with("List") {
                return Err(malformed(&self.what, way, NO_LIST));
            }
            let found = objects(&body).map_err(|_| malformed(&self.what, way, NO_LIST))?;
            out.live().await;
            if std::mem::take(&mut first) {
                out.begin_epoch().await;
            }
            let mut unreadable = 0;
            for object in found {
                match is(object) {
                    Some(fact) => out.say(fact).await,
                    None => unreadable += 1,
                }
            }
            if unreadable > 0 {
                out.say(Fact::Unreadable { count: unreadable }).await;
            }
            if let Some(count) = page.metadata.remaining_item_count {
                out.say(Fact::Remaining { count }).await;
            }
            match page.metadata.more.filter(|more| !more.is_empty()) {
                Some(more) => query = format!("limit={PAGE}&continue={more}"),
                None => {
                    out.end_epoch().await;
                    return Ok(page.metadata.resource_version);
                }
            }
        }
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
                Some(Line::TooLong) => String::new(),
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
                Err(_) => None,
            };
            self.fresh = false;
            // An object that cannot be read costs itself alone.
            out.say(fact.unwrap_or(Fact::Unreadable { count: 1 })).await;
        }
    }

    fn broken(&self, way: &Way, why: Broken) -> Ended {
        match why {
            Broken::Connection(error) => Ended::Failed(unanswered(&self.what.request(), way, &error)),
            Broken::Late(waited) => Ended::Failed(late(&self.what.request(), way, waited)),
            Broken::TooLong => malformed(&self.what, way, "the list is longer than 256 MiB"),
        }
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
