//! Owns every flag and subcommand, with help by example.
//! It must not do anything: it says what was asked for.

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
  sudo kpodtrace                              this node, on the screen
  sudo kpodtrace doctor                       what can be seen from here, and what is missing
  sudo kpodtrace pods --failing               what is wrong here, once
  kpodtrace demo                              six minutes of a real node, on the screen
  kpodtrace --from ./capture                  the same screen, for your own input
  kpodtrace --failing --theme light           how it begins and looks; see also kpodtrace config
  kpodtrace --from node.kpt --speed 4         a recording, played from its begin
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
    /// How the screen plays it, begins, and looks.
    #[command(flatten)]
    pub screen: ScreenArgs,
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
    /// A team's own runbook files, besides those of /etc/kpodtrace/runbook.d; may be given several times
    #[arg(long, global = true, value_name = "DIR")]
    pub runbook: Vec<PathBuf>,
    /// Memory to use at most, such as 512MiB or 2GiB. A source that reports more is degraded: it leaves objects out and
    /// says so. An input that needs more, or is more than twice as large once decompressed, is refused
    #[arg(long, global = true, value_name = "SIZE", default_value = "256MiB", value_parser = parse_memory)]
    pub max_memory: u64,
    /// How to observe this node, where no input is given.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// How to observe a live node. What is not given is found.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Observing this node")]
