//! Every call to the runtime that this program makes. None changes anything or requests a verbose response, and no other
//! module uses a generated client.

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
use super::images::{ImageCall, ImageResponse};
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

/// Longest list, bytes: the kubelet's own limit (`maxMsgSize` in cri-client).
const MAX_LIST: usize = 16 * 1024 * 1024;
/// Longest status of one object, bytes: a container's message has up to 12 KiB.
const MAX_STATUS: usize = 1 << 20;
/// Entries left out of a streamed list before it is given up: it may never end.
const MAX_LEFT_OUT: u64 = 1 << 16;
/// Most messages of a streamed list: an endless one may have empty messages.
const MAX_MESSAGES: u32 = 1 << 16;

/// Both lists.
#[derive(Debug)]
pub(super) struct Lists {
    /// Number of entries beyond the memory budget.
    pub left_out: u64,
    /// ListPodSandbox.
    pub sandboxes: Vec<Sandbox>,
    /// ListContainers.
    pub containers: Vec<Container>,
}

/// A request for the status of one object, by its id.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DetailRequest {
    /// ContainerStatus.
    Container(Text),
    /// PodSandboxStatus.
    Sandbox(Text),
}

/// The response to a [`DetailRequest`].
#[derive(Debug)]
pub(super) enum Details {
    /// ContainerStatus, and the path of the container's log; empty when the runtime does not report it.
    Container(ContainerDetails, String),
    /// PodSandboxStatus.
    Sandbox(SandboxDetails),
    /// The response contains no status.
    None,
}

/// The read-only calls of the runtime. Each consumes a clone, which is cheap.
#[derive(Clone, Debug)]
pub(super) struct ReadOnlyRuntime {
    cri: RuntimeServiceClient<Channel>,
    images: ImageServiceClient<Channel>,
    events: EventsClient<Channel>,
    /// False once the runtime returned that it has no streamed lists.
    streams: Arc<AtomicBool>,
    channel: Channel,
    /// Memory budget of all lists, bytes.
    budget: u64,
}

impl ReadOnlyRuntime {
    /// Calls over `channel`; at most `budget` bytes of all lists are kept.
    pub fn new(channel: Channel, budget: u64) -> Self {
        Self {
            cri: RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            images: ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            events: EventsClient::new(channel.clone()).max_decoding_message_size(MAX_STATUS),
            streams: Arc::new(AtomicBool::new(true)),
            channel,
            budget,
        }
    }

