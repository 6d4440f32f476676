//! The last lists of the runtime with the details of each object, and the differences to the next lists.

use std::collections::BTreeMap;

use super::pending_events::ListedState;
use super::runtime::{DetailRequest, Details, Lists};
use crate::decode::{ContainerDetails, SandboxDetails};
use crate::observation::{Container, ContainerPhase, Fact, Sandbox, Time};
use crate::observe::exit_channel::FailedExit;
use crate::text::Text;

/// Failed status calls after which none is sent until the state changes.
const MAX_TRIES: u8 = 3;

/// All sandboxes and containers, as they were emitted.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    sandboxes: BTreeMap<Text, KeptSandbox>,
    containers: BTreeMap<Text, KeptContainer>,
    /// Failed exits that were not sent yet.
    failed_exits: Vec<(Option<Time>, FailedExit)>,
}

#[derive(Debug)]
struct KeptSandbox {
    emitted: Sandbox,
    details: Option<SandboxDetails>,
    tries: u8,
}

#[derive(Debug)]
struct KeptContainer {
    emitted: Container,
    details: Option<ContainerDetails>,
    /// The state for which details were read.
    read_for: Option<ContainerPhase>,
    tries: u8,
}

impl Inventory {
    /// Applies the lists, and returns the facts to emit: all for an epoch, else the differences.
    pub fn apply_lists(&mut self, lists: Lists, epoch: bool) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut before = std::mem::take(&mut self.sandboxes);
        for mut now in lists.sandboxes {
            let was = before.remove(&now.id);
            let (details, tries) = was.as_ref().map_or((None, 0), |w| (w.details.clone(), w.tries));
            if let Some(details) = &details {
                details.merge_into(&mut now);
            }
            if epoch || was.is_none_or(|w| w.emitted != now) {
                facts.push(Fact::Sandbox(Box::new(now.clone())));
            }
            self.sandboxes.insert(now.id.clone(), KeptSandbox { emitted: now, details, tries });
        }
        let gone = before.into_keys().map(Fact::SandboxGone);
        facts.extend(gone.filter(|_| !epoch));

