//! Owns what the machine itself says of the node: units, boot time, what lies on disk of pods, and what it has left.
//! It must not open any file of a pod but a static pod's manifest, nor tell more of that than names.

mod disk;
#[doc(hidden)]
pub mod fuzzing;
mod systemctl;
mod usage;
mod vitals;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use self::usage::PodCgroups;
use super::blocking::BlockingWorker;
use super::discover::{Host, Miss, Root};
use super::{Attempt, ObservationSink, SourceFailure};
use crate::observation::{
    Call, Certificate, ErrorKind, Fact, PodDir, PodUsage, SourceError, StaticPod, Time, Unit, Vitals,
};
use crate::text::{Message, Text};
use crate::trust::KnownFile;
use systemctl::SystemctlError;

/// How often everything is looked at.
const EVERY: Duration = Duration::from_secs(10);
/// Between the first two: what is used in a time needs both.
const SOON: Duration = Duration::from_secs(1);

/// What is looked at.
#[derive(Clone, Debug)]
pub struct MachinePlan {
    /// Where files are.
    pub root: Root,
    /// Units of kubelet and runtime.
    pub units: Vec<String>,
    /// The kubelet's root directory.
    pub root_dir: PathBuf,
    /// Directory of static pods' manifests.
    pub static_pods: Option<PathBuf>,
    /// The certificate that the kubelet serves with.
    pub serving: Option<KnownFile>,
    /// Name of the node, which is part of static pods' names.
    pub node: String,
}

