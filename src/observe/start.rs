//! Starts the sources of a plan: each under its supervisor, all on one thread, which is not joined when the program
//! exits.

use std::thread;

use tokio::sync::{mpsc, watch};

use super::api::{ApiAccess, LeaseSource, ListWatch, PluginRun, WatchedResource};
use super::channel::observation_channel_within;
use super::cri::{CriSource, PullsSource};
use super::discover::LogDirs;
use super::exit_channel::exit_channel;
use super::identity::KubeletIdentity;
use super::kubelet::{
    ConfigzSource, HealthSource, KubeletClient, KubeletEndpoint, KubeletTrust, MetricsSource, Pem, PodsSource,
};
use super::logs::{LastOutput, LogSource};
use super::machine::{MachinePlan, MachineSource};
use super::plan::Plan;
use super::{
    Attempt, BackOff, Clock, LogReader, ObservationChannel, ObservationSender, ObservationSink, SourceFailure,
    supervise,
};
use crate::decode::NodeLog;
use crate::observation::{Budget, Observation, Source};
use crate::text::Text;

/// The started sources.
pub struct StartedSources {
    /// The observations.
    pub rx: mpsc::Receiver<Observation>,
    /// The sources that emit something, at least why they are off.
    pub sources: Vec<Source>,
    /// Reads container logs on demand.
    pub logs: LogReader,
    /// The credential plugin, once it was run.
    pub plugin: PluginRun,
}

/// A source that does not exist on this node, and why.
struct AbsentSource(Text);

impl Attempt for AbsentSource {
    async fn attempt(&mut self, _: &mut ObservationSink) -> SourceFailure {
        SourceFailure::Off(self.0.clone())
    }
}

/// Starts the sources of everything that the plan contains.
///
/// # Errors
/// When the system provides no thread or no event queue.
pub fn start_sources(plan: &Plan) -> std::io::Result<StartedSources> {
    super::tls::install_provider();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ObservationChannel { tx, rx, room }, running) = observation_channel_within(plan.budget);
    let mut set =
        SourceSet { runtime: &runtime, clock: Clock::start(), tx, room, budget: plan.budget, sources: Vec::new() };
    runtime.spawn(running);
    let api = set.api_sources(plan);
    set.runtime_sources(plan);
    let kubelet = set.kubelet_sources(plan);
    let plugin = api.as_ref().map(ApiAccess::plugin_run).unwrap_or_default();
    let logs = LogReader::new(runtime.handle().clone(), plan.host.root().clone(), api, kubelet);
    let logs = logs.with_dirs(places(plan));
    set.logs(plan);
    set.machine(plan);
    let sources = std::mem::take(&mut set.sources);
    drop(set);
    thread::Builder::new().name("sources".into()).spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(StartedSources { rx, sources, logs, plugin })
}

fn places(plan: &Plan) -> LogDirs {
    let place = plan.kubelet.value.as_ref();
    place.map(|place| LogDirs { pods: place.pod_logs.clone(), kubelet: place.root_dir.clone() }).unwrap_or_default()
}

struct SourceSet<'a> {
    runtime: &'a tokio::runtime::Runtime,
    clock: Clock,
    tx: ObservationSender,
    budget: Budget,
    room: watch::Receiver<bool>,
    sources: Vec<Source>,
}