pub struct LiveArgs {
    /// Node name, instead of what the certificate, the kubelet's flags or the host say
    #[arg(long, global = true, value_name = "NAME")]
    pub node: Option<String>,
    /// Credential for the API server and the kubelet, instead of $KUBECONFIG and the node's own
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of its current one
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Socket of the container runtime, such as unix:///run/containerd/containerd.sock
    #[arg(long, global = true, value_name = "ENDPOINT")]
    pub runtime_endpoint: Option<String>,
    /// The kubelet's log as a file, instead of the journal
    #[arg(long, global = true, value_name = "FILE")]
    pub kubelet_log: Option<PathBuf>,
    /// The runtime's log as a file, instead of the journal
    #[arg(long, global = true, value_name = "FILE")]
    pub runtime_log: Option<PathBuf>,
    /// Address of the kubelet's server, such as 127.0.0.1:10250, instead of the one that the node's kubelet listens on
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    pub kubelet_endpoint: Option<SocketAddr>,
    /// Certificate that the kubelet serves, or its CA's, instead of the node's own
    #[arg(long, global = true, value_name = "FILE")]
    pub kubelet_certificate: Option<PathBuf>,
    /// Do not verify the kubelet's certificate; the header then says so
    #[arg(long, global = true)]
    pub insecure_kubelet: bool,
    /// Longest time to wait for the sources before answering once, such as 3s or 500ms
    #[arg(long, global = true, value_name = "TIME", default_value = "3s", value_parser = parse_wait)]
    pub wait: Duration,
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
  kpodtrace pods --filter 'web !stage:running'         the filter of the screen
  kpodtrace pods --sort restarts                       the most first; --sort -restarts the fewest
  sudo kpodtrace pods --watch --failing                the table, then every row that changes
  kpodtrace pods --watch --from node.kpt -n shop       the same changes out of a recording, each with its time
  kubectl get pods,events,nodes -A -o json | kpodtrace pods --from - --failing --exit-code

With --exit-code: 1 when a pod shown is failing or slow, or the node has an alarm.
With --watch: a row is printed again when anything but its ages and countdowns changes. With --failing, a pod that
recovers is printed once more as it is then; one that is gone has the STATE gone. Alarms go to standard error.")]
    Pods(PodsArgs),
    /// How PLEG and the container runtime do: relists, latencies, calls without an answer
    #[command(after_help = "\
Examples:
  kpodtrace pleg --from node.kpt                       verdict, our own calls, windows, operations
  kpodtrace pleg --from node.kpt --at 12:42:10 -o json
  sudo kpodtrace pleg --watch                          the report, then a line whenever there is news

With --watch: a line when the verdict changes, when the kubelet's metrics were read again (every 10 s), and every 10 s
while our own list calls say something new or have no answer.
With --exit-code: 1 when PLEG is silent, slow or hanging, 3 when nothing recent is known of it.")]
    Pleg(PlegArgs),
    /// The node: conditions, what it has left, eviction thresholds, and which pods would die first
    #[command(after_help = "\
Examples:
  sudo kpodtrace node
  kpodtrace node --from node.kpt -o json | jq '.eviction_order[0]'")]
    Node(NodeArgs),
    /// Events about the node and its pods, repeats folded, newest first
    #[command(after_help = "\
Examples:
  kpodtrace events --from node.kpt warning !probe
  kpodtrace events -o json | jq '.events[] | select(.cause)'

Exit codes: 0 told, 3 no source of events was heard.")]
    Events(EventsArgs),
    /// Say why: cause, evidence, what comes next, what to do; or print an entry of the runbook
    #[command(after_help = "\
Examples:
  sudo kpodtrace explain                               every pod here that is not well, worst first
  sudo kpodtrace explain shop/web-0                    one pod; NAME, NS/NAME, pod/NS/NAME or node/NAME
  kpodtrace explain image.not-found                    the runbook's entry; a reason such as ImagePullBackOff will do
  kubectl get pods,events,nodes -A -o json | kpodtrace explain --from -
  kpodtrace explain pod/shop/web-0 --from objects.json --kubelet-log kubelet.log --container-log app=app.log

With files and without --from the files are all that is looked at.
Exit codes: 0 explained, 1 with --exit-code when something is wrong, 3 no such subject.")]
    Explain(ExplainArgs),
    /// What a container wrote: from its files on this node, else from the API server, else from the kubelet
    #[command(after_help = "\
Examples:
  sudo kpodtrace logs shop/web-0                       of the container that is the trouble
  sudo kpodtrace logs shop/web-0 -c app --previous     of the run before its last start
  sudo kpodtrace logs shop/web-0 -f --tail 20          the last 20 lines, and what is written from now on

No more than the last 10000 lines or 4 MiB. What stands in the lines is made safe for a terminal. Where the lines come from
is said on standard error.
Exit codes: 0 told, 2 no such container, 3 no such pod, or its log cannot be read; what was tried is said.")]
    Logs(LogsArgs),
    /// Play six minutes of a real node on the screen, in a loop; needs no cluster and no network
    #[command(after_help = "\
Examples:
  kpodtrace demo
  kpodtrace demo --speed 10 --ascii")]
    Demo(ScreenArgs),
    /// Print the screen's configuration as it is in effect, with where each value comes from
    #[command(after_help = "\
Examples:
  kpodtrace config                                     what the screen would begin with
  kpodtrace config --theme light                       the same with a flag
  kpodtrace config > ~/.config/kpodtrace/config.toml   a file to begin from

Read are $XDG_CONFIG_HOME/kpodtrace/config.toml (or ~/.config/kpodtrace/config.toml) and /etc/kpodtrace/config.toml.
A flag goes before the first, which goes before the second. A file that is wrong is refused with line and reason.")]
    Config(LookArgs),
    /// Record this node, or turn an import into a recording: one file that opens fast and can be passed on
    #[command(after_help = "\
Examples:
  sudo kpodtrace record -o node.kpt                    until Ctrl-C
  kpodtrace record --from ./incident -o node.kpt
  kubectl get pods,events,nodes -A -o json | kpodtrace record --from - -o cluster.kpt")]
    Record(RecordArgs),
    /// What can be seen from here and what cannot: every source, what was tried, and the exact fix
    #[command(after_help = "\
Examples:
  sudo kpodtrace doctor
  kpodtrace doctor --kubeconfig admin.conf -o json
  sudo kpodtrace doctor --watch                        then every source whose state changes

Exit code: with --watch 0, else 0 when a diagnosis has what it needs, else 1.")]
    Doctor(DoctorArgs),
    /// Check a team's own runbook files
    #[command(after_help = "\
Examples:
  kpodtrace runbook check ./runbook.d                  refused with file, line and reason; 1 when anything is wrong
  kpodtrace runbook check                              the embedded runbook")]
    Runbook(RunbookArgs),
    /// Print the manual page: every command and flag, the keys, files, variables and exit codes
    #[command(after_help = "\
Examples:
  kpodtrace man | man -l -
  kpodtrace man > /usr/local/share/man/man1/kpodtrace.1")]
    Man,
}

