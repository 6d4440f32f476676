//! Decides what `kpodtrace logs` prints, and when: the last lines, then new ones. It does no I/O.

use crate::container_log::{LogBuffer, LogLine, LogUpdate, MAX_LOG_BYTES, MAX_LOG_LINES, OlderLines};
use crate::text::Text;
use crate::view::left_out;

/// One step of the output.
#[derive(Debug, PartialEq, Eq)]
pub enum PrintStep {
    /// Print where the log is read.
    Origin(String),
    /// Print these lines on standard output.
    Print(Vec<LogLine>),
    /// Print a notice on standard error.
    Note(String),
    /// Request older lines.
    RequestOlder,
    /// All lines were printed.
    Done,
    /// The log is not available, with the reason of each origin.
    Fail(Vec<Text>),
}

/// State of the output of one log.
#[derive(Debug)]
pub struct LogPrinter {
    follow: bool,
    tail: Option<usize>,
    /// The existing lines, until they are printed.
    existing: Option<LogBuffer>,
    /// Lines older than these.
    remaining: OlderLines,
}

impl LogPrinter {
    /// Prints the last `tail` existing lines, or as many as the buffer holds.
    pub fn new(follow: bool, tail: Option<usize>) -> Self {
        Self { follow, tail, existing: Some(Self::empty(tail)), remaining: OlderLines::None }
    }

    fn empty(tail: Option<usize>) -> LogBuffer {
        LogBuffer::new(tail.unwrap_or(usize::MAX))
    }

    /// Applies an update; returns what to print.
    pub fn apply(&mut self, update: LogUpdate) -> Vec<PrintStep> {
        match update {
            LogUpdate::Opened { origin, has_older, .. } => {
                self.existing = Some(Self::empty(self.tail));
                self.remaining = if has_older { OlderLines::Available } else { OlderLines::None };
                vec![PrintStep::Origin(origin.to_string())]
            }
            LogUpdate::Lines(lines) => match &mut self.existing {
                Some(existing) => {
                    existing.extend(lines);
                    Vec::new()
                }
                None => vec![PrintStep::Print(lines)],
            },
            LogUpdate::Older { lines, remaining } => {
                self.remaining = remaining;
                if let Some(existing) = &mut self.existing {
                    existing.extend_older(lines);
                }
                self.print_if_enough()
            }
            LogUpdate::CaughtUp => self.print_if_enough(),
            LogUpdate::Skipped { lines, bytes } => vec![PrintStep::Note(left_out(lines, bytes))],
            LogUpdate::Restarted { restart, origin } => {
                let run = restart.map(|n| format!(" (restart {n})")).unwrap_or_default();
                vec![PrintStep::Note(format!("container restarted{run}: {origin}"))]
            }
            LogUpdate::Notice(text) => vec![PrintStep::Note(text.one_line().into_owned())],
            LogUpdate::Closed(text) => {
                let mut steps = self.print_existing();
                steps.extend([PrintStep::Note(text.one_line().into_owned()), PrintStep::Done]);
                steps
            }
            LogUpdate::Unavailable(why) => {
                let mut steps = self.print_existing();
                steps.push(PrintStep::Fail(why));
                steps
            }
        }
    }

    /// Prints the existing lines if there are enough, else requests older ones.
    fn print_if_enough(&mut self) -> Vec<PrintStep> {
        if self.remaining == OlderLines::Available && self.existing.as_ref().is_some_and(|existing| !existing.is_full())
        {
            return vec![PrintStep::RequestOlder];
        }
        let mut steps = self.print_existing();
        if !self.follow {
            steps.push(PrintStep::Done);
        }
        steps
    }

