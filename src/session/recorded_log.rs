//! Owns the log of a container as a recording has it: the lines that were observed, no more.
//! It must not make up what was not observed, nor take a line for one of a certain run.

use crate::container_log::{Instance, LogLine, LogNews, LogPlace, LogRequest, Stream};
use crate::observation::Source;
use crate::view::Moment;

/// A log that is looked at while a recording plays.
#[derive(Debug)]
pub struct RecordedLog {
    request: LogRequest,
    /// What was told; None before anything was.
    told: Option<Vec<LogLine>>,
    news: Vec<LogNews>,
}

impl RecordedLog {
    /// The log that is asked for.
    pub fn new(request: LogRequest) -> Self {
        Self { request, told: None, news: Vec::new() }
    }

    /// Takes a moment in.
    pub fn look(&mut self, moment: &Moment) {
        let request = &self.request;
        let placed = moment.pod(&request.uid);
        let of_it = placed.iter().flat_map(|placed| placed.facts.log_lines());
        let of_it = of_it.filter(|l| l.source == Source::ContainerLog && l.container == request.container);
        let lines: Vec<LogLine> = of_it
            .filter(|_| request.instance == Instance::Current)
            .map(|l| LogLine { at: Some(l.at), stream: Stream::Unknown, text: l.text.clone() })
            .collect();
        let more = match &self.told {
            Some(told) if *told == lines => return,
            Some(told) if !told.is_empty() => lines.strip_prefix(told.as_slice()),
            _ => None,
        };
        match more {
            Some(more) => self.news.push(LogNews::Lines(more.to_vec())),
            None if lines.is_empty() => {
                let why = match request.instance {
                    Instance::Current => {
                        "the recording has no line of it: only the last words of a container that ended badly are recorded"
                    }
                    Instance::Previous => "the recording does not tell the runs of a container apart",
                };
                self.news.push(LogNews::Nowhere(vec![why.into()]));
            }
            None => {
                self.news.push(LogNews::Begin { place: LogPlace::Recording, restart: None, older: false });
                self.news.push(LogNews::Lines(lines.clone()));
            }
        }
        self.told = Some(lines);
    }

    /// What is new since this was last called.
    pub fn take(&mut self) -> Vec<LogNews> {
        std::mem::take(&mut self.news)
    }
}
