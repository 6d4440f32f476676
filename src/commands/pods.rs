//! Owns `kpodtrace pods`.
//! It must not decide what is a problem: the rows say it.

use super::{Failure, Outcome, input, out};
use crate::cli::{Input, PodsArgs, PodsFormat};
use crate::report::{Detail, notes, pods_json, pods_table, shown};
use crate::view::Filter;

pub(super) fn run(input: &Input, args: &PodsArgs) -> Result<Outcome, Failure> {
    let moment = input::moment(input)?;
    let filter = Filter { namespace: args.namespace.clone(), failing: args.failing, words: String::new() };
    let rows = shown(&moment, &filter);
    let problems = rows.iter().any(|row| row.trouble.is_failing()) || !moment.alarms.is_empty();
    match args.output {
        PodsFormat::Json => out::json(&pods_json(&moment, &filter))?,
        format => {
            let detail = if format == PodsFormat::Wide { Detail::Wide } else { Detail::Table };
            out::text(&pods_table(&moment, &filter, detail, out::width()))?;
            if rows.is_empty() {
                let failing = if args.failing { " failing or slow" } else { "" };
                let place = args.namespace.as_ref().map(|ns| format!(" in namespace {ns}")).unwrap_or_default();
                out::note(&format!("no{failing} pods{place}, of {} on the node", moment.pods.len()));
            }
            notes(&moment).iter().for_each(|text| out::note(text));
        }
    }
    Ok(if args.exit_code && problems { Outcome::Problems } else { Outcome::Done })
}
