//! Runs one command: arguments to input, output and exit code. One module per subcommand.

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
mod screen;
mod session;
mod trusted;
mod watch;

use std::process::ExitCode;

use clap::Parser;

pub use fail::Failure;

use crate::cli::{Cli, CliCommand, ScreenArgs};
use crate::observe::guard;

/// The man page, which tests/manual.rs generates from flags and keys.
const MANUAL: &str = include_str!("../../docs/kpodtrace.1");

/// Result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success; with `--exit-code`, no problems.
    Done,
    /// Problems found, with `--exit-code`.
    Problems,
    /// No data available.
    Unknown,
}

/// Parses the arguments, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    if let Some(code) = guard::exec_if_requested() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // The pipe can be closed, as in `kpodtrace --help | head`.
            _ = error.print();
            return ExitCode::from(if error.use_stderr() { fail::USAGE } else { 0 });
        }
    };
    let outcome = run(&cli);
    // Threads of the sources are abandoned; the processes that they started are killed.
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
    let display = &cli.screen.display;
    match &cli.command {
        Some(CliCommand::Demo(args)) => {
            demo::run(&cli.input, args.speed.or(cli.screen.speed), &args.display.or(display))
        }
        Some(CliCommand::Config(args)) => config::run(&args.or(display)),
        None => screen::run(&cli.input, &cli.screen),
        Some(_) if cli.screen != ScreenArgs::default() => Err(Failure::usage(
            "flags of the screen do not apply to this command",
            "kpodtrace --from PATH --speed 4, or kpodtrace demo --ascii",
        )),
        Some(CliCommand::Pods(args)) => pods::run(&cli.input, args),
        Some(CliCommand::Pleg(args)) => pleg::run(&cli.input, args),
        Some(CliCommand::Node(args)) => node::run(&cli.input, args),
        Some(CliCommand::Events(args)) => events::run(&cli.input, args),
        Some(CliCommand::Doctor(args)) => doctor::run(&cli.input, args),
        Some(CliCommand::Record(args)) => record::run(&cli.input, args),
        Some(CliCommand::Explain(args)) => explain::run(&cli.input, args),
        Some(CliCommand::Logs(args)) => logs::run(&cli.input, args),
        Some(CliCommand::Runbook(args)) => runbook::run(args),
        Some(CliCommand::Man) => out::text(MANUAL).map(|()| Outcome::Done),
    }
}
