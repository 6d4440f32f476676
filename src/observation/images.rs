//! Owns what the container runtime says of its images and of the file systems that hold them.
//! It must not hold an image's configuration: that carries environments.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// An image (`Image` of CRI v1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Image id, `sha256:…`.
    pub id: Text,
    /// Names with tags, as in `registry.k8s.io/pause:3.10`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Text>,
    /// Names with digests, as in `registry.k8s.io/pause@sha256:…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<Text>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<FilesystemUsage>,
    /// `container_filesystems`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<FilesystemUsage>,
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
