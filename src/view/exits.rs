//! Owns how a container ended, in words, and its restarts as one line.
//! It must not guess beyond what a code means by itself: why it ended is a finding's to say.

use super::format::ago;
use crate::model::Exit;
use crate::observation::Time;
use crate::pipeline::{LocatedPod, human_duration};

/// Restarts shown in one line, the newest last.
const SHOWN: usize = 10;

/// What an exit code says: of a shell's own, or of the signal that ended the process.
pub fn exit_words(code: i32, reason: &str) -> &'static str {
    match (code, reason) {
        (_, "OOMKilled") => "killed for lack of memory",
        (_, "StartError" | "ContainerCannotRun") => "was never started",
        (0, _) => "ended well",
        (1, _) => "the program's own error",
        (2, _) => "the program's own error, often wrong arguments",
        (125, _) => "the container could not be run",
        (126, _) => "the command is not executable",
        (127, _) => "the command was not found",
        (129, _) => "SIGHUP",
        (130, _) => "SIGINT: interrupted",
        (132, _) => "SIGILL: an instruction that the processor does not have",
        (134, _) => "SIGABRT: it gave itself up",
        (135, _) => "SIGBUS: memory or a file that is not there",
        (136, _) => "SIGFPE: a division by zero or the like",
        (137, _) => "SIGKILL: killed from outside, without being asked first or after the grace",
        (139, _) => "SIGSEGV: memory that is not its own",
        (141, _) => "SIGPIPE: nobody reads what it writes",
        (143, _) => "SIGTERM: asked to stop",
        (255, _) => "-1, or a code out of range",
        (128..=192, _) => "ended by a signal",
        _ => "the program's own code",
    }
}

/// The ends of one container, oldest first: each with its code and how long it ran.
pub fn restart_strip(placed: &LocatedPod, container: &str, now: Time) -> Option<String> {
    let ends: Vec<&Exit> = placed.facts.exits_of(container).collect();
    let last = ends.last()?;
    let shown: Vec<String> = ends.iter().skip(ends.len().saturating_sub(SHOWN)).map(|e| one(e)).collect();
    let more = if ends.len() > SHOWN { format!("{} before, ", ends.len() - SHOWN) } else { String::new() };
    let since = last.finished.map(|at| format!(", {} ago", human_duration(ago(now, at)))).unwrap_or_default();
    Some(format!("ends: {more}{}{since}", shown.join(" · ")))
}

fn one(exit: &Exit) -> String {
    let ran = exit.started.zip(exit.finished).filter(|_| !exit.never_ran());
    let ran = ran.map(|(from, to)| format!(" after {}", human_duration(ago(to, from)))).unwrap_or_default();
    let killed = if exit.reason == "OOMKilled" { " OOM" } else { "" };
    format!("{}{killed}{ran}", exit.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_words() {
        let says = |code, reason| exit_words(code, reason);
        assert_eq!(says(137, "OOMKilled"), "killed for lack of memory");
        assert!(says(137, "Error").starts_with("SIGKILL"));
        assert!(says(143, "Error").starts_with("SIGTERM"));
        assert!(says(139, "").starts_with("SIGSEGV"));
        assert_eq!(
            (says(0, "Completed"), says(127, ""), says(150, "")),
            ("ended well", "the command was not found", "ended by a signal")
        );
        assert_eq!(
            (says(3, ""), says(-1, ""), says(128, "StartError")),
            ("the program's own code", "the program's own code", "was never started")
        );
    }
}