        let mut before = std::mem::take(&mut self.containers);
        for mut now in lists.containers {
            let was = before.remove(&now.id);
            let details = was.as_ref().and_then(|w| w.details.clone());
            if let Some(details) = &details {
                details.merge_into(&mut now);
            }
            let (read_for, tries) = was.as_ref().map_or((None, 0), |w| (w.read_for, w.tries));
            let tries = if was.as_ref().is_some_and(|w| w.emitted.phase != now.phase) { 0 } else { tries };
            if epoch || was.is_none_or(|w| w.emitted != now) {
                facts.push(Fact::Container(Box::new(now.clone())));
            }
            self.containers.insert(now.id.clone(), KeptContainer { emitted: now, details, read_for, tries });
        }
        let gone = before.into_keys().map(Fact::ContainerGone);
        facts.extend(gone.filter(|_| !epoch));
        facts
    }

    /// The state of a container or a sandbox in the last lists.
    pub fn listed_state(&self, id: &Text) -> Option<ListedState> {
        let container = self.containers.get(id).map(|c| match c.emitted.phase {
            ContainerPhase::Created => ListedState::Created,
            ContainerPhase::Running => ListedState::Running,
            ContainerPhase::Exited | ContainerPhase::Unknown => ListedState::Exited,
        });
        let sandbox =
            || self.sandboxes.get(id).map(|s| if s.emitted.ready { ListedState::Running } else { ListedState::Exited });
        container.or_else(sandbox)
    }

    /// Objects without details for their state, the newest first, containers before sandboxes.
    ///
    /// A created container has no details yet; a sandbox that is not ready has no address any more.
    pub fn missing_details(&self, most: usize) -> Vec<DetailRequest> {
        let mut containers: Vec<_> =
            self.containers.values().filter(|c| c.lacks_details()).map(|c| &c.emitted).collect();
        containers.sort_by_key(|c| std::cmp::Reverse(c.created_at));
        let mut sandboxes: Vec<_> = self.sandboxes.values().filter(|s| s.lacks_details()).map(|s| &s.emitted).collect();
        sandboxes.sort_by_key(|s| std::cmp::Reverse(s.created_at));
        let containers = containers.into_iter().map(|c| DetailRequest::Container(c.id.clone()));
        containers.chain(sandboxes.into_iter().map(|s| DetailRequest::Sandbox(s.id.clone()))).take(most).collect()
    }

    /// Applies details, and returns the fact to emit.
    pub fn apply_details(&mut self, request: &DetailRequest, details: Details) -> Option<Fact> {
        match (request, details) {
            (DetailRequest::Container(id), Details::Container(details, log)) => {
                let kept = self.containers.get_mut(id)?;
                let before = kept.emitted.clone();
                details.merge_into(&mut kept.emitted);
                self.failed_exits.extend(failed_exit(&kept.emitted, log));
                kept.details = Some(details);
                kept.read_for = Some(kept.emitted.phase);
                kept.tries = 0;
                (before != kept.emitted).then(|| Fact::Container(Box::new(kept.emitted.clone())))
            }
            (DetailRequest::Sandbox(id), Details::Sandbox(details)) => {
                let kept = self.sandboxes.get_mut(id)?;
                let before = kept.emitted.clone();
                details.merge_into(&mut kept.emitted);
                kept.details = Some(details);
                (before != kept.emitted).then(|| Fact::Sandbox(Box::new(kept.emitted.clone())))
            }
            _ => {
                self.detail_failed(request);
                None
            }
        }
    }

    /// Takes the failed exits, the earliest first.
    pub fn take_failed_exits(&mut self) -> impl Iterator<Item = FailedExit> {
        let mut exits = std::mem::take(&mut self.failed_exits);
        exits.sort_by_key(|(at, _)| *at);
        exits.into_iter().map(|(_, exit)| exit)
    }

    /// A status call failed.
    pub fn detail_failed(&mut self, request: &DetailRequest) {
        let tries = match request {
            DetailRequest::Container(id) => self.containers.get_mut(id).map(|c| &mut c.tries),
            DetailRequest::Sandbox(id) => self.sandboxes.get_mut(id).map(|s| &mut s.tries),
        };
        if let Some(tries) = tries {
            *tries = tries.saturating_add(1);
        }
    }
}

/// containerd's reason for an exit that it did not observe; the exit code is not real then.
const UNKNOWN_EXIT: &str = "Unknown";

/// The exit, if its code is not 0. The details of a state are read once, so each exit is sent once.
fn failed_exit(c: &Container, log: String) -> Option<(Option<Time>, FailedExit)> {
    let is_failed =
        c.phase == ContainerPhase::Exited && c.exit_code.is_some_and(|code| code != 0) && c.reason != UNKNOWN_EXIT;
    // The kubelet's default path.
    let default = || format!("/var/log/pods/{}_{}_{}/{}/{}.log", c.namespace, c.pod, c.uid, c.name, c.attempt);
    let log = if log.is_empty() { default() } else { log };
    is_failed.then(|| {
        let (namespace, pod, uid, container) = (c.namespace.clone(), c.pod.clone(), c.uid.clone(), c.name.clone());
        (c.finished_at, FailedExit { namespace, pod, uid, container, log: log.into() })
    })
}

impl KeptContainer {
    fn lacks_details(&self) -> bool {
        self.emitted.phase != ContainerPhase::Created
            && self.read_for != Some(self.emitted.phase)
            && self.tries < MAX_TRIES
    }
}

