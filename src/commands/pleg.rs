//! Owns `kpodtrace pleg`.
//! It must not decide what is a problem: the verdict says it.

use super::{Failure, Outcome, input, out};
use crate::cli::{Input, PlegArgs, PlegFormat};
use crate::report::{pleg_json, pleg_text};

pub(super) fn run(input: &Input, args: &PlegArgs) -> Result<Outcome, Failure> {
    let moment = input::moment(input)?;
    match args.output {
        PlegFormat::Json => out::json(&pleg_json(&moment))?,
        PlegFormat::Text => out::text(&pleg_text(&moment))?,
    }
    Ok(match moment.pleg().verdict(moment.now) {
        _ if !args.exit_code => Outcome::Done,
        "ok" => Outcome::Done,
        "stale" | "unknown" => Outcome::Unknown,
        _ => Outcome::Problems,
    })
}