impl SourceSet<'_> {
    fn add(&mut self, source: Source, attempt: impl Attempt + 'static) {
        let outlet = ObservationSink::new(source, self.clock, self.tx.clone());
        let outlet = outlet.with_room(self.room.clone()).with_budget(self.budget);
        self.sources.push(source);
        self.runtime.spawn(supervise(attempt, outlet, BackOff::of(source)));
    }

    fn absent(&mut self, source: Source, why: &str) {
        self.add(source, AbsentSource(why.into()));
    }

    /// Access to the API server, or why there is none.
    fn api_sources(&mut self, plan: &Plan) -> Result<ApiAccess, Text> {
        const ALL: [Source; 5] =
            [Source::ApiPods, Source::ApiNode, Source::ApiLease, Source::ApiEvents, Source::ApiUnbound];
        let Some(credential) = plan.credential.value.clone() else {
            let why = "no credential for the API server found; give one with --kubeconfig";
            ALL.into_iter().for_each(|source| self.absent(source, why));
            return Err(why.into());
        };
        let node = plan.node.value.clone().unwrap_or_default();
        let access = ApiAccess::new(credential, plan.host.env().clone()).context(plan.context.clone());
        for what in [
            WatchedResource::pods(&node),
            WatchedResource::node(&node),
            WatchedResource::events().prefer_node(&node),
            WatchedResource::unbound(),
        ] {
            self.add(what.source, ListWatch::new(access.clone(), what));
        }
        self.add(Source::ApiLease, LeaseSource::new(access.clone(), &node));
        Ok(access)
    }

    fn runtime_sources(&mut self, plan: &Plan) {
        match &plan.cri.value {
            Some(endpoint) => {
                let (exits, received) = exit_channel();
                self.add(Source::Cri, CriSource::new(endpoint.clone()).with_exit_updates(exits));
                self.add(Source::ContainerLog, LastOutput::new(plan.host.root().clone(), places(plan), received));
                self.add(Source::Pulls, PullsSource::new(endpoint.clone()));
            }
            None => [Source::Cri, Source::Pulls, Source::ContainerLog].into_iter().for_each(|source| {
                self.absent(source, "no container runtime socket found; name one with --runtime-endpoint");
            }),
        }
    }

    /// The client of the kubelet's pages, or why there is none.
    fn kubelet_sources(&mut self, plan: &Plan) -> Result<KubeletClient, Text> {
        const PAGES: [Source; 4] =
            [Source::KubeletMetrics, Source::KubeletConfig, Source::KubeletPods, Source::KubeletHealth];
        let Some(place) = &plan.kubelet.value else {
            let why = "no kubelet found: not running and not installed";
            PAGES.into_iter().for_each(|s| self.absent(s, why));
            return Err(why.into());
        };
        match place.healthz {
            Some(address) => self.add(Source::KubeletHealth, HealthSource::new(address).with_proof(plan.port_proof())),
            None => self.absent(Source::KubeletHealth, "disabled in the kubelet: healthzPort is 0"),
        }
        let identity = KubeletIdentity::of(plan.credential.value.as_ref(), plan.context.as_deref(), plan.host.env());
        let trust = match (plan.insecure_kubelet, &plan.kubelet_certificate, &place.certificate, identity.ca) {
            (true, ..) => KubeletTrust::Insecure,
            (_, Some(named), ..) => KubeletTrust::Named { pem: Pem::File(named.into()) },
            (_, _, Some(cert), _) => KubeletTrust::Pinned { cert: cert.clone() },
            (_, _, None, Some(pem)) => KubeletTrust::ClusterCa { pem },
            (_, _, None, None) => {
                let why = "cannot verify the kubelet: neither its certificate nor the cluster's CA found; run as root, or name \
                           one of them: --kubelet-certificate, --kubeconfig";
                PAGES[..3].iter().for_each(|s| self.absent(*s, why));
                return Err(why.into());
            }
        };
        let node = plan.node.value.clone().unwrap_or_default();
        let endpoint = KubeletEndpoint { address: place.server, node: node.into() };
        // An address that the user named needs no proof.
        let proof = plan.port_proof().filter(|_| !place.server_named);
        let client = KubeletClient::with_proof(endpoint, trust, identity.auth, proof);
        self.add(Source::KubeletMetrics, MetricsSource::new(client.clone()));
        self.add(Source::KubeletConfig, ConfigzSource::new(client.clone()));
        self.add(Source::KubeletPods, PodsSource::new(client.clone()));
        Ok(client)
    }

    fn logs(&mut self, plan: &Plan) {
        let why = "no unit and no log file found";
        self.add(Source::KubeletLog, LogSource::new(NodeLog::Kubelet, plan.kubelet_log.value.clone(), why));
        self.add(Source::RuntimeLog, LogSource::new(NodeLog::Runtime, plan.runtime_log.value.clone(), why));
        self.add(Source::KernelLog, LogSource::new(NodeLog::Kernel, None, why));
    }

    fn machine(&mut self, plan: &Plan) {
        let logs = [&plan.kubelet_log, &plan.runtime_log];
        let units = logs.into_iter().filter_map(|l| l.value.as_ref()).flat_map(|l| l.units.clone()).collect();
        let machine = MachinePlan::new(&plan.host, units, plan.node.value.clone().unwrap_or_default());
        self.add(Source::Machine, MachineSource::new(MachinePlan { paths: plan.node_paths(), ..machine }));
    }
}
