//! Converts the output of crictl back to CRI messages, so that captures can be served. Independent of the program's decoders,
//! which are under test.

use std::collections::HashMap;

use serde_json::Value;

use super::cri;

/// Nanoseconds since 1970 of a number, of one in a text, or of a time; 0 is none, as in the protocol.
fn nanos(value: &Value) -> i64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let time = || chrono::DateTime::parse_from_rfc3339(&text).ok()?.timestamp_nanos_opt();
    text.parse().ok().or_else(time).unwrap_or_default().max(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn map(value: &Value) -> HashMap<String, String> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default()
}

pub fn sandbox(raw: &Value) -> cri::PodSandbox {
    cri::PodSandbox {
        id: text(&raw["id"]),
        metadata: Some(cri::PodSandboxMetadata {
            name: text(&raw["metadata"]["name"]),
            uid: text(&raw["metadata"]["uid"]),
            namespace: text(&raw["metadata"]["namespace"]),
            attempt: number(&raw["metadata"]["attempt"]) as u32,
        }),
        state: cri::PodSandboxState::from_str_name(&text(&raw["state"])).unwrap().into(),
        created_at: nanos(&raw["createdAt"]),
        annotations: map(&raw["annotations"]),
    }
}

fn image_spec(raw: &Value) -> Option<cri::ImageSpec> {
    Some(cri::ImageSpec {
        image: text(&raw["image"]["image"]),
        user_specified_image: text(&raw["image"]["userSpecifiedImage"]),
    })
}

fn state(raw: &Value) -> i32 {
    cri::ContainerState::from_str_name(&text(&raw["state"])).unwrap().into()
}

pub fn container(raw: &Value) -> cri::Container {
    cri::Container {
        id: text(&raw["id"]),
        pod_sandbox_id: text(&raw["podSandboxId"]),
        metadata: Some(cri::ContainerMetadata {
            name: text(&raw["metadata"]["name"]),
            attempt: number(&raw["metadata"]["attempt"]) as u32,
        }),
        image: image_spec(raw),
        image_ref: text(&raw["imageRef"]),
        state: state(raw),
        created_at: nanos(&raw["createdAt"]),
        labels: map(&raw["labels"]),
    }
}

pub fn container_status(raw: &Value) -> (String, cri::ContainerStatus) {
    let status = cri::ContainerStatus {
        id: text(&raw["id"]),
        state: state(raw),
        started_at: nanos(&raw["startedAt"]),
        finished_at: nanos(&raw["finishedAt"]),
        exit_code: raw["exitCode"].as_i64().unwrap_or_default() as i32,
        image: image_spec(raw),
        image_ref: text(&raw["imageRef"]),
        reason: text(&raw["reason"]),
        message: text(&raw["message"]),
        log_path: text(&raw["logPath"]),
    };
    (status.id.clone(), status)
}

pub fn sandbox_status(raw: &Value) -> (String, cri::PodSandboxStatus) {
    let status = cri::PodSandboxStatus {
        id: text(&raw["id"]),
        state: cri::PodSandboxState::from_str_name(&text(&raw["state"])).unwrap().into(),
        network: Some(cri::PodSandboxNetworkStatus { ip: text(&raw["network"]["ip"]) }),
    };
    (status.id.clone(), status)
}

pub fn image(raw: &Value) -> cri::Image {
    cri::Image {
        id: text(&raw["id"]),
        repo_tags: texts(&raw["repoTags"]),
        repo_digests: texts(&raw["repoDigests"]),
        size: number(&raw["size"]),
        pinned: raw["pinned"].as_bool().unwrap_or_default(),
    }
}

pub fn image_fs(raw: &Value) -> cri::ImageFsInfoResponse {
    let wrapped = |value: &Value| value.get("value").map(|v| cri::UInt64Value { value: number(v) });
    let usage = |raw: &Value| cri::FilesystemUsage {
        fs_id: Some(cri::FilesystemIdentifier { mountpoint: text(&raw["fsId"]["mountpoint"]) }),
        used_bytes: wrapped(&raw["usedBytes"]),
        inodes_used: wrapped(&raw["inodesUsed"]),
    };
    let list = |key: &str| raw["status"][key].as_array().into_iter().flatten().map(usage).collect();
    cri::ImageFsInfoResponse {
        image_filesystems: list("imageFilesystems"),
        container_filesystems: list("containerFilesystems"),
    }
}

pub fn items<T>(list: &Value, key: &str, of: impl Fn(&Value) -> T) -> Vec<T> {
    list[key].as_array().into_iter().flatten().map(of).collect()
}
