//! Owns `kpodtrace runbook`.
//! It must not know what makes a rule a good one: the runbook says so.

use std::path::Path;
use std::sync::Arc;

use super::{Failure, Outcome, out, trusted};
use crate::cli::{Input, RunbookAction, RunbookArgs};
use crate::runbook::{Runbook, TEAM_DIR};

/// The runbook with a team's own rules; none where there are none and the embedded one is all.
///
/// What stands in [`TEAM_DIR`] and is wrong is told and left out: nobody is there at night to mend it. What was asked for
/// must be right.
pub(super) fn own(input: &Input) -> Result<Option<Arc<Runbook>>, Failure> {
    let mut dirs = input.runbook.clone();
    let team = Path::new(TEAM_DIR);
    if team.is_dir() && trusted::is_believed_folder(team) {
        match Runbook::only(team) {
            Ok(_) => dirs.insert(0, team.to_owned()),
            Err(error) => out::note(&format!("{TEAM_DIR} is left out: {error}; kpodtrace runbook check {TEAM_DIR}")),
        }
    }
    if dirs.is_empty() {
        return Ok(None);
    }
    Ok(Some(Arc::new(Runbook::with(&dirs)?)))
}

pub(super) fn run(args: &RunbookArgs) -> Result<Outcome, Failure> {
    let RunbookAction::Check { dir } = &args.action;
    let (book, what) = match dir {
        Some(dir) => (Runbook::only(dir)?, dir.display().to_string()),
        None => (Runbook::with(&[])?, "the embedded runbook".to_owned()),
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
