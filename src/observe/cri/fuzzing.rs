//! Entry points of fuzz targets to the parsers of this module.

use prost::Message;

use super::convert;
use super::events::change;
use super::inventory::Inventory;
use super::runtime::Lists;
use crate::observation::Fact;
use crate::proto::{content, cri, events};

/// Bytes from a runtime, decoded as each of its messages; returns the facts of the lists.
pub fn messages(bytes: &[u8]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut inventory = Inventory::default();
    let sandboxes = cri::ListPodSandboxResponse::decode(bytes).map(|m| m.items).unwrap_or_default();
    let containers = cri::ListContainersResponse::decode(bytes).map(|m| m.containers).unwrap_or_default();
    let lists = Lists {
        left_out: 0,
        sandboxes: sandboxes.into_iter().map(convert::sandbox).collect(),
        containers: containers.into_iter().map(convert::container).collect(),
    };
    facts.extend(inventory.apply_lists(lists, true));
    if let Ok(status) = cri::ContainerStatusResponse::decode(bytes) {
        let _ = status.status.map(convert::container_details);
    }
    if let Ok(status) = cri::PodSandboxStatusResponse::decode(bytes) {
        let _ = status.status.map(convert::sandbox_details);
    }
    let version = cri::VersionResponse::decode(bytes).unwrap_or_default();
    let status = cri::StatusResponse::decode(bytes).unwrap_or_default();
    facts.push(Fact::RuntimeStatus(Box::new(convert::runtime_status(version, status))));
    if let Ok(images) = cri::ListImagesResponse::decode(bytes) {
        facts.extend(images.images.into_iter().map(convert::image_of).map(|image| Fact::Image(Box::new(image))));
    }
    if let Ok(info) = cri::ImageFsInfoResponse::decode(bytes) {
        facts.push(Fact::ImageFs(Box::new(convert::image_fs(info))));
    }
    if let Ok(statuses) = content::ListStatusesResponse::decode(bytes) {
        facts.extend(statuses.statuses.into_iter().map(convert::pull).map(Fact::Pull));
    }
    if let Ok(envelope) = events::Envelope::decode(bytes) {
        let _ = change(&envelope);
    }
    facts
}
