//! Owns every call to the runtime that this program can make; nothing else sees a generated client.
//! It must not gain a call that changes anything, nor one that requests for a verbose answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::ready;
use futures_util::{Stream, TryFutureExt, TryStreamExt};
use http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::call_error::{CallError, CallErrorCause};
use super::convert;
use super::entries::{ListCodec, ListEntries, ListEntry};
use super::events::{FILTERS, NAMESPACE, RuntimeChange, change};
use super::images::{ImageAnswer, ImageCall};
use crate::decode::{ContainerDetails, SandboxDetails};
use crate::observation::{Container, Image, Pull, RuntimeStatus, Sandbox};
use crate::proto::content::ListStatusesRequest;
use crate::proto::cri::image_service_client::ImageServiceClient;
use crate::proto::cri::runtime_service_client::RuntimeServiceClient;
use crate::proto::cri::{
    ContainerStatusRequest, ImageFsInfoRequest, ListContainersRequest, ListImagesRequest, ListPodSandboxRequest,
    PodSandboxStatusRequest, StatusRequest, StreamContainersRequest, StreamPodSandboxesRequest, VersionRequest,
};
use crate::proto::events::{SubscribeRequest, events_client::EventsClient};
use crate::text::Text;

/// The kubelet's own limit for an answer (`maxMsgSize` in cri-client).
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// Longest answer about one thing, bytes: a container's message has 12 KiB.
const MAX_STATUS: usize = 1 << 20;
/// ListEntries that are left out of a list in pieces before it is given up: one that never ends.
const MAX_LEFT_OUT: u64 = 1 << 16;
/// Pieces of a list that are read: one that never ends may bring nothing in each.
const MAX_PIECES: u32 = 1 << 16;

/// Both lists.
#[derive(Debug)]
pub(super) struct Lists {
    /// How many entries there was no room for.
    pub left_out: u64,
    /// ListPodSandbox.
    pub sandboxes: Vec<Sandbox>,
    /// ListContainers.
    pub containers: Vec<Container>,
}

/// Something whose status is wanted, by its id.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DetailRequest {
    /// ContainerStatus.
    Container(Text),
    /// PodSandboxStatus.
    Sandbox(Text),
}

/// The status that was asked for.
#[derive(Debug)]
pub(super) enum Details {
    /// ContainerStatus, and where the container's log is; empty when the runtime does not say.
    Container(ContainerDetails, String),
    /// PodSandboxStatus.
    Sandbox(SandboxDetails),
    /// The runtime answered without a status.
    None,
}

/// The runtime, as far as it can be looked at. Every call consumes a clone, which is cheap.
#[derive(Clone, Debug)]
pub(super) struct ReadOnlyRuntime {
    cri: RuntimeServiceClient<Channel>,
    images: ImageServiceClient<Channel>,
    events: EventsClient<Channel>,
    /// The runtime may have lists in pieces: it has not said yet that it does not.
    streams: Arc<AtomicBool>,
    channel: Channel,
    /// What may be kept of all that the runtime lists, bytes.
    most: u64,
}

impl ReadOnlyRuntime {
    /// Speaks over `channel`; of all that is listed no more than `most` bytes are kept.
    pub fn new(channel: Channel, most: u64) -> Self {
        Self {
            cri: RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            images: ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            events: EventsClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            streams: Arc::new(AtomicBool::new(true)),
            channel,
            most,
        }
    }

