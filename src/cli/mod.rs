//! Every flag and subcommand with its help text. `--help` and docs/kpodtrace.1 are generated from these comments.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::time::Time;
use clap::{Args, Parser, Subcommand, ValueEnum};

mod values;

pub use values::At;
use values::{parse_at, parse_memory, parse_named, parse_now, parse_speed, parse_wait};

const EXAMPLES: &str = "\
Examples:
  sudo kpodtrace                             the screen on this node
  sudo kpodtrace doctor                      which sources work, and the fixes
  sudo kpodtrace pods --failing              failing pods, as a table
  kpodtrace demo                             replay six minutes of a real node
  kpodtrace --failing --theme light          only failing pods, light colours
  kpodtrace --from node.kpt --speed 4        replay a recording at 4 times speed
  kpodtrace pods --from node.kpt --failing   failing pods in a recording
  kpodtrace pleg --from node.kpt --at 12:42  PLEG at that time (UTC)
  kubectl get pods,events,nodes -A -o json | kpodtrace --from -

Exit codes: 0 success, 1 problems found (with --exit-code), 2 wrong usage, 3 no data available";

/// Show where each pod on this Kubernetes node is in the kubelet's sync pipeline, since when, and why.
#[derive(Debug, Parser)]
#[command(name = "kpodtrace", version, after_help = EXAMPLES)]
pub struct Cli {
    /// Input and time.
    #[command(flatten)]
    pub input: Input,
    /// Replay speed, initial filter and appearance of the screen.
    #[command(flatten)]
    pub screen: ScreenArgs,
    /// The subcommand; without one, the screen.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// Flags that every command accepts.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// Read this input instead of the node: a recording, or the output of `kubectl get pods,events,nodes -A -o json`; - is
    /// standard input
    #[arg(long, global = true, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Time to show instead of the end of the input: RFC 3339, HH:MM:SS or HH:MM (UTC, on the day of the input), or
    /// +90s or +1m30s from its start
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_at, allow_hyphen_values = true)]
    pub at: Option<At>,
    /// Folder with additional runbook files (*.toml), besides /etc/kpodtrace/runbook.d; can be repeated
    #[arg(long, global = true, value_name = "DIR")]
    pub runbook: Vec<PathBuf>,
    /// Memory limit, such as 512MiB or 2GiB. Above it a source omits and counts objects, and an input is refused. An
    /// input is also refused if it is more than twice as large once decompressed
    #[arg(long, global = true, value_name = "SIZE", default_value = "256MiB", value_parser = parse_memory)]
    pub max_memory: u64,
    /// How to observe this node when no input is given.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// How to observe a live node. Other values are discovered.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Observing this node")]
