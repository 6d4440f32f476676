//! Owns the runtime's part of an incident: whole lists, calls with their durations, statuses of what changed.
//! It must not keep the status of a container longer than its entry in the list.

use std::collections::BTreeMap;

use super::incident::Line;
use super::listing::{Known, emit};
use super::timeline::Timeline;
use crate::decode::{
    ContainerDetails, DecodeError, SandboxDetails, container_details, containers, failure, sandbox_details, sandboxes,
};
use crate::observation::{Call, Container, Fact, Sandbox, Source, SourceError};
use crate::text::Text;
use crate::time::TimeDelta;

const SOURCE: Source = Source::Cri;

/// What the lines so far have said.
#[derive(Default)]
pub(super) struct CriLines {
    sandboxes: Known<Sandbox>,
    containers: Known<Container>,
    sandbox_details: BTreeMap<Text, SandboxDetails>,
    container_details: BTreeMap<Text, ContainerDetails>,
    /// A listing was emitted and nothing has failed since.
    listed: bool,
}

impl CriLines {
    pub(super) fn line(&mut self, line: &Line<'_>, timeline: &mut Timeline) -> Result<(), DecodeError> {
        if let Some(error) = &line.error {
            let error = failure("crictl", error);
            call(line, Some(error.clone()), timeline);
            timeline.fail(SOURCE, line.t, error);
            self.listed = false;
        } else if let (Some(sandboxes_json), Some(containers_json)) = (line.sandboxes, line.containers) {
            let lists = (sandboxes(sandboxes_json.get())?, containers(containers_json.get())?);
            self.first_live(line, timeline);
            call(line, None, timeline);
            self.lists(lists.0, lists.1, line, timeline);
        } else if line.unchanged {
            self.first_live(line, timeline);
            call(line, None, timeline);
            // Unchanged since before the failure: the new epoch must say it all again.
            if !self.listed {
                self.lists(self.sandboxes.all(), self.containers.all(), line, timeline);
            }
        } else if let Some(json) = line.container_status {
            let details = container_details(json.get())?;
            if let Some(fact) = self.containers.change(&details.id, |c| details.merge_into(c)) {
                timeline.push(SOURCE, line.t, fact);
            }
            self.container_details.insert(details.id.clone(), details);
        } else if let Some(json) = line.sandbox_status {
            let details = sandbox_details(json.get())?;
            if let Some(fact) = self.sandboxes.change(&details.id, |s| details.merge_into(s)) {
                timeline.push(SOURCE, line.t, fact);
            }
            self.sandbox_details.insert(details.id.clone(), details);
        } else {
            return Err(DecodeError::Shape("neither lists nor a status"));
        }
        Ok(())
    }

    fn lists(&mut self, sandboxes: Vec<Sandbox>, containers: Vec<Container>, line: &Line<'_>, timeline: &mut Timeline) {
        let (mut sandboxes, mut containers) = (sandboxes, containers);
        for sandbox in &mut sandboxes {
            if let Some(details) = self.sandbox_details.get(&sandbox.id) {
                details.merge_into(sandbox);
            }
        }
        for container in &mut containers {
            if let Some(details) = self.container_details.get(&container.id) {
                details.merge_into(container);
            }
        }
        let whole = !self.listed;
        let (mut facts, sandboxes_gone) = self.sandboxes.next(sandboxes, whole);
        let (changed, containers_gone) = self.containers.next(containers, whole);
        self.sandbox_details.retain(|id, _| self.sandboxes.get(id).is_some());
        self.container_details.retain(|id, _| self.containers.get(id).is_some());
        facts.extend(changed.into_iter().chain(containers_gone).chain(sandboxes_gone));
        emit(timeline, SOURCE, line.t, whole, facts);
        self.listed = true;
    }

    /// The first call of all is made by a source that is already called live; after a failure only its answer makes it so.
    fn first_live(&self, line: &Line<'_>, timeline: &mut Timeline) {
        if !timeline.has_begun(SOURCE) {
            timeline.live(SOURCE, line.t - took(line));
        }
    }
}

fn took(line: &Line<'_>) -> TimeDelta {
    let micros = line.took_s.filter(|s| (0.0..86_400.0).contains(s)).map_or(0.0, |s| s * 1e6);
    TimeDelta::microseconds(micros.round() as i64)
}

fn call(line: &Line<'_>, error: Option<SourceError>, timeline: &mut Timeline) {
    let took = took(line);
    let took_us = u64::try_from(took.num_microseconds()).unwrap_or_default();
    timeline.put(SOURCE, line.t - took, Fact::CallBegin(Call::CriList));
    timeline.put(SOURCE, line.t, Fact::CallEnd { call: Call::CriList, took_us, error });
}
