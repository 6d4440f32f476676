//! The machine as a source: units, boot time, pods on disk, and its resources. Of pods' files only the names in static
//! manifests are read.

mod disk;
#[doc(hidden)]
pub mod fuzzing;
mod systemctl;
mod usage;
mod vitals;

use std::path::PathBuf;
use std::time::Duration;

use self::usage::PodCgroups;
use super::blocking::BlockingWorker;
use super::differences::{KeyedObjects, changed, differences};
use super::discover::{Host, Miss, Root};
use super::{Attempt, ObservationSink, SourceFailure};
use crate::observation::{
    Call, Certificate, ErrorKind, Fact, NodePaths, PodDir, PodUsage, SourceError, StaticPod, Time, Unit, Vitals,
};
use crate::text::{Message, Text};
use crate::thresholds::MACHINE_PERIOD;
use crate::trust::KnownFile;
use systemctl::SystemctlError;

/// Time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(MACHINE_PERIOD.num_seconds() as u64);
/// Time between the first two samples, which rates need.
const SECOND_SAMPLE: Duration = Duration::from_secs(1);

/// What is sampled.
#[derive(Clone, Debug)]
pub struct MachinePlan {
    /// Root of all paths.
    pub root: Root,
    /// Units of the kubelet and the runtime.
    pub units: Vec<String>,
    /// The kubelet's root directory.
    pub root_dir: PathBuf,
    /// Directory of static manifests.
    pub static_pods: Option<PathBuf>,
    /// The kubelet's serving certificate.
    pub serving: Option<KnownFile>,
    /// The node's name, which is part of static pods' names.
    pub node: String,
    /// Reported once, for the commands of remedies.
    pub paths: NodePaths,
}

impl MachinePlan {
    /// The `units`, and the directories of the discovered kubelet of `node`.
    pub fn new(host: &Host, units: Vec<String>, node: String) -> Self {
        let place = host.kubelet_place(None).value;
        let root_dir = place.as_ref().map_or("/var/lib/kubelet".into(), |p| p.root_dir.clone());
        let (static_pods, serving) = place.map_or((None, None), |p| (p.static_pods, p.certificate));
        Self { root: host.root().clone(), units, root_dir, static_pods, serving, node, paths: NodePaths::default() }
    }
}

/// The machine as a source.
#[derive(Debug)]
pub struct MachineSource {
    plan: MachinePlan,
    program: String,
    every: Duration,
    /// Starts systemctl.
    worker: BlockingWorker,
}

/// One sample of everything, keyed like the facts.
#[derive(Debug, Default)]
struct MachineSample {
    boot: Option<Time>,
    units: KeyedObjects<Unit>,
    dirs: KeyedObjects<PodDir>,
    manifests: KeyedObjects<StaticPod>,
    vitals: Vitals,
    certificates: KeyedObjects<Certificate>,
    usage: KeyedObjects<PodUsage>,
    /// The counters for the next sample's rates.
    cgroups: Option<PodCgroups>,
    /// True when the permission to list a directory is missing.
    denied: bool,
}

impl MachineSource {
    /// The source of a plan.
    pub fn new(plan: MachinePlan) -> Self {
        Self { plan, program: "systemctl".into(), every: SAMPLE_EVERY, worker: BlockingWorker::default() }
    }

    /// With another systemctl, and another time between two samples.
    pub fn with_program(self, program: impl Into<String>, every: Duration) -> Self {
        Self { program: program.into(), every, ..self }
    }

    /// The units of systemd; those of the sample before when it does not respond.
    async fn units(
        &self,
        before: &MachineSample,
        out: &mut ObservationSink,
    ) -> Result<KeyedObjects<Unit>, SystemctlError> {
        if self.plan.units.is_empty() {
            return Ok(KeyedObjects::new());
        }
        let began = out.begin_call(Call::Systemctl).await;
        let result = systemctl::show(&self.worker, &self.program, &self.plan.units).await;
        let error = result.as_ref().err().map(SystemctlError::error);
        out.end_call(Call::Systemctl, began, error).await;
        match result {
            Ok(units) => Ok(units.into_iter().map(|unit| (unit.name.clone(), unit)).collect()),
            Err(SystemctlError::Failed(_)) => Ok(before.units.clone()),
            Err(none) => Err(none),
        }
    }

    /// Everything but the units; each read has its own deadline.
    async fn sample(&self, before: &MachineSample) -> Result<MachineSample, Miss> {
        let MachinePlan { root, root_dir, static_pods, serving, node, .. } = self.plan.clone();
        let (before, cgroups, used) = (before.dirs.clone(), before.cgroups.clone(), before.usage.clone());
        let sample = move || {
            let boot = root.read_kernel("/proc/stat").ok().and_then(|stat| boot_time(&stat));
            let manifests = static_pods.map(|dir| disk::manifests(&root, &dir, &node)).transpose();
            let dirs = disk::pod_dirs(&root, &root_dir, &before);
            let denied = manifests.as_ref().err().or(dirs.as_ref().err()).is_some_and(|miss| *miss == Miss::Denied);
            let found = usage::read_cgroups(&root);
            let open = MachineSample {
                boot,
                denied,
                vitals: vitals::read_vitals(&root, &root_dir),
                certificates: vitals::certificates(&root, &root_dir, serving.as_ref().map(KnownFile::path)),
                usage: found.as_ref().map_or(used, |found| found.usage(cgroups.as_ref())),
                cgroups: found.or(cgroups),
                ..MachineSample::default()
            };
            // These and the units need no permission, or are reported as far as readable.
            if denied {
                return Ok(open);
            }
            Ok(MachineSample { dirs: dirs?, manifests: manifests?.unwrap_or_default(), ..open })
        };
        tokio::task::spawn_blocking(sample).await.unwrap_or(Err(Miss::Unreadable))
    }

