//! `kpodtrace logs`: prints the log of one container on standard output, and notices on standard error.

use std::thread;
use std::time::Duration;

use super::log_print::{LogPrinter, PrintStep};
use super::{Failure, Outcome, live, out, runbook, session};
use crate::cli::{Input, LogsArgs};
use crate::container_log::{Instance, LogLine, LogRequest, LogStream};
use crate::pipeline::LocatedPod;
use crate::session::RecordedLog;
use crate::text::Text;
use crate::view::{LogChoice, NodeView, SubjectName, first_choice, log_choices, log_commands, log_request};

/// Period at which updates are taken.
const POLL: Duration = Duration::from_millis(50);

pub(super) fn run(input: &Input, args: &LogsArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        if args.follow {
            return Err(Failure::usage(
                "--follow does not work with --from: a recording gets no new lines",
                "omit --follow",
            ));
        }
        let moment = session::requested_view(input)?;
        let (request, choice) = select(&moment, args)?;
        let mut log = RecordedLog::new(request.clone());
        log.advance(&moment);
        return LogOutput { args, request, choice }.print(&mut log);
    }
    let mut observed = live::observe(input, runbook::own(input)?)?;
    let moment = observed.moment();
    if !live::sees_pods(&moment) {
        return Err(live::blind(&moment));
    }
    let (request, choice) = select(&moment, args)?;
    // From here on only the log is read: dropping the receiver stops the sources.
    let logs = observed.logs;
    drop(observed.model);
    let mut log = logs.open(request.clone());
    LogOutput { args, request, choice }.print(&mut log)
}

/// The pod and container that the arguments name.
fn select(moment: &NodeView, args: &LogsArgs) -> Result<(LogRequest, LogChoice), Failure> {
    let (namespace, name) = match SubjectName::parse(&args.pod) {
        SubjectName::Pod(namespace, name) => (Some(namespace), name),
        SubjectName::Name(name) | SubjectName::Node(name) => (None, name),
    };
    let is_it = |p: &&LocatedPod| {
        namespace.as_ref().is_none_or(|ns| p.facts.namespace == *ns.as_str()) && p.facts.name == *name.as_str()
    };
    let found: Vec<&LocatedPod> = moment.pods.iter().filter(is_it).collect();
    let placed = match found.as_slice() {
        [placed] => placed,
        [] => {
            return Err(Failure::unseen(
                format!("no pod {} on this node", args.pod),
                "list the pods with: kpodtrace pods",
            ));
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|p| format!("{}/{}", p.facts.namespace, p.facts.name)).collect();
            return Err(Failure::usage(
                format!("several pods are named {}", args.pod),
                format!("use one of {}", names.join(", ")),
            ));
        }
    };
    let choices = log_choices(placed);
    let chosen = match &args.container {
        Some(name) => choices.iter().find(|c| c.name == *name.as_str()),
        None => choices.get(first_choice(placed, moment.why(&placed.facts.key).as_ref())),
    };
    let instance = if args.previous { Instance::Previous } else { Instance::Current };
    match chosen {
        Some(choice) => Ok((log_request(placed, &choice.name, instance, args.follow), choice.clone())),
        None => {
            let names: Vec<&str> = choices.iter().map(|c| c.name.as_str()).collect();
            let what = match &args.container {
                Some(name) => format!("pod {} has no container {name}", args.pod),
                None => format!("pod {}: no source reports a container", args.pod),
            };
            Err(Failure::usage(what, format!("use -c with one of {}", names.join(", "))))
        }
    }
}

/// The output of one log.
struct LogOutput<'a> {
    args: &'a LogsArgs,
    request: LogRequest,
    choice: LogChoice,
}

impl LogOutput<'_> {
    /// Prints a log to its end, or until interrupted with `--follow`.
    fn print(&self, log: &mut dyn LogStream) -> Result<Outcome, Failure> {
        let mut printer = LogPrinter::new(self.args.follow, self.args.tail);
        loop {
            for step in log.take_updates().into_iter().flat_map(|update| printer.apply(update)) {
                match step {
                    PrintStep::Origin(origin) => {
                        out::note(&format!("{} of {}: {origin}", self.choice.name.one_line(), self.args.pod));
                    }
                    PrintStep::Print(lines) => out::text(&text(&lines, self.args.timestamps))?,
                    PrintStep::Note(text) => out::note(&text),
                    PrintStep::RequestOlder => log.request_older(),
                    PrintStep::Done => return Ok(Outcome::Done),
                    PrintStep::Fail(why) => return Err(self.unavailable(&why)),
                }
            }
            thread::sleep(POLL);
        }
    }

    fn unavailable(&self, why: &[Text]) -> Failure {
        let mut what = format!("log of {} of {} not available", self.choice.name.one_line(), self.args.pod);
        for why in why {
            what.push_str(&format!("\n  {}", why.one_line()));
        }
        Failure::unseen(what, log_commands(&self.request, Some(&self.choice)).join("; or "))
    }
}

fn text(lines: &[LogLine], timestamps: bool) -> String {
    let mut text = String::new();
    for line in lines {
        if timestamps {
            let at = line.at.map(|at| at.to_rfc3339_millis());
            text.push_str(&at.unwrap_or_else(|| "-".into()));
            text.push(' ');
        }
        text.push_str(&line.text.replace('\n', " "));
        text.push('\n');
    }
    text
}
