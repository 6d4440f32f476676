//! Owns the document `NodeReport`.
//! It must not give an amount in another unit than its field's name says.

use serde::Serialize;

use super::json::{DocumentHead, JsonTime, NodeContext, json_time, known, node_context};
use crate::objects::Quantity;
use crate::text::Text;
use crate::view::{CpuUse, Disk, EvictionThreshold, NodeDetail, NodeView, ResourceLine, Victim};

/// The node at a moment.
#[derive(Debug, Serialize)]
pub struct NodeReport {
    #[serde(flatten)]
    head: DocumentHead,
    #[serde(flatten)]
    around: NodeContext,
    taints: Vec<String>,
    looked_at: Option<JsonTime>,
    not_ready_at: Option<JsonTime>,
    evicted_at: Option<JsonTime>,
    resources: Vec<ResourceJson>,
    thresholds: Vec<ThresholdJson>,
    filesystems: Vec<DiskJson>,
    memory: Option<MemoryJson>,
    cpu_busy: Option<f64>,
    pressure: Vec<PressureJson>,
    eviction_order: Vec<VictimJson>,
    kill_order: Vec<VictimJson>,
    cpu_order: Vec<BusyJson>,
    oom_kills: Option<u64>,
    booted: Option<JsonTime>,
    kills: Vec<KillJson>,
    runtime_conditions: Vec<RuntimeJson>,
    certificates: Vec<CertificateJson>,
}

#[derive(Debug, Serialize)]
struct ResourceJson {
    name: String,
    capacity: String,
    allocatable: String,
    requested: String,
    requested_share: Option<f64>,
    limits: String,
    pods_without_limit: usize,
    used: Option<String>,
}

#[derive(Debug, Serialize)]
struct ThresholdJson {
    signal: Text,
    setting: Text,
    grace: Option<Text>,
    assumed: bool,
    left: Option<String>,
    of: Option<String>,
    at: Option<String>,
    margin: Option<String>,
    margin_share: Option<f64>,
}

#[derive(Debug, Serialize)]
struct DiskJson {
    role: String,
    path: Text,
    size_bytes: u64,
    available_bytes: u64,
    inodes: u64,
    inodes_free: u64,
    images_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct MemoryJson {
    total_bytes: u64,
    available_bytes: u64,
}

#[derive(Debug, Serialize)]
struct PressureJson {
    of: Text,
    some_percent: [f64; 3],
    full_percent: Option<[f64; 3]>,
}

#[derive(Debug, Serialize)]
struct VictimJson {
    uid: Text,
    namespace: Text,
    name: Text,
    qos_class: Option<Text>,
    priority: i32,
    request: String,
    used: Option<String>,
    over_request: Option<bool>,
    never_evicted: bool,
    oom_score_adj: i64,
    oom_score: Option<i64>,
}

#[derive(Debug, Serialize)]
struct BusyJson {
    uid: Text,
    namespace: Text,
    name: Text,
    used: String,
    request: String,
    limit: Option<String>,
    share: Option<f64>,
}

#[derive(Debug, Serialize)]
struct KillJson {
    at: JsonTime,
    pod: Option<Text>,
    text: Text,
}

#[derive(Debug, Serialize)]
struct RuntimeJson {
    #[serde(rename = "type")]
    kind: Text,
    ok: bool,
    reason: Option<Text>,
    message: Option<Text>,
}

#[derive(Debug, Serialize)]
struct CertificateJson {
    path: Text,
    begins: JsonTime,
    ends: JsonTime,
    renewal_is_late: bool,
}

/// The report.
pub fn node_json(moment: &NodeView) -> NodeReport {
    let view = NodeDetail::new(moment);
    let pressure =
        view.pressure.iter().map(|(of, p)| PressureJson { of: of.clone(), some_percent: p.some, full_percent: p.full });
    let kills = view.kills.iter().map(|k| KillJson { at: JsonTime(k.at), pod: known(&k.pod), text: k.text.clone() });
    let conditions = view.runtime.iter().map(|c| RuntimeJson {
        kind: c.kind.clone(),
        ok: c.ok,
        reason: known(&c.reason),
        message: known(&c.message),
    });
    let certificates = view.certificates.iter().map(|c| CertificateJson {
        path: c.certificate.path.clone(),
        begins: JsonTime(c.certificate.begins),
        ends: JsonTime(c.certificate.ends),
        renewal_is_late: c.late,
    });
    NodeReport {
        head: DocumentHead::new("NodeReport", moment),
        around: node_context(moment),
        looked_at: json_time(view.sampled_at),
        not_ready_at: json_time(view.lease.as_ref().map(|l| l.not_ready_at)),
        evicted_at: json_time(view.lease.as_ref().map(|l| l.evicted_at)),
        resources: view.resources.iter().map(resource).collect(),
        thresholds: view.thresholds.iter().map(threshold).collect(),
        filesystems: view.disks.iter().map(disk).collect(),
        memory: view.memory.map(|m| MemoryJson { total_bytes: m.total, available_bytes: m.available }),
        cpu_busy: view.cpu,
        pressure: pressure.collect(),
        eviction_order: view.eviction.iter().map(victim).collect(),
        kill_order: view.kernel.iter().map(victim).collect(),
        cpu_order: view.busy.iter().map(busy).collect(),
        oom_kills: view.oom_kills,
        booted: json_time(view.boot),
        kills: kills.collect(),
        runtime_conditions: conditions.collect(),
        certificates: certificates.collect(),
        taints: view.taints,
    }
}

fn text(amount: Option<Quantity>) -> Option<String> {
    amount.map(|amount| amount.to_string())
}

fn resource(r: &ResourceLine) -> ResourceJson {
    ResourceJson {
        name: r.resource.name().to_owned(),
        capacity: r.capacity.to_string(),
        allocatable: r.allocatable.to_string(),
        requested: r.requested.to_string(),
        requested_share: r.requested.share_of(r.allocatable),
        limits: r.limits.to_string(),
        pods_without_limit: r.unbounded,
        used: text(r.used),
    }
}

fn threshold(t: &EvictionThreshold) -> ThresholdJson {
    ThresholdJson {
        signal: t.signal.clone(),
        setting: t.setting.clone(),
        grace: known(&t.grace),
        assumed: t.assumed,
        left: text(t.left),
        of: text(t.of),
        at: text(t.at),
        margin: text(t.margin()),
        margin_share: t.margin_share(),
    }
}

fn disk(disk: &Disk) -> DiskJson {
    let fs = &disk.filesystem;
    DiskJson {
        role: disk.role.clone(),
        path: fs.path.clone(),
        size_bytes: fs.size,
        available_bytes: fs.available,
        inodes: fs.inodes,
        inodes_free: fs.inodes_free,
        images_bytes: disk.images,
    }
}

fn victim(v: &Victim) -> VictimJson {
    VictimJson {
        uid: v.key.clone(),
        namespace: v.namespace.clone(),
        name: v.name.clone(),
        qos_class: known(&v.class),
        priority: v.priority,
        request: v.request.to_string(),
        used: text(v.used),
        over_request: v.over,
        never_evicted: v.critical,
        oom_score_adj: v.adj,
        oom_score: v.score,
    }
}

fn busy(b: &CpuUse) -> BusyJson {
    BusyJson {
        uid: b.key.clone(),
        namespace: b.namespace.clone(),
        name: b.name.clone(),
        used: b.used.to_string(),
        request: b.request.to_string(),
        limit: text(b.limit),
        share: b.share,
    }
}