impl MachinePlan {
    /// The `units`, and the directories of the kubelet found, which works for `node`.
    pub fn new(host: &Host, units: Vec<String>, node: String) -> Self {
        let place = host.kubelet_place(None).value;
        let root_dir = place.as_ref().map_or("/var/lib/kubelet".into(), |p| p.root_dir.clone());
        let (static_pods, serving) = place.map_or((None, None), |p| (p.static_pods, p.certificate));
        Self { root: host.root().clone(), units, root_dir, static_pods, serving, node }
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

/// One look at everything, keyed as the facts are.
#[derive(Debug, Default)]
struct MachineSample {
    boot: Option<Time>,
    units: BTreeMap<Text, Unit>,
    dirs: BTreeMap<Text, PodDir>,
    manifests: BTreeMap<Text, StaticPod>,
    vitals: Vitals,
    certificates: BTreeMap<Text, Certificate>,
    usage: BTreeMap<Text, PodUsage>,
    /// What that was reckoned from.
    cgroups: Option<PodCgroups>,
    /// A directory may not be listed.
    refused: bool,
}

impl MachineSource {
    /// A source of what `plan` names.
    pub fn new(plan: MachinePlan) -> Self {
        Self { plan, program: "systemctl".into(), every: EVERY, worker: BlockingWorker::default() }
    }

    /// The same with another systemctl, and another time between two looks.
    pub fn with_program(self, program: impl Into<String>, every: Duration) -> Self {
        Self { program: program.into(), every, ..self }
    }

    /// Units that systemd has; what it said before stands while it does not answer.
    async fn units(
        &self,
        before: &MachineSample,
        out: &mut ObservationSink,
    ) -> Result<BTreeMap<Text, Unit>, SystemctlError> {
        if self.plan.units.is_empty() {
            return Ok(BTreeMap::new());
        }
        let began = out.begin_call(Call::Systemctl).await;
        let answer = systemctl::show(&self.worker, &self.program, &self.plan.units).await;
        let error = answer.as_ref().err().map(SystemctlError::error);
        out.end_call(Call::Systemctl, began, error).await;
        match answer {
            Ok(units) => Ok(units.into_iter().map(|unit| (unit.name.clone(), unit)).collect()),
            Err(SystemctlError::Failed(_)) => Ok(before.units.clone()),
            Err(none) => Err(none),
        }
    }

    /// Boot time and what lies on disk; each look inside has its own deadline.
    async fn disk(&self, before: &MachineSample) -> Result<MachineSample, Miss> {
        let MachinePlan { root, root_dir, static_pods, serving, node, .. } = self.plan.clone();
        let (before, cgroups, used) = (before.dirs.clone(), before.cgroups.clone(), before.usage.clone());
        let look = move || {
            let boot = root.read_kernel("/proc/stat").ok().and_then(|stat| boot_time(&stat));
            let manifests = static_pods.map(|dir| disk::manifests(&root, &dir, &node)).transpose();
            let dirs = disk::pod_dirs(&root, &root_dir, &before);
            let refused = manifests.as_ref().err().or(dirs.as_ref().err()).is_some_and(|miss| *miss == Miss::Denied);
            let found = usage::read_cgroups(&root);
            let open = MachineSample {
                boot,
                refused,
                vitals: vitals::read_vitals(&root, &root_dir),
                certificates: vitals::certificates(&root, &root_dir, serving.as_ref().map(KnownFile::path)),
                usage: found.as_ref().map_or(used, |found| found.usage(cgroups.as_ref())),
                cgroups: found.or(cgroups),
                ..MachineSample::default()
            };
            // These and the units need no permission, or are told as far as they may be read.
            if refused {
                return Ok(open);
            }
            Ok(MachineSample { dirs: dirs?, manifests: manifests?.unwrap_or_default(), ..open })
        };
        tokio::task::spawn_blocking(look).await.unwrap_or(Err(Miss::Unreadable))
    }

    /// Why there is nothing to look at, if there is no unit and no directory of a kubelet's.
    async fn nothing(&self, why: &str) -> Option<SourceFailure> {
        let MachinePlan { root, root_dir, .. } = self.plan.clone();
        let there = tokio::task::spawn_blocking(move || root.exists(root_dir)).await;
        let why = format!("{why}, and no kubelet has a directory here");
        matches!(there, Ok(Ok(false))).then(|| SourceFailure::Off(why.into()))
    }

    async fn observe(&self, out: &mut ObservationSink) -> Result<(), SourceFailure> {
        let (mut before, mut systemd, mut first) = (MachineSample::default(), true, true);
        loop {
            let mut units = BTreeMap::new();
            if systemd {
                let none = match self.units(&before, out).await {
                    Ok(found) => {
                        units = found;
                        self.plan.units.is_empty().then(|| "no unit of a kubelet or a runtime is set up".to_owned())
                    }
                    Err(none) => Some(none.to_string()),
                };
                if let Some(why) = none {
                    systemd = false;
                    if let Some(off) = self.nothing(&why).await {
                        return Err(off);
                    }
                }
            }
            let now = MachineSample { units, ..self.disk(&before).await.map_err(|miss| self.failure(miss))? };
            if first {
                out.begin_epoch().await;
            }
            let said = now.differences(&before);
            let quiet = said.is_empty();
            for fact in said {
                out.emit(fact).await;
            }
            if first {
                out.end_epoch().await;
            } else if quiet {
                out.emit(Fact::Alive).await;
            }
            if now.refused {
                return Err(self.failure(Miss::Denied));
            }
            out.set_live().await;
            let pause = if first { self.every.min(SOON) } else { self.every };
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
            Miss::Hangs => SourceFailure::Retry(error(ErrorKind::Timeout, "look whether its file system answers")),
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
    fn differences(&self, before: &MachineSample) -> Vec<Fact> {
        let mut facts: Vec<Fact> =
            self.boot.filter(|boot| before.boot != Some(*boot)).map(Fact::Boot).into_iter().collect();
        changed(&self.units, &before.units, |unit| Fact::Unit(Box::new(unit.clone())), &mut facts);
        changed(&self.dirs, &before.dirs, |dir| Fact::PodDir(Box::new(dir.clone())), &mut facts);
        let gone = |now: &dyn Fn(&Text) -> bool, fact: fn(Text) -> Fact, keys: Vec<&Text>| -> Vec<Fact> {
            keys.into_iter().filter(|key| !now(key)).map(|key| fact(key.clone())).collect()
        };
        facts.extend(gone(&|key| self.dirs.contains_key(key), Fact::PodDirGone, before.dirs.keys().collect()));
        let manifest = |pod: &StaticPod| {
            if pod.name.is_empty() {
                Fact::StaticManifest(pod.file.clone())
            } else {
                Fact::StaticPod(Box::new(pod.clone()))
            }
        };
        changed(&self.manifests, &before.manifests, manifest, &mut facts);
        let manifests = before.manifests.keys().collect();
        facts.extend(gone(&|key| self.manifests.contains_key(key), Fact::StaticManifestGone, manifests));
        changed(&self.certificates, &before.certificates, |c| Fact::Certificate(Box::new(c.clone())), &mut facts);
        let certificates = before.certificates.keys().collect();
        facts.extend(gone(&|key| self.certificates.contains_key(key), Fact::CertificateGone, certificates));
        changed(&self.usage, &before.usage, |usage| Fact::PodUsage(usage.clone()), &mut facts);
        facts.extend(gone(&|key| self.usage.contains_key(key), Fact::PodUsageGone, before.usage.keys().collect()));
        if self.vitals != before.vitals {
            facts.push(Fact::Vitals(Box::new(self.vitals.clone())));
        }
        facts
    }
}

fn changed<T: PartialEq>(
    now: &BTreeMap<Text, T>,
    before: &BTreeMap<Text, T>,
    fact: impl Fn(&T) -> Fact,
    facts: &mut Vec<Fact>,
) {
    facts.extend(now.iter().filter(|(key, value)| before.get(*key) != Some(*value)).map(|(_, value)| fact(value)));
}

/// `btime` of `/proc/stat`: seconds.
fn boot_time(stat: &str) -> Option<Time> {
    let seconds = stat.lines().find_map(|l| l.strip_prefix("btime "))?.trim().parse().ok()?;
    Time::from_timestamp(seconds, 0)
}
