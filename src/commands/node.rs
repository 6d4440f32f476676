//! `kpodtrace node`: conditions, resources, thresholds and eviction order.

use super::{Failure, Outcome, input, out};
use crate::cli::{Input, NodeArgs, ReportFormat};
use crate::report::{node_json, node_text};

pub(super) fn run(input: &Input, args: &NodeArgs) -> Result<Outcome, Failure> {
    let moment = input::moment_with_rates(input)?;
    match args.output {
        ReportFormat::Json => out::json(&node_json(&moment))?,
        ReportFormat::Text => out::text(&node_text(&moment))?,
    }
    Ok(Outcome::Done)
}
