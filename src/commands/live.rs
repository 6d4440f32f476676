//! Starts the sources of this node according to the flags.

use std::ffi::OsString;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::progress::StatusLine;
use super::{Failure, out};
use crate::cli::Input;
use crate::container_log::{LogCommand, LogUpdate};
use crate::observation::{Budget, Source};
use crate::observe::api::PluginRun;
use crate::observe::discover::Env;
use crate::observe::{
    CREDENTIAL, LogReader, ObserveOptions, OpenLog, Plan, ProcessPriority, StartedSources, process_limits,
    start_sources,
};
use crate::report::{DiscoveryAttempt, DiscoveryResult};
use crate::runbook::Runbook;
use crate::session::LiveModel;
use crate::time::Time;
use crate::view::{NodeView, first_text};

/// The environment variables that are read.
const VARIABLES: [&str; 9] = [
    "HOME",
    "KUBECONFIG",
    "CONTAINER_RUNTIME_ENDPOINT",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// How often the screen checks a live node for observations, at least.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Longest wait for a change: the wall clock, on which deadlines are, can be set.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// This node while it is observed.
pub struct LiveSession {
    /// The model that the sources update.
    pub model: LiveModel,
    discovery: Vec<DiscoveryResult>,
    plugin: PluginRun,
    /// Name of the node; empty if it was not found.
    pub node: String,
    /// Reads the logs of containers.
    pub logs: LogReader,
    /// The container log that is read, if any.
    open_log: Option<OpenLog>,
    /// When the last view was computed, and when time alone changes it.
    viewed: Instant,
    deadline: Option<Time>,
}

impl LiveSession {
    /// Starts the sources of this node, without waiting for them.
    ///
    /// # Errors
    /// When this machine is not a node, or a source cannot be started.
    pub fn start(input: &Input) -> Result<Self, Failure> {
        start_session(input)
    }

    /// What was searched for the sources. A run of a credential plugin is listed with the credential.
    pub fn discovery(&self) -> Vec<DiscoveryResult> {
        let mut looked = self.discovery.clone();
        if let (Some(program), Some(credential)) =
            (self.plugin.get(), looked.iter_mut().find(|looked| looked.what == CREDENTIAL))
        {
            let answer = format!("{program} was run, as configured in the kubeconfig");
            let tried = DiscoveryAttempt { place: "credential plugin".into(), answer: answer.into(), taken: true };
            credential.tried.push(tried);
        }
        looked
    }

    /// The node now.
    pub fn moment(&mut self) -> NodeView {
        let moment = self.model.moment(Time::now());
        (self.viewed, self.deadline) = (Instant::now(), moment.next_change());
        moment
    }

    /// Waits until the view changes, or until `wanted`. Returns `window` after the last view at the earliest if observations were
    /// received, so that a burst of changes costs one view.
    pub fn wait_for_change(&mut self, wanted: Option<Time>, window: Duration) -> Result<(), Failure> {
        let next = [wanted, self.deadline].into_iter().flatten().min();
        let wait = next.map_or(MAX_WAIT, |at| (at - Time::now()).to_duration() + Duration::from_millis(1));
        if self.model.wait(wait.min(MAX_WAIT))? {
            thread::sleep(window.saturating_sub(self.viewed.elapsed()));
            self.model.apply_received()?;
        }
        Ok(())
    }

    /// `live`, and the name of the node.
    pub fn title(&self) -> String {
        if self.node.is_empty() { "live".into() } else { format!("live: {}", self.node) }
    }

    /// Handles a request for a container log.
    pub fn handle_log(&mut self, ask: LogCommand) {
        match ask {
            LogCommand::Open(request) => self.open_log = Some(self.logs.open(*request)),
            LogCommand::Older => self.open_log.iter().for_each(OpenLog::older),
            LogCommand::Close => self.open_log = None,
        }
    }

    /// Updates of the container log since the last call.
    pub fn log_news(&mut self) -> Vec<LogUpdate> {
        self.open_log.as_ref().map(OpenLog::take).unwrap_or_default()
    }

    /// Waits until each source has responded or failed, at most for `limit`, and shows the pending sources on a terminal.
    fn wait_for_sources(&mut self, limit: Duration) -> Result<(), Failure> {
        let started = Instant::now();
        let mut line = StatusLine::new();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let update = line.next_update(started.elapsed());
            if self.model.wait_for_sources(left.min(update))? || started.elapsed() >= limit {
                return Ok(());
            }
            let now = Time::now();
            let pending = self.model.pending_sources();
            let pending: Vec<_> =
                pending.iter().map(|(s, first)| format!("{} {}", s.name(), first_text(first, now))).collect();
            line.show(&format!("waiting for {}", pending.join(", ")));
        }
    }

    /// Waits for the second sample of the machine, which CPU usage needs, at most for `limit`.
    pub fn wait_for_rates(&mut self, limit: Duration) -> Result<(), Failure> {
        let started = Instant::now();
        while started.elapsed() < limit {
            let snapshot = self.moment().snapshot;
            let is_sampled = snapshot.sources.get(&Source::Machine).is_some_and(|s| s.is_live());
            if !is_sampled || snapshot.machine.cpu.is_some() {
                break;
            }
            self.model.wait(limit.saturating_sub(started.elapsed()))?;
        }
        Ok(())
    }

    /// Applies observations for that time.
    pub fn observe_for(&mut self, time: Duration) -> Result<(), Failure> {
        let started = Instant::now();
        while started.elapsed() < time {
            self.model.wait(time.saturating_sub(started.elapsed()))?;
        }
        Ok(())
    }
}

