//! `kpodtrace explain`: selects the input and the subjects; `diagnose` does the rest.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Failure, Outcome, input, out, runbook, session};
use crate::cli::{ExplainArgs, Input, ReportFormat};
use crate::report::{entry_json, entry_text, explain_json, explain_text, signals_text};
use crate::runbook::{Cause, Runbook};
use crate::session::{LogFile, LogFileKind, RecordedSession};
use crate::view::{ExplainedSubject, NodeView, SubjectName, explain_all, explain_named};

pub(super) fn run(input: &Input, args: &ExplainArgs) -> Result<Outcome, Failure> {
    let own = runbook::own(input)?;
    if let Some(entries) = entries(own.as_deref().unwrap_or_else(|| Runbook::builtin()), args) {
        match args.output {
            ReportFormat::Text => out::text(&entry_text(&entries, out::width()))?,
            ReportFormat::Json => out::json(&entry_json(&entries))?,
        }
        return Ok(Outcome::Done);
    }
    let moment = moment(input, args, own)?;
    let subjects = subjects(&moment, args)?;
    let quiet = subjects.iter().all(|s| s.diagnosis.is_quiet());
    match args.output {
        _ if args.signals => out::text(&signals_text(&subjects))?,
        ReportFormat::Json => out::json(&explain_json(&moment, &subjects))?,
        ReportFormat::Text if subjects.is_empty() => {
            out::text(&format!("no problem found in {} pods\n", moment.pods.len()))?;
        }
        ReportFormat::Text => out::text(&explain_text(&subjects, moment.now, out::width()))?,
    }
    Ok(if args.exit_code && !quiet { Outcome::Problems } else { Outcome::Done })
}

/// Runbook entries, if every subject is a cause or a reason.
fn entries(book: &Runbook, args: &ExplainArgs) -> Option<Vec<Arc<Cause>>> {
    let of = |text: &String| -> Vec<Arc<Cause>> {
        match book.causes().find(|c| c.id == *text) {
            Some(cause) => vec![cause.clone()],
            None => book.of_reason(text).into_iter().cloned().collect(),
        }
    };
    let found: Vec<Vec<Arc<Cause>>> = args.subjects.iter().map(of).collect();
    let all = !found.is_empty() && found.iter().all(|f| !f.is_empty());
    all.then(|| found.into_iter().flatten().collect())
}

/// From log and metrics files if there are any, else from the common input.
fn moment(input: &Input, args: &ExplainArgs, own: Option<Arc<Runbook>>) -> Result<NodeView, Failure> {
    let mut logs = Vec::new();
    let mut add = |of: LogFileKind, path: &PathBuf| logs.push(LogFile { of, path: path.clone() });
    input.live.kubelet_log.iter().for_each(|f| add(LogFileKind::Kubelet, f));
    input.live.runtime_log.iter().for_each(|f| add(LogFileKind::Runtime, f));
    args.kernel_log.iter().for_each(|f| add(LogFileKind::Kernel, f));
    args.container_log.iter().for_each(|(name, f)| add(LogFileKind::Container(name.clone()), f));
    args.other_log.iter().for_each(|f| add(LogFileKind::Other, f));
    args.metrics.iter().for_each(|f| add(LogFileKind::Metrics, f));
    let is_list = input.from.as_deref().is_some_and(|p| !p.is_dir());
    if logs.is_empty() && (args.now.is_none() || !is_list) {
        if args.now.is_some() {
            return Err(Failure::usage(
                "--now applies to single files, not to a node or a recording",
                "--at TIME with --from PATH",
            ));
        }
        return session::requested_view_with(input, own);
    }
    if input.at.is_some() {
        return Err(Failure::usage("--at does not apply to single files, which have one time", "--now TIME"));
    }
    let pod = args.subjects.iter().find_map(|s| match SubjectName::parse(s) {
        SubjectName::Pod(namespace, name) => Some(format!("{namespace}/{name}")),
        _ => None,
    });
    let mut session =
        RecordedSession::examine(input.from.as_deref(), &logs, args.now, &pod.unwrap_or_default(), input.max_memory)?;
    session.diagnose_with(own);
    input::note_skipped(session.skipped());
    Ok(session.moment())
}

fn subjects(moment: &NodeView, args: &ExplainArgs) -> Result<Vec<ExplainedSubject>, Failure> {
    if args.subjects.is_empty() {
        return Ok(explain_all(moment));
    }
    let mut all = Vec::new();
    for text in &args.subjects {
        let found = explain_named(moment, &SubjectName::parse(text));
        // Logs alone do not list all objects, so any subject is accepted.
        if has_objects(moment) && found.iter().all(ExplainedSubject::is_nothing) {
            if let Some(error) = moment.no_such_node() {
                return Err(Failure::unseen(error.tried.one_line().into_owned(), error.fix.one_line().into_owned()));
            }
            return Err(Failure::unseen(
                format!("no pod, node, cause or reason named {text:?}"),
                "kpodtrace pods to list the pods, or kpodtrace explain image.not-found for a runbook entry",
            ));
        }
        all.extend(found);
    }
    Ok(all)
}

fn has_objects(moment: &NodeView) -> bool {
    !moment.pods.is_empty() || !moment.snapshot.nodes.is_empty()
}
