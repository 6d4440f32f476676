//! The log of a container in a recording: only the lines that were observed, without their run.

use crate::container_log::{Instance, LogLine, LogOrigin, LogRequest, LogStream, LogUpdate, Stream};
use crate::observation::Source;
use crate::view::NodeView;

/// An open log of a recording.
#[derive(Debug)]
pub struct RecordedLog {
    request: LogRequest,
    /// The lines delivered; None before the first update.
    delivered: Option<Vec<LogLine>>,
    updates: Vec<LogUpdate>,
}

impl RecordedLog {
    /// Opens this log.
    pub fn new(request: LogRequest) -> Self {
        Self { request, delivered: None, updates: Vec::new() }
    }

    /// Delivers the lines of the recording at this instant.
    pub fn advance(&mut self, moment: &NodeView) {
        let request = &self.request;
        let placed = moment.pod(&request.uid);
        let of_it = placed.iter().flat_map(|placed| placed.facts.log_lines());
        let of_it = of_it.filter(|l| l.source == Source::ContainerLog && l.container == request.container);
        let lines: Vec<LogLine> = of_it
            .filter(|_| request.instance == Instance::Current)
            .map(|l| LogLine { at: Some(l.at), stream: Stream::Unknown, text: l.text.text() })
            .collect();
        let more = match &self.delivered {
            Some(delivered) if *delivered == lines => return,
            Some(delivered) if !delivered.is_empty() => lines.strip_prefix(delivered.as_slice()),
            _ => None,
        };
        match more {
            Some(more) => self.updates.push(LogUpdate::Lines(more.to_vec())),
            None if lines.is_empty() => {
                let why = match request.instance {
                    Instance::Current => "log not in this recording (only the last lines of failed containers are)",
                    Instance::Previous => "the recording does not distinguish current and previous logs",
                };
                self.updates.push(LogUpdate::Unavailable(vec![why.into()]));
            }
            None => {
                self.updates.push(LogUpdate::Opened { origin: LogOrigin::Recording, restart: None, has_older: false });
                self.updates.extend([LogUpdate::Lines(lines.clone()), LogUpdate::CaughtUp]);
            }
        }
        self.delivered = Some(lines);
    }
}

impl LogStream for RecordedLog {
    fn take_updates(&mut self) -> Vec<LogUpdate> {
        std::mem::take(&mut self.updates)
    }

    fn request_older(&mut self) {
        // The first update has all lines of the recording.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::DiagnosisCache;
    use crate::observation::{Fact, LogLevel, LogRecord};
    use crate::pipeline::tests::fixture::Node;

    fn say(node: &mut Node, container: &str, line: &str) {
        let entry = LogRecord::new(node.at, LogLevel::Info, line).of_pod("n/p", "u");
        let entry = LogRecord { container: container.into(), ..entry };
        node.report(Source::ContainerLog, Fact::LogRecord(Box::new(entry)));
    }

    fn updates(log: &mut RecordedLog, node: &mut Node) -> Vec<LogUpdate> {
        log.advance(&NodeView::new(node.snapshot(), &mut DiagnosisCache::default(), node.at));
        log.take_updates()
    }

    #[test]
    fn observed_lines_are_delivered_once() {
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
            newest: crate::container_log::NewestRun::Running,
            follow: true,
        };
        let mut log = RecordedLog::new(request(Instance::Current));
        assert!(matches!(updates(&mut log, &mut node).as_slice(), [LogUpdate::Unavailable(_)]));
        assert!(updates(&mut log, &mut node).is_empty(), "once");
        say(&mut node, "app", "panic: one");
        say(&mut node, "other", "not of this container");
        let new = updates(&mut log, &mut node);
        let [LogUpdate::Opened { origin: LogOrigin::Recording, .. }, LogUpdate::Lines(lines), LogUpdate::CaughtUp] =
            new.as_slice()
        else {
            panic!("{new:?}")
        };
        assert_eq!(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["panic: one"]);
        say(&mut node, "app", "two");
        let new = updates(&mut log, &mut node);
        assert!(matches!(new.as_slice(), [LogUpdate::Lines(lines)] if lines[0].text == "two"), "{new:?}");
        let mut before = RecordedLog::new(request(Instance::Previous));
        assert!(matches!(updates(&mut before, &mut node).as_slice(), [LogUpdate::Unavailable(_)]));
    }
}
