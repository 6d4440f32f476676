//! Owns an API server that lists and watches what it is given, on a real TLS socket, with versions, bookmarks and faults.
//! It must not know the sources that ask it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// One change of one object.
#[derive(Clone)]
struct Change {
    version: u64,
    resource: &'static str,
    kind: &'static str,
    object: Value,
}

#[derive(Default)]
pub struct State {
    version: u64,
    objects: BTreeMap<(&'static str, String), Value>,
    history: Vec<Change>,
    /// Versions up to this are forgotten.
    compacted: u64,
    /// The token that is accepted.
    pub token: String,
    /// Only what the Node authorizer gives to this node is allowed.
    pub node_only: Option<String>,
    /// Answer to everything, instead of what was asked for, with a Retry-After.
    pub refuse: Option<(u16, Option<u64>)>,
    /// The next watch breaks off in the middle of an event.
    pub reset: bool,
    /// What was asked, as `VERB path?query`.
    pub asked: Vec<String>,
}

/// The server; it ends when it is dropped.
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

/// A certificate authority and a server certificate for 127.0.0.1.
pub struct Certificates {
    ca: String,
    acceptor: TlsAcceptor,
}

impl Certificates {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &ca).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        Self { ca: ca.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

impl FakeApi {
    /// Listens on `port`, or on any when it is 0.
    pub async fn start(certificates: &Certificates, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { token: "t0".into(), version: 1000, ..State::default() }));
        let (acceptor, shared) = (certificates.acceptor.clone(), Arc::clone(&state));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    let Ok(socket) = acceptor.accept(socket).await else { return };
                    let serve = service_fn(move |request| {
                        let state = Arc::clone(&state);
                        async move { Ok::<_, Infallible>(answer(&state, &request)) }
                    });
                    _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), serve).await;
                });
            }
        });
        Self { address, ca: certificates.ca.clone(), state, task }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A kubeconfig that this server accepts, with `token`.
    pub fn kubeconfig(&self, token: &str) -> String {
        kubeconfig(self.address, &self.ca, token)
    }

    /// Puts an object there, or changes it.
    pub fn put(&self, resource: &'static str, mut object: Value) {
        let mut state = self.state();
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let key = (resource, object["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        let kind = if state.objects.insert(key, object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        let version = state.version;
        state.history.push(Change { version, resource, kind, object });
    }

    /// Takes an object away.
    pub fn delete(&self, resource: &'static str, uid: &str) {
        let mut state = self.state();
        state.version += 1;
        let mut object = state.objects.remove(&(resource, uid.to_owned())).unwrap();
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let version = state.version;
        state.history.push(Change { version, resource, kind: "DELETED", object });
    }

    /// Forgets all history, and ends the watches that would need it.
    pub fn compact(&self) {
        let mut state = self.state();
        state.version += 1;
        state.compacted = state.version;
        state.history.clear();
    }
}

pub fn kubeconfig(address: SocketAddr, ca: &str, token: &str) -> String {
    let ca = ca.replace('\n', "\n      ");
    let path = std::env::temp_dir().join(format!("kpodtrace-api-ca-{}-{}.pem", std::process::id(), address.port()));
    std::fs::write(&path, ca.replace("\n      ", "\n")).unwrap();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: k\n  cluster:\n    server: https://{address}\n    \
         certificate-authority: {}\ncontexts:\n- name: c\n  context: {{cluster: k, user: u}}\nusers:\n- name: u\n  user: {{token: {token}}}\n",
        path.display()
    )
}

