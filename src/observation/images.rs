//! Owns what the container runtime says of its images and of the file systems that hold them.
//! It must not hold an image's configuration: that carries environments.

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
    /// Bytes, as the runtime counts them; layers that images share count in each.
    pub size: u64,
    /// Never collected by the kubelet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// `ImageFsInfo`: where image layers lie, and where the writable layers of containers do when that is said apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageFs {
    /// `image_filesystems`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub images: Bounded<FilesystemUsage, FILESYSTEMS>,
    /// `container_filesystems`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub containers: Bounded<FilesystemUsage, FILESYSTEMS>,
}

/// What the runtime uses of one file system (`FilesystemUsage` of CRI v1), as it last counted.
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
