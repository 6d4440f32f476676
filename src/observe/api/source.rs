//! Owns one list and its watch: epochs, versions, bookmarks, and what is said of each object.
//! It must not begin a new epoch while the last version still serves.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Attempt, Failure, Outlet};
use super::ApiAccess;
use super::answer::{Ended, late, malformed, refused, unanswered};
use super::stream::{Lines, whole};
use crate::decode::{Object, WatchEvent, objects, watch_event};
use crate::observation::{Fact, Source};
use crate::text::Text;

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// Longest time for a page, or for the begin of a watch.
const DEADLINE: Duration = Duration::from_secs(15);
/// How long a watch is asked to last, seconds; the server ends it then.
const WATCH_S: u32 = 240;
/// A watch that says nothing for so long is dead: bookmarks come every minute.
const IDLE: Duration = Duration::from_secs(150);

/// What is listed and watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Whose observations these are.
    pub source: Source,
    /// `pods`, `nodes`, `events`.
    resource: &'static str,
    selector: String,
}

impl Watched {
    /// The pods bound to a node.
    pub fn pods(node: &str) -> Self {
        Self { source: Source::ApiPods, resource: "pods", selector: format!("spec.nodeName={node}") }
    }

    /// The pods that no scheduler has placed yet.
    pub fn unbound() -> Self {
        Self { source: Source::ApiUnbound, resource: "pods", selector: "spec.nodeName=".into() }
    }

    /// The node object.
    pub fn node(node: &str) -> Self {
        Self { source: Source::ApiNode, resource: "nodes", selector: format!("metadata.name={node}") }
    }

    /// All events: those about a pod cannot be selected by the pod's node.
    pub fn events() -> Self {
        Self { source: Source::ApiEvents, resource: "events", selector: String::new() }
    }

    /// The request in words.
    pub(super) fn request(&self) -> String {
        match self.selector.as_str() {
            "" => format!("list and watch {}", self.resource),
            selector => format!("list and watch {} with fieldSelector {selector}", self.resource),
        }
    }

    /// What would grant it.
    pub(super) fn grant(&self) -> String {
        let why = match self.source {
            Source::ApiUnbound => "a node's own credential never may: pods without a node are not visible from here. ",
            Source::ApiEvents => "a node's own credential never may. ",
            _ => "",
        };
        format!(
            "{why}Give a credential that may with --kubeconfig, or grant it: kubectl create clusterrole kpodtrace-{0} \
             --verb=list,watch --resource={0}",
            self.resource
        )
    }

    fn uri(&self, query: &str) -> String {
        let selector = self.selector.replace('=', "%3D");
        let field = if selector.is_empty() { String::new() } else { format!("&fieldSelector={selector}") };
        format!("/api/v1/{}?{query}{field}", self.resource)
    }
}

/// Lists and watches one thing.
pub struct ListWatch {
    access: ApiAccess,
    what: Watched,
    /// Version to go on from; None when everything must be listed.
    version: Option<String>,
}

impl ListWatch {
    /// A source of `what`.
    pub fn new(access: ApiAccess, what: Watched) -> Self {
        Self { access, what, version: None }
    }

    async fn run(&mut self, out: &mut Outlet) -> Result<(), Ended> {
        loop {
            let (client, server) = self.access.client().await.map_err(Ended::Failed)?;
            let version = match self.version.take() {
                Some(version) => version,
                None => self.list(&client, &server, out).await?,
            };
            match self.watch(&client, &server, version, out).await {
                Ok(version) => self.version = Some(version),
                Err(Ended::Expired) => {}
                Err(ended) => return Err(ended),
            }
        }
    }

