//! Owns the way from the flags to a node that is being observed.
//! It must not print more than notes: the subcommands do.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::progress::StatusLine;
use super::{Failure, out};
use crate::cli::Input;
use crate::observation::{Budget, Source};
use crate::observe::api::PluginRun;
use crate::observe::discover::Env;
use crate::observe::{
    CREDENTIAL, LogReader, ObserveOptions, Plan, ProcessPriority, StartedSources, process_limits, start_sources,
};
use crate::report::{DiscoveryAttempt, DiscoveryResult};
use crate::runbook::Runbook;
use crate::session::Live;
use crate::time::Time;
use crate::view::{NodeView, first_text};

/// Every environment variable that says where something is.
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

/// What is being observed, and how it was found.
pub struct Observed {
    /// The model that grows.
    pub live: Live,
    looked: Vec<DiscoveryResult>,
    plugin: PluginRun,
    /// The node's name, as far as it was found.
    pub node: String,
    /// Reads containers' logs.
    pub logs: LogReader,
}

impl Observed {
    /// What was looked for; that a credential plugin was run is with the credential.
    pub fn looked(&self) -> Vec<DiscoveryResult> {
        let mut looked = self.looked.clone();
        if let (Some(program), Some(credential)) =
            (self.plugin.get(), looked.iter_mut().find(|looked| looked.what == CREDENTIAL))
        {
            let answer = format!("{program} was run as the kubeconfig asks");
            let tried = DiscoveryAttempt { place: "credential plugin".into(), answer: answer.into(), taken: true };
            credential.tried.push(tried);
        }
        looked
    }

    /// The moment now.
    pub fn moment(&mut self) -> NodeView {
        self.live.moment(Time::now())
    }

    /// Waits until each source has answered or given up, at most for `limit`, and says on a terminal what it waits for.
    pub fn settle(&mut self, limit: Duration) -> Result<(), Failure> {
        let begin = Instant::now();
        let mut line = StatusLine::new();
        loop {
            let left = limit.saturating_sub(begin.elapsed());
            if self.live.settle(left.min(line.next(begin.elapsed())))? || begin.elapsed() >= limit {
                return Ok(());
            }
            let now = Time::now();
            let told = self.live.awaited();
            let told: Vec<_> =
                told.iter().map(|(s, first)| format!("{} {}", s.name(), first_text(first, now))).collect();
            line.say(&format!("waiting for {}", told.join(", ")));
        }
    }

    /// Takes in what comes until the machine was looked at twice, as what is used in a time needs, at most for `limit`.
    pub fn pass_until_rates(&mut self, limit: Duration) -> Result<(), Failure> {
        let begin = Instant::now();
        while begin.elapsed() < limit {
            let snapshot = self.moment().snapshot;
            let looks = snapshot.sources.get(&Source::Machine).is_some_and(|s| s.is_live());
            if !looks || snapshot.machine.cpu.is_some() {
                break;
            }
            self.live.wait(limit.saturating_sub(begin.elapsed()))?;
        }
        Ok(())
    }

    /// Takes in what comes for a while; ends early when `done` says so.
    pub fn pass_for(&mut self, time: Duration) -> Result<bool, Failure> {
        let begin = Instant::now();
        let mut changed = false;
        while begin.elapsed() < time {
            changed |= self.live.wait(time.saturating_sub(begin.elapsed()))?;
        }
        Ok(changed)
    }
}

/// Looks at the node and starts its sources; waits until each has answered or given up, as long as was asked for.
pub fn observe(input: &Input, own: Option<Arc<Runbook>>) -> Result<Observed, Failure> {
    let mut observed = begin(input)?;
    observed.live.diagnose_with(own);
    if input.at.is_some() {
        return Err(Failure::usage("--at without --from: a live node has no other moment than now", "leave --at away"));
    }
    observed.settle(input.live.wait)?;
    Ok(observed)
}

/// At least one source that knows of pods has answered.
pub fn sees_pods(moment: &NodeView) -> bool {
    let pods = [Source::ApiPods, Source::KubeletPods, Source::Cri];
    let live = |source: &Source| moment.snapshot.sources.get(source).is_some_and(|s| s.is_live());
    // What lies on disk is the last resort; an empty disk is no answer.
    pods.iter().any(live) || live(&Source::Machine) && !moment.pods.is_empty()
}

/// No source that knows of pods has answered: an empty table would be a lie.
pub fn blind(moment: &NodeView) -> Failure {
    let mut what = String::from("observing this node: no source of pods has answered");
    for source in moment.header().sources.iter().filter(|s| !s.live) {
        what.push_str(&format!("\n  {}: {}", source.source.name(), source.text));
    }
    Failure::unseen(what, "kpodtrace doctor, which says what each source lacks; or a longer --wait")
}

/// Looks at the node and starts its sources.
pub fn begin(input: &Input) -> Result<Observed, Failure> {
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
    let mut looked = looked(&plan);
    if plan.is_empty() {
        return Err(nothing_here(&looked));
    }
    looked.push(priority(&guest));
    process_limits::check()
        .map_err(|none| Failure::unseen(format!("starting the sources: {}", none.what), none.fix))?;
    let StartedSources { rx, sources, logs, plugin } = start_sources(&plan)
        .map_err(|why| Failure::unseen(format!("starting the sources: {why}"), "free some memory or threads"))?;
    let node = plan.node.value.unwrap_or_default();
    let mut live = Live::new(rx, sources);
    live.set_node_name(&node);
    Ok(Observed { live, looked, plugin, node, logs })
}

/// The environment variables that are used, by name. None of the others is read.
///
/// # Errors
/// When one that names a server or a credential is not text; its value is not shown.
fn environment() -> Result<Env, Failure> {
    let mut env = Env::new();
    for name in VARIABLES {
        match std::env::var_os(name).map(OsString::into_string) {
            Some(Ok(value)) => _ = env.insert(name.to_owned(), value),
            // Only the user's own kubeconfig is below it.
            Some(Err(_)) if name == "HOME" => out::note("the environment variable HOME is not UTF-8 and is not used"),
            Some(Err(_)) => {
                let what = format!("reading the environment: the value of {name} is not UTF-8");
                return Err(Failure::usage(what, format!("unset {name}, or set it to text")));
            }
            None => {}
        }
    }
    Ok(env)
}

fn looked(plan: &Plan) -> Vec<DiscoveryResult> {
    let looked_for = plan.looked_for().into_iter();
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

/// What this process runs with, as `doctor` shows it.
fn priority(guest: &ProcessPriority) -> DiscoveryResult {
    let one = |(place, value): (&str, &std::io::Result<i32>)| {
        let answer = value.as_ref().map_or_else(ToString::to_string, ToString::to_string);
        DiscoveryAttempt { place: place.into(), answer: answer.into(), taken: value.is_ok() }
    };
    DiscoveryResult { what: "priority", found: guest.text().map(Into::into), tried: guest.tried().map(one).to_vec() }
}

/// One screen that says what was looked for.
fn nothing_here(looked: &[DiscoveryResult]) -> Failure {
    let mut what = String::from("looking for a Kubernetes node: nothing of one was found here");
    for looked in looked {
        what.push_str(&format!("\n  {}:", looked.what));
        for tried in &looked.tried {
            what.push_str(&format!("\n    {}: {}", tried.place.one_line(), tried.answer.one_line()));
        }
    }
    Failure::unseen(what, "on a node as root; kpodtrace demo needs no node; kpodtrace doctor tells the same")
}
