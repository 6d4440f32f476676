//! Images of the container runtime and the file systems with them. Image configurations are not kept: they contain environments.

use serde::{Deserialize, Serialize};

use crate::objects::limits::{FILESYSTEMS, IMAGE_NAMES};
use crate::objects::{Bounded, BoundedEntry, OmittedCount};
use crate::text::Text;

fn is_empty<T: BoundedEntry, const MOST: usize>(list: &Bounded<T, MOST>) -> bool {
    list.is_empty()
}

impl BoundedEntry for FilesystemUsage {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

/// An image (`Image` of CRI v1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Image id, `sha256:…`.
    pub id: Text,
    /// Names with tags, as in `registry.k8s.io/pause:3.10`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tags: Bounded<Text, IMAGE_NAMES>,
    /// Names with digests, as in `registry.k8s.io/pause@sha256:…`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub digests: Bounded<Text, IMAGE_NAMES>,
    /// Size according to the runtime, bytes; shared layers count in each image.
    pub size: u64,
    /// Excluded from garbage collection by the kubelet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// `ImageFsInfo`: file systems of image layers, and of writable container layers if the runtime reports them separately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageFs {
    /// `image_filesystems`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub images: Bounded<FilesystemUsage, FILESYSTEMS>,
    /// `container_filesystems`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<FilesystemUsage, FILESYSTEMS>,
}

/// What the runtime uses of one file system (`FilesystemUsage` of CRI v1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilesystemUsage {
    /// A folder on it.
    pub mountpoint: Text,
    /// Bytes used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// Inodes used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes_used: Option<u64>,
}
