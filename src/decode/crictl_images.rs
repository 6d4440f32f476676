//! Owns what `crictl -o json` prints of images and of the file systems that hold them.
//! It must not read an image's configuration.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{DecodeError, nullable};
use crate::observation::{FilesystemUsage, Image, ImageFs};
use crate::text::Text;

/// 64-bit numbers are strings in the JSON of protobuf; wrapped ones lie under `value`.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(wrapped) => wrapped.get("value").and_then(number),
        Value::String(s) => s.parse().ok(),
        other => other.as_u64(),
    }
}

fn counted<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    Ok(number(&Value::deserialize(d)?))
}

/// Images of `crictl images -o json`, or of the bare list in it.
///
/// # Errors
/// When the text is not such a list.
pub fn images(json: &str) -> Result<Vec<Image>, DecodeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        id: Text,
        #[serde(default, deserialize_with = "nullable")]
        repo_tags: Vec<Text>,
        #[serde(default, deserialize_with = "nullable")]
        repo_digests: Vec<Text>,
        #[serde(default, deserialize_with = "counted")]
        size: Option<u64>,
        #[serde(default)]
        pinned: bool,
    }
    #[derive(Deserialize)]
    struct Listed {
        #[serde(deserialize_with = "nullable")]
        images: Vec<Raw>,
    }
    let list = match json.trim_start().starts_with('[') {
        true => serde_json::from_str(json)?,
        false => serde_json::from_str::<Listed>(json)?.images,
    };
    let image = |raw: Raw| Image {
        id: raw.id,
        tags: raw.repo_tags.into(),
        digests: raw.repo_digests.into(),
        size: raw.size.unwrap_or_default(),
        pinned: raw.pinned,
    };
    Ok(list.into_iter().map(image).collect())
}

/// What `crictl imagefsinfo` prints.
///
/// # Errors
/// When the text is not that.
pub fn image_fs(json: &str) -> Result<ImageFs, DecodeError> {
    #[derive(Deserialize)]
    struct Info {
        status: Raw,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        #[serde(default, deserialize_with = "nullable")]
        image_filesystems: Vec<Usage>,
        #[serde(default, deserialize_with = "nullable")]
        container_filesystems: Vec<Usage>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Usage {
        #[serde(default, deserialize_with = "nullable")]
        fs_id: Id,
        #[serde(default, deserialize_with = "counted")]
        used_bytes: Option<u64>,
        #[serde(default, deserialize_with = "counted")]
        inodes_used: Option<u64>,
    }
    #[derive(Default, Deserialize)]
    struct Id {
        #[serde(default)]
        mountpoint: Text,
    }
    let raw = serde_json::from_str::<Info>(json)?.status;
    let usage = |u: Usage| FilesystemUsage {
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
    fn images_and_where_they_lie() {
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
    fn wrapped_numbers() {
        let json = r#"{"status":{"containerFilesystems":[],"imageFilesystems":[{"fsId":{"mountpoint":"/var/lib/x"},
            "inodesUsed":{"value":"321"},"timestamp":"1795951291012221268","usedBytes":{"value":"3493888"}},{"fsId":null}]}}"#;
        let fs = image_fs(json).unwrap();
        assert_eq!(fs.images[0].mountpoint, "/var/lib/x");
        assert_eq!((fs.images[0].used_bytes, fs.images[0].inodes_used), (Some(3_493_888), Some(321)));
        assert_eq!((fs.images[1].used_bytes, fs.containers.len()), (None, 0));
        assert!(image_fs("{}").is_err());
    }
}
