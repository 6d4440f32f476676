//! A fake container runtime on a unix socket, with configurable responses; it counts every call by name.
#![allow(dead_code)]

pub mod crictl;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot, watch};
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

#[allow(clippy::all)]
pub mod cri {
    include!(concat!(env!("OUT_DIR"), "/fake/runtime.v1.rs"));
}
#[allow(clippy::all)]
pub mod events {
    include!(concat!(env!("OUT_DIR"), "/fake/containerd.services.events.v1.rs"));
}
#[allow(clippy::all)]
pub mod content {
    include!(concat!(env!("OUT_DIR"), "/fake/containerd.services.content.v1.rs"));
}

use content::content_server::{Content, ContentServer};
use cri::image_service_server::{ImageService, ImageServiceServer};
use cri::runtime_service_server::{RuntimeService, RuntimeServiceServer};
use events::events_server::{Events, EventsServer};

/// What the runtime answers.
#[derive(Default)]
pub struct State {
    pub sandboxes: Vec<cri::PodSandbox>,
    /// Of every sandbox, where there are no statuses.
    pub sandbox_ip: String,
    /// Of those that have one; the others are not found.
    pub sandbox_statuses: Option<BTreeMap<String, cri::PodSandboxStatus>>,
    /// Name, version and conditions, other than usual.
    pub identity: Option<(String, String, Vec<cri::RuntimeCondition>)>,
    pub containers: Vec<cri::Container>,
    pub statuses: BTreeMap<String, cri::ContainerStatus>,
    pub ingests: Vec<content::Status>,
    pub images: Vec<cri::Image>,
    pub image_fs: cri::ImageFsInfoResponse,
    /// Streamed lists are available.
    pub streams: bool,
    /// A streamed list never ends: its items repeat.
    pub endless: bool,
    /// A list in pieces breaks off after its first piece.
    pub torn: bool,
    /// Image calls are not implemented.
    pub no_images: bool,
    /// What a look at images takes.
    pub look_delay: Duration,
    /// A look at images and a list were in flight at once.
    pub looked_beside_lists: bool,
    pub list_delay: Duration,
    pub lists_in_flight: u32,
    pub most_lists_in_flight: u32,
    pub calls: BTreeMap<String, u32>,
    subscribers: Vec<mpsc::UnboundedSender<events::Envelope>>,
}

#[derive(Clone)]
pub struct Fake {
    pub state: Arc<Mutex<State>>,
    /// True while nothing is answered.
    hang: watch::Sender<bool>,
}

/// A running server; dropping it ends it and every connection, and takes the socket away.
pub struct Served {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    path: PathBuf,
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
        _ = std::fs::remove_file(&self.path);
    }
}

/// A list in flight.
struct InFlight(Arc<Mutex<State>>);

impl InFlight {
    fn begin(state: &Arc<Mutex<State>>) -> Self {
        let mut held = state.lock().unwrap();
        held.lists_in_flight += 1;
        held.most_lists_in_flight = held.most_lists_in_flight.max(held.lists_in_flight);
        Self(Arc::clone(state))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().unwrap().lists_in_flight -= 1;
    }
}

impl Fake {
    pub fn new() -> Self {
        Self { state: Arc::default(), hang: watch::channel(false).0 }
    }

