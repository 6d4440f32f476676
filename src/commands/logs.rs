//! Owns `kpodtrace logs`: which container is meant, and its lines on standard output.
//! It must not print a line that was not made safe, nor mix what it says itself with what a container wrote.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use chrono::SecondsFormat;

use super::{Failure, Outcome, input, live, out, runbook};
use crate::cli::{Input, LogsArgs};
use crate::container_log::{Instance, LogLine, LogNews, LogPlace, LogRequest};
use crate::observe::OpenLog;
use crate::pipeline::Placed;
use crate::session::RecordedLog;
use crate::text::Text;
use crate::view::{Asked, LogChoice, Moment, first_choice, left_out, log_choices, log_commands, log_request};

/// Between two looks at what has come.
const EVERY: Duration = Duration::from_millis(50);
/// Most lines that are printed of what was written before.
const MOST: usize = 10_000;

pub(super) fn run(input: &Input, args: &LogsArgs) -> Result<Outcome, Failure> {
    if input.from.is_some() {
        if args.follow {
            return Err(Failure::usage("--follow with --from: a recording has its end", "leave --follow away"));
        }
        let moment = input::moment(input)?;
        let (request, choice) = asked(&moment, args)?;
        let mut log = RecordedLog::new(request.clone());
        log.look(&moment);
        return Print::new(args, request, choice).all(|| log.take(), || {});
    }
    let mut observed = live::observe(input, runbook::own(input)?)?;
    let moment = observed.moment();
    if !live::sees_pods(&moment) {
        return Err(live::blind(&moment));
    }
    let (request, choice) = asked(&moment, args)?;
    let log = observed.logs.open(request.clone());
    Print::new(args, request, choice).all(|| log.take(), || OpenLog::older(&log))
}

/// The log that is meant.
fn asked(moment: &Moment, args: &LogsArgs) -> Result<(LogRequest, LogChoice), Failure> {
    let (namespace, name) = match Asked::read(&args.pod) {
        Asked::Pod(namespace, name) => (Some(namespace), name),
        Asked::Name(name) | Asked::Node(name) => (None, name),
    };
    let is_it = |p: &&Placed| {
        namespace.as_ref().is_none_or(|ns| p.facts.namespace == *ns.as_str()) && p.facts.name == *name.as_str()
    };
    let found: Vec<&Placed> = moment.pods.iter().filter(is_it).collect();
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

/// What is printed of one log.
struct Print<'a> {
    args: &'a LogsArgs,
    request: LogRequest,
    choice: LogChoice,
    /// What was written before; None once that is printed.
    before: Option<VecDeque<LogLine>>,
    /// There are older lines that can be asked for.
    older: bool,
    /// They were asked for.
    asked: bool,
}

impl<'a> Print<'a> {
    fn new(args: &'a LogsArgs, request: LogRequest, choice: LogChoice) -> Self {
        Self { args, request, choice, before: Some(VecDeque::new()), older: false, asked: false }
    }

    /// Prints what `take` brings, until all was told; `ask` asks for older lines.
    fn all(mut self, mut take: impl FnMut() -> Vec<LogNews>, ask: impl Fn()) -> Result<Outcome, Failure> {
        loop {
            let all = take();
            // A stream that is followed does not say which of its lines was the last of before.
            let waits = self.before.as_ref().is_some_and(|before| !before.is_empty());
            if all.is_empty() && self.args.follow && waits && !self.asked {
                self.print_before()?;
            }
            for news in all {
                let enough = self.news(news, &ask)?;
                if enough && !self.args.follow {
                    return Ok(Outcome::Done);
                }
            }
            thread::sleep(EVERY);
        }
    }

    fn wanted(&self) -> usize {
        self.args.tail.unwrap_or(MOST).min(MOST)
    }

    /// Takes news in; true when all that was written before is printed.
    fn news(&mut self, news: LogNews, ask: &impl Fn()) -> Result<bool, Failure> {
        match news {
            LogNews::Begin { place, older, .. } => {
                (self.before, self.older) = (Some(VecDeque::new()), older);
                out::note(&format!("{} of {}: {}", self.choice.name.one_line(), self.args.pod, words(&place)));
            }
            LogNews::Lines(lines) => match &mut self.before {
                Some(before) => before.extend(lines),
                None => self.print(lines)?,
            },
            LogNews::Older { lines, more } => {
                if let Some(before) = &mut self.before {
                    lines.into_iter().rev().for_each(|line| before.push_front(line));
                }
                (self.older, self.asked) = (more, false);
                return self.enough(ask);
            }
            LogNews::End if self.before.is_some() => return self.enough(ask),
            LogNews::End => return Ok(true),
            LogNews::Skipped { lines, bytes } => out::note(&left_out(lines, bytes)),
            LogNews::Restarted { restart, place } => {
                let run = restart.map(|n| format!(" (restart {n})")).unwrap_or_default();
                out::note(&format!("container restarted{run}: {}", words(&place)));
            }
            LogNews::Said(text) => {
                out::note(&text.one_line());
                // What a stream brought before it ended is all there is.
                self.print_before()?;
            }
            LogNews::Nowhere(why) => return Err(self.nowhere(&why)),
        }
        Ok(false)
    }

    /// Prints what was written before once there is as much as is wanted, else asks for more.
    fn enough(&mut self, ask: &impl Fn()) -> Result<bool, Failure> {
        let held = self.before.as_ref().map_or(0, VecDeque::len);
        if held < self.wanted() && self.older {
            ask();
            self.asked = true;
            return Ok(false);
        }
        if (self.older || held > self.wanted()) && self.args.tail.is_none() {
            out::note(&format!("older lines left out: {MOST} are printed"));
        }
        self.print_before()?;
        Ok(true)
    }

    fn print_before(&mut self) -> Result<(), Failure> {
        let mut before: Vec<LogLine> = self.before.take().unwrap_or_default().into();
        let cut = before.len().saturating_sub(self.wanted());
        self.print(before.split_off(cut))
    }

    fn print(&self, lines: Vec<LogLine>) -> Result<(), Failure> {
        let mut text = String::new();
        for line in lines {
            if self.args.timestamps {
                let at = line.at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
                text.push_str(&at.unwrap_or_else(|| "-".into()));
                text.push(' ');
            }
            text.push_str(&line.text.replace('\n', " "));
            text.push('\n');
        }
        out::text(&text)
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

fn words(place: &LogPlace) -> String {
    match place {
        LogPlace::File(path) => path.one_line().into_owned(),
        LogPlace::Api(server) => format!("API server {}", server.one_line()),
        LogPlace::Kubelet(server) => format!("kubelet {}", server.one_line()),
        LogPlace::Recording => "all that the recording has".into(),
    }
}
