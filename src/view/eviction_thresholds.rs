//! Owns the kubelet's eviction thresholds, and how far each of them is away.
//! It must not take a default for a setting that was read: one that is set replaces all of the defaults.

use super::NodeView;
use super::resources::whole;
use crate::objects::Quantity;
use crate::observation::{Filesystem, Time, Vitals};
use crate::text::Text;
use crate::time::TimeDelta;

/// `evictionHard` where nothing is set (pkg/kubelet/apis/config/v1beta1/defaults_linux.go).
const DEFAULTS: [(&str, &str); 5] = [
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("nodefs.inodesFree", "5%"),
    ("imagefs.available", "15%"),
    ("imagefs.inodesFree", "5%"),
];
/// A look at the machine older than this says nothing about now, seconds: three of them.
const STALE_S: i64 = 30;

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
    /// Counted in bytes.
    pub fn is_bytes(&self) -> bool {
        !self.signal.ends_with("inodesFree") && !self.signal.starts_with("pid.")
    }

    /// How much more there is than the threshold; negative beyond it.
    pub fn margin(&self) -> Option<Quantity> {
        Some(self.left? - self.at?)
    }

    /// What the kubelet itself says, where nobody measures.
    pub fn condition_text(&self) -> Option<String> {
        self.condition.map(|(name, is)| match is {
            true => format!("{name}: this or its like is passed"),
            false => format!("not passed: {name}=False"),
        })
    }

    /// The same as a share of all.
    pub fn margin_share(&self) -> Option<f64> {
        self.margin()?.share_of(self.of?)
    }
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

/// The last look at the machine, while it is of now.
pub(super) fn vitals(moment: &NodeView) -> Option<(Time, &Vitals)> {
    let (at, vitals) = moment.snapshot.machine.vitals.as_ref()?;
    (moment.now - *at <= TimeDelta::seconds(STALE_S)).then_some((*at, vitals))
}

fn nodefs(vitals: &Vitals) -> Option<&Filesystem> {
    vitals.filesystems.first().filter(|fs| fs.path != "/")
}

/// The file system looked at that the runtime's images lie on: by the longest path above theirs.
fn imagefs<'a>(moment: &NodeView, vitals: &'a Vitals) -> Option<&'a Filesystem> {
    let mountpoint = &moment.snapshot.image_fs.as_ref()?.images.first()?.mountpoint;
    // Below the root there may be another that was not looked at.
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
        None => all.extend(DEFAULTS.map(|(signal, s)| threshold(moment, signal, &s.into(), Text::default(), true))),
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