    /// Serves on `path` from a separate thread; `containerd` adds events and the content store.
    pub fn serve(&self, path: &Path, containerd: bool) -> Served {
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let fake = self.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! { () = fake.run(listener, containerd) => {}, _ = stopped => {} }
            });
        });
        Served { stop: Some(stop), thread: Some(thread), path: path.to_owned() }
    }

    async fn run(&self, listener: std::os::unix::net::UnixListener, containerd: bool) {
        let listener = UnixListener::from_std(listener).unwrap();
        let incoming = stream::unfold(listener, |l| async move { Some((l.accept().await.map(|(s, _)| s), l)) });
        let cri = RuntimeServiceServer::new(self.clone()).max_encoding_message_size(64 << 20);
        let mut router = Server::builder().add_service(self.counted(cri));
        router = router.add_service(self.counted(ImageServiceServer::new(self.clone())));
        if containerd {
            router = router.add_service(self.counted(EventsServer::new(self.clone())));
            router = router.add_service(self.counted(ContentServer::new(self.clone())));
        }
        router.serve_with_incoming(incoming).await.unwrap();
    }

    fn counted<S>(&self, inner: S) -> Counted<S> {
        Counted { inner, state: Arc::clone(&self.state) }
    }

    pub fn hang(&self, hang: bool) {
        self.hang.send_replace(hang);
    }

    pub fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    pub fn count(&self, call: &str) -> u32 {
        let state = self.state.lock().unwrap();
        state.calls.iter().filter(|(name, _)| name.ends_with(&format!("/{call}"))).map(|(_, n)| *n).sum()
    }

    pub fn event(&self, topic: &str, container: &str, id: &str) {
        use prost::Message;
        let exit = events::TaskExit { container_id: container.into(), id: id.into() };
        let event = prost_types::Any { type_url: "containerd.events.TaskExit".into(), value: exit.encode_to_vec() };
        let envelope =
            events::Envelope { timestamp: None, namespace: "k8s.io".into(), topic: topic.into(), event: Some(event) };
        self.state.lock().unwrap().subscribers.retain(|s| s.send(envelope.clone()).is_ok());
    }

    async fn ready(&self) {
        _ = self.hang.subscribe().wait_for(|hang| !hang).await;
    }

    async fn looking<T>(&self, answer: impl FnOnce(&State) -> T) -> Result<Response<T>, Status> {
        let delay = {
            let mut state = self.state.lock().unwrap();
            state.looked_beside_lists |= state.lists_in_flight > 0;
            state.look_delay
        };
        tokio::time::sleep(delay).await;
        self.ready().await;
        let state = self.state.lock().unwrap();
        if state.no_images {
            return Err(Status::unimplemented("unknown service runtime.v1.ImageService"));
        }
        Ok(Response::new(answer(&state)))
    }

    /// A list in pieces of two; it is in flight until the last one was sent.
    async fn streaming<I: Clone + Send + 'static, T: Send + 'static>(
        &self,
        items: impl FnOnce(&State) -> Vec<I>,
        piece: impl Fn(Vec<I>) -> T + Send + 'static,
    ) -> Answer<Pieces<T>> {
        if !self.state.lock().unwrap().streams {
            return Err(Status::unimplemented("unknown method"));
        }
        let in_flight = InFlight::begin(&self.state);
        let delay = self.state.lock().unwrap().list_delay;
        tokio::time::sleep(delay).await;
        self.ready().await;
        let (items, torn, endless) = {
            let state = self.state.lock().unwrap();
            (items(&state), state.torn, state.endless)
        };
        if endless {
            let mut all = items.into_iter().cycle();
            let next = move || Ok(piece(all.by_ref().take(1000).collect()));
            return Ok(Response::new(Box::pin(stream::iter(std::iter::repeat_with(next)))));
        }
        let mut pieces: Vec<_> = items.chunks(2).map(|items| Ok(piece(items.to_vec()))).collect();
        if torn {
            pieces.truncate(1);
            pieces.push(Err(Status::internal("torn")));
        }
        let pieces = stream::iter(pieces).map(move |piece| {
            _ = &in_flight;
            piece
        });
        Ok(Response::new(Box::pin(pieces)))
    }

    async fn listing<T>(&self, answer: impl FnOnce(&State) -> T) -> Result<Response<T>, Status> {
        let _in_flight = InFlight::begin(&self.state);
        let delay = self.state.lock().unwrap().list_delay;
        tokio::time::sleep(delay).await;
        self.ready().await;
        let answer = answer(&self.state.lock().unwrap());
        Ok(Response::new(answer))
    }
}

/// Counts what reaches a service, by its whole path.
#[derive(Clone)]
struct Counted<S> {
    inner: S,
    state: Arc<Mutex<State>>,
}

impl<S: NamedService> NamedService for Counted<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Service<http::Request<B>> for Counted<S>
where
    S: Service<http::Request<B>, Error = Infallible>,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> S::Future {
        let path = request.uri().path().to_owned();
        *self.state.lock().unwrap().calls.entry(path).or_default() += 1;
        self.inner.call(request)
    }
}

