//! `kpodtrace runbook check`, and the runbook with the files of `--runbook` and /etc/kpodtrace/runbook.d.

use std::path::Path;
use std::sync::Arc;

use super::{Failure, Outcome, out, trusted};
use crate::cli::{Input, RunbookAction, RunbookArgs};
use crate::runbook::{Runbook, TEAM_DIR};

/// The runbook with additional files; none if there are none.
///
/// An error in [`TEAM_DIR`] is a note and the folder is ignored, so that it does not block an incident. An error in a
/// folder given with `--runbook` fails the command.
pub(super) fn own(input: &Input) -> Result<Option<Arc<Runbook>>, Failure> {
    let mut dirs = input.runbook.clone();
    let team = Path::new(TEAM_DIR);
    if team.is_dir() && trusted::is_trusted_folder(team) {
        match Runbook::only(team) {
            Ok(_) => dirs.insert(0, team.to_owned()),
            Err(error) => {
                out::note(&format!("{TEAM_DIR} is ignored: {error}; check it with: kpodtrace runbook check {TEAM_DIR}"))
            }
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
    if book.causes().next().is_none() {
        out::text(&format!("no runbook files (*.toml) found in {what}\n"))?;
        return Ok(Outcome::Problems);
    }
    let errors = book.check();
    if errors.is_empty() {
        let (causes, rules) = (book.causes().count(), book.rules().len());
        out::text(&format!("{what}: {causes} entries, {rules} rules, no errors\n"))?;
        return Ok(Outcome::Done);
    }
    out::text(&(errors.join("\n") + "\n"))?;
    Ok(Outcome::Problems)
}
