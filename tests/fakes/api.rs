//! A fake API server on a TLS socket: lists and watches with versions, bookmarks and configurable faults.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Where the leases of nodes are.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// One change of one object.
struct Change {
    version: u64,
    resource: &'static str,
    /// None when the object is new.
    before: Option<Value>,
    /// None when it is gone.
    after: Option<Value>,
}

#[derive(Default)]
pub struct State {
    version: u64,
    objects: BTreeMap<(&'static str, String), Value>,
    history: Vec<Change>,
    /// Versions up to this are forgotten.
    compacted: u64,
    /// Tokens that are accepted, and whose they are.
    pub tokens: BTreeMap<String, String>,
    /// Client certificates (DER) that are accepted, and whose they are.
    pub certificates: BTreeMap<Vec<u8>, String>,
    /// Response to every request: code, message, Retry-After.
    pub refuse: Option<(u16, &'static str, Option<u64>)>,
    /// Answer to watches alone.
    pub refuse_watch: Option<u16>,
    /// The next watch breaks off in the middle of an event.
    pub reset: bool,
    /// Watches end without an event.
    pub end_at_once: bool,
    /// Watches bring no bookmarks, as those of events do.
    pub no_bookmarks: bool,
    /// Watches send nothing.
    pub mute: bool,
    /// Answers begin only after this.
    pub slow: Duration,
    /// Pages after the first are refused: their list has expired.
    pub pages_expire: bool,
    /// Lines that watches bring besides, whatever is in them.
    pub lines: VecDeque<String>,
    /// Logs by `namespace/pod/container`, the previous run's with `/previous`: whole lines that begin with a time. One that
    /// is followed continues with lines that are added here, until it is removed.
    pub logs: BTreeMap<String, String>,
    /// Pods that are deleted, as `namespace/pod`: they have no log.
    pub deleted: BTreeSet<String>,
    /// What was asked, as `VERB path?query`.
    pub asked: Vec<String>,
}

/// The server; it and all its connections end when it is dropped.
pub struct FakeApi {
    pub address: SocketAddr,
    ca: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A certificate authority, a server certificate, and certificates for clients.
pub struct Certificates {
    ca: CertifiedIssuer<'static, KeyPair>,
    acceptor: TlsAcceptor,
}

impl Certificates {
    pub fn new() -> Self {
        Self::for_name("127.0.0.1")
    }

    pub fn for_name(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &ca).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        Self { ca, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }

    /// A client's certificate in DER, and certificate and key in one PEM text, as kubelets keep them.
    pub fn client(&self, user: &str) -> (Vec<u8>, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        params.distinguished_name.push(DnType::CommonName, user);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.ca).unwrap();
        (certificate.der().to_vec(), format!("{}{}", certificate.pem(), key.serialize_pem()))
    }
}

impl FakeApi {
    /// Listens on `port`, or on any when it is 0. Who has the token `t0` may everything.
    pub async fn start(certificates: &Certificates, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let tokens = BTreeMap::from([("t0".to_owned(), "admin".to_owned())]);
        let state = Arc::new(Mutex::new(State { tokens, version: 1000, ..State::default() }));
        let (acceptor, shared) = (certificates.acceptor.clone(), Arc::clone(&state));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    let Ok(socket) = acceptor.accept(socket).await else { return };
                    let shown = socket.get_ref().1.peer_certificates().and_then(|c| c.first()).map(|c| c.to_vec());
                    let serve = service_fn(move |request| {
                        let (state, shown) = (Arc::clone(&state), shown.clone());
                        async move {
                            let slow = state.lock().unwrap().slow;
                            tokio::time::sleep(slow).await;
                            Ok::<_, Infallible>(answer(&state, shown.as_deref(), &request))
                        }
                    });
                    _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), serve).await;
                });
            }
        });
        Self { address, ca: certificates.ca.pem(), state, task }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// A kubeconfig for this server; `user` is what its user has, as YAML in one line.
    pub fn kubeconfig(&self, user: &str) -> String {
        kubeconfig(&self.url(), Some(&self.ca), user)
    }

    /// Puts an object there, or changes it.
    pub fn put(&self, resource: &'static str, mut object: Value) {
        let mut state = self.state();
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let key = (resource, object["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        let before = state.objects.insert(key, object.clone());
        let version = state.version;
        state.history.push(Change { version, resource, before, after: Some(object) });
    }

    /// Takes an object away.
    pub fn delete(&self, resource: &'static str, uid: &str) {
        let mut state = self.state();
        state.version += 1;
        let before = state.objects.remove(&(resource, uid.to_owned()));
        assert!(before.is_some(), "{uid} is there");
        let version = state.version;
        state.history.push(Change { version, resource, before, after: None });
    }

    /// Forgets all history, and ends the watches that would need it.
    pub fn compact(&self) {
        let mut state = self.state();
        state.version += 1;
        state.compacted = state.version;
        state.history.clear();
    }
}

/// A kubeconfig; `user` is what its user has, as YAML in one line.
pub fn kubeconfig(server: &str, ca: Option<&str>, user: &str) -> String {
    let ca = ca.map(|pem| format!(", certificate-authority-data: {}", STANDARD.encode(pem))).unwrap_or_default();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster: {{server: '{server}'{ca}}}\n\
         contexts:\n- name: c\n  context: {{cluster: k, user: u}}\nusers:\n- name: u\n  user: {{{user}}}\n"
    )
}

