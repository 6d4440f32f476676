//! `crictl -o json` for images and the file systems that hold them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{DecodeError, nullable};
use crate::observation::{FilesystemUsage, Image, ImageFs};
use crate::text::Text;

/// A 64-bit number: protobuf JSON writes it as a string, a wrapper type as an object with `value`.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(wrapped) => wrapped.get("value").and_then(number),
        Value::String(s) => s.parse().ok(),
        other => other.as_u64(),
    }
}

fn optional_number<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    Ok(number(&Value::deserialize(d)?))
}

/// Images in the output of `crictl images -o json`, or in its list alone.
///
/// # Errors
/// When the text is not such a list.
pub fn images(json: &str) -> Result<Vec<Image>, DecodeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CrictlImageEntry {
        id: Text,
        #[serde(default, deserialize_with = "nullable")]
        repo_tags: Vec<Text>,
        #[serde(default, deserialize_with = "nullable")]
        repo_digests: Vec<Text>,
        #[serde(default, deserialize_with = "optional_number")]
        size: Option<u64>,
        #[serde(default)]
        pinned: bool,
    }
    #[derive(Deserialize)]
    struct CrictlImageList {
        #[serde(deserialize_with = "nullable")]
        images: Vec<CrictlImageEntry>,
    }
    let list = match json.trim_start().starts_with('[') {
        true => serde_json::from_str(json)?,
        false => serde_json::from_str::<CrictlImageList>(json)?.images,
    };
    let image = |raw: CrictlImageEntry| Image {
        id: raw.id,
        tags: raw.repo_tags.into(),
        digests: raw.repo_digests.into(),
        size: raw.size.unwrap_or_default(),
        pinned: raw.pinned,
    };
    Ok(list.into_iter().map(image).collect())
}

/// The output of `crictl imagefsinfo -o json`.
///
/// # Errors
/// When the text is not such output.
pub fn image_fs(json: &str) -> Result<ImageFs, DecodeError> {
    #[derive(Deserialize)]
    struct ImageFsOutput {
        status: ImageFsStatus,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ImageFsStatus {
        #[serde(default, deserialize_with = "nullable")]
        image_filesystems: Vec<FsUsage>,
        #[serde(default, deserialize_with = "nullable")]
        container_filesystems: Vec<FsUsage>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FsUsage {
        #[serde(default, deserialize_with = "nullable")]
        fs_id: FsId,
        #[serde(default, deserialize_with = "optional_number")]
        used_bytes: Option<u64>,
        #[serde(default, deserialize_with = "optional_number")]
        inodes_used: Option<u64>,
    }
    #[derive(Default, Deserialize)]
    struct FsId {
        #[serde(default)]
        mountpoint: Text,
    }
    let raw = serde_json::from_str::<ImageFsOutput>(json)?.status;
    let usage = |u: FsUsage| FilesystemUsage {
        mountpoint: u.fs_id.mountpoint,
        used_bytes: u.used_bytes,
        inodes_used: u.inodes_used,
    };
    Ok(ImageFs {
        images: raw.image_filesystems.into_iter().map(usage).collect(),
        containers: raw.container_filesystems.into_iter().map(usage).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_list_of_images() {
        let json = r#"{"images":[{"id":"sha256:1","repoTags":["a:1","b:1"],"repoDigests":null,"size":"18446744073709551615",
            "uid":{"value":"65535"},"username":"","spec":{"annotations":{"x":"hunter2"}},"pinned":true},{"id":"sha256:2","size":7}]}"#;
        let list = images(json).unwrap();
        assert_eq!((list[0].tags.len(), list[0].size, list[0].pinned), (2, u64::MAX, true));
        assert_eq!((list[1].size, list[1].pinned), (7, false));
        assert_eq!(images(r#"{"images":null}"#), Ok(Vec::new()));
        assert_eq!(images("[]"), Ok(Vec::new()));
        assert!(images("time=\"2026\" level=error").is_err() && images("{}").is_err());
    }

    #[test]
    fn reads_wrapped_numbers() {
        let json = r#"{"status":{"containerFilesystems":[],"imageFilesystems":[{"fsId":{"mountpoint":"/var/lib/x"},
            "inodesUsed":{"value":"321"},"timestamp":"1795951291012221268","usedBytes":{"value":"3493888"}},{"fsId":null}]}}"#;
        let fs = image_fs(json).unwrap();
        assert_eq!(fs.images[0].mountpoint, "/var/lib/x");
        assert_eq!((fs.images[0].used_bytes, fs.images[0].inodes_used), (Some(3_493_888), Some(321)));
        assert_eq!((fs.images[1].used_bytes, fs.containers.len()), (None, 0));
        assert!(image_fs("{}").is_err());
    }
}
