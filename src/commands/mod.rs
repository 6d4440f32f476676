//! Owns the run of one command: input to output to exit code, and the words of a failure.
//! It must not know what a pod is: the subcommands glue the input to what prints it.

mod config;
mod demo;
mod doctor;
mod events;
mod explain;
mod fail;
mod input;
mod live;
mod log_print;
mod logs;
mod node;
mod out;
mod pleg;
mod pods;
mod progress;
mod record;
mod runbook;
mod trusted;
mod watch;

use std::process::ExitCode;

use clap::Parser;

pub use fail::Failure;

use crate::cli::{Cli, Command, ScreenArgs};
use crate::observe::guard;

/// The manual page, which the tests make from the flags and the keys.
const MANUAL: &str = include_str!("../../docs/kpodtrace.1");

/// What a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done; with `--exit-code`, and nothing wrong.
    Done,
    /// Problems found, and `--exit-code` asked for them.
    Problems,
    /// What was asked for could not be told.
    Unknown,
}

/// Parses the arguments, runs the command, and says how it went.
pub fn main() -> ExitCode {
    if let Some(code) = guard::exec_if_requested() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody may be there to read it, as in `kpodtrace --help | head`.
            _ = error.print();
            return ExitCode::from(if error.use_stderr() { fail::USAGE } else { 0 });
        }
    };
    let outcome = run(&cli);
    // The sources' threads are left behind; what they started is not.
    guard::kill_all();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Problems) => ExitCode::from(1),
        Ok(Outcome::Unknown) => ExitCode::from(fail::COULD_NOT_OBSERVE),
        Err(failure) => {
            if !failure.is_silent() {
                out::error(&failure.to_string());
            }
            ExitCode::from(failure.code())
        }
    }
}

fn run(cli: &Cli) -> Result<Outcome, Failure> {
    let look = &cli.screen.look;
    match &cli.command {
        Some(Command::Demo(args)) => demo::run(&cli.input, args.speed.or(cli.screen.speed), &args.look.or(look)),
        Some(Command::Config(args)) => config::run(&args.or(look)),
        None => demo::screen(&cli.input, &cli.screen),
        Some(_) if cli.screen != ScreenArgs::default() => Err(Failure::usage(
            "flags of the screen before a command: they are for the screen",
            "kpodtrace --from PATH --speed 4, or kpodtrace demo --ascii",
        )),
        Some(Command::Pods(args)) => pods::run(&cli.input, args),
        Some(Command::Pleg(args)) => pleg::run(&cli.input, args),
        Some(Command::Node(args)) => node::run(&cli.input, args),
        Some(Command::Events(args)) => events::run(&cli.input, args),
        Some(Command::Doctor(args)) => doctor::run(&cli.input, args),
        Some(Command::Record(args)) => record::run(&cli.input, args),
        Some(Command::Explain(args)) => explain::run(&cli.input, args),
        Some(Command::Logs(args)) => logs::run(&cli.input, args),
        Some(Command::Runbook(args)) => runbook::run(args),
        Some(Command::Man) => out::text(MANUAL).map(|()| Outcome::Done),
    }
}
