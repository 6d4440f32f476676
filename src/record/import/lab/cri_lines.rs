//! The CRI part of an incident: whole lists, calls with their durations, and statuses of what changed.

use std::collections::BTreeMap;

use super::line::IncidentLine;
use super::list_state::{ListState, emit};
use crate::decode::{
    ContainerDetails, DecodeError, SandboxDetails, container_details, containers, failure, sandbox_details, sandboxes,
};
use crate::observation::{Call, Container, Fact, Sandbox, Source, SourceError};
use crate::record::import::timeline::Timeline;
use crate::text::Text;

const SOURCE: Source = Source::Cri;

/// State of the runtime after the lines read so far. The status of a container is kept as long as the list has it.
#[derive(Default)]
pub(super) struct CriLines {
    sandboxes: ListState<Sandbox>,
    containers: ListState<Container>,
    sandbox_details: BTreeMap<Text, SandboxDetails>,
    container_details: BTreeMap<Text, ContainerDetails>,
    /// A list was emitted and no call has failed since.
    is_listed: bool,
}

impl CriLines {
    /// Reads the next line.
    ///
    /// # Errors
    /// When the line has neither lists nor a status, or one that cannot be decoded.
    pub(super) fn read(&mut self, line: &IncidentLine<'_>, timeline: &mut Timeline) -> Result<(), DecodeError> {
        if let Some(error) = &line.error {
            let error = failure("crictl", error);
            add_call(line, Some(error.clone()), timeline);
            timeline.fail(SOURCE, line.t, error);
            self.is_listed = false;
        } else if let (Some(sandboxes_json), Some(containers_json)) = (line.sandboxes, line.containers) {
            let lists = (sandboxes(sandboxes_json.get())?, containers(containers_json.get())?);
            self.set_live_at_first_call(line, timeline);
            add_call(line, None, timeline);
            self.emit_lists(lists.0, lists.1, line, timeline);
        } else if line.unchanged {
            self.set_live_at_first_call(line, timeline);
            add_call(line, None, timeline);
            // After a failure a new epoch starts, which must list everything.
            if !self.is_listed {
                self.emit_lists(self.sandboxes.all(), self.containers.all(), line, timeline);
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

    fn emit_lists(
        &mut self,
        mut sandboxes: Vec<Sandbox>,
        mut containers: Vec<Container>,
        line: &IncidentLine<'_>,
        timeline: &mut Timeline,
    ) {
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
        let whole = !self.is_listed;
        let (mut facts, sandboxes_gone) = self.sandboxes.next(sandboxes, whole);
        let (changed, containers_gone) = self.containers.next(containers, whole);
        self.sandbox_details.retain(|id, _| self.sandboxes.get(id).is_some());
        self.container_details.retain(|id, _| self.containers.get(id).is_some());
        facts.extend(changed.into_iter().chain(containers_gone).chain(sandboxes_gone));
        emit(timeline, SOURCE, line.t, whole, facts);
        self.is_listed = true;
    }

    /// Before its first call the source is live; after a failure it is live only once a call has returned.
    fn set_live_at_first_call(&self, line: &IncidentLine<'_>, timeline: &mut Timeline) {
        if !timeline.has_facts(SOURCE) {
            timeline.set_live(SOURCE, line.t - line.call_duration());
        }
    }
}

fn add_call(line: &IncidentLine<'_>, error: Option<SourceError>, timeline: &mut Timeline) {
    let took = line.call_duration();
    let took_us = u64::try_from(took.num_microseconds()).unwrap_or_default();
    timeline.add(SOURCE, line.t - took, Fact::CallBegin(Call::CriList));
    timeline.add(SOURCE, line.t, Fact::CallEnd { call: Call::CriList, took_us, error });
}