    fn print_existing(&mut self) -> Vec<PrintStep> {
        let Some(existing) = self.existing.take() else { return Vec::new() };
        let mut steps = Vec::new();
        if (self.remaining != OlderLines::None || existing.is_truncated())
            && self.tail.is_none_or(|tail| tail > existing.len())
        {
            steps.push(PrintStep::Note(format!(
                "older lines omitted (limit {} lines, {} MiB)",
                MAX_LOG_LINES,
                MAX_LOG_BYTES >> 20
            )));
        }
        if !existing.is_empty() {
            steps.push(PrintStep::Print(existing.into_vec()));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_log::{LogOrigin, Stream};

    fn opened(has_older: bool) -> LogUpdate {
        LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older }
    }

    fn lines(from: usize, to: usize) -> Vec<LogLine> {
        let line = |i: usize| LogLine { at: None, stream: Stream::Out, text: i.to_string().as_str().into() };
        (from..to).map(line).collect()
    }

    fn steps(printer: &mut LogPrinter, updates: Vec<LogUpdate>) -> Vec<PrintStep> {
        let steps = updates.into_iter().flat_map(|update| printer.apply(update));
        steps.filter(|step| !matches!(step, PrintStep::Origin(_))).collect()
    }

    #[test]
    fn a_busy_log_is_printed_from_its_last_lines_on() {
        let mut printer = LogPrinter::new(true, Some(20));
        let mut flood = vec![opened(true)];
        flood.extend((0..300).map(|i| LogUpdate::Lines(lines(i * 100, i * 100 + 100))));
        assert_eq!(steps(&mut printer, flood), []);
        assert_eq!(printer.existing.as_ref().unwrap().len(), 20, "only the requested lines");
        assert_eq!(steps(&mut printer, vec![LogUpdate::CaughtUp]), [PrintStep::Print(lines(29_980, 30_000))]);
        let more = || LogUpdate::Lines(lines(30_000, 30_500));
        assert_eq!(steps(&mut printer, vec![more(), LogUpdate::CaughtUp]), [PrintStep::Print(lines(30_000, 30_500))]);
        let mut all = LogPrinter::new(true, None);
        steps(&mut all, (0..30).map(|i| LogUpdate::Lines(lines(i * 1000, i * 1000 + 1000))).collect());
        let steps = steps(&mut all, vec![LogUpdate::CaughtUp]);
        let note = PrintStep::Note("older lines omitted (limit 10000 lines, 4 MiB)".into());
        assert_eq!(steps, [note, PrintStep::Print(lines(20_000, 30_000))]);
    }

    #[test]
    fn older_lines_are_requested_until_there_are_enough() {
        let mut printer = LogPrinter::new(false, Some(7));
        let first = vec![opened(true), LogUpdate::Lines(lines(20, 22)), LogUpdate::CaughtUp];
        assert_eq!(steps(&mut printer, first), [PrintStep::RequestOlder]);
        let older = |from, to, remaining| vec![LogUpdate::Older { lines: lines(from, to), remaining }];
        assert_eq!(steps(&mut printer, older(18, 20, OlderLines::Available)), [PrintStep::RequestOlder]);
        assert_eq!(
            steps(&mut printer, older(10, 18, OlderLines::Available)),
            [PrintStep::Print(lines(15, 22)), PrintStep::Done]
        );
        let mut whole = LogPrinter::new(false, None);
        steps(&mut whole, vec![opened(true), LogUpdate::Lines(lines(1, 3)), LogUpdate::CaughtUp]);
        assert_eq!(steps(&mut whole, older(0, 1, OlderLines::None)), [PrintStep::Print(lines(0, 3)), PrintStep::Done]);
        let mut cut = LogPrinter::new(false, None);
        steps(&mut cut, vec![opened(true), LogUpdate::Lines(lines(1, 3)), LogUpdate::CaughtUp]);
        let steps = steps(&mut cut, older(0, 1, OlderLines::Omitted));
        assert!(matches!(&steps[..], [PrintStep::Note(_), PrintStep::Print(_), PrintStep::Done]), "{steps:?}");
    }

    #[test]
    fn another_origin_replaces_the_existing_lines() {
        let mut printer = LogPrinter::new(true, None);
        steps(&mut printer, vec![opened(true), LogUpdate::Lines(lines(5, 6)), LogUpdate::CaughtUp]);
        let taken = vec![opened(false), LogUpdate::Lines(lines(4, 6)), LogUpdate::CaughtUp];
        assert_eq!(steps(&mut printer, taken), [PrintStep::Print(lines(4, 6))]);
    }

    #[test]
    fn a_closed_log_prints_its_existing_lines_and_stops() {
        for follow in [true, false] {
            let over = |text: &str| vec![PrintStep::Print(lines(0, 2)), PrintStep::Note(text.into()), PrintStep::Done];
            let mut printer = LogPrinter::new(follow, None);
            let gone = vec![opened(false), LogUpdate::Lines(lines(0, 2)), LogUpdate::Closed("gone".into())];
            assert_eq!(steps(&mut printer, gone), over("gone"));
            let mut printer = LogPrinter::new(follow, None);
            let broken = vec![opened(false), LogUpdate::Lines(lines(0, 2)), LogUpdate::Unavailable(vec!["why".into()])];
            assert_eq!(
                steps(&mut printer, broken),
                [PrintStep::Print(lines(0, 2)), PrintStep::Fail(vec!["why".into()])]
            );
        }
    }
}
