//! The kubelet at one instant: its sync loop, PLEG, pod workers, pod start latency and settings.

use super::channels::{LoopChannel, channels};
use super::settings::{SettingLine, settings};
use super::{NodeView, PlegView};
use crate::model::PodStartLatency;
use crate::observation::Time;
use crate::text::Text;

/// Pods in one state of their workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Workers {
    /// `sync`, `terminating`, `terminated`.
    pub lifecycle: Text,
    /// `desired`, `orphan`, `runtime_only`.
    pub config: Text,
    /// Number of pods.
    pub pods: u64,
}

/// Last response of `/healthz`, which stays `ok` while PLEG is unhealthy.
#[derive(Clone, Debug, PartialEq)]
pub struct Healthz {
    /// When it was received.
    pub at: Time,
    /// The status was 200.
    pub ok: bool,
}

/// The kubelet.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeletView {
    /// When the process started.
    pub started: Option<Time>,
    /// Last response of `/healthz`.
    pub healthz: Option<Healthz>,
    /// Channels of the sync loop.
    pub channels: Vec<LoopChannel>,
    /// PLEG and runtime operations.
    pub pleg: PlegView,
    /// States of pod workers.
    pub workers: Vec<Workers>,
    /// Pod start latency; None while no start is counted.
    pub starts: Option<PodStartLatency>,
    /// Settings.
    pub settings: Vec<SettingLine>,
}

impl KubeletView {
    /// The kubelet at the view's instant.
    pub fn new(view: &NodeView) -> Self {
        let pleg = view.pleg();
        let kubelet = &view.snapshot.kubelet;
        Self {
            started: kubelet.started_at(),
            healthz: kubelet.health.as_ref().map(|(at, ok, _)| Healthz { at: *at, ok: *ok }),
            channels: channels(view, &pleg),
            workers: workers(view),
            starts: kubelet.pod_start_latency(),
            settings: settings(view),
            pleg,
        }
    }
}

fn workers(view: &NodeView) -> Vec<Workers> {
    let state = |(key, pods): (&Text, &u64)| {
        let (lifecycle, config) = key.split_once('/')?;
        Some(Workers { lifecycle: lifecycle.into(), config: config.into(), pods: *pods })
    };
    view.snapshot.kubelet.pod_workers().filter_map(state).filter(|w| w.pods > 0 || w.config == "desired").collect()
}