fn answer(state: &Arc<Mutex<State>>, request: &Request<Incoming>) -> Response<Body> {
    let mut s = state.lock().unwrap();
    let uri = request.uri();
    s.asked.push(format!("{} {uri}", request.method()));
    if let Some((code, after)) = s.refuse {
        return status(code, "refused for a test", after);
    }
    let token = request.headers().get("authorization").and_then(|v| v.to_str().ok()).unwrap_or_default();
    if token != format!("Bearer {}", s.token) {
        return status(401, "Unauthorized", None);
    }
    let query: BTreeMap<&str, String> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|p| p.split_once('='))
        .map(|(k, v)| (k, v.replace("%3D", "=")))
        .collect();
    let resource = match uri.path() {
        "/api/v1/pods" => "pods",
        "/api/v1/nodes" => "nodes",
        "/api/v1/events" => "events",
        path => return status(404, path, None),
    };
    let selector = query.get("fieldSelector").cloned().unwrap_or_default();
    if let Some(node) = &s.node_only {
        let allowed = match resource {
            "pods" => selector == format!("spec.nodeName={node}"),
            "nodes" => selector == format!("metadata.name={node}"),
            _ => false,
        };
        if !allowed {
            return status(403, &format!("{resource} is forbidden: User \"system:node:{node}\" cannot list"), None);
        }
    }
    if query.get("watch").map(String::as_str) == Some("1") {
        let from: u64 = query.get("resourceVersion").and_then(|v| v.parse().ok()).unwrap_or_default();
        let reset = std::mem::take(&mut s.reset);
        drop(s);
        return watch(Arc::clone(state), resource, selector, from, reset);
    }
    let items: Vec<&Value> =
        s.objects.iter().filter(|((r, _), o)| *r == resource && selected(o, &selector)).map(|(_, o)| o).collect();
    // Pages of two, so that every list has a second one.
    let skip: usize = query.get("continue").and_then(|v| v.parse().ok()).unwrap_or(0);
    let page: Vec<&Value> = items.iter().skip(skip).take(2).copied().collect();
    let more = if skip + 2 < items.len() { json!((skip + 2).to_string()) } else { json!("") };
    let kind = match resource {
        "pods" => "PodList",
        "nodes" => "NodeList",
        _ => "EventList",
    };
    let list = json!({"kind": kind, "apiVersion": "v1", "items": page,
        "metadata": {"resourceVersion": s.version.to_string(), "continue": more}});
    whole(200, list.to_string(), None)
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
}

fn watch(
    state: Arc<Mutex<State>>,
    resource: &'static str,
    selector: String,
    version: u64,
    reset: bool,
) -> Response<Body> {
    let watch = Watch { state, resource, selector, version, reset, bookmark: Instant::now() };
    let body = stream::unfold(Some(watch), |watch| async move {
        let mut watch = watch?;
        loop {
            let (line, ends) = watch.next();
            match line {
                Some(Ok(line)) => return Some((Ok(Frame::data(Bytes::from(line))), (!ends).then_some(watch))),
                Some(Err(error)) => return Some((Err(error), None)),
                None if ends => return None,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    });
    Response::new(StreamBody::new(body).boxed_unsync())
}

impl Watch {
    /// The next piece, if there is one, and whether the watch ends with it.
    fn next(&mut self) -> (Option<Result<String, std::io::Error>>, bool) {
        let state = self.state.lock().unwrap();
        if self.version < state.compacted {
            let status =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
            return (Some(Ok(format!("{}\n", json!({"type": "ERROR", "object": status})))), true);
        }
        let next = state
            .history
            .iter()
            .find(|c| c.version > self.version && c.resource == self.resource && selected(&c.object, &self.selector));
        if let Some(change) = next {
            if std::mem::take(&mut self.reset) {
                return (Some(Err(std::io::Error::other("reset"))), true);
            }
            self.version = change.version;
            return (Some(Ok(format!("{}\n", json!({"type": change.kind, "object": change.object})))), false);
        }
        if self.bookmark.elapsed() > Duration::from_millis(100) {
            self.bookmark = Instant::now();
            let kind = if self.resource == "pods" { "Pod" } else { "Node" };
            let object = json!({"kind": kind, "metadata": {"resourceVersion": state.version.to_string()}});
            self.version = state.version;
            return (Some(Ok(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))), false);
        }
        (None, false)
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
