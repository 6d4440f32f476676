//! Owns every flag and subcommand, with help by example.
//! It must not do anything: it says what was asked for.

use std::path::PathBuf;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  kpodtrace demo                              six minutes of a real node, on the screen
  kpodtrace --from ./capture                  the same screen, for your own input
  kpodtrace pods --from node.kpt --failing    what is wrong, as a table
  kpodtrace pleg --from node.kpt --at 12:42   PLEG and the runtime at that time

Exit codes: 0 done, 1 problems found (with --exit-code), 2 usage, 3 could not observe";

/// Where every pod on this Kubernetes node stands in the kubelet's sync pipeline, for how long, and why.
#[derive(Debug, Parser)]
#[command(name = "kpodtrace", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to look at, and when.
    #[command(flatten)]
    pub input: Input,
    /// What to do; without it, the screen.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What every command starts from.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// A recording, an incident or capture folder, or what `kubectl get pods,events,nodes -A -o json` printed; - is
    /// standard input
    #[arg(long, global = true, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// The moment to show, instead of the input's end: RFC 3339, HH:MM:SS or HH:MM (UTC) on the input's day, or +90s,
    /// +1m30s from its begin
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_at, allow_hyphen_values = true)]
    pub at: Option<At>,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Every pod, where it stands and why: the broken ones first
    #[command(after_help = "\
Examples:
  kpodtrace pods --from node.kpt                       one line a pod
  kpodtrace pods --from node.kpt --at +90s -o wide     the whole reason, 90 s after the begin
  kpodtrace pods --from node.kpt -n shop -o json       stages with evidence, see docs/json.md
  kubectl get pods,events,nodes -A -o json | kpodtrace pods --from - --failing --exit-code

With --exit-code: 1 when a pod shown is failing or slow, or the node has an alarm.")]
    Pods(PodsArgs),
    /// How PLEG and the container runtime do: relists, latencies, calls without an answer
    #[command(after_help = "\
Examples:
  kpodtrace pleg --from node.kpt                       verdict, our own calls, windows, operations
  kpodtrace pleg --from node.kpt --at 12:42:10 -o json

With --exit-code: 1 when PLEG is silent, slow or hanging, 3 when nothing recent is known of it.")]
    Pleg(PlegArgs),
    /// Play six minutes of a real node on the screen, in a loop; needs no cluster and no network
    #[command(after_help = "\
Examples:
  kpodtrace demo
  kpodtrace demo --speed 10 --ascii")]
    Demo(ScreenArgs),
    /// Turn an import into a recording, one file that opens fast and can be passed on
    #[command(after_help = "\
Examples:
  kpodtrace record --from ./incident -o node.kpt
  kubectl get pods,events,nodes -A -o json | kpodtrace record --from - -o cluster.kpt")]
    Record(RecordArgs),
}

/// Flags of `pods`.
#[derive(Debug, Args)]
pub struct PodsArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PodsFormat::Table, value_name = "FORMAT")]
    pub output: PodsFormat,
    /// Only this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Only pods that are failing, or slow in a stage that should pass by itself
    #[arg(long)]
    pub failing: bool,
    /// Exit with 1 when there are problems
    #[arg(long)]
    pub exit_code: bool,
}

/// Formats of `pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PodsFormat {
    /// One line a pod, the reason cut to the terminal
    Table,
    /// One line a pod, with times, QoS class and the whole reason
    Wide,
    /// A PodList, see docs/json.md
    Json,
}

/// Flags of `pleg`.
#[derive(Debug, Args)]
pub struct PlegArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PlegFormat::Text, value_name = "FORMAT")]
    pub output: PlegFormat,
    /// Exit with 1 when there are problems
    #[arg(long)]
    pub exit_code: bool,
}

/// Formats of `pleg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlegFormat {
    /// To be read
    Text,
    /// A PlegReport, see docs/json.md
    Json,
}

/// Flags of the screen.
#[derive(Debug, Args)]
pub struct ScreenArgs {
    /// How many times faster than it was recorded
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = parse_speed)]
    pub speed: f64,
    /// Draw with ASCII alone
    #[arg(long)]
    pub ascii: bool,
}

/// Flags of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The file to write; it must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// A moment of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// That time.
    Time(DateTime<Utc>),
    /// That time of day, UTC, on the day of the input.
    Clock(NaiveTime),
    /// So long after the begin.
    After(TimeDelta),
}

fn parse_at(text: &str) -> Result<At, String> {
    if let Some(span) = text.strip_prefix('+') {
        return parse_span(span).map(At::After).ok_or_else(|| "a time span is written as in +90s or +1m30s".into());
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(At::Time(time.to_utc()));
    }
    let clock = ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(text, format).ok());
    clock.map(At::Clock).ok_or_else(|| "expected 2026-01-31T12:42:10Z, 12:42:10 or +90s".into())
}

/// `90s`, `1m30s`, `1.5s`, `2h`.
fn parse_span(text: &str) -> Option<TimeDelta> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit = match tail.chars().next()? {
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = tail.get(1..)?;
    }
    (!text.is_empty() && seconds < 1e9).then(|| TimeDelta::milliseconds((seconds * 1000.0).round() as i64))
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed <= 1000.0 => Ok(speed),
        _ => Err("expected a number above 0, at most 1000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn moments() {
        let clock = |h, m, s| At::Clock(NaiveTime::from_hms_opt(h, m, s).unwrap());
        assert_eq!(parse_at("12:42:10"), Ok(clock(12, 42, 10)));
        assert_eq!(parse_at("12:42"), Ok(clock(12, 42, 0)));
        assert_eq!(parse_at("+1m30s"), Ok(At::After(TimeDelta::seconds(90))));
        assert_eq!(parse_at("+1.5s"), Ok(At::After(TimeDelta::milliseconds(1500))));
        let utc = parse_at("2026-01-31T13:42:10+01:00");
        assert_eq!(utc, Ok(At::Time("2026-01-31T12:42:10Z".parse().unwrap())));
        for wrong in ["", "+", "+90", "+s", "+1d", "noon", "25:00", "2026-01-31", "+é"] {
            assert!(parse_at(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn speeds() {
        assert_eq!(parse_speed("10"), Ok(10.0));
        for wrong in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(parse_speed(wrong).is_err(), "{wrong}");
        }
    }
}