fn answer(state: &Arc<Mutex<State>>, shown: Option<&[u8]>, request: &Request<Incoming>) -> Response<Body> {
    let mut s = state.lock().unwrap();
    let uri = request.uri();
    s.asked.push(format!("{} {uri}", request.method()));
    if let Some((code, message, after)) = s.refuse {
        return status(code, message, after);
    }
    let token = request.headers().get("authorization").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let by_token = token.strip_prefix("Bearer ").and_then(|t| s.tokens.get(t));
    let Some(user) = by_token.or_else(|| s.certificates.get(shown?)).cloned() else {
        return status(401, "Unauthorized", None);
    };
    let query: BTreeMap<&str, String> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|p| p.split_once('='))
        .map(|(k, v)| (k, v.replace("%3D", "=")))
        .collect();
    if let Some(path) = uri.path().strip_prefix("/api/v1/namespaces/").and_then(|path| path.strip_suffix("/log")) {
        if let Some(node) = user.strip_prefix("system:node:") {
            let message = format!(
                "pods \"web\" is forbidden: User \"system:node:{node}\" cannot get resource \"pods/log\" in API group \"\""
            );
            return status(403, &message, None);
        }
        return log(state, &s, &path.replace("/pods/", "/"), &query);
    }
    let (all, name) = match uri.path().strip_prefix(LEASES).and_then(|rest| rest.strip_prefix('/')) {
        Some(name) => (LEASES, Some(name)),
        None => (uri.path(), None),
    };
    let resource = match all {
        LEASES => "leases",
        "/api/v1/pods" => "pods",
        "/api/v1/nodes" => "nodes",
        "/api/v1/events" => "events",
        path => return status(404, path, None),
    };
    let selector = query.get("fieldSelector").cloned().unwrap_or_default();
    let watching = query.get("watch").map(String::as_str) == Some("1");
    let verb = match name {
        Some(_) => "get",
        None if watching => "watch",
        None => "list",
    };
    if let Some(why) = not_for(&user, resource, &selector, name) {
        let (group, place) = match resource {
            "leases" => ("coordination.k8s.io", "in the namespace \"kube-node-lease\""),
            _ => ("", "at the cluster scope"),
        };
        let message = format!(
            "{resource} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" \
             {place}{why}"
        );
        return status(403, &message, None);
    }
    if let Some(name) = name {
        return match s.objects.iter().find(|((r, _), o)| *r == resource && o["metadata"]["name"] == name) {
            Some((_, object)) => whole(200, object.to_string(), None),
            None => status(404, &format!("{resource} \"{name}\" not found"), None),
        };
    }
    if watching {
        if let Some(code) = s.refuse_watch {
            return status(code, "too old resource version", None);
        }
        let seconds: u64 = query["timeoutSeconds"].parse().unwrap();
        let watch = Watch {
            state: Arc::clone(state),
            resource,
            selector,
            version: query["resourceVersion"].parse().unwrap(),
            reset: std::mem::take(&mut s.reset),
            bookmark: Instant::now(),
            end: Instant::now() + if s.end_at_once { Duration::ZERO } else { Duration::from_secs(seconds) },
        };
        return watch.answer();
    }
    let items: Vec<&Value> =
        s.objects.iter().filter(|((r, _), o)| *r == resource && selected(o, &selector)).map(|(_, o)| o).collect();
    // At most two items per page, so that lists have several pages; the limit is only an upper bound.
    let limit = query["limit"].parse::<usize>().unwrap().min(2);
    let skip: usize = query.get("continue").and_then(|v| v.parse().ok()).unwrap_or(0);
    if skip > 0 && s.pages_expire {
        return status(410, "The provided continue parameter is too old", None);
    }
    let page: Vec<&Value> = items.iter().skip(skip).take(limit).copied().collect();
    let more = if skip + limit < items.len() { json!((skip + limit).to_string()) } else { json!("") };
    let kind = match resource {
        "pods" => "PodList",
        "nodes" => "NodeList",
        "leases" => "LeaseList",
        _ => "EventList",
    };
    let mut list = json!({"kind": kind, "apiVersion": "v1", "items": page,
        "metadata": {"resourceVersion": s.version.to_string(), "continue": more}});
    // Only for complete lists.
    if more != "" && selector.is_empty() {
        list["metadata"]["remainingItemCount"] = json!(items.len() - skip - limit);
    }
    whole(200, list.to_string(), None)
}

