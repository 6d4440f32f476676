//! Owns starting the sources of a plan: each under its supervisor, all on one thread of their own.
//! It must not be joined by anybody: what hangs is left behind when the program ends.

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
use super::logs::{LastWords, LogOf, LogSource};
use super::machine::{MachinePlan, MachineSource};
use super::plan::Plan;
use super::{
    Attempt, BackOff, Clock, LogReader, ObservationChannel, ObservationSender, ObservationSink, SourceFailure,
    supervise,
};
use crate::observation::{Budget, Observation, Source};
use crate::text::Text;

/// What was started.
pub struct StartedSources {
    /// Where the observations come out.
    pub rx: mpsc::Receiver<Observation>,
    /// The sources that will say something, be it only why they cannot.
    pub sources: Vec<Source>,
    /// Reads the log of a container, when somebody looks at it.
    pub logs: LogReader,
    /// The credential plugin, once one was run.
    pub plugin: PluginRun,
}

/// A source that has nothing to look at here.
struct AbsentSource(Text);

impl Attempt for AbsentSource {
    async fn attempt(&mut self, _: &mut ObservationSink) -> SourceFailure {
        SourceFailure::Off(self.0.clone())
    }
}

/// Starts everything that the plan has found.
///
/// # Errors
/// When the system refuses a thread or an event queue.
pub fn start_sources(plan: &Plan) -> std::io::Result<StartedSources> {
    super::tls::install_provider();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ObservationChannel { tx, rx, room }, pumping) = observation_channel_within(plan.budget);
    let mut set =
        SourceSet { runtime: &runtime, clock: Clock::start(), tx, room, budget: plan.budget, sources: Vec::new() };
    runtime.spawn(pumping);
    let api = set.api_sources(plan);
    set.runtime_sources(plan);
    let kubelet = set.kubelet_sources(plan);
    let plugin = api.as_ref().map(ApiAccess::plugin_run).unwrap_or_default();
    let logs = LogReader::new(runtime.handle().clone(), plan.host.root().clone(), api, kubelet);
    let logs = logs.places(places(plan));
    set.logs(plan);
    set.machine(plan);
    let sources = std::mem::take(&mut set.sources);
    drop(set);
    thread::Builder::new().name("sources".into()).spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(StartedSources { rx, sources, logs, plugin })
}

fn places(plan: &Plan) -> LogDirs {
    let told = plan.kubelet.value.as_ref();
    told.map(|place| LogDirs { pods: place.pod_logs.clone(), kubelet: place.root_dir.clone() }).unwrap_or_default()
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

    /// The way to the API server, or why there is none.
    fn api_sources(&mut self, plan: &Plan) -> Result<ApiAccess, Text> {
        const ALL: [Source; 5] =
            [Source::ApiPods, Source::ApiNode, Source::ApiLease, Source::ApiEvents, Source::ApiUnbound];
        let Some(credential) = plan.credential.value.clone() else {
            let why = "no credential for the API server was found; --kubeconfig names one";
            ALL.into_iter().for_each(|source| self.absent(source, why));
            return Err(why.into());
        };
        let node = plan.node.value.clone().unwrap_or_default();
        let access = ApiAccess::new(credential, plan.host.env().clone()).context(plan.context.clone());
        for what in [
            WatchedResource::pods(&node),
            WatchedResource::node(&node),
            WatchedResource::events().near(&node),
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
                let (told, ends) = exit_channel();
                self.add(Source::Cri, CriSource::new(endpoint.clone()).with_exit_updates(told));
                self.add(Source::ContainerLog, LastWords::new(plan.host.root().clone(), places(plan), ends));
                self.add(Source::Pulls, PullsSource::new(endpoint.clone()));
            }
            None => [Source::Cri, Source::Pulls, Source::ContainerLog].into_iter().for_each(|source| {
                self.absent(source, "no socket of a container runtime was found; --runtime-endpoint names one");
            }),
        }
    }

    /// The way to the kubelet's pages, or why there is none.
    fn kubelet_sources(&mut self, plan: &Plan) -> Result<KubeletClient, Text> {
        const PAGES: [Source; 4] =
            [Source::KubeletMetrics, Source::KubeletConfig, Source::KubeletPods, Source::KubeletHealth];
        let Some(place) = &plan.kubelet.value else {
            let why = "no kubelet runs here, and none is set up";
            PAGES.into_iter().for_each(|s| self.absent(s, why));
            return Err(why.into());
        };
        match place.healthz {
            Some(address) => self.add(Source::KubeletHealth, HealthSource::new(address).proven(plan.port_proof())),
            None => self.absent(Source::KubeletHealth, "healthzPort is 0: the kubelet has it turned off"),
        }
        let identity = KubeletIdentity::of(plan.credential.value.as_ref(), plan.context.as_deref(), plan.host.env());
        let trust = match (plan.insecure_kubelet, &plan.kubelet_certificate, &place.certificate, identity.ca) {
            (true, ..) => KubeletTrust::Insecure,
            (_, Some(named), ..) => KubeletTrust::Named { pem: Pem::File(named.into()) },
            (_, _, Some(cert), _) => KubeletTrust::Pinned { cert: cert.clone() },
            (_, _, None, Some(pem)) => KubeletTrust::ClusterCa { pem },
            (_, _, None, None) => {
                let why = "neither the kubelet's certificate nor the cluster's CA was found, so it cannot be verified; \
                           run as root, or name one of them: --kubelet-certificate, --kubeconfig";
                PAGES[..3].iter().for_each(|s| self.absent(*s, why));
                return Err(why.into());
            }
        };
        let node = plan.node.value.clone().unwrap_or_default();
        let endpoint = KubeletEndpoint { address: place.server, node: node.into() };
        // An address that the user named is the user's choice.
        let proof = plan.port_proof().filter(|_| !place.server_named);
        let client = KubeletClient::with_proof(endpoint, trust, identity.auth, proof);
        self.add(Source::KubeletMetrics, MetricsSource::new(client.clone()));
        self.add(Source::KubeletConfig, ConfigzSource::new(client.clone()));
        self.add(Source::KubeletPods, PodsSource::new(client.clone()));
        Ok(client)
    }

    fn logs(&mut self, plan: &Plan) {
        let why = "neither a unit nor a file of it was found";
        self.add(Source::KubeletLog, LogSource::new(LogOf::Kubelet, plan.kubelet_log.value.clone(), why));
        self.add(Source::RuntimeLog, LogSource::new(LogOf::Runtime, plan.runtime_log.value.clone(), why));
        self.add(Source::KernelLog, LogSource::new(LogOf::Kernel, None, why));
    }

    fn machine(&mut self, plan: &Plan) {
        let logs = [&plan.kubelet_log, &plan.runtime_log];
        let units = logs.into_iter().filter_map(|l| l.value.as_ref()).flat_map(|l| l.units.clone()).collect();
        self.add(
            Source::Machine,
            MachineSource::new(MachinePlan::new(&plan.host, units, plan.node.value.clone().unwrap_or_default())),
        );
    }
}
