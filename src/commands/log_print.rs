//! Owns what `kpodtrace logs` prints of one log, and when: as many of the lines of before as are wanted, then what comes.
//! It must not read a log nor write anywhere: what is to be done is given back.

use crate::container_log::{LogBuffer, LogLine, LogOrigin, LogUpdate, MAX_LOG_BYTES, MAX_LOG_LINES, OlderLines};
use crate::text::Text;
use crate::view::left_out;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Say that it is read there.
    Place(String),
    /// Print these.
    Print(Vec<LogLine>),
    /// Say this beside them.
    Note(String),
    /// Ask for older lines.
    AskOlder,
    /// End: all was printed.
    End,
    /// End: it can be read nowhere, and why.
    Fail(Vec<Text>),
}

/// One log, as far as it was told.
#[derive(Debug)]
pub struct Printing {
    follow: bool,
    tail: Option<usize>,
    /// What was written before; None once that is printed.
    before: Option<LogBuffer>,
    /// What stands before them.
    rest: OlderLines,
}

impl Printing {
    /// Nothing was told yet; `tail` lines of before are wanted, or as many as are held.
    pub fn new(follow: bool, tail: Option<usize>) -> Self {
        Self { follow, tail, before: Some(Self::none(tail)), rest: OlderLines::None }
    }

    fn none(tail: Option<usize>) -> LogBuffer {
        LogBuffer::new(tail.unwrap_or(usize::MAX))
    }

    /// Takes news in.
    pub fn news(&mut self, news: LogUpdate) -> Vec<Step> {
        match news {
            LogUpdate::Opened { origin, has_older, .. } => {
                self.before = Some(Self::none(self.tail));
                self.rest = if has_older { OlderLines::Available } else { OlderLines::None };
                vec![Step::Place(words(&origin))]
            }
            LogUpdate::Lines(lines) => match &mut self.before {
                Some(before) => {
                    before.extend(lines);
                    Vec::new()
                }
                None => vec![Step::Print(lines)],
            },
            LogUpdate::Older { lines, remaining } => {
                self.rest = remaining;
                if let Some(before) = &mut self.before {
                    before.extend_older(lines);
                }
                self.enough()
            }
            LogUpdate::CaughtUp => self.enough(),
            LogUpdate::Skipped { lines, bytes } => vec![Step::Note(left_out(lines, bytes))],
            LogUpdate::Restarted { restart, origin } => {
                let run = restart.map(|n| format!(" (restart {n})")).unwrap_or_default();
                vec![Step::Note(format!("container restarted{run}: {}", words(&origin)))]
            }
            LogUpdate::Notice(text) => vec![Step::Note(text.one_line().into_owned())],
            LogUpdate::Closed(text) => {
                let mut steps = self.print_before();
                steps.extend([Step::Note(text.one_line().into_owned()), Step::End]);
                steps
            }
            LogUpdate::Unavailable(why) => {
                let mut steps = self.print_before();
                steps.push(Step::Fail(why));
                steps
            }
        }
    }

    /// Prints what was written before if there is as much as is wanted, else asks for more.
    fn enough(&mut self) -> Vec<Step> {
        if self.rest == OlderLines::Available && self.before.as_ref().is_some_and(|before| !before.is_full()) {
            return vec![Step::AskOlder];
        }
        let mut steps = self.print_before();
        if !self.follow {
            steps.push(Step::End);
        }
        steps
    }

    fn print_before(&mut self) -> Vec<Step> {
        let Some(before) = self.before.take() else { return Vec::new() };
        let mut steps = Vec::new();
        if (self.rest != OlderLines::None || before.is_truncated()) && self.tail.is_none_or(|tail| tail > before.len())
        {
            steps.push(Step::Note(format!(
                "older lines left out: the last {} lines or {} MiB are printed",
                MAX_LOG_LINES,
                MAX_LOG_BYTES >> 20
            )));
        }
        if !before.is_empty() {
            steps.push(Step::Print(before.into_vec()));
        }
        steps
    }
}

