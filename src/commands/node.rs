//! Owns `kpodtrace node`.
//! It must not decide what is a problem: it prints what the node has left.

use super::{Failure, Outcome, out, session};
use crate::cli::{Input, NodeArgs, PlegFormat};
use crate::report::{node_json, node_text};

pub(super) fn run(input: &Input, args: &NodeArgs) -> Result<Outcome, Failure> {
    let moment = session::requested_view_with_rates(input)?;
    match args.output {
        PlegFormat::Json => out::json(&node_json(&moment))?,
        PlegFormat::Text => out::text(&node_text(&moment))?,
    }
    Ok(Outcome::Done)
}