    async fn get(&self, client: &kube::Client, server: &str, query: &str) -> Result<Response<Body>, Ended> {
        let request = Request::get(self.what.uri(query)).body(Body::empty());
        let request = request.map_err(|e| malformed(&self.what, &e.to_string()))?;
        let response = match tokio::time::timeout(DEADLINE, client.send(request)).await {
            Err(_) => return Err(late(&self.what, server, DEADLINE)),
            Ok(Err(error)) => return Err(unanswered(&self.what, server, &error)),
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = whole(&self.what, server, response, DEADLINE).await.unwrap_or_default();
        Err(refused(&self.what, status, &headers, &body))
    }

    /// Lists everything as a new epoch; gives the version to watch from. Nothing is said before the first page is there.
    async fn list(&self, client: &kube::Client, server: &str, out: &mut Outlet) -> Result<String, Ended> {
        #[derive(Deserialize)]
        struct Page<'a> {
            #[serde(default)]
            metadata: PageMeta,
            #[serde(borrow, default)]
            items: Option<Vec<&'a RawValue>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct PageMeta {
            resource_version: String,
            #[serde(rename = "continue")]
            more: String,
        }
        let mut more = String::new();
        let mut begun = false;
        loop {
            let query = match more.as_str() {
                "" => format!("limit={PAGE}"),
                more => format!("limit={PAGE}&continue={more}"),
            };
            let response = self.get(client, server, &query).await?;
            let body = whole(&self.what, server, response, DEADLINE).await?;
            let body = String::from_utf8(body).map_err(|_| malformed(&self.what, "the list is not UTF-8"))?;
            let page: Page =
                serde_json::from_str(&body).map_err(|_| malformed(&self.what, "the answer is not a list"))?;
            let found = objects(&body).map_err(|_| malformed(&self.what, "the answer is not a list"))?;
            if page.items.is_some_and(|items| items.len() != found.len()) {
                return Err(malformed(&self.what, "the answer is not a list"));
            }
            out.live().await;
            if !std::mem::replace(&mut begun, true) {
                out.begin_epoch().await;
            }
            for object in found {
                if let Some(fact) = is(object) {
                    out.say(fact).await;
                }
            }
            if page.metadata.more.is_empty() {
                out.end_epoch().await;
                return Ok(page.metadata.resource_version);
            }
            more = page.metadata.more;
        }
    }

    /// Watches until the server ends it; gives the version to go on from.
    async fn watch(
        &self,
        client: &kube::Client,
        server: &str,
        mut version: String,
        out: &mut Outlet,
    ) -> Result<String, Ended> {
        let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_S}&resourceVersion={version}");
        let response = self.get(client, server, &query).await?;
        out.live().await;
        let mut lines = Lines::new(response);
        while let Some(line) = lines.next(&self.what, server, IDLE).await? {
            let Ok(line) = String::from_utf8(line) else { continue };
            if let Some(newer) = resource_version(&line) {
                version = newer;
            }
            match watch_event(&line) {
                Ok(WatchEvent::Is(object)) => {
                    if let Some(fact) = is(object) {
                        out.say(fact).await;
                    }
                }
                Ok(WatchEvent::Gone(object)) => {
                    if let Some(fact) = gone(object) {
                        out.say(fact).await;
                    }
                }
                Ok(WatchEvent::Bookmark { .. }) => out.say(Fact::Alive).await,
                // Almost always 410: whatever it is, only a new listing helps.
                Ok(WatchEvent::Error { .. }) => return Err(Ended::Expired),
                // An object that cannot be read costs itself alone.
                Err(_) => {}
            }
        }
        Ok(version)
    }
}

impl Attempt for ListWatch {
    async fn attempt(&mut self, out: &mut Outlet) -> Failure {
        let ended = match self.run(out).await {
            Ok(()) => Ended::Expired,
            Err(ended) => ended,
        };
        // What happened meanwhile is not known: the next attempt lists again.
        self.version = None;
        if matches!(ended, Ended::Unauthorized(_)) {
            self.access.forget().await;
        }
        ended.into()
    }
}

fn is(object: Object) -> Option<Fact> {
    match object {
        Object::Pod(pod) => Some(Fact::Pod(pod)),
        Object::Node(node) => Some(Fact::Node(node)),
        Object::Event(event) => Some(Fact::Event(event)),
        Object::OtherKind(_) | Object::Unreadable(_) => None,
    }
}

fn gone(object: Object) -> Option<Fact> {
    let uid = |uid: &Text| uid.clone();
    match object {
        Object::Pod(pod) => Some(Fact::PodGone(uid(&pod.metadata.uid))),
        Object::Node(node) => Some(Fact::NodeGone(uid(&node.metadata.name))),
        Object::Event(event) => Some(Fact::EventGone(uid(&event.metadata.uid))),
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