fn words(place: &LogOrigin) -> String {
    match place {
        LogOrigin::File(path) => path.one_line().into_owned(),
        LogOrigin::Api(server) => format!("API server {}", server.one_line()),
        LogOrigin::Kubelet(server) => format!("kubelet {}", server.one_line()),
        LogOrigin::Recording => "all that the recording has".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_log::Stream;

    fn begin(has_older: bool) -> LogUpdate {
        LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older }
    }

    fn lines(from: usize, to: usize) -> Vec<LogLine> {
        let line = |i: usize| LogLine { at: None, stream: Stream::Out, text: i.to_string().as_str().into() };
        (from..to).map(line).collect()
    }

    fn told(printing: &mut Printing, news: Vec<LogUpdate>) -> Vec<Step> {
        let steps = news.into_iter().flat_map(|news| printing.news(news));
        steps.filter(|step| !matches!(step, Step::Place(_))).collect()
    }

    #[test]
    fn a_log_that_never_rests_is_printed_from_its_last_lines_on_and_held_no_longer() {
        let mut printing = Printing::new(true, Some(20));
        let mut flood = vec![begin(true)];
        flood.extend((0..300).map(|i| LogUpdate::Lines(lines(i * 100, i * 100 + 100))));
        assert_eq!(told(&mut printing, flood), []);
        assert_eq!(printing.before.as_ref().unwrap().len(), 20, "no more than is wanted");
        assert_eq!(told(&mut printing, vec![LogUpdate::CaughtUp]), [Step::Print(lines(29_980, 30_000))]);
        let more = || LogUpdate::Lines(lines(30_000, 30_500));
        assert_eq!(told(&mut printing, vec![more(), LogUpdate::CaughtUp]), [Step::Print(lines(30_000, 30_500))]);
        let mut all = Printing::new(true, None);
        told(&mut all, (0..30).map(|i| LogUpdate::Lines(lines(i * 1000, i * 1000 + 1000))).collect());
        let steps = told(&mut all, vec![LogUpdate::CaughtUp]);
        let note = Step::Note("older lines left out: the last 10000 lines or 4 MiB are printed".into());
        assert_eq!(steps, [note, Step::Print(lines(20_000, 30_000))]);
    }

    #[test]
    fn older_lines_are_asked_for_until_there_are_enough() {
        let mut printing = Printing::new(false, Some(7));
        let first = vec![begin(true), LogUpdate::Lines(lines(20, 22)), LogUpdate::CaughtUp];
        assert_eq!(told(&mut printing, first), [Step::AskOlder]);
        let older = |from, to, remaining| vec![LogUpdate::Older { lines: lines(from, to), remaining }];
        assert_eq!(told(&mut printing, older(18, 20, OlderLines::Available)), [Step::AskOlder]);
        assert_eq!(told(&mut printing, older(10, 18, OlderLines::Available)), [Step::Print(lines(15, 22)), Step::End]);
        let mut whole = Printing::new(false, None);
        told(&mut whole, vec![begin(true), LogUpdate::Lines(lines(1, 3)), LogUpdate::CaughtUp]);
        assert_eq!(told(&mut whole, older(0, 1, OlderLines::None)), [Step::Print(lines(0, 3)), Step::End]);
        let mut cut = Printing::new(false, None);
        told(&mut cut, vec![begin(true), LogUpdate::Lines(lines(1, 3)), LogUpdate::CaughtUp]);
        let steps = told(&mut cut, older(0, 1, OlderLines::Omitted));
        assert!(matches!(&steps[..], [Step::Note(_), Step::Print(_), Step::End]), "{steps:?}");
    }

    #[test]
    fn another_place_takes_over_while_older_lines_are_waited_for() {
        let mut printing = Printing::new(true, None);
        told(&mut printing, vec![begin(true), LogUpdate::Lines(lines(5, 6)), LogUpdate::CaughtUp]);
        let taken = vec![begin(false), LogUpdate::Lines(lines(4, 6)), LogUpdate::CaughtUp];
        assert_eq!(told(&mut printing, taken), [Step::Print(lines(4, 6))]);
    }

    #[test]
    fn it_ends_when_nothing_more_will_come_and_what_is_held_is_printed() {
        for follow in [true, false] {
            let over = |text: &str| vec![Step::Print(lines(0, 2)), Step::Note(text.into()), Step::End];
            let mut printing = Printing::new(follow, None);
            let gone = vec![begin(false), LogUpdate::Lines(lines(0, 2)), LogUpdate::Closed("gone".into())];
            assert_eq!(told(&mut printing, gone), over("gone"));
            let mut printing = Printing::new(follow, None);
            let broken = vec![begin(false), LogUpdate::Lines(lines(0, 2)), LogUpdate::Unavailable(vec!["why".into()])];
            assert_eq!(told(&mut printing, broken), [Step::Print(lines(0, 2)), Step::Fail(vec!["why".into()])]);
        }
    }
}