type Answer<T> = Result<Response<T>, Status>;
type Pieces<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl RuntimeService for Fake {
    type StreamPodSandboxesStream = Pieces<cri::StreamPodSandboxesResponse>;
    type StreamContainersStream = Pieces<cri::StreamContainersResponse>;

    async fn stream_pod_sandboxes(
        &self,
        _: Request<cri::StreamPodSandboxesRequest>,
    ) -> Answer<Self::StreamPodSandboxesStream> {
        let piece = |pod_sandboxes| cri::StreamPodSandboxesResponse { pod_sandboxes };
        self.streaming(|s| s.sandboxes.clone(), piece).await
    }

    async fn stream_containers(
        &self,
        _: Request<cri::StreamContainersRequest>,
    ) -> Answer<Self::StreamContainersStream> {
        self.streaming(|s| s.containers.clone(), |containers| cri::StreamContainersResponse { containers }).await
    }

    async fn version(&self, request: Request<cri::VersionRequest>) -> Answer<cri::VersionResponse> {
        self.ready().await;
        assert_eq!(request.into_inner().version, "0.1.0");
        let identity = self.state.lock().unwrap().identity.clone();
        let (runtime_name, runtime_version, _) = identity.unwrap_or(("fake".into(), "1.2.3".into(), Vec::new()));
        Ok(Response::new(cri::VersionResponse {
            version: "0.1.0".into(),
            runtime_name,
            runtime_version,
            runtime_api_version: "v1".into(),
        }))
    }

    async fn status(&self, _: Request<cri::StatusRequest>) -> Answer<cri::StatusResponse> {
        self.ready().await;
        let condition = |kind: &str, status| cri::RuntimeCondition {
            r#type: kind.into(),
            status,
            reason: if status { String::new() } else { "NetworkPluginNotReady".into() },
            message: String::new(),
        };
        let usual = || vec![condition("RuntimeReady", true), condition("NetworkReady", false)];
        let identity = self.state.lock().unwrap().identity.clone();
        let conditions = identity.map_or_else(usual, |(_, _, conditions)| conditions);
        Ok(Response::new(cri::StatusResponse { status: Some(cri::RuntimeStatus { conditions }) }))
    }

    async fn list_pod_sandbox(&self, _: Request<cri::ListPodSandboxRequest>) -> Answer<cri::ListPodSandboxResponse> {
        self.listing(|s| cri::ListPodSandboxResponse { items: s.sandboxes.clone() }).await
    }

    async fn list_containers(&self, _: Request<cri::ListContainersRequest>) -> Answer<cri::ListContainersResponse> {
        self.listing(|s| cri::ListContainersResponse { containers: s.containers.clone() }).await
    }

    async fn pod_sandbox_status(
        &self,
        request: Request<cri::PodSandboxStatusRequest>,
    ) -> Answer<cri::PodSandboxStatusResponse> {
        self.ready().await;
        let id = request.into_inner().pod_sandbox_id;
        if let Some(statuses) = &self.state.lock().unwrap().sandbox_statuses {
            let status = statuses.get(&id).cloned().ok_or_else(|| Status::not_found(id))?;
            return Ok(Response::new(cri::PodSandboxStatusResponse { status: Some(status) }));
        }
        let network = Some(cri::PodSandboxNetworkStatus { ip: self.state.lock().unwrap().sandbox_ip.clone() });
        Ok(Response::new(cri::PodSandboxStatusResponse {
            status: Some(cri::PodSandboxStatus { id, state: 0, network }),
        }))
    }

    async fn container_status(
        &self,
        request: Request<cri::ContainerStatusRequest>,
    ) -> Answer<cri::ContainerStatusResponse> {
        self.ready().await;
        let id = request.into_inner().container_id;
        match self.state.lock().unwrap().statuses.get(&id) {
            Some(status) => Ok(Response::new(cri::ContainerStatusResponse { status: Some(status.clone()) })),
            None => Err(Status::not_found(id)),
        }
    }
}

#[tonic::async_trait]
impl ImageService for Fake {
    async fn list_images(&self, _: Request<cri::ListImagesRequest>) -> Answer<cri::ListImagesResponse> {
        self.looking(|s| cri::ListImagesResponse { images: s.images.clone() }).await
    }

    async fn image_fs_info(&self, _: Request<cri::ImageFsInfoRequest>) -> Answer<cri::ImageFsInfoResponse> {
        self.looking(|s| s.image_fs.clone()).await
    }
}

#[tonic::async_trait]
impl Events for Fake {
    type SubscribeStream = Pin<Box<dyn Stream<Item = Result<events::Envelope, Status>> + Send>>;

    /// As containerd does, answers with the first event and not before.
    async fn subscribe(&self, _: Request<events::SubscribeRequest>) -> Answer<Self::SubscribeStream> {
        let (tx, mut rx) = mpsc::unbounded_channel();
        self.state.lock().unwrap().subscribers.push(tx);
        let first = rx.recv().await;
        let begin = stream::iter(first.map(Ok));
        let rest = stream::unfold(rx, |mut rx| async move { rx.recv().await.map(|e| (Ok(e), rx)) });
        Ok(Response::new(Box::pin(begin.chain(rest))))
    }
}

#[tonic::async_trait]
impl Content for Fake {
    async fn list_statuses(
        &self,
        request: Request<content::ListStatusesRequest>,
    ) -> Answer<content::ListStatusesResponse> {
        assert_eq!(request.metadata().get("containerd-namespace").unwrap(), "k8s.io");
        self.ready().await;
        let statuses = self.state.lock().unwrap().ingests.clone();
        Ok(Response::new(content::ListStatusesResponse { statuses }))
    }
}