/// The requested lines of a log; with `follow` also lines added later.
fn log(shared: &Arc<Mutex<State>>, state: &State, pod: &str, query: &BTreeMap<&str, String>) -> Response<Body> {
    let asked = |key: &str| query.get(key).map(String::as_str).unwrap_or_default();
    let container = asked("container");
    let previous = if asked("previous") == "true" { "/previous" } else { "" };
    let key = format!("{pod}/{container}{previous}");
    if state.deleted.contains(pod) {
        return status(404, &format!("pods \"{pod}\" not found"), None);
    }
    let Some(all) = state.logs.get(&key) else {
        return match previous.is_empty() {
            true => status(
                400,
                &format!("container \"{container}\" in pod \"web\" is waiting to start: ContainerCreating"),
                None,
            ),
            false => {
                status(400, &format!("previous terminated container \"{container}\" in pod \"web\" not found"), None)
            }
        };
    };
    assert_eq!(asked("timestamps"), "true");
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let tail = asked("tailLines").parse().unwrap_or(usize::MAX);
    // A server compares seconds.
    let since = asked("sinceTime").trim_end_matches('Z').replace("%3A", ":");
    let lines: Vec<&str> =
        lines[lines.len().saturating_sub(tail)..].iter().filter(|l| l[..19] >= *since).copied().collect();
    if asked("follow") != "true" {
        return whole(200, lines.concat(), None);
    }
    let (shared, told) = (Arc::clone(shared), all.len());
    let first = stream::once(std::future::ready(Ok(Frame::data(Bytes::from(lines.concat())))));
    let rest = stream::unfold(told, move |told| {
        let (shared, key) = (Arc::clone(&shared), key.clone());
        async move {
            loop {
                let more = shared.lock().unwrap().logs.get(&key)?.get(told..).map(str::to_owned)?;
                if !more.is_empty() {
                    return Some((Ok(Frame::data(Bytes::from(more.clone()))), told + more.len()));
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
    Response::new(StreamBody::new(futures_util::StreamExt::chain(first, rest)).boxed_unsync())
}

/// Why the Node authorizer does not let a node have this; others may have everything.
fn not_for(user: &str, resource: &str, selector: &str, name: Option<&str>) -> Option<String> {
    // A server without leases.
    if user == "no-leases" {
        return (resource == "leases").then(String::new);
    }
    let node = user.strip_prefix("system:node:")?;
    match resource {
        "leases" if name == Some(node) => None,
        "leases" if name.is_none() => Some(": can only get, create, update, patch, or delete a node lease".into()),
        "leases" => Some(": can only access node lease with the same name as the requesting node".into()),
        "pods" if selector == format!("spec.nodeName={node}") => None,
        "nodes" if selector == format!("metadata.name={node}") => None,
        "pods" => Some(": can only list/watch pods with spec.nodeName field selector".into()),
        "nodes" => Some(format!(": node '{node}' cannot read all nodes, only its own Node object")),
        _ => Some(String::new()),
    }
}

fn selected(object: &Value, selector: &str) -> bool {
    match selector.split_once('=') {
        Some(("spec.nodeName", node)) => object["spec"]["nodeName"].as_str().unwrap_or_default() == node,
        Some(("metadata.name", name)) => object["metadata"]["name"] == name,
        _ => true,
    }
}

struct Watch {
    state: Arc<Mutex<State>>,
    resource: &'static str,
    selector: String,
    version: u64,
    reset: bool,
    bookmark: Instant,
    end: Instant,
}

/// What a watch does next.
enum Next {
    Line(String),
    LastLine(String),
    /// Half of a line, and then the end of the connection.
    Break(String),
    End,
    Wait,
}

impl Watch {
    fn answer(self) -> Response<Body> {
        let body = stream::unfold((Some(self), false), |(watch, broken)| async move {
            if broken {
                return Some((Err(std::io::Error::other("reset")), (None, false)));
            }
            let mut watch = watch?;
            let frame = |line: String| Ok(Frame::data(Bytes::from(line)));
            loop {
                match watch.next() {
                    Next::Line(line) => return Some((frame(line + "\n"), (Some(watch), false))),
                    Next::LastLine(line) => return Some((frame(line + "\n"), (None, false))),
                    Next::Break(half) => return Some((frame(half), (None, true))),
                    Next::End => return None,
                    Next::Wait => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        Response::new(StreamBody::new(body).boxed_unsync())
    }

    fn next(&mut self) -> Next {
        let mut state = self.state.lock().unwrap();
        if state.mute {
            return Next::Wait;
        }
        if self.version < state.compacted {
            let status =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
            return Next::LastLine(json!({"type": "ERROR", "object": status}).to_string());
        }
        if let Some(line) = state.lines.pop_front() {
            return Next::Line(line);
        }
        let event = state.history.iter().filter(|c| c.version > self.version).find_map(|c| self.event(c));
        if let Some((version, event)) = event {
            let line = event.to_string();
            if self.reset {
                return Next::Break(line[..line.len() / 2].to_owned());
            }
            self.version = version;
            return Next::Line(line);
        }
        if Instant::now() >= self.end {
            return Next::End;
        }
        if !state.no_bookmarks && self.bookmark.elapsed() > Duration::from_millis(100) {
            self.bookmark = Instant::now();
            self.version = state.version;
            let object = json!({"metadata": {"resourceVersion": state.version.to_string()}});
            return Next::Line(json!({"type": "BOOKMARK", "object": object}).to_string());
        }
        Next::Wait
    }

    /// The event type for this watch: an object that leaves the selection is DELETED, with its previous state.
    fn event(&self, change: &Change) -> Option<(u64, Value)> {
        let of = |object: &Option<Value>| {
            object.clone().filter(|o| change.resource == self.resource && selected(o, &self.selector))
        };
        let (kind, mut object) = match (of(&change.before), of(&change.after)) {
            (None, Some(is)) => ("ADDED", is),
            (Some(_), Some(is)) => ("MODIFIED", is),
            (Some(was), None) => ("DELETED", was),
            (None, None) => return None,
        };
        object["metadata"]["resourceVersion"] = json!(change.version.to_string());
        Some((change.version, json!({"type": kind, "object": object})))
    }
}

fn status(code: u16, message: &str, after: Option<u64>) -> Response<Body> {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
    whole(code, body.to_string(), after)
}

fn whole(code: u16, body: String, after: Option<u64>) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = hyper::StatusCode::from_u16(code).unwrap();
    if let Some(seconds) = after {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    response
}
