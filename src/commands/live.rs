//! Owns the way from the flags to a node that is being observed.
//! It must not print more than notes: the subcommands do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;

use super::Failure;
use super::progress::StatusLine;
use crate::cli::Input;
use crate::observation::{Budget, Source};
use crate::observe::{LogReader, Plan, Started, Wants, start};
use crate::report::{Looked, Try};
use crate::runbook::Runbook;
use crate::session::Live;
use crate::view::{Moment, first_text};

/// What is being observed, and how it was found.
pub struct Observed {
    /// The model that grows.
    pub live: Live,
    /// What was looked for.
    pub looked: Vec<Looked>,
    /// The node's name, as far as it was found.
    pub node: String,
    /// Reads containers' logs.
    pub logs: LogReader,
}

impl Observed {
    /// The moment now.
    pub fn moment(&mut self) -> Moment {
        self.live.moment(Utc::now())
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
            let now = Utc::now();
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
pub fn sees_pods(moment: &Moment) -> bool {
    let pods = [Source::ApiPods, Source::KubeletPods, Source::Cri];
    let live = |source: &Source| moment.snapshot.sources.get(source).is_some_and(|s| s.is_live());
    // What lies on disk is the last resort; an empty disk is no answer.
    pods.iter().any(live) || live(&Source::Machine) && !moment.pods.is_empty()
}

/// No source that knows of pods has answered: an empty table would be a lie.
pub fn blind(moment: &Moment) -> Failure {
    let mut what = String::from("observing this node: no source of pods has answered");
    for source in moment.header().sources.iter().filter(|s| !s.live) {
        what.push_str(&format!("\n  {}: {}", source.source.name(), source.text));
    }
    Failure::unseen(what, "kpodtrace doctor, which says what each source lacks; or a longer --wait")
}

/// Looks at the node and starts its sources.
pub fn begin(input: &Input) -> Result<Observed, Failure> {
    let args = &input.live;
    let wants = Wants {
        node: args.node.clone(),
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        runtime_endpoint: args.runtime_endpoint.clone(),
        kubelet_log: args.kubelet_log.clone(),
        runtime_log: args.runtime_log.clone(),
        insecure_kubelet: args.insecure_kubelet,
        budget: Budget::new(input.max_memory),
    };
    let plan = Plan::make(&wants, std::env::vars().collect());
    let looked = looked(&plan);
    if plan.is_hopeless() {
        return Err(nothing_here(&looked));
    }
    let Started { rx, sources, logs } = start(&plan)
        .map_err(|why| Failure::unseen(format!("starting the sources: {why}"), "free some memory or threads"))?;
    let node = plan.node.value.unwrap_or_default();
    let mut live = Live::new(rx, sources);
    live.name_node(&node);
    Ok(Observed { live, looked, node, logs })
}

fn looked(plan: &Plan) -> Vec<Looked> {
    let looked_for = plan.looked_for().into_iter();
    looked_for
        .map(|(what, found, tried)| Looked {
            what,
            found: found.map(Into::into),
            tried: tried
                .iter()
                .map(|t| Try { place: t.what.clone(), answer: t.answer.clone(), taken: t.taken })
                .collect(),
        })
        .collect()
}

/// One screen that says what was looked for.
fn nothing_here(looked: &[Looked]) -> Failure {
    let mut what = String::from("looking for a Kubernetes node: nothing of one was found here");
    for looked in looked {
        what.push_str(&format!("\n  {}:", looked.what));
        for tried in &looked.tried {
            what.push_str(&format!("\n    {}: {}", tried.place.one_line(), tried.answer.one_line()));
        }
    }
    Failure::unseen(what, "on a node as root; kpodtrace demo needs no node; kpodtrace doctor tells the same")
}
