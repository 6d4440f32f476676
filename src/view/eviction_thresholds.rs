//! The kubelet's eviction thresholds and the distance to each.

use super::NodeView;
use super::resources::whole;
use crate::objects::Quantity;
use crate::observation::{Filesystem, Time, Vitals};
use crate::text::Text;
use crate::thresholds::{EVICTION_HARD, EVICTION_NEAR, MACHINE_STALE, NEARLY_FULL};

/// One threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct EvictionThreshold {
    /// `memory.available`.
    pub signal: Text,
    /// The setting, `10%` or `100Mi`.
    pub setting: Text,
    /// Grace of a soft one, `1m30s`; empty for a hard one.
    pub grace: Text,
    /// It is the default, and the settings were not read.
    pub assumed: bool,
    /// What is left, bytes or pieces.
    pub left: Option<Quantity>,
    /// Of how much.
    pub of: Option<Quantity>,
    /// Below how much it evicts.
    pub at: Option<Quantity>,
    /// The condition that the kubelet sets when a threshold of this resource is passed, as the node has it.
    pub condition: Option<(&'static str, bool)>,
}

impl EvictionThreshold {
    /// Where the threshold is, seen from the present amount.
    pub fn distance(&self) -> Distance {
        match self.margin() {
            Some(margin) if margin < Quantity::ZERO => Distance::Crossed,
            Some(_) if self.margin_share().is_some_and(|share| share < EVICTION_NEAR) => Distance::Near,
            Some(_) => Distance::Far,
            None if self.condition.is_some_and(|(_, crossed)| crossed) => Distance::Crossed,
            None => Distance::Unknown,
        }
    }

    /// Counted in bytes.
    pub fn is_bytes(&self) -> bool {
        !self.signal.ends_with("inodesFree") && !self.signal.starts_with("pid.")
    }

    /// How much more there is than the threshold; negative beyond it.
    pub fn margin(&self) -> Option<Quantity> {
        Some(self.left? - self.at?)
    }

    /// The kubelet's own condition, for a threshold without a measurement.
    pub fn condition_text(&self) -> Option<String> {
        self.condition.map(|(name, is)| match is {
            true => format!("threshold crossed ({name}=True)"),
            false => format!("not reached ({name}=False)"),
        })
    }

    /// The same as a share of all.
    pub fn margin_share(&self) -> Option<f64> {
        self.margin()?.share_of(self.of?)
    }
}

/// Distance to an eviction threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// No measurement.
    Unknown,
    /// Room is left.
    Far,
    /// Little is left.
    Near,
    /// The kubelet evicts.
    Crossed,
}

/// The roles of a file system for the kubelet.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// `kubelet (nodefs)`, `images (imagefs)`, `/`.
    pub role: String,
    /// What is known of it.
    pub filesystem: Filesystem,
    /// What images take of it, as the runtime counts, bytes.
    pub images: Option<u64>,
}

impl Disk {
    /// Free bytes as a share of its size.
    pub fn free_share(&self) -> f64 {
        share(self.filesystem.available, self.filesystem.size)
    }

    /// Free inodes as a share of all.
    pub fn free_inodes_share(&self) -> f64 {
        share(self.filesystem.inodes_free, self.filesystem.inodes)
    }
}

/// True for a share of free space that is little.
pub fn is_nearly_full(free_share: f64) -> bool {
    free_share < 1.0 - NEARLY_FULL
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 1.0 }
}

/// The last sample of the machine, unless it is stale.
pub(super) fn vitals(moment: &NodeView) -> Option<(Time, &Vitals)> {
    let (at, vitals) = moment.snapshot.machine.vitals.as_ref()?;
    (moment.now - *at <= MACHINE_STALE).then_some((*at, vitals))
}

fn nodefs(vitals: &Vitals) -> Option<&Filesystem> {
    vitals.filesystems.first().filter(|fs| fs.path != "/")
}

/// The sampled file system that holds the runtime's images: the one with the longest path above theirs.
fn imagefs<'a>(moment: &NodeView, vitals: &'a Vitals) -> Option<&'a Filesystem> {
    let mountpoint = &moment.snapshot.image_fs.as_ref()?.images.first()?.mountpoint;
    // Another file system below the root may hold them without being sampled.
    let above =
        |fs: &&Filesystem| fs.path != "/" && std::path::Path::new(mountpoint.as_str()).starts_with(fs.path.as_str());
    vitals.filesystems.iter().filter(above).max_by_key(|fs| fs.path.len())
}