pub struct LiveArgs {
    /// Node name, instead of the one in the kubelet's certificate or flags, or the host name
    #[arg(long, global = true, value_name = "NAME")]
    pub node: Option<String>,
    /// Kubeconfig for the API server and the kubelet, instead of $KUBECONFIG and the node's own
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of its current context
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Socket of the container runtime, such as unix:///run/containerd/containerd.sock
    #[arg(long, global = true, value_name = "ENDPOINT")]
    pub runtime_endpoint: Option<String>,
    /// Kubelet log file, instead of the journal
    #[arg(long, global = true, value_name = "FILE")]
    pub kubelet_log: Option<PathBuf>,
    /// Runtime log file, instead of the journal
    #[arg(long, global = true, value_name = "FILE")]
    pub runtime_log: Option<PathBuf>,
    /// Address of the kubelet's server, such as 127.0.0.1:10250, instead of the discovered one
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    pub kubelet_endpoint: Option<SocketAddr>,
    /// The kubelet's serving certificate or its CA, instead of the one on the node
    #[arg(long, global = true, value_name = "FILE")]
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate; the header shows a warning
    #[arg(long, global = true)]
    pub insecure_kubelet: bool,
    /// Maximum wait for the sources before a command prints its result, such as 3s or 500ms
    #[arg(long, global = true, value_name = "TIME", default_value = "3s", value_parser = parse_wait)]
    pub wait: Duration,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// List pods with stage, state and cause; failing pods first
    #[command(after_help = "\
Examples:
  kpodtrace pods --from node.kpt                    one line per pod
  kpodtrace pods --from node.kpt --at +90s -o wide  90 s after the start
  kpodtrace pods -n shop -o json                    stages with evidence
  kpodtrace pods --filter 'web !stage:running'      pods that match
  kpodtrace pods --sort restarts                    most restarts first
  sudo kpodtrace pods --watch --failing             then each change
  kpodtrace pods --watch --from node.kpt            changes with times
  kubectl get pods,events,nodes -A -o json | kpodtrace pods --from - --failing

With --exit-code: 1 when a listed pod is failing or slow, or a node alarm is active.
With --watch: a row is printed again when anything but its ages and countdowns changes. With --failing, a recovered pod is printed once more. A deleted pod has the STATE gone. Alarms are printed to standard error.")]
    Pods(PodsArgs),
    /// Show the health of PLEG and the container runtime
    #[command(after_help = "\
Examples:
  kpodtrace pleg --from node.kpt  verdict, latencies, relists
  kpodtrace pleg --from node.kpt --at 12:42:10
  sudo kpodtrace pleg --watch     then a line for each change

With --watch: a line when the verdict changes, at each scrape of the kubelet's metrics (every 10 s), and every 10 s while kpodtrace's own list calls return new results or do not return.
With --exit-code: 1 when PLEG is silent, slow or hanging, 3 without recent data.")]
    Pleg(PlegArgs),
    /// Show the node: conditions, resources, eviction and OOM-kill order
    #[command(after_help = "\
Examples:
  sudo kpodtrace node
  kpodtrace node --from node.kpt -o json | jq '.eviction_order[0]'")]
    Node(NodeArgs),
    /// List events of the node and its pods, newest first
    #[command(after_help = "\
Examples:
  kpodtrace events --from node.kpt warning !probe
  kpodtrace events -o json | jq '.events[] | select(.cause)'

Exit codes: 0 success, 3 no event source available.")]
    Events(EventsArgs),
    /// Explain pods, the node or a runbook entry: cause and what to do
    #[command(after_help = "\
Examples:
  sudo kpodtrace explain              every pod with a problem, worst first
  sudo kpodtrace explain shop/web-0   one pod
  kpodtrace explain image.not-found   a runbook entry
  kpodtrace explain ImagePullBackOff  the entries of that reason
  kubectl get pods,events,nodes -A -o json | kpodtrace explain --from -
  kpodtrace explain shop/web-0 --from objects.json --kubelet-log kubelet.log

With log or metrics files and without --from, only these files are read.
Exit codes: 0 success, 1 with --exit-code when there are problems, 3 no such subject.")]
    Explain(ExplainArgs),
    /// Print the log of a container
    #[command(after_help = "\
Examples:
  sudo kpodtrace logs shop/web-0                    the failing container
  sudo kpodtrace logs shop/web-0 -c app --previous  before its last restart
  sudo kpodtrace logs shop/web-0 -f --tail 20       20 lines, then new ones

Reads the files on this node, else the API server, else the kubelet; standard error has the source. Prints at most the last 10000 lines or 4 MiB, with control sequences escaped.
Exit codes: 0 success, 2 no such container, 3 no such pod, or its log cannot be read; the error lists what was tried.")]
    Logs(LogsArgs),
    /// Replay six minutes of a real node on the screen; needs no cluster
    #[command(after_help = "\
Examples:
  kpodtrace demo
  kpodtrace demo --speed 10 --ascii")]
    Demo(ScreenArgs),
    /// Print the configuration in effect, with the origin of each value
    #[command(after_help = "\
Examples:
  kpodtrace config                                    the values in effect
  kpodtrace config --theme light                      with a flag
  kpodtrace config > ~/.config/kpodtrace/config.toml  a file to edit

The user file is $XDG_CONFIG_HOME/kpodtrace/config.toml (or ~/.config/kpodtrace/config.toml), the system file is /etc/kpodtrace/config.toml. Flags override the user file, which overrides the system file. An invalid file is refused with line and reason.")]
    Config(DisplayArgs),
    /// Record this node, or convert an input into a recording
    #[command(after_help = "\
Examples:
  sudo kpodtrace record -o node.kpt            until Ctrl-C
  sudo kpodtrace record -o node.kpt --for 10m  for ten minutes
  kubectl get pods,events,nodes -A -o json \\
    | kpodtrace record --from - -o cluster.kpt")]
    Record(RecordArgs),
    /// Show which sources work, what is missing, and the fixes
    #[command(after_help = "\
Examples:
  sudo kpodtrace doctor
  kpodtrace doctor --kubeconfig admin.conf -o json
  sudo kpodtrace doctor --watch  then each source that changes

Exit codes: 0 when a diagnosis has the sources it needs and the kubelet responds, else 1; 0 with --watch.")]
    Doctor(DoctorArgs),
    /// Check additional runbook files
    #[command(after_help = "\
Examples:
  kpodtrace runbook check ./runbook.d  errors with file and line; exit code 1
  kpodtrace runbook check              the embedded runbook")]
    Runbook(RunbookArgs),
    /// Print the man page
    #[command(after_help = "\
Examples:
  kpodtrace man | man -l -
  kpodtrace man > /usr/local/share/man/man1/kpodtrace.1")]
    Man,
}

/// Flags of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Pods or nodes (NAME, NS/NAME, pod/NS/NAME or node/NAME), or a runbook cause or reason
    #[arg(value_name = "SUBJECT")]
    pub subjects: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    pub output: ReportFormat,
    /// Kernel log file
    #[arg(long, value_name = "FILE")]
    pub kernel_log: Vec<PathBuf>,
    /// Log file of the container NAME
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    pub container_log: Vec<(String, PathBuf)>,
    /// Any other log file, such as a network agent's or a CSI driver's
    #[arg(long = "log", value_name = "FILE")]
    pub other_log: Vec<PathBuf>,
    /// File with a page of the kubelet's metrics
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Time to evaluate the files at, RFC 3339; default: the newest time in the files
    #[arg(long, value_name = "TIME", value_parser = parse_now)]
    pub now: Option<Time>,
    /// Print the signals that rules can match for each subject, for writing rules
    #[arg(long)]
    pub signals: bool,
    /// Exit with 1 when there are problems
    #[arg(long)]
    pub exit_code: bool,
}