    /// Requests a list in one response.
    async fn list<R, T>(
        &self,
        path: &'static str,
        budget: u64,
        request: Request<R>,
    ) -> Result<Response<ListEntries<T>>, Status>
    where
        R: prost::Message + Send + Sync + 'static,
        T: ListEntry + Sync,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_LIST);
        grpc.ready().await.map_err(not_ready)?;
        grpc.unary(request, PathAndQuery::from_static(path), ListCodec::<R, T>::within(budget)).await
    }

    /// Requests a streamed list; of an endless one only the beginning is read.
    async fn streamed_list<R, T>(
        &self,
        path: &'static str,
        budget: u64,
        request: R,
    ) -> Result<Response<ListEntries<T>>, Status>
    where
        R: prost::Message + Send + Sync + 'static,
        T: ListEntry + Sync,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_LIST);
        grpc.ready().await.map_err(not_ready)?;
        let codec = ListCodec::<R, T>::within(budget);
        let opened = grpc.server_streaming(Request::new(request), PathAndQuery::from_static(path), codec).await?;
        let (mut messages, mut all, mut count) = (opened.into_inner(), ListEntries::within(budget), 0);
        while let Some(message) = messages.try_next().await? {
            all.extend(message);
            count += 1;
            if all.left_out > MAX_LEFT_OUT || count > MAX_MESSAGES {
                break;
            }
        }
        Ok(Response::new(all))
    }

    /// Version alone.
    pub async fn heartbeat(mut self, deadline: Duration) -> Result<(), CallError> {
        let request = VersionRequest { version: "0.1.0".to_owned() };
        within("Version", deadline, self.cri.version(request)).await.map(|_| ())
    }

    /// Version and Status.
    pub async fn identity(mut self, deadline: Duration) -> Result<RuntimeStatus, CallError> {
        // The kubelet sends this version.
        let request = VersionRequest { version: "0.1.0".to_owned() };
        let version = within("Version", deadline, self.cri.version(request)).await?;
        let status = within("Status", deadline, self.cri.status(StatusRequest {})).await?;
        Ok(convert::runtime_status(version, status))
    }

    /// The list of sandboxes, then that of containers: what the kubelet's PLEG calls, in its order.
    ///
    /// Streamed, which has no size limit, or in one response when the runtime does not implement that.
    pub async fn lists(self, deadline: Duration) -> Result<Lists, CallError> {
        if self.streams.load(Ordering::Relaxed) {
            match self.clone().streamed(deadline).await {
                Err(error) if error.is_unimplemented() => self.streams.store(false, Ordering::Relaxed),
                response => return response,
            }
        }
        self.whole(deadline).await
    }

    /// StreamPodSandboxes, then StreamContainers. A list that breaks off is an error.
    async fn streamed(self, deadline: Duration) -> Result<Lists, CallError> {
        let (sandboxes, containers) = (self.budget / 4, self.budget / 2);
        let path = "/runtime.v1.RuntimeService/StreamPodSandboxes";
        let list = self.streamed_list(path, sandboxes, StreamPodSandboxesRequest {});
        let sandboxes = within("StreamPodSandboxes", deadline, list).await?;
        let path = "/runtime.v1.RuntimeService/StreamContainers";
        let list = self.streamed_list(path, containers, StreamContainersRequest {});
        let containers = within("StreamContainers", deadline, list).await?;
        Ok(Lists::of(sandboxes, containers))
    }

    /// ListPodSandbox, then ListContainers.
    async fn whole(self, deadline: Duration) -> Result<Lists, CallError> {
        let (sandboxes, containers) = (self.budget / 4, self.budget / 2);
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
                let response = within("ContainerStatus", deadline, self.cri.container_status(request)).await?;
                response.status.map_or(Details::None, |mut s| {
                    let log = std::mem::take(&mut s.log_path);
                    Details::Container(convert::container_details(s), log)
                })
            }
            DetailRequest::Sandbox(id) => {
                let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_string() };
                let response = within("PodSandboxStatus", deadline, self.cri.pod_sandbox_status(request)).await?;
                response.status.map_or(Details::None, |s| Details::Sandbox(convert::sandbox_details(s)))
            }
        })
    }

    /// ListImages or ImageFsInfo.
    pub async fn image_call(mut self, call: ImageCall, deadline: Duration) -> Result<ImageResponse, CallError> {
        Ok(match call {
            ImageCall::Images => {
                let path = "/runtime.v1.ImageService/ListImages";
                let list = self.list(path, self.budget / 8, Request::new(ListImagesRequest {}));
                ImageResponse::Images(within::<ListEntries<Image>>("ListImages", deadline, list).await?)
            }
            ImageCall::Fs => {
                let response =
                    within("ImageFsInfo", deadline, self.images.image_fs_info(ImageFsInfoRequest {})).await?;
                ImageResponse::Fs(convert::image_fs(response))
            }
        })
    }

    /// containerd's events that change a list. They are broadcast: other subscribers get them too.
    ///
    /// Without a deadline: containerd sends the response's head with the first event.
    pub fn changes(mut self) -> impl Stream<Item = Result<RuntimeChange, Status>> + Send + 'static {
        let request = in_namespace(SubscribeRequest { filters: FILTERS.map(str::to_owned).to_vec() });
        let opening = async move { self.events.subscribe(request).await.map(Response::into_inner) };
        opening.try_flatten_stream().try_filter_map(|envelope| ready(Ok(change(&envelope))))
    }

    /// ListStatuses of containerd's content store.
    pub async fn ingests(self, deadline: Duration) -> Result<ListEntries<Pull>, CallError> {
        let path = "/containerd.services.content.v1.Content/ListStatuses";
        let request = in_namespace(ListStatusesRequest { filters: Vec::new() });
        within("ListStatuses", deadline, self.list(path, self.budget / 2, request)).await
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
    response: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, CallError> {
    let cause = match tokio::time::timeout(deadline, response).await {
        Ok(Ok(response)) => return Ok(response.into_inner()),
        Ok(Err(status)) => CallErrorCause::Status(Box::new(status)),
        Err(_) => CallErrorCause::TimedOut(deadline),
    };
    Err(CallError { call, cause })
}
