//! Owns `kpodtrace logs`: which container is meant, and its lines on standard output.
//! It must not print a line that was not made safe, nor mix what it says itself with what a container wrote.

use std::thread;
use std::time::Duration;

use super::log_print::{Printing, Step};
use super::{Failure, Outcome, input, live, out, runbook};
use crate::cli::{Input, LogsArgs};
use crate::container_log::{Instance, LogLine, LogRequest, LogUpdate};
use crate::observe::OpenLog;
use crate::pipeline::LocatedPod;
use crate::session::RecordedLog;
use crate::text::Text;
use crate::view::{LogChoice, NodeView, SubjectName, first_choice, log_choices, log_commands, log_request};

/// Between two looks at what has come.
const EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(input: &Input, args: &LogsArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        if args.follow {
            return Err(Failure::usage("--follow with --from: a recording has its end", "leave --follow away"));
        }
        let moment = input::moment(input)?;
        let (request, choice) = asked(&moment, args)?;
        let mut log = RecordedLog::new(request.clone());
        log.look(&moment);
        return Log { args, request, choice }.print(|| log.take(), || {});
    }
    let mut observed = live::observe(input, runbook::own(input)?)?;
    let moment = observed.moment();
    if !live::sees_pods(&moment) {
        return Err(live::blind(&moment));
    }
    let (request, choice) = asked(&moment, args)?;
    // The log alone is read from here on: the sources end when nobody receives.
    let logs = observed.logs;
    drop(observed.model);
    let log = logs.open(request.clone());
    Log { args, request, choice }.print(|| log.take(), || OpenLog::older(&log))
}

/// The log that is meant.
fn asked(moment: &NodeView, args: &LogsArgs) -> Result<(LogRequest, LogChoice), Failure> {
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
                format!("{}: no pod of that name is here", args.pod),
                "kpodtrace pods lists them",
            ));
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|p| format!("{}/{}", p.facts.namespace, p.facts.name)).collect();
            return Err(Failure::usage(
                format!("{}: several pods have that name", args.pod),
                format!("one of {}", names.join(", ")),
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
                Some(name) => format!("{}: it has no container {name}", args.pod),
                None => format!("{}: no source names a container of it", args.pod),
            };
            Err(Failure::usage(what, format!("-c with one of {}", names.join(", "))))
        }
    }
}

/// Where one log is printed.
struct Log<'a> {
    args: &'a LogsArgs,
    request: LogRequest,
    choice: LogChoice,
}

impl Log<'_> {
    /// Prints what `take` brings, until all was told; `ask` asks for older lines.
    fn print(&self, mut take: impl FnMut() -> Vec<LogUpdate>, ask: impl Fn()) -> Result<Outcome, Failure> {
        let mut printing = Printing::new(self.args.follow, self.args.tail);
        loop {
            for step in take().into_iter().flat_map(|news| printing.news(news)) {
                match step {
                    Step::Place(place) => {
                        out::note(&format!("{} of {}: {place}", self.choice.name.one_line(), self.args.pod));
                    }
                    Step::Print(lines) => out::text(&text(&lines, self.args.timestamps))?,
                    Step::Note(text) => out::note(&text),
                    Step::AskOlder => ask(),
                    Step::End => return Ok(Outcome::Done),
                    Step::Fail(why) => return Err(self.nowhere(&why)),
                }
            }
            thread::sleep(EVERY);
        }
    }

    fn nowhere(&self, why: &[Text]) -> Failure {
        let mut what =
            format!("the log of {} of {} cannot be read from here", self.choice.name.one_line(), self.args.pod);
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