    /// Asks for a list that comes whole.
    async fn list<R, T>(
        &self,
        path: &'static str,
        most: u64,
        request: Request<R>,
    ) -> Result<Response<ListEntries<T>>, Status>
    where
        R: prost::Message + Send + Sync + 'static,
        T: ListEntry + Sync,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER);
        grpc.ready().await.map_err(not_ready)?;
        grpc.unary(request, PathAndQuery::from_static(path), ListCodec::<R, T>::within(most)).await
    }

    /// Asks for a list that comes in pieces. Of one that never ends, what came first.
    async fn pieces<R, T>(&self, path: &'static str, most: u64, request: R) -> Result<Response<ListEntries<T>>, Status>
    where
        R: prost::Message + Send + Sync + 'static,
        T: ListEntry + Sync,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER);
        grpc.ready().await.map_err(not_ready)?;
        let codec = ListCodec::<R, T>::within(most);
        let opened = grpc.server_streaming(Request::new(request), PathAndQuery::from_static(path), codec).await?;
        let (mut pieces, mut all, mut count) = (opened.into_inner(), ListEntries::within(most), 0);
        while let Some(piece) = pieces.try_next().await? {
            all.extend(piece);
            count += 1;
            if all.left_out > MAX_LEFT_OUT || count > MAX_PIECES {
                break;
            }
        }
        Ok(Response::new(all))
    }

    /// Version and Status.
    pub async fn identity(mut self, deadline: Duration) -> Result<RuntimeStatus, CallError> {
        // The version that the kubelet sends.
        let request = VersionRequest { version: "0.1.0".to_owned() };
        let version = within("Version", deadline, self.cri.version(request)).await?;
        let status = within("Status", deadline, self.cri.status(StatusRequest {})).await?;
        Ok(convert::runtime_status(version, status))
    }

    /// The list of sandboxes, then that of containers: what the kubelet's PLEG calls, in its order.
    ///
    /// In pieces where the runtime has that, which knows no longest answer; whole where it says that it has not.
    pub async fn lists(self, deadline: Duration) -> Result<Lists, CallError> {
        if self.streams.load(Ordering::Relaxed) {
            match self.clone().streamed(deadline).await {
                Err(error) if error.is_unimplemented() => self.streams.store(false, Ordering::Relaxed),
                answer => return answer,
            }
        }
        self.whole(deadline).await
    }

    /// StreamPodSandboxes, then StreamContainers. A list that breaks off is none.
    async fn streamed(self, deadline: Duration) -> Result<Lists, CallError> {
        let (sandboxes, containers) = (self.most / 4, self.most / 2);
        let path = "/runtime.v1.RuntimeService/StreamPodSandboxes";
        let pieces = self.pieces(path, sandboxes, StreamPodSandboxesRequest {});
        let sandboxes = within("StreamPodSandboxes", deadline, pieces).await?;
        let path = "/runtime.v1.RuntimeService/StreamContainers";
        let pieces = self.pieces(path, containers, StreamContainersRequest {});
        let containers = within("StreamContainers", deadline, pieces).await?;
        Ok(Lists::of(sandboxes, containers))
    }

    /// ListPodSandbox, then ListContainers.
    async fn whole(self, deadline: Duration) -> Result<Lists, CallError> {
        let (sandboxes, containers) = (self.most / 4, self.most / 2);
        let path = "/runtime.v1.RuntimeService/ListPodSandbox";
        let list = self.list(path, sandboxes, Request::new(ListPodSandboxRequest {}));
        let sandboxes = within("ListPodSandbox", deadline, list).await?;
        let path = "/runtime.v1.RuntimeService/ListContainers";
        let list = self.list(path, containers, Request::new(ListContainersRequest {}));
        let containers = within("ListContainers", deadline, list).await?;
        Ok(Lists::of(sandboxes, containers))
    }

    /// ContainerStatus or PodSandboxStatus.
    pub async fn details(mut self, request: &DetailRequest, deadline: Duration) -> Result<Details, CallError> {
        Ok(match request {
            DetailRequest::Container(id) => {
                let request = ContainerStatusRequest { container_id: id.to_string() };
                let answer = within("ContainerStatus", deadline, self.cri.container_status(request)).await?;
                answer.status.map_or(Details::None, |mut s| {
                    let log = std::mem::take(&mut s.log_path);
                    Details::Container(convert::container_details(s), log)
                })
            }
            DetailRequest::Sandbox(id) => {
                let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_string() };
                let answer = within("PodSandboxStatus", deadline, self.cri.pod_sandbox_status(request)).await?;
                answer.status.map_or(Details::None, |s| Details::Sandbox(convert::sandbox_details(s)))
            }
        })
    }

    /// ListImages or ImageFsInfo.
    pub async fn look(mut self, at: ImageCall, deadline: Duration) -> Result<ImageAnswer, CallError> {
        Ok(match at {
            ImageCall::Images => {
                let path = "/runtime.v1.ImageService/ListImages";
                let list = self.list(path, self.most / 8, Request::new(ListImagesRequest {}));
                ImageAnswer::Images(within::<ListEntries<Image>>("ListImages", deadline, list).await?)
            }
            ImageCall::Fs => {
                let answer = within("ImageFsInfo", deadline, self.images.image_fs_info(ImageFsInfoRequest {})).await?;
                ImageAnswer::Fs(convert::image_fs(answer))
            }
        })
    }

    /// containerd's events, as far as they mean that a list would differ. A broadcast: nobody else misses anything.
    ///
    /// It has no deadline because containerd answers with the first event and not before.
    pub fn changes(mut self) -> impl Stream<Item = Result<RuntimeChange, Status>> + Send + 'static {
        let request = in_namespace(SubscribeRequest { filters: FILTERS.map(str::to_owned).to_vec() });
        let opening = async move { self.events.subscribe(request).await.map(Response::into_inner) };
        opening.try_flatten_stream().try_filter_map(|envelope| ready(Ok(change(&envelope))))
    }

    /// ListStatuses of containerd's content store.
    pub async fn ingests(self, deadline: Duration) -> Result<ListEntries<Pull>, CallError> {
        let path = "/containerd.services.content.v1.Content/ListStatuses";
        let request = in_namespace(ListStatusesRequest { filters: Vec::new() });
        within("ListStatuses", deadline, self.list(path, self.most / 2, request)).await
    }
}

impl Lists {
    fn of(sandboxes: ListEntries<Sandbox>, containers: ListEntries<Container>) -> Self {
        let left_out = sandboxes.left_out.saturating_add(containers.left_out);
        Self { left_out, sandboxes: sandboxes.all, containers: containers.all }
    }
}

fn not_ready(error: tonic::transport::Error) -> Status {
    Status::unknown(format!("service was not ready: {error}"))
}

fn in_namespace<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("containerd-namespace", MetadataValue::from_static(NAMESPACE));
    request
}

async fn within<T>(
    call: &'static str,
    deadline: Duration,
    answer: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, CallError> {
    let why = match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(answer)) => return Ok(answer.into_inner()),
        Ok(Err(status)) => CallErrorCause::Status(Box::new(status)),
        Err(_) => CallErrorCause::TimedOut(deadline),
    };
    Err(CallError { call, why })
}