/// Starts the sources of this node, and waits until each has responded or failed, at most for `--wait`.
pub fn observe(input: &Input, own: Option<Arc<Runbook>>) -> Result<LiveSession, Failure> {
    let mut session = LiveSession::start(input)?;
    session.model.diagnose_with(own);
    if input.at.is_some() {
        return Err(Failure::usage("--at without --from: a live node shows only the present", "omit --at"));
    }
    session.wait_for_sources(input.live.wait)?;
    Ok(session)
}

/// True if at least one source of pods has responded.
pub fn sees_pods(moment: &NodeView) -> bool {
    let pods = [Source::ApiPods, Source::KubeletPods, Source::Cri];
    let live = |source: &Source| moment.snapshot.sources.get(source).is_some_and(|s| s.is_live());
    // The disk is the last resort: without pods on it, nothing is known.
    pods.iter().any(live) || live(&Source::Machine) && !moment.pods.is_empty()
}

/// The failure when no source of pods has responded: an empty table would be wrong.
pub fn blind(moment: &NodeView) -> Failure {
    let mut what = String::from("no source of pods has responded");
    for source in moment.header().sources.iter().filter(|s| !s.live) {
        what.push_str(&format!("\n  {}: {}", source.source.name(), source.text));
    }
    Failure::unseen(what, "kpodtrace doctor, which lists what each source needs; or a longer --wait")
}

/// Starts the sources of this node.
fn start_session(input: &Input) -> Result<LiveSession, Failure> {
    let args = &input.live;
    let wants = ObserveOptions {
        node: args.node.clone(),
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        runtime_endpoint: args.runtime_endpoint.clone(),
        kubelet_log: args.kubelet_log.clone(),
        runtime_log: args.runtime_log.clone(),
        kubelet_endpoint: args.kubelet_endpoint,
        kubelet_certificate: args.kubelet_certificate.clone(),
        insecure_kubelet: args.insecure_kubelet,
        budget: Budget::new(input.max_memory),
    };
    let guest = ProcessPriority::lower();
    let plan = Plan::discover(&wants, environment()?);
    let mut discovery = discovery(&plan);
    if plan.is_empty() {
        return Err(no_node(&discovery));
    }
    discovery.push(priority(&guest));
    process_limits::check()
        .map_err(|none| Failure::unseen(format!("starting the sources: {}", none.what), none.fix))?;
    let StartedSources { rx, sources, logs, plugin } = start_sources(&plan)
        .map_err(|why| Failure::unseen(format!("starting the sources: {why}"), "free some memory or threads"))?;
    let node = plan.node.value.unwrap_or_default();
    let mut model = LiveModel::new(rx, sources);
    model.set_node_name(&node);
    let (open_log, viewed, deadline) = (None, Instant::now(), None);
    Ok(LiveSession { model, discovery, plugin, node, logs, open_log, viewed, deadline })
}

/// The environment variables in [`VARIABLES`], by name.
///
/// # Errors
/// When one that names a server or a credential is not UTF-8. Its value is not shown.
fn environment() -> Result<Env, Failure> {
    let mut env = Env::new();
    for name in VARIABLES {
        match std::env::var_os(name).map(OsString::into_string) {
            Some(Ok(value)) => _ = env.insert(name.to_owned(), value),
            // Only the user's kubeconfig is in it.
            Some(Err(_)) if name == "HOME" => out::note("the environment variable HOME is not UTF-8 and is not used"),
            Some(Err(_)) => {
                let what = format!("the value of the environment variable {name} is not UTF-8");
                return Err(Failure::usage(what, format!("unset {name}, or set it to UTF-8 text")));
            }
            None => {}
        }
    }
    Ok(env)
}

fn discovery(plan: &Plan) -> Vec<DiscoveryResult> {
    let looked_for = plan.searches().into_iter();
    looked_for
        .map(|(what, found, tried)| DiscoveryResult {
            what,
            found: found.map(Into::into),
            tried: tried
                .iter()
                .map(|t| DiscoveryAttempt { place: t.what.clone(), answer: t.answer.clone(), taken: t.taken })
                .collect(),
        })
        .collect()
}

/// The scheduling priority of this process, for `doctor`.
fn priority(guest: &ProcessPriority) -> DiscoveryResult {
    let one = |(place, value): (&str, &std::io::Result<i32>)| {
        let answer = value.as_ref().map_or_else(ToString::to_string, ToString::to_string);
        DiscoveryAttempt { place: place.into(), answer: answer.into(), taken: value.is_ok() }
    };
    DiscoveryResult { what: "priority", found: guest.text().map(Into::into), tried: guest.results().map(one).to_vec() }
}

/// The failure on a machine without a node, with what was searched.
fn no_node(looked: &[DiscoveryResult]) -> Failure {
    let mut what = String::from("no Kubernetes node found on this machine");
    for looked in looked {
        what.push_str(&format!("\n  {}:", looked.what));
        for tried in &looked.tried {
            what.push_str(&format!("\n    {}: {}", tried.place.one_line(), tried.answer.one_line()));
        }
    }
    Failure::unseen(what, "run on a node as root; kpodtrace demo needs no node")
}
