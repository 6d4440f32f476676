//! Converts the protocol's messages to observations. Of labels and annotations only the kubelet's own few are kept.

use std::collections::HashMap;

use crate::decode::{ContainerDetails, SandboxDetails};
use crate::observation::{
    Container, ContainerPhase, FilesystemUsage, Image, ImageFs, Pull, RuntimeCondition, RuntimeStatus, Sandbox, Time,
};
use crate::proto::{content, cri};
use crate::text::{Message, Text};

pub(super) fn sandbox(raw: cri::PodSandbox) -> Sandbox {
    let metadata = raw.metadata.unwrap_or_default();
    Sandbox {
        id: Text::name(&raw.id),
        name: Text::name(&metadata.name),
        namespace: Text::name(&metadata.namespace),
        uid: Text::name(&metadata.uid),
        attempt: metadata.attempt,
        ready: raw.state == cri::PodSandboxState::SandboxReady as i32,
        created_at: nanoseconds(raw.created_at),
        seen: raw.annotations.get("kubernetes.io/config.seen").and_then(|at| at.parse().ok()),
        config_source: text(&raw.annotations, "kubernetes.io/config.source"),
        ip: Text::default(),
    }
}

pub(super) fn container(raw: cri::Container) -> Container {
    let metadata = raw.metadata.unwrap_or_default();
    let name = Text::name(&metadata.name);
    Container {
        id: Text::name(&raw.id),
        sandbox: Text::name(&raw.pod_sandbox_id),
        name: if name.is_empty() { text(&raw.labels, "io.kubernetes.container.name") } else { name },
        pod: text(&raw.labels, "io.kubernetes.pod.name"),
        namespace: text(&raw.labels, "io.kubernetes.pod.namespace"),
        uid: text(&raw.labels, "io.kubernetes.pod.uid"),
        attempt: metadata.attempt,
        phase: phase(raw.state),
        created_at: nanoseconds(raw.created_at),
        started_at: None,
        finished_at: None,
        exit_code: None,
        reason: Text::default(),
        message: Message::default(),
        image: image(raw.image, raw.image_ref),
    }
}

pub(super) fn container_details(raw: cri::ContainerStatus) -> ContainerDetails {
    ContainerDetails {
        id: Text::name(&raw.id),
        phase: phase(raw.state),
        started_at: nanoseconds(raw.started_at),
        finished_at: nanoseconds(raw.finished_at),
        exit_code: raw.exit_code,
        reason: Text::name(&raw.reason),
        message: raw.message.into(),
        image: image(raw.image, raw.image_ref),
    }
}

pub(super) fn sandbox_details(raw: cri::PodSandboxStatus) -> SandboxDetails {
    SandboxDetails {
        id: Text::name(&raw.id),
        ready: raw.state == cri::PodSandboxState::SandboxReady as i32,
        ip: Text::name(&raw.network.unwrap_or_default().ip),
    }
}

pub(super) fn runtime_status(version: cri::VersionResponse, status: cri::StatusResponse) -> RuntimeStatus {
    let conditions = status.status.unwrap_or_default().conditions;
    RuntimeStatus {
        name: Text::name(&version.runtime_name),
        version: Text::name(&version.runtime_version),
        conditions: conditions
            .into_iter()
            .map(|c| RuntimeCondition {
                kind: Text::name(&c.r#type),
                ok: c.status,
                reason: Text::name(&c.reason),
                message: c.message.into(),
            })
            .collect(),
    }
}

pub(super) fn image_of(raw: cri::Image) -> Image {
    Image {
        id: Text::name(&raw.id),
        tags: raw.repo_tags.iter().map(|tag| Text::name(tag)).collect(),
        digests: raw.repo_digests.iter().map(|digest| Text::name(digest)).collect(),
        size: raw.size,
        pinned: raw.pinned,
    }
}

pub(super) fn image_fs(raw: cri::ImageFsInfoResponse) -> ImageFs {
    let usage = |raw: cri::FilesystemUsage| FilesystemUsage {
        mountpoint: Text::name(&raw.fs_id.unwrap_or_default().mountpoint),
        used_bytes: raw.used_bytes.map(|v| v.value),
        inodes_used: raw.inodes_used.map(|v| v.value),
    };
    ImageFs {
        images: raw.image_filesystems.into_iter().map(usage).collect(),
        containers: raw.container_filesystems.into_iter().map(usage).collect(),
    }
}

pub(super) fn pull(raw: content::Status) -> Pull {
    let at = raw.started_at.unwrap_or_default();
    let started_at = u32::try_from(at.nanos).ok().and_then(|nanos| Time::from_timestamp(at.seconds, nanos));
    Pull {
        reference: Text::name(&raw.r#ref),
        offset: u64::try_from(raw.offset).unwrap_or_default(),
        total: u64::try_from(raw.total).ok().filter(|total| *total > 0),
        started_at: started_at.filter(|at| at.timestamp() > 0),
    }
}

/// The image of the pod spec, else that of the kubelet's request, else the resolved one: runtimes set different fields.
fn image(spec: Option<cri::ImageSpec>, resolved: String) -> Text {
    let spec = spec.unwrap_or_default();
    let image = [spec.user_specified_image, spec.image, resolved].into_iter().find(|s| !s.is_empty());
    Text::name(&image.unwrap_or_default())
}

fn phase(state: i32) -> ContainerPhase {
    match cri::ContainerState::try_from(state) {
        Ok(cri::ContainerState::ContainerCreated) => ContainerPhase::Created,
        Ok(cri::ContainerState::ContainerRunning) => ContainerPhase::Running,
        Ok(cri::ContainerState::ContainerExited) => ContainerPhase::Exited,
        Ok(cri::ContainerState::ContainerUnknown) | Err(_) => ContainerPhase::Unknown,
    }
}

/// 0 is unset; a negative time is Go's zero time.
fn nanoseconds(since_1970: i64) -> Option<Time> {
    (since_1970 > 0).then(|| Time::from_timestamp_nanos(since_1970))
}

fn text(map: &HashMap<String, String>, key: &str) -> Text {
    map.get(key).map(|value| Text::name(value)).unwrap_or_default()
}
