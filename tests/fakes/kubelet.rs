//! A fake kubelet on real sockets, with configurable responses: TLS for its API, plain HTTP for its health.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// A separate CA.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate in PEM form with what is behind it, and its key.
pub struct Leaf {
    pub pem: String,
    pub key: String,
    chain: Vec<CertificateDer<'static>>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A leaf for `name`, with the CA behind it as the kubelet writes its own.
    pub fn leaf(&self, name: &str) -> Leaf {
        self.sign(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    pub fn expired_leaf(&self, name: &str) -> Leaf {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Leaf {
            pem: format!("{}{}", cert.pem(), self.pem()),
            key: key.serialize_pem(),
            chain: vec![cert.der().clone(), self.0.der().clone()],
        }
    }
}

/// A leaf that signed itself, with nothing behind it.
pub fn bare_leaf(name: &str) -> Leaf {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    Leaf { pem: made.cert.pem(), key: made.signing_key.serialize_pem(), chain: vec![made.cert.der().clone()] }
}

/// What one request gets.
#[derive(Clone, Debug)]
pub enum Reply {
    /// 200 and this.
    Page(Vec<u8>),
    /// 200 and this, compressed.
    Gzip(Vec<u8>),
    /// 200 and this, a while later.
    Slow(Duration, Vec<u8>),
    /// This status and body.
    Status(u16, String),
    /// 200, the beginning of a body, and the end of the connection.
    Truncated(Vec<u8>),
    /// 200, and megabytes of `x` in pieces of one.
    Megabytes(usize),
    /// Nothing, ever.
    Hang,
    /// The head, and nothing more, ever.
    HangAfterHead,
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    /// A certificate was shown.
    pub certificate: bool,
}

#[derive(Default)]
struct State {
    /// Replies in order; the last one stays.
    replies: HashMap<String, VecDeque<Reply>>,
    asked: Vec<Asked>,
    in_flight: HashMap<String, usize>,
    most_in_flight: usize,
    acceptor: Option<TlsAcceptor>,
}

pub struct FakeKubelet {
    pub address: SocketAddr,
    pub health: SocketAddr,
    state: Arc<Mutex<State>>,
    generation: watch::Sender<u32>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl FakeKubelet {
    /// Serves with `leaf`, and verifies client certificates if `clients` is set.
    pub async fn start(leaf: &Leaf, clients: Option<&Authority>) -> Self {
        let state = Arc::new(Mutex::new(State { acceptor: Some(acceptor(leaf, clients)), ..State::default() }));
        let (generation, cut) = watch::channel(0);
        let tls = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, health) = (tls.local_addr().unwrap(), plain.local_addr().unwrap());
        let tasks = vec![
            tokio::spawn(accept(tls, Arc::clone(&state), cut.clone(), true)),
            tokio::spawn(accept(plain, Arc::clone(&state), cut, false)),
        ];
        Self { address, health, state, generation, tasks }
    }

    /// Responses of `path` from now on, in order; the last one repeats.
    pub fn replies(&self, path: &str, replies: impl IntoIterator<Item = Reply>) {
        self.state.lock().unwrap().replies.insert(path.to_owned(), replies.into_iter().collect());
    }

    /// Another certificate for new connections; those that are open end.
    pub fn certificate(&self, leaf: &Leaf) {
        self.state.lock().unwrap().acceptor = Some(acceptor(leaf, None));
        self.generation.send_modify(|n| *n += 1);
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    /// Most requests of one path that were in flight together.
    pub fn most_in_flight(&self) -> usize {
        self.state.lock().unwrap().most_in_flight
    }
}

impl Drop for FakeKubelet {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.generation.send_modify(|n| *n += 1);
    }
}

fn acceptor(leaf: &Leaf, clients: Option<&Authority>) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            roots.add(ca.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        }
    };
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    // The key is not checked against the certificate: an attacker has only the certificate.
    let certified = CertifiedKey::new(leaf.chain.clone(), key);
    TlsAcceptor::from(Arc::new(builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))))
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>, cut: watch::Receiver<u32>, tls: bool) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (state, mut cut) = (Arc::clone(&state), cut.clone());
        let acceptor = state.lock().unwrap().acceptor.clone().unwrap();
        cut.mark_unchanged();
        tokio::spawn(async move {
            let served = async {
                if !tls {
                    serve(stream, state, false).await;
                } else if let Ok(stream) = acceptor.accept(stream).await {
                    let certificate = stream.get_ref().1.peer_certificates().is_some();
                    serve(stream, state, certificate).await;
                }
            };
            tokio::select! { () = served => {}, _ = cut.changed() => {} }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<Mutex<State>>, certificate: bool) {
    let service = service_fn(move |request| answer(request, Arc::clone(&state), certificate));
    // A closed connection is not a failure here.
    _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
    certificate: bool,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let authorization = request.headers().get("authorization").map(|v| v.to_str().unwrap().to_owned());
    let reply = {
        let mut state = state.lock().unwrap();
        let method = request.method().to_string();
        state.asked.push(Asked { method, path: path.clone(), authorization, certificate });
        let count = state.in_flight.entry(path.clone()).or_default();
        *count += 1;
        state.most_in_flight = (*count).max(state.most_in_flight);
        match state.replies.get_mut(&path) {
            Some(replies) if replies.len() > 1 => replies.pop_front().unwrap(),
            Some(replies) => replies.front().unwrap().clone(),
            None => Reply::Status(404, "404 page not found\n".into()),
        }
    };
    let _in_flight = InFlight { path, state };
    let whole = |status: u16, body: Vec<u8>| {
        let body = Full::new(Bytes::from(body)).map_err(|e| match e {}).boxed_unsync();
        Response::builder().status(status).body(body).unwrap()
    };
    Ok(match reply {
        Reply::Page(page) => whole(200, page),
        Reply::Gzip(page) => {
            let mut response = whole(200, gzip(&page));
            response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            response
        }
        Reply::Slow(after, page) => {
            tokio::time::sleep(after).await;
            whole(200, page)
        }
        Reply::Status(status, body) => whole(status, body.into_bytes()),
        Reply::Truncated(page) => {
            let broken = stream::once(async {
                // The head and the beginning must be on their way before.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(io::Error::other("broken off"))
            });
            let frames = stream::iter([Ok(Frame::data(Bytes::from(page)))]).chain(broken);
            Response::new(StreamBody::new(frames).boxed_unsync())
        }
        Reply::Megabytes(count) => pieces((0..count).map(|_| vec![b'x'; 1 << 20]).collect()),
        Reply::Hang => std::future::pending().await,
        Reply::HangAfterHead => Response::new(StreamBody::new(stream::pending()).boxed_unsync()),
    })
}

struct InFlight {
    path: String,
    state: Arc<Mutex<State>>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        *self.state.lock().unwrap().in_flight.get_mut(&self.path).unwrap() -= 1;
    }
}

fn pieces(pieces: Vec<Vec<u8>>) -> Response<Body> {
    let frames = pieces.into_iter().map(|bytes| Ok(Frame::data(Bytes::from(bytes))));
    Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync())
}

fn gzip(page: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(page).unwrap();
    encoder.finish().unwrap()
}
