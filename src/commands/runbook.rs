//! Owns `kpodtrace runbook`.
//! It must not know what makes a rule a good one: the runbook says so.

use super::{Failure, Outcome, out};
use crate::cli::{RunbookAction, RunbookArgs};
use crate::runbook::Runbook;

pub(super) fn run(args: &RunbookArgs) -> Result<Outcome, Failure> {
    let RunbookAction::Check { dir } = &args.action;
    let own;
    let (book, what) = match dir {
        Some(dir) => {
            own = Runbook::only(dir)?;
            (&own, dir.display().to_string())
        }
        None => (Runbook::builtin(), "the embedded runbook".to_owned()),
    };
    let wrong = book.check();
    if wrong.is_empty() {
        let (causes, rules) = (book.causes().count(), book.rules().len());
        out::text(&format!("{what}: {causes} entries, {rules} rules, all well\n"))?;
        return Ok(Outcome::Done);
    }
    out::text(&(wrong.join("\n") + "\n"))?;
    Ok(Outcome::Problems)
}
