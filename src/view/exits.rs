//! Exits of a container: the meaning of an exit code, and the latest exits in one line.

use super::format::age;
use crate::model::Exit;
use crate::observation::Time;
use crate::pipeline::LocatedPod;

/// Restarts shown in one line, the newest last.
const SHOWN: usize = 10;

/// Meaning of an exit code: by the conventions of shells, or the signal that terminated the process.
pub fn exit_words(code: i32, reason: &str) -> &'static str {
    match (code, reason) {
        (_, "OOMKilled") => "OOMKilled (out of memory)",
        (_, "StartError" | "ContainerCannotRun") => "never started",
        (0, _) => "completed",
        (1, _) => "application error",
        (2, _) => "application error, often wrong arguments",
        (125, _) => "the container could not run",
        (126, _) => "command not executable",
        (127, _) => "command not found",
        (129, _) => "SIGHUP",
        (130, _) => "SIGINT: interrupted",
        (132, _) => "SIGILL: illegal CPU instruction",
        (134, _) => "SIGABRT: aborted",
        (135, _) => "SIGBUS: invalid memory or file access",
        (136, _) => "SIGFPE: arithmetic error such as division by zero",
        (137, _) => "SIGKILL: killed, by the kernel or after the grace period",
        (139, _) => "SIGSEGV: invalid memory access",
        (141, _) => "SIGPIPE: wrote to a closed pipe",
        (143, _) => "SIGTERM: termination requested",
        (255, _) => "-1, or a code out of range",
        (128..=192, _) => "terminated by a signal",
        _ => "application-defined code",
    }
}

/// The latest exits of one container, oldest first: each with its code and its run time.
pub fn restart_strip(placed: &LocatedPod, container: &str, now: Time) -> Option<String> {
    let exits: Vec<&Exit> = placed.facts.exits_of(container).collect();
    let last = exits.last()?;
    let shown: Vec<String> = exits.iter().skip(exits.len().saturating_sub(SHOWN)).map(|e| one(e)).collect();
    let more = if exits.len() > SHOWN { format!("{} earlier, ", exits.len() - SHOWN) } else { String::new() };
    let since = last.finished.map(|at| format!(", {} ago", age(now, at))).unwrap_or_default();
    Some(format!("previous exits: {more}code {}{since}", shown.join(" · ")))
}

fn one(exit: &Exit) -> String {
    let ran = exit.started.zip(exit.finished).filter(|_| !exit.never_ran());
    let ran = ran.map(|(from, to)| format!(" after {}", age(to, from))).unwrap_or_default();
    let killed = if exit.reason == "OOMKilled" { " OOM" } else { "" };
    format!("{}{killed}{ran}", exit.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_in_words() {
        let meaning = |code, reason| exit_words(code, reason);
        assert_eq!(meaning(137, "OOMKilled"), "OOMKilled (out of memory)");
        assert!(meaning(137, "Error").starts_with("SIGKILL"));
        assert!(meaning(143, "Error").starts_with("SIGTERM"));
        assert!(meaning(139, "").starts_with("SIGSEGV"));
        assert_eq!(
            (meaning(0, "Completed"), meaning(127, ""), meaning(150, "")),
            ("completed", "command not found", "terminated by a signal")
        );
        assert_eq!(
            (meaning(3, ""), meaning(-1, ""), meaning(128, "StartError")),
            ("application-defined code", "application-defined code", "never started")
        );
    }
}