    /// The reason to be off, when there is neither a unit nor a directory of a kubelet.
    async fn off(&self, why: &str) -> Option<SourceFailure> {
        let MachinePlan { root, root_dir, .. } = self.plan.clone();
        let there = tokio::task::spawn_blocking(move || root.exists(root_dir)).await;
        let why = format!("{why}, and no kubelet directory exists");
        matches!(there, Ok(Ok(false))).then(|| SourceFailure::Off(why.into()))
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<(), SourceFailure> {
        let (mut before, mut systemd, mut first) = (MachineSample::default(), true, true);
        loop {
            let mut units = KeyedObjects::new();
            if systemd {
                let none = match self.units(&before, out).await {
                    Ok(found) => {
                        units = found;
                        self.plan.units.is_empty().then(|| "no systemd unit of a kubelet or a runtime".to_owned())
                    }
                    Err(none) => Some(none.to_string()),
                };
                if let Some(why) = none {
                    systemd = false;
                    if let Some(off) = self.off(&why).await {
                        return Err(off);
                    }
                }
            }
            let now = MachineSample { units, ..self.sample(&before).await.map_err(|miss| self.failure(miss))? };
            if first {
                out.begin_epoch().await;
                out.emit(Fact::NodePaths(Box::new(self.plan.paths.clone()))).await;
            }
            let facts = now.differences(&before);
            let unchanged = facts.is_empty();
            for fact in facts {
                out.emit(fact).await;
            }
            if first {
                out.end_epoch().await;
            } else if unchanged {
                out.emit(Fact::Alive).await;
            }
            if now.denied {
                return Err(self.failure(Miss::Denied));
            }
            out.set_live().await;
            let pause = if first { self.every.min(SECOND_SAMPLE) } else { self.every };
            (before, first) = (now, false);
            tokio::time::sleep(pause).await;
        }
    }

    fn failure(&self, miss: Miss) -> SourceFailure {
        let dir = self.plan.root_dir.join("pods");
        let tried = Message::from(format!("list {}: {miss}", dir.display()));
        let error = |kind, fix: &str| SourceError { tried: tried.clone(), kind, fix: fix.into() };
        match miss {
            Miss::Denied => SourceFailure::Forbidden(error(ErrorKind::Denied, "run as root")),
            Miss::Hangs => {
                SourceFailure::Retry(error(ErrorKind::Timeout, "check its file system: it does not respond"))
            }
            Miss::Absent | Miss::Unreadable | Miss::Untrusted(_) => SourceFailure::Retry(error(ErrorKind::Other, "")),
        }
    }
}

impl Attempt for MachineSource {
    async fn attempt(&mut self, out: &mut ObservationSink) -> SourceFailure {
        match self.observe(out).await {
            Err(failure) => failure,
            Ok(()) => SourceFailure::Off(Text::default()),
        }
    }
}

impl MachineSample {
    fn differences(&self, before: &Self) -> Vec<Fact> {
        let boot = self.boot.filter(|boot| before.boot != Some(*boot)).map(Fact::Boot);
        let units = changed(&before.units, &self.units, |unit| Fact::Unit(Box::new(unit.clone())));
        let dir = |dir: &PodDir| Fact::PodDir(Box::new(dir.clone()));
        let dirs = differences(&before.dirs, &self.dirs, dir, Fact::PodDirGone);
        let manifest = |pod: &StaticPod| match pod.name.is_empty() {
            true => Fact::StaticManifest(pod.file.clone()),
            false => Fact::StaticPod(Box::new(pod.clone())),
        };
        let manifests = differences(&before.manifests, &self.manifests, manifest, Fact::StaticManifestGone);
        let certificate = |certificate: &Certificate| Fact::Certificate(Box::new(certificate.clone()));
        let certificates = differences(&before.certificates, &self.certificates, certificate, Fact::CertificateGone);
        let usage = differences(&before.usage, &self.usage, |usage| Fact::PodUsage(usage.clone()), Fact::PodUsageGone);
        let vitals = (self.vitals != before.vitals).then(|| Fact::Vitals(Box::new(self.vitals.clone())));
        let listings = [units, dirs, manifests, certificates, usage].into_iter().flatten();
        boot.into_iter().chain(listings).chain(vitals).collect()
    }
}

/// `btime` of `/proc/stat`: seconds.
fn boot_time(stat: &str) -> Option<Time> {
    let seconds = stat.lines().find_map(|l| l.strip_prefix("btime "))?.trim().parse().ok()?;
    Time::from_timestamp(seconds, 0)
}
