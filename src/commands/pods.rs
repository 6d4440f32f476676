//! `kpodtrace pods`: filters, sorts and prints the rows of `view`.

use super::watch::WatchedView;
use super::{Failure, Outcome, input, out};
use crate::cli::{Input, PodsArgs, PodsFormat};
use crate::report::{NoteChanges, PodLines, TableDetail, node_change, notes, pod_change, pods_json, pods_table, shown};
use crate::view::{Filter, NodeView, RowChanges, Sort, clock};

pub(super) fn run(input: &Input, args: &PodsArgs) -> Result<Outcome, Failure> {
    let filter = Filter {
        namespace: args.namespace.clone(),
        failing: args.failing,
        words: args.filter.clone().unwrap_or_default(),
    };
    if let Some(problem) = filter.problem() {
        return Err(Failure::usage(format!("--filter: {problem}"), "--filter 'web status:crash !ns:kube-system'"));
    }
    let sort = args.sort.as_deref().map_or(Ok(Sort::default()), Sort::parse);
    let sort = sort.map_err(|why| Failure::usage(format!("--sort: {why}"), "--sort restarts, or --sort=-age"))?;
    if args.watch {
        return watch(input, args, filter);
    }
    let moment = input::moment(input)?;
    let rows = shown(&moment, &filter, sort);
    let problems = rows.iter().any(|row| row.health.is_failing()) || !moment.alarms.is_empty();
    match args.output {
        PodsFormat::Json => out::json(&pods_json(&moment, &rows))?,
        format => {
            out::text(&pods_table(&moment, &rows, detail(format), out::width()))?;
            if rows.is_empty() {
                note_no_pods(args, &moment);
            }
            notes(&moment).iter().for_each(|text| out::note(text));
        }
    }
    Ok(if args.exit_code && problems { Outcome::Problems } else { Outcome::Done })
}

/// Prints the table, then changes: pods to standard output, alarms and sources to standard error.
fn watch(input: &Input, args: &PodsArgs, filter: Filter) -> Result<Outcome, Failure> {
    let (mut changes, mut news) = (RowChanges::new(filter), NoteChanges::new(input.from.is_none()));
    let mut lines = PodLines::new(detail(args.output), out::width());
    let mut first = true;
    super::watch::watch(input, |WatchedView { moment, past, .. }| {
        let (pods, notes) = (changes.update(moment), news.update(moment));
        if args.output == PodsFormat::Json {
            if first || !notes.is_empty() {
                out::json_line(&node_change(moment))?;
            }
            pods.iter().try_for_each(|change| out::json_line(&pod_change(moment, change)))?;
        } else {
            if first && pods.is_empty() && !past {
                note_no_pods(args, moment);
            }
            out::text(&lines.lines(pods, moment.now, past))?;
            let time = |text: &String| if past { format!("{} {text}", clock(moment.now)) } else { text.clone() };
            notes.iter().map(time).for_each(|text| out::note(&text));
        }
        first = false;
        Ok(None)
    })
}

fn detail(format: PodsFormat) -> TableDetail {
    if format == PodsFormat::Wide { TableDetail::Wide } else { TableDetail::Table }
}

/// Explains an empty table.
fn note_no_pods(args: &PodsArgs, moment: &NodeView) {
    let failing = if args.failing { " failing or slow" } else { "" };
    let place = args.namespace.as_ref().map(|ns| format!(" in namespace {ns}")).unwrap_or_default();
    let words = args.filter.as_ref().map(|words| format!(" that match {words:?}")).unwrap_or_default();
    out::note(&format!("no{failing} pods{place}{words}, of {} on the node", moment.pods.len()));
}