/// Flags of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The pod: NAME or NS/NAME
    #[arg(value_name = "POD")]
    pub pod: String,
    /// The container; default: the failing one
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// Log of the previous container, before its last restart
    #[arg(short, long, conflicts_with = "follow")]
    pub previous: bool,
    /// Keep printing new lines
    #[arg(short, long)]
    pub follow: bool,
    /// Start with the last N lines
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Print the time before each line
    #[arg(short, long)]
    pub timestamps: bool,
}

/// Flags of `runbook`.
#[derive(Debug, Args)]
pub struct RunbookArgs {
    /// The action
    #[command(subcommand)]
    pub action: RunbookAction,
}

/// Actions on runbook files.
#[derive(Debug, Subcommand)]
pub enum RunbookAction {
    /// Read the files, run the examples of every rule, and list the errors
    Check {
        /// Folder with *.toml files; default: the embedded runbook
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Initial filter, sort order and appearance of the screen. The configuration provides what is not given.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "The screen")]
pub struct DisplayArgs {
    /// Only this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Start with only failing or stuck pods
    #[arg(long)]
    pub failing: bool,
    /// Start with only the pods that match, such as 'web status:crash !ns:kube-system'
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Initial sort order: severity or a column such as restarts; -COLUMN reverses it
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Colours: default, light, high-contrast or colour-blind; NO_COLOR disables them
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Use ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal, for selecting text
    #[arg(long)]
    pub no_mouse: bool,
}

impl DisplayArgs {
    /// `self`, completed with the values of `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            namespace: self.namespace.clone().or_else(|| other.namespace.clone()),
            failing: self.failing || other.failing,
            filter: self.filter.clone().or_else(|| other.filter.clone()),
            sort: self.sort.clone().or_else(|| other.sort.clone()),
            theme: self.theme.clone().or_else(|| other.theme.clone()),
            ascii: self.ascii || other.ascii,
            no_mouse: self.no_mouse || other.no_mouse,
        }
    }
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    pub output: ReportFormat,
    /// Keep printing changes until Ctrl-C; for a recording, print the changes from its start (or --at) to its end
    #[arg(short, long)]
    pub watch: bool,
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
    /// Only failing or stuck pods
    #[arg(long)]
    pub failing: bool,
    /// Only pods that match all words, in name (or its letters in order), status, stage, cause or why. FIELD:WORD matches
    /// one field: ns, name, status, stage, cause, why, node (status:crash, cause:oom). !WORD excludes
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Sort by severity, name, ready, status, stage, in-stage, restarts, age, next or why; -COLUMN reverses it
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "watch")]
    pub sort: Option<String>,
    /// Keep printing changes until Ctrl-C; for a recording, print the changes from its start (or --at) to its end
    #[arg(short, long, conflicts_with = "exit_code")]
    pub watch: bool,
    /// Exit with 1 when there are problems
    #[arg(long)]
    pub exit_code: bool,
}

/// Formats of `pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PodsFormat {
    /// One line per pod, cut to the terminal's width
    Table,
    /// One line per pod, with times, QoS class and the full reason
    Wide,
    /// A PodList (docs/json.md)
    Json,
}

/// Flags of `pleg`.
#[derive(Debug, Args)]
pub struct PlegArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    pub output: ReportFormat,
    /// Keep printing changes until Ctrl-C; for a recording, print the changes from its start (or --at) to its end
    #[arg(short, long, conflicts_with = "exit_code")]
    pub watch: bool,
    /// Exit with 1 when there are problems
    #[arg(long)]
    pub exit_code: bool,
}

/// Flags of `node`.
#[derive(Debug, Args)]
pub struct NodeArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    pub output: ReportFormat,
}

/// Flags of `events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only events that match all words, such as warning or a pod's name; !WORD excludes
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    pub output: ReportFormat,
}

/// Formats of every command except `pods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Plain text
    Text,
    /// One JSON document (docs/json.md)
    Json,
}

/// Flags of the screen.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "The screen")]
pub struct ScreenArgs {
    /// Replay at N times the recorded speed, from the start or from --at
    #[arg(long, value_name = "N", value_parser = parse_speed)]
    pub speed: Option<f64>,
    /// Initial filter, sort order and appearance.
    #[command(flatten)]
    pub display: DisplayArgs,
}

/// Flags of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// File to create; it must not exist. - is standard output, unless that is a terminal
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How long to record this node, such as 90s or 10m; default: until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_wait)]
    pub time: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn examples_fit_on_a_terminal_of_80_columns() {
        let mut all = Cli::command();
        all.build();
        for command in all.get_subcommands().chain([&all]) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.len() <= 80, "{line}");
            }
        }
    }
}