/// The file systems that matter, each once.
pub fn disks(moment: &NodeView) -> Vec<Disk> {
    let Some((_, vitals)) = vitals(moment) else { return Vec::new() };
    let images = moment.snapshot.image_fs.as_ref().and_then(|fs| fs.images.first()?.used_bytes);
    let roles = [
        ("kubelet (nodefs)", nodefs(vitals)),
        ("images (imagefs)", imagefs(moment, vitals)),
        ("/", vitals.filesystems.iter().find(|fs| fs.path == "/")),
    ];
    let mut out: Vec<Disk> = Vec::new();
    for (role, filesystem) in roles.into_iter().filter_map(|(role, fs)| Some((role, fs?))) {
        let of = |role: &str| if role.starts_with("images") { images } else { None };
        match out.iter_mut().find(|disk| disk.filesystem.id == filesystem.id) {
            Some(disk) => {
                disk.role = format!("{}, {role}", disk.role);
                disk.images = disk.images.or(of(role));
            }
            None => out.push(Disk { role: role.into(), filesystem: filesystem.clone(), images: of(role) }),
        }
    }
    out
}

/// Every threshold that is set, the nearest first; those whose distance is not known last.
pub fn thresholds(moment: &NodeView) -> Vec<EvictionThreshold> {
    let settings = moment.snapshot.kubelet.config.as_ref().map(|config| &config.settings).filter(|s| !s.is_empty());
    let mut all = Vec::new();
    match settings {
        Some(settings) => {
            for (name, setting) in settings {
                let (signal, soft) = match (name.strip_prefix("evictionHard."), name.strip_prefix("evictionSoft.")) {
                    (Some(signal), _) => (signal, false),
                    (_, Some(signal)) => (signal, true),
                    (None, None) => continue,
                };
                let grace = settings.get(format!("evictionSoftGracePeriod.{signal}").as_str()).filter(|_| soft);
                all.push(threshold(moment, signal, setting, grace.cloned().unwrap_or_default(), false));
            }
        }
        None => {
            all.extend(EVICTION_HARD.map(|(signal, s)| threshold(moment, signal, &s.into(), Text::default(), true)))
        }
    }
    all.retain(|t| !matches!(t.setting.as_str(), "0" | "0%"));
    all.sort_by(|a, b| {
        let share = |t: &EvictionThreshold| t.margin_share().unwrap_or(f64::INFINITY);
        share(a).total_cmp(&share(b)).then_with(|| a.signal.cmp(&b.signal))
    });
    all
}

fn threshold(moment: &NodeView, signal: &str, setting: &Text, grace: Text, assumed: bool) -> EvictionThreshold {
    let (left, of) = vitals(moment).and_then(|(_, v)| measure(moment, v, signal)).unzip();
    let at = match setting.strip_suffix('%') {
        Some(percent) => {
            percent.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).zip(of).map(|(percent, of)| {
                // As the kubelet does: the share in thousandths of a percent of the whole.
                Quantity::whole((of.as_f64() * percent / 100.0) as i64)
            })
        }
        None => Quantity::parse(setting),
    };
    let condition = condition(moment, signal);
    EvictionThreshold { signal: signal.into(), setting: setting.clone(), grace, assumed, left, of, at, condition }
}

/// The node's condition for a signal (pkg/kubelet/eviction/helpers.go); None where it is neither True nor False.
fn condition(moment: &NodeView, signal: &str) -> Option<(&'static str, bool)> {
    let name = match signal.split('.').next()? {
        "memory" => "MemoryPressure",
        "pid" => "PIDPressure",
        "nodefs" | "imagefs" | "containerfs" => "DiskPressure",
        _ => return None,
    };
    let found = moment.snapshot.node.iter().flat_map(|n| &n.status.conditions).find(|c| c.kind == name)?;
    matches!(found.status.as_str(), "True" | "False").then(|| (name, found.is_true()))
}

/// What is left of what a signal counts, and of how much.
fn measure(moment: &NodeView, vitals: &Vitals, signal: &str) -> Option<(Quantity, Quantity)> {
    let (what, kind) = signal.split_once('.')?;
    let filesystem = match what {
        "memory" => return vitals.memory.map(|m| (whole(m.available), whole(m.total))),
        "pid" => return vitals.pids.map(|(now, max)| (whole(max.saturating_sub(now)), whole(max))),
        "nodefs" => nodefs(vitals)?,
        "imagefs" | "containerfs" => imagefs(moment, vitals)?,
        _ => return None,
    };
    match kind {
        "available" => Some((whole(filesystem.available), whole(filesystem.size))),
        "inodesFree" if filesystem.inodes > 0 => Some((whole(filesystem.inodes_free), whole(filesystem.inodes))),
        _ => None,
    }
}
