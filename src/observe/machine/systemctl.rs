//! Reads units from systemd with `systemctl show`, within a deadline.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::Duration;

use super::super::blocking::BlockingWorker;
use super::super::program::{self, ProgramError};
use crate::observation::{ErrorKind, SourceError, Time, Unit, UnitExit};
use crate::text::{Message, Text};

/// systemd responds in milliseconds unless it or the bus hangs.
const DEADLINE: Duration = Duration::from_secs(3);
/// Longest output that is read, bytes: a unit has a few hundred.
const MAX_OUTPUT: u64 = 1 << 20;
const PROPERTIES: &str = "Id,LoadState,ActiveState,SubState,ActiveEnterTimestamp,NRestarts,ExecMainStatus,ExecMainCode,\
                          ExecMainExitTimestamp,Result";
/// `CLD_KILLED` and `CLD_DUMPED` of `siginfo_t`: a signal terminated the process.
const KILLED: [&str; 2] = ["2", "3"];

/// Why there are no units.
#[derive(Debug)]
pub enum SystemctlError {
    /// This machine does not run systemd; that does not change.
    Unavailable(Text),
    /// The call failed.
    Failed(SourceError),
}

impl SystemctlError {
    /// The error of the call.
    pub fn error(&self) -> SourceError {
        match self {
            Self::Unavailable(why) => {
                SourceError { tried: why.clone().into(), kind: ErrorKind::Unreachable, fix: Message::default() }
            }
            Self::Failed(error) => error.clone(),
        }
    }
}

impl fmt::Display for SystemctlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error().tried)
    }
}

/// The units that systemd has loaded or can load.
pub async fn show(worker: &BlockingWorker, program: &str, units: &[String]) -> Result<Vec<Unit>, SystemctlError> {
    let failed = |problem: String, kind, fix: &str| {
        let tried = Message::from(format!("systemctl show {}: {problem}", units.join(" ")));
        SystemctlError::Failed(SourceError { tried, kind, fix: fix.into() })
    };
    let mut command = match program::system_command(program) {
        Ok(command) => command,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(SystemctlError::Unavailable("systemctl is not installed".into()));
        }
        Err(e) => return Err(failed(e.to_string(), ErrorKind::Denied, "")),
    };
    command.arg("show").args(units).args(["--no-pager", "-p", PROPERTIES]);
    // systemctl prints times in the local zone and language.
    command.env("TZ", "UTC").env("LC_ALL", "C");
    let output = program::run(worker, command, DEADLINE, MAX_OUTPUT).await.map_err(|error| match error {
        ProgramError::TimedOut => {
            let problem = format!("no output within {}s", DEADLINE.as_secs());
            failed(problem, ErrorKind::Timeout, "systemd or its bus hangs: check process 1 and dbus")
        }
        ProgramError::OutputTooLarge => failed("its output is longer than 1 MiB".into(), ErrorKind::Malformed, ""),
        ProgramError::NotStarted(e) if e.kind() == io::ErrorKind::NotFound => {
            SystemctlError::Unavailable("systemctl is not installed".into())
        }
        ProgramError::NotStarted(e) => failed(e.to_string(), ErrorKind::Other, ""),
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("not been booted with systemd") {
        return Err(SystemctlError::Unavailable("this machine was not booted with systemd".into()));
    }
    if !output.status.success() {
        return Err(failed(format!("{}: {}", output.status, stderr.trim()), ErrorKind::Other, ""));
    }
    Ok(parse_units(&String::from_utf8_lossy(&output.stdout)))
}

/// Blocks of `Name=value`, one per unit, separated by an empty line.
pub(super) fn parse_units(text: &str) -> Vec<Unit> {
    text.split("\n\n").filter_map(unit).collect()
}

fn unit(block: &str) -> Option<Unit> {
    let fields: HashMap<&str, &str> = block.lines().filter_map(|line| line.split_once('=')).collect();
    let get = |name: &str| fields.get(name).copied().unwrap_or_default();
    let name = Some(get("Id")).filter(|id| !id.is_empty())?;
    if get("LoadState") == "not-found" {
        return None;
    }
    let code = get("ExecMainCode");
    let exit = (!matches!(code, "" | "0")).then(|| UnitExit {
        status: get("ExecMainStatus").parse().unwrap_or_default(),
        killed: KILLED.contains(&code),
        at: time(get("ExecMainExitTimestamp")),
    });
    Some(Unit {
        name: Text::name(name),
        active: Text::name(get("ActiveState")),
        sub: Text::name(get("SubState")),
        since: time(get("ActiveEnterTimestamp")),
        restarts: get("NRestarts").parse().ok(),
        exit,
        result: Text::name(get("Result")),
    })
}

/// `Sat 2026-11-28 10:00:00 UTC`; empty or `n/a` when it never happened.
fn time(text: &str) -> Option<Time> {
    let (_, rest) = text.split_once(' ')?;
    Time::parse_utc(rest.strip_suffix(" UTC")?, "%Y-%m-%d %H:%M:%S%.f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_with_their_last_exit() {
        let text = "Result=oom-kill\nNRestarts=3\nExecMainExitTimestamp=Sat 2026-11-28 10:00:05 UTC\nExecMainCode=2\n\
                    ExecMainStatus=9\nId=kubelet.service\nLoadState=loaded\nActiveState=activating\n\
                    SubState=auto-restart\nActiveEnterTimestamp=Sat 2026-11-28 10:00:00 UTC\n\n\
                    Id=containerd.service\nLoadState=loaded\nActiveState=active\nSubState=running\nResult=success\n\
                    ExecMainCode=0\nExecMainStatus=0\nNRestarts=0\nActiveEnterTimestamp=n/a\n\n\
                    Id=crio.service\nLoadState=not-found\nActiveState=inactive\n";
        let units = parse_units(text);
        assert_eq!(units.len(), 2);
        let at = |s: &str| Some(s.parse::<Time>().unwrap());
        assert_eq!(units[0].since, at("2026-11-28T10:00:00Z"));
        assert_eq!(units[0].exit, Some(UnitExit { status: 9, killed: true, at: at("2026-11-28T10:00:05Z") }));
        assert_eq!((units[0].restarts, units[0].result.as_str()), (Some(3), "oom-kill"));
        assert_eq!((units[1].exit, units[1].since, units[1].sub.as_str()), (None, None, "running"));
    }
}