impl KeptSandbox {
    fn lacks_details(&self) -> bool {
        self.emitted.ready && self.details.is_none() && self.tries < MAX_TRIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(id: &str, phase: ContainerPhase, second: i64) -> Container {
        let text = Text::new("x");
        Container {
            id: id.into(),
            sandbox: text.clone(),
            name: text.clone(),
            pod: text.clone(),
            namespace: text.clone(),
            uid: text.clone(),
            attempt: 0,
            phase,
            created_at: Time::from_timestamp(second, 0),
            started_at: None,
            finished_at: None,
            exit_code: None,
            reason: Text::default(),
            message: crate::text::Message::default(),
            image: text,
        }
    }

    fn list(containers: &[Container]) -> Lists {
        Lists { left_out: 0, sandboxes: Vec::new(), containers: containers.to_vec() }
    }

    fn details(id: &str, phase: ContainerPhase) -> Details {
        Details::Container(
            ContainerDetails {
                id: id.into(),
                phase,
                started_at: Time::from_timestamp(9, 0),
                finished_at: (phase == ContainerPhase::Exited).then(|| Time::from_timestamp(10, 0)).flatten(),
                exit_code: 3,
                reason: "Error".into(),
                message: crate::text::Message::default(),
                image: Text::default(),
            },
            String::new(),
        )
    }

    #[test]
    fn only_differences_are_emitted_and_details_read_once_per_state() {
        use ContainerPhase::{Created, Exited, Running};
        let (a, b) = (container("a", Running, 1), container("b", Created, 2));
        let mut inventory = Inventory::default();
        assert_eq!(inventory.apply_lists(list(&[a.clone(), b.clone()]), true).len(), 2);
        let request = DetailRequest::Container("a".into());
        assert_eq!(inventory.missing_details(64), std::slice::from_ref(&request), "a created container has no details");
        assert!(inventory.apply_details(&request, details("a", Running)).is_some());
        assert!(inventory.missing_details(64).is_empty());
        assert!(inventory.apply_lists(list(&[a.clone(), b.clone()]), false).is_empty(), "details are kept");

        let exited = Container { phase: Exited, ..a.clone() };
        let facts = inventory.apply_lists(list(&[exited]), false);
        assert!(
            matches!(&facts[..], [Fact::Container(c), Fact::ContainerGone(id)]
            if c.started_at.is_some() && c.exit_code.is_none() && id == "b"),
            "{facts:?}"
        );
        let Some(Fact::Container(c)) = inventory.apply_details(&request, details("a", Exited)) else {
            panic!("no fact")
        };
        assert_eq!((c.exit_code, c.reason.as_str()), (Some(3), "Error"));
        let logs: Vec<_> = inventory.take_failed_exits().map(|exit| exit.log).collect();
        assert_eq!(logs, [std::path::Path::new("/var/log/pods/x_x_x/x/0.log")]);
        assert!(inventory.missing_details(64).is_empty());
        // A list that was in flight at the exit must not show it as running again.
        assert!(inventory.apply_lists(list(&[a]), false).is_empty());
        assert_eq!(inventory.take_failed_exits().count(), 0, "an exit is sent once");
    }

    #[test]
    fn rounds_are_bounded_newest_first_and_failing_calls_are_not_repeated() {
        let many: Vec<_> = (0..9).map(|n| container(&format!("c{n}"), ContainerPhase::Running, n)).collect();
        let mut inventory = Inventory::default();
        inventory.apply_lists(list(&many), true);
        assert_eq!(
            inventory.missing_details(2),
            [DetailRequest::Container("c8".into()), DetailRequest::Container("c7".into())]
        );
        for _ in 0..MAX_TRIES {
            inventory.detail_failed(&DetailRequest::Container("c8".into()));
        }
        assert_eq!(inventory.missing_details(1), [DetailRequest::Container("c7".into())]);
        let mut changed = many.clone();
        changed[8].phase = ContainerPhase::Exited;
        inventory.apply_lists(list(&changed), false);
        assert_eq!(inventory.missing_details(1), [DetailRequest::Container("c8".into())], "a new state is read again");
    }
}