/// Flags of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Pods or nodes, written NAME, NS/NAME, pod/NS/NAME or node/NAME; or a cause or a reason
    #[arg(value_name = "SUBJECT")]
    pub subjects: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PlegFormat::Text, value_name = "FORMAT")]
    pub output: PlegFormat,
    /// The kernel's log, as a file
    #[arg(long, value_name = "FILE")]
    pub kernel_log: Vec<PathBuf>,
    /// What the container of that name wrote, as a file
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    pub container_log: Vec<(String, PathBuf)>,
    /// Any other log, as a file: a network agent's, a storage driver's
    #[arg(long = "log", value_name = "FILE")]
    pub other_log: Vec<PathBuf>,
    /// A page of the kubelet's metrics, as a file
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// The time at which the question is asked, RFC 3339; without it the newest time in the files
    #[arg(long, value_name = "TIME", value_parser = parse_now)]
    pub now: Option<Time>,
    /// Print what rules can look for in each subject, instead of what they say: for writing rules
    #[arg(long)]
    pub signals: bool,
    /// Exit with 1 when something is wrong
    #[arg(long)]
    pub exit_code: bool,
}

/// Flags of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The pod, written NAME or NS/NAME
    #[arg(value_name = "POD")]
    pub pod: String,
    /// The container, instead of the one that is the trouble
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// The run before the container's last start
    #[arg(short, long, conflicts_with = "follow")]
    pub previous: bool,
    /// Go on with what is written from now on
    #[arg(short, long)]
    pub follow: bool,
    /// Begin with no more than the last N lines
    #[arg(long, value_name = "N")]
    pub tail: Option<usize>,
    /// Print the time before each line
    #[arg(short, long)]
    pub timestamps: bool,
}

/// Flags of `runbook`.
#[derive(Debug, Args)]
pub struct RunbookArgs {
    /// What to do with the runbook
    #[command(subcommand)]
    pub action: RunbookAction,
}

/// What can be done with runbook files.
#[derive(Debug, Subcommand)]
pub enum RunbookAction {
    /// Read the files, try every rule's own examples, and say what is wrong
    Check {
        /// A folder of *.toml; without it the embedded runbook
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// How the screen begins, and how it looks. What is not given is as the configuration has it.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "The screen")]
pub struct LookArgs {
    /// Only this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Begin with only the pods that are failing, or slow in a stage that should pass by itself
    #[arg(long)]
    pub failing: bool,
    /// Begin with the pods that match, as in 'web status:crash !ns:kube-system'
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Begin sorted by trouble, or by a column such as restarts; -COLUMN is the other way round
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Colours: default, light, high-contrast or colour-blind; NO_COLOR takes them all
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Draw with ASCII alone
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
}

impl LookArgs {
    /// These, and of `other` what is not given here.
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
    #[arg(short, long, value_enum, default_value_t = PlegFormat::Text, value_name = "FORMAT")]
    pub output: PlegFormat,
    /// Print again what changes, until Ctrl-C; of a recording, what changed from its begin (or --at) to its end
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
    /// Only pods that are failing, or slow in a stage that should pass by itself
    #[arg(long)]
    pub failing: bool,
    /// Only pods that match all words: in the name (or its letters in order), status, stage, cause or why; or in one field,
    /// as in ns:shop name:web status:crash stage:image cause:oom why:quota node:node-7; ! before a word is not
    #[arg(long, value_name = "WORDS")]
    pub filter: Option<String>,
    /// Sorted by trouble, name, ready, status, stage, in-stage, restarts, age, next or why; -COLUMN is the other way round
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with = "watch")]
    pub sort: Option<String>,
    /// Print again what changes, until Ctrl-C; of a recording, what changed from its begin (or --at) to its end
    #[arg(short, long, conflicts_with = "exit_code")]
    pub watch: bool,
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
    /// Print again what changes, until Ctrl-C; of a recording, what changed from its begin (or --at) to its end
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
    #[arg(short, long, value_enum, default_value_t = PlegFormat::Text, value_name = "FORMAT")]
    pub output: PlegFormat,
}

/// Flags of `events`.
#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Words that an event must have; with ! before one it must not. warning and normal are such words
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PlegFormat::Text, value_name = "FORMAT")]
    pub output: PlegFormat,
}

/// Formats of `pleg`, `node` and `events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlegFormat {
    /// To be read
    Text,
    /// A document, see docs/json.md
    Json,
}

/// Flags of the screen.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "The screen")]
pub struct ScreenArgs {
    /// Play it, this many times as fast as it was recorded: from its begin, or from --at
    #[arg(long, value_name = "N", value_parser = parse_speed)]
    pub speed: Option<f64>,
    /// How the screen begins, and how it looks.
    #[command(flatten)]
    pub look: LookArgs,
}

/// Flags of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The file to write, which must not exist yet; - is standard output, if that is not a terminal
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How long to record this node, such as 90s or 10m; without it until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_wait)]
    pub time: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
