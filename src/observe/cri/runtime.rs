//! Owns every call to the runtime that this program can make; nothing else sees a generated client.
//! It must not gain a call that changes anything, nor one that asks for a verbose answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::ready;
use futures_util::{Stream, TryFutureExt, TryStreamExt};
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

use super::convert;
use super::events::{Change, FILTERS, NAMESPACE, change};
use super::failure::{CallError, Why};
use super::shelf::{Look, Seen};
use crate::decode::{ContainerDetails, SandboxDetails};
use crate::observation::{Container, Pull, RuntimeStatus, Sandbox};
use crate::proto::content::{ListStatusesRequest, content_client::ContentClient};
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
/// Most entries of a list that comes in pieces; a node holds some thousands. What never ends must not take the memory.
const MAX_ENTRIES: usize = 1 << 20;
/// Both lists.
#[derive(Debug)]
pub(super) struct Lists {
    /// ListPodSandbox.
    pub sandboxes: Vec<Sandbox>,
    /// ListContainers.
    pub containers: Vec<Container>,
}

/// Something whose status is wanted, by its id.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
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
    content: ContentClient<Channel>,
    /// The runtime may have lists in pieces: it has not said yet that it does not.
    streams: Arc<AtomicBool>,
}

impl ReadOnlyRuntime {
    /// Speaks over `channel`.
    pub fn new(channel: Channel) -> Self {
        Self {
            cri: RuntimeServiceClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER),
            images: ImageServiceClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER),
            events: EventsClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER),
            content: ContentClient::new(channel).max_decoding_message_size(MAX_ANSWER),
            streams: Arc::new(AtomicBool::new(true)),
        }
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
    async fn streamed(mut self, deadline: Duration) -> Result<Lists, CallError> {
        let opening = self.cri.stream_pod_sandboxes(StreamPodSandboxesRequest {});
        let pieces = opened(opening).map_ok(|piece| piece.pod_sandboxes);
        let sandboxes = within("StreamPodSandboxes", deadline, gathered(pieces, convert::sandbox)).await?;
        let opening = self.cri.stream_containers(StreamContainersRequest {});
        let pieces = opened(opening).map_ok(|piece| piece.containers);
        let containers = within("StreamContainers", deadline, gathered(pieces, convert::container)).await?;
        Ok(Lists { sandboxes, containers })
    }

    /// ListPodSandbox, then ListContainers.
    async fn whole(mut self, deadline: Duration) -> Result<Lists, CallError> {
        let request = ListPodSandboxRequest {};
        let sandboxes = within("ListPodSandbox", deadline, self.cri.list_pod_sandbox(request)).await?;
        let request = ListContainersRequest {};
        let containers = within("ListContainers", deadline, self.cri.list_containers(request)).await?;
        Ok(Lists {
            sandboxes: sandboxes.items.into_iter().map(convert::sandbox).collect(),
            containers: containers.containers.into_iter().map(convert::container).collect(),
        })
    }

    /// ContainerStatus or PodSandboxStatus.
    pub async fn details(mut self, ask: &Ask, deadline: Duration) -> Result<Details, CallError> {
        Ok(match ask {
            Ask::Container(id) => {
                let request = ContainerStatusRequest { container_id: id.to_string() };
                let answer = within("ContainerStatus", deadline, self.cri.container_status(request)).await?;
                answer.status.map_or(Details::None, |mut s| {
                    let log = std::mem::take(&mut s.log_path);
                    Details::Container(convert::container_details(s), log)
                })
            }
            Ask::Sandbox(id) => {
                let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_string() };
                let answer = within("PodSandboxStatus", deadline, self.cri.pod_sandbox_status(request)).await?;
                answer.status.map_or(Details::None, |s| Details::Sandbox(convert::sandbox_details(s)))
            }
        })
    }

    /// ListImages or ImageFsInfo.
    pub async fn look(mut self, at: Look, deadline: Duration) -> Result<Seen, CallError> {
        Ok(match at {
            Look::Images => {
                let answer = within("ListImages", deadline, self.images.list_images(ListImagesRequest {})).await?;
                Seen::Images(answer.images.into_iter().map(convert::image_of).collect())
            }
            Look::Fs => {
                let answer = within("ImageFsInfo", deadline, self.images.image_fs_info(ImageFsInfoRequest {})).await?;
                Seen::Fs(convert::image_fs(answer))
            }
        })
    }

    /// containerd's events, as far as they mean that a list would differ. A broadcast: nobody else misses anything.
    ///
    /// It has no deadline because containerd answers with the first event and not before.
    pub fn changes(mut self) -> impl Stream<Item = Result<Change, Status>> + Send + 'static {
        let request = in_namespace(SubscribeRequest { filters: FILTERS.map(str::to_owned).to_vec() });
        let opening = async move { self.events.subscribe(request).await.map(Response::into_inner) };
        opening.try_flatten_stream().try_filter_map(|envelope| ready(Ok(change(&envelope))))
    }

    /// ListStatuses of containerd's content store.
    pub async fn ingests(mut self, deadline: Duration) -> Result<Vec<Pull>, CallError> {
        let request = in_namespace(ListStatusesRequest { filters: Vec::new() });
        let answer = within("ListStatuses", deadline, self.content.list_statuses(request)).await?;
        Ok(answer.statuses.into_iter().map(convert::pull).collect())
    }
}

fn in_namespace<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("containerd-namespace", MetadataValue::from_static(NAMESPACE));
    request
}

/// The pieces of a list, once its stream is there.
fn opened<T>(
    opening: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
) -> impl Stream<Item = Result<T, Status>> {
    opening.map_ok(Response::into_inner).try_flatten_stream()
}

/// All entries of a list in pieces.
async fn gathered<R, T>(
    pieces: impl Stream<Item = Result<Vec<R>, Status>>,
    convert: impl Fn(R) -> T,
) -> Result<Response<Vec<T>>, Status> {
    let mut all = Vec::new();
    let mut pieces = std::pin::pin!(pieces);
    while let Some(piece) = pieces.try_next().await? {
        all.extend(piece.into_iter().map(&convert));
        if all.len() > MAX_ENTRIES {
            return Err(Status::resource_exhausted(format!("more than {MAX_ENTRIES} entries")));
        }
    }
    Ok(Response::new(all))
}

async fn within<T>(
    call: &'static str,
    deadline: Duration,
    answer: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, CallError> {
    let why = match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(answer)) => return Ok(answer.into_inner()),
        Ok(Err(status)) => Why::Answer(Box::new(status)),
        Err(_) => Why::Late(deadline),
    };
    Err(CallError { call, why })
}
