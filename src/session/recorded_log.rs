//! Owns the log of a container as a recording has it: the lines that were observed, no more.
//! It must not make up what was not observed, nor take a line for one of a certain run.

use crate::container_log::{Instance, LogLine, LogOrigin, LogRequest, LogUpdate, Stream};
use crate::observation::Source;
use crate::view::NodeView;

/// A log that is looked at while a recording plays.
#[derive(Debug)]
pub struct RecordedLog {
    request: LogRequest,
    /// What was told; None before anything was.
    told: Option<Vec<LogLine>>,
    news: Vec<LogUpdate>,
}

impl RecordedLog {
    /// The log that is asked for.
    pub fn new(request: LogRequest) -> Self {
        Self { request, told: None, news: Vec::new() }
    }

    /// Takes a moment in.
    pub fn look(&mut self, moment: &NodeView) {
        let request = &self.request;
        let placed = moment.pod(&request.uid);
        let of_it = placed.iter().flat_map(|placed| placed.facts.log_lines());
        let of_it = of_it.filter(|l| l.source == Source::ContainerLog && l.container == request.container);
        let lines: Vec<LogLine> = of_it
            .filter(|_| request.instance == Instance::Current)
            .map(|l| LogLine { at: Some(l.at), stream: Stream::Unknown, text: l.text.text() })
            .collect();
        let more = match &self.told {
            Some(told) if *told == lines => return,
            Some(told) if !told.is_empty() => lines.strip_prefix(told.as_slice()),
            _ => None,
        };
        match more {
            Some(more) => self.news.push(LogUpdate::Lines(more.to_vec())),
            None if lines.is_empty() => {
                let why = match request.instance {
                    Instance::Current => {
                        "the recording has no line of it: only the last words of a container that ended badly are recorded"
                    }
                    Instance::Previous => "the recording does not tell the runs of a container apart",
                };
                self.news.push(LogUpdate::Unavailable(vec![why.into()]));
            }
            None => {
                self.news.push(LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false });
                self.news.extend([LogUpdate::Lines(lines.clone()), LogUpdate::CaughtUp]);
            }
        }
        self.told = Some(lines);
    }

    /// What is new since this was last called.
    pub fn take(&mut self) -> Vec<LogUpdate> {
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Rounds;
    use crate::observation::{Fact, LogEntry, LogKind};
    use crate::pipeline::tests::fixture::Node;

    fn say(node: &mut Node, container: &str, line: &str) {
        let what = LogKind::Output { container: container.into(), line: line.into() };
        let entry = LogEntry { at: node.at, severe: false, pod: "n/p".into(), uid: "u".into(), what };
        node.report(Source::ContainerLog, Fact::Log(Box::new(entry)));
    }

    fn look(log: &mut RecordedLog, node: &mut Node) -> Vec<LogUpdate> {
        log.look(&NodeView::new(node.snapshot(), &mut Rounds::default(), node.at));
        log.take()
    }

    #[test]
    fn what_was_observed_is_told_once_and_nothing_else() {
        let mut node = Node::new();
        let pod = serde_json::json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"nodeName": "w", "containers": [{"name": "app"}]}});
        node.list(Source::ApiPods, vec![Fact::Pod(serde_json::from_value(pod).unwrap())]);
        let request = |instance| LogRequest {
            namespace: "n".into(),
            pod: "p".into(),
            uid: "u".into(),
            container: "app".into(),
            instance,
            follow: true,
        };
        let mut log = RecordedLog::new(request(Instance::Current));
        assert!(matches!(look(&mut log, &mut node).as_slice(), [LogUpdate::Unavailable(_)]));
        assert!(look(&mut log, &mut node).is_empty(), "once");
        say(&mut node, "app", "panic: one");
        say(&mut node, "other", "not of this container");
        let news = look(&mut log, &mut node);
        let [LogUpdate::Opened { origin: LogOrigin::Recording, .. }, LogUpdate::Lines(lines), LogUpdate::CaughtUp] =
            news.as_slice()
        else {
            panic!("{news:?}")
        };
        assert_eq!(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["panic: one"]);
        say(&mut node, "app", "two");
        let news = look(&mut log, &mut node);
        assert!(matches!(news.as_slice(), [LogUpdate::Lines(lines)] if lines[0].text == "two"), "{news:?}");
        let mut before = RecordedLog::new(request(Instance::Previous));
        assert!(matches!(look(&mut before, &mut node).as_slice(), [LogUpdate::Unavailable(_)]));
    }
}
