//! Owns the import of an incident: minutes of one node, each source a file of JSON lines stamped at receipt.
//! It must not add what the recorder did not see: no call without a duration, no end of a source.

use crate::time::TimeDelta;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::files::Folder;
use super::listing::{Known, emit, pods_only};
use super::timeline::Timeline;
use super::{ImportError, Imported, cri_lines, logs};
use crate::decode::{
    DecodeError, NodeLog, Object, WatchEvent, active_ingests, failure, health_answer, kubelet_config, objects, scrape,
    spans, watch_event,
};
use crate::observation::{Call, Fact, Pull, Source, Time};
use crate::text::Text;

/// Lines of ingests were written while there were any: a longer gap than this means that they are over.
const PULLS_GAP: TimeDelta = TimeDelta::seconds(3);
/// When ingests are taken to be over, after the last line that has them.
const PULLS_GONE: TimeDelta = TimeDelta::seconds(2);

/// One line of any of the files.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    pub(super) t: Time,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    closed: Option<Value>,
    pub(super) took_s: Option<f64>,
    #[serde(default)]
    pub(super) unchanged: bool,
    pub(super) error: Option<String>,
    #[serde(borrow)]
    pub(super) sandboxes: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) containers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) container_status: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) sandbox_status: Option<&'a RawValue>,
    body: Option<String>,
    answer: Option<String>,
    active: Option<String>,
    line: Option<String>,
}

pub(super) fn import(folder: &Folder) -> Result<Imported, ImportError> {
    let mut import =
        Import { folder, timeline: Timeline::within(folder.limits().decoded()), end: None, node: Text::default() };
    import.watch("api-pods.jsonl", Source::ApiPods)?;
    import.watch("api-node.jsonl", Source::ApiNode)?;
    import.watch("api-events.jsonl", Source::ApiEvents)?;
    let mut cri = cri_lines::CriLines::default();
    import.each("cri.jsonl", Source::Cri, |line, timeline| cri.line(line, timeline))?;
    import.pulls()?;
    import.kubelet_pods()?;
    import.pages("metrics.jsonl", Source::KubeletMetrics, Call::Metrics, |body, _| {
        Ok(Fact::Scrape(Box::new(scrape(body)?)))
    })?;
    import.pages("configz.jsonl", Source::KubeletConfig, Call::Configz, |body, _| {
        Ok(Fact::KubeletConfig(Box::new(kubelet_config(body)?)))
    })?;
    import.each("health.jsonl", Source::KubeletHealth, |line, timeline| {
        let answer = line.answer.as_deref().or(line.error.as_deref()).unwrap_or_default();
        match health_answer(answer) {
            Some(health) => timeline.push(Source::KubeletHealth, line.t, Fact::Health(health)),
            None => timeline.fail(Source::KubeletHealth, line.t, failure(Source::KubeletHealth.request(), answer)),
        }
        Ok(())
    })?;
    import.logs()?;
    import.each("spans.jsonl", Source::Spans, |line, timeline| {
        for span in spans(line.line.as_deref().unwrap_or_default())? {
            timeline.push(Source::Spans, line.t, Fact::Span(Box::new(span)));
        }
        Ok(())
    })?;
    let end = import.end.ok_or_else(|| ImportError::NoTime { path: folder.path().to_owned() })?;
    import.timeline.fits(folder.path())?;
    Ok(import.timeline.finish(end, import.node))
}

struct Import<'a> {
    folder: &'a Folder,
    timeline: Timeline,
    end: Option<Time>,
    node: Text,
}

impl Import<'_> {
    /// Calls `read` with every line of a file; a line that it cannot use is counted.
    fn each(
        &mut self,
        file: &str,
        source: Source,
        mut read: impl FnMut(&Line<'_>, &mut Timeline) -> Result<(), DecodeError>,
    ) -> Result<(), ImportError> {
        let Some(text) = self.folder.read(file)? else {
            self.timeline.off(source, format!("the incident has no {file}"));
            return Ok(());
        };
        self.timeline.off(source, format!("{file} holds nothing that is used"));
        for raw in text.lines().filter(|l| !l.trim().is_empty()) {
            match serde_json::from_str::<Line<'_>>(raw) {
                // Far times would leave no room for arithmetic.
                Ok(line) if !(1970..=9999).contains(&line.t.year()) => {
                    self.timeline.skip(file, "lines with a time that cannot be", 1);
                }
                Ok(line) => {
                    self.end = self.end.max(Some(line.t));
                    if let Err(e) = read(&line, &mut self.timeline) {
                        self.timeline.skip(file, what_of(&e), 1);
                    }
                }
                Err(_) => self.timeline.skip(file, "lines that are not the JSON expected here", 1),
            }
        }
        Ok(())
    }

    fn watch(&mut self, file: &str, source: Source) -> Result<(), ImportError> {
        let (mut listing, mut watching, mut node) = (false, false, Text::default());
        self.each(file, source, |line, timeline| {
            let ended = line.closed.is_some() || line.event.is_some_and(|e| e.get() == "\"closed\"");
            let event = match line.event {
                _ if ended => WatchEvent::Error { code: 0, message: "the watch ended".into() },
                Some(event) => watch_event(event.get())?,
                None => return Err(DecodeError::Shape("a line without an event")),
            };
            if let WatchEvent::Error { message, .. } = event {
                (listing, watching) = (false, false);
                timeline.fail(source, line.t, failure("watch", &message));
                return Ok(());
            }
            if !watching {
                (listing, watching) = (true, true);
                timeline.push(source, line.t, Fact::EpochBegin);
            }
            let fact = match event {
                WatchEvent::Is(Object::Pod(pod)) => Fact::Pod(pod),
                WatchEvent::Is(Object::Event(event)) => Fact::Event(event),
                WatchEvent::Is(Object::Node(is)) => {
                    if node.is_empty() {
                        node = is.metadata.name.clone();
                    }
                    Fact::Node(is)
                }
                WatchEvent::Gone(Object::Pod(pod)) => Fact::PodGone(pod.metadata.uid),
                WatchEvent::Gone(Object::Event(event)) => Fact::EventGone(event.metadata.uid),
                WatchEvent::Gone(Object::Node(node)) => Fact::NodeGone(node.metadata.name),
                WatchEvent::Bookmark { listed: true } if listing => {
                    listing = false;
                    Fact::EpochEnd
                }
                WatchEvent::Bookmark { .. } => Fact::Alive,
                WatchEvent::Is(_) | WatchEvent::Gone(_) | WatchEvent::Error { .. } => {
                    return Err(DecodeError::Shape("a watch event of a kind that is not used"));
                }
            };
            timeline.push(source, line.t, fact);
            Ok(())
        })?;
        if self.node.is_empty() {
            self.node = node;
        }
        Ok(())
    }

    /// The pages of the kubelet say when they came and not how long they took, unless they timed out.
    fn pages(
        &mut self,
        file: &str,
        source: Source,
        call: Call,
        mut read: impl FnMut(&str, &mut Timeline) -> Result<Fact, DecodeError>,
    ) -> Result<(), ImportError> {
        self.each(file, source, |line, timeline| {
            page(line, source, call, timeline, |body, timeline| {
                let fact = read(body, timeline)?;
                timeline.push(source, line.t, fact);
                Ok(())
            });
            Ok(())
        })
    }

    fn kubelet_pods(&mut self) -> Result<(), ImportError> {
        let (file, source) = ("kubelet-pods.jsonl", Source::KubeletPods);
        let mut known = Known::default();
        self.each(file, source, |line, timeline| {
            page(line, source, Call::KubeletPods, timeline, |body, timeline| {
                let pods = pods_only(objects(body)?, file, timeline);
                let whole = !timeline.is_live(source);
                let (mut facts, gone) = known.next(pods, whole);
                facts.extend(gone);
                emit(timeline, source, line.t, whole, facts);
                Ok(())
            });
            Ok(())
        })
    }

    fn pulls(&mut self) -> Result<(), ImportError> {
        let source = Source::Pulls;
        let mut known: Known<Pull> = Known::default();
        let mut last: Option<Time> = None;
        let over = |known: &mut Known<Pull>, last: Time, timeline: &mut Timeline| {
            for gone in known.next(Vec::new(), false).1 {
                timeline.push(source, last + PULLS_GONE, gone);
            }
        };
        self.each("pulls.jsonl", source, |line, timeline| {
            let mut pulls = active_ingests(line.active.as_deref().unwrap_or_default(), line.t)?;
            if let Some(last) = last.filter(|last| line.t - *last > PULLS_GAP) {
                over(&mut known, last, timeline);
            }
            for pull in &mut pulls {
                // The first reading of an age is the finest.
                if let Some(before) = known.get(&pull.reference) {
                    pull.started_at = before.started_at.or(pull.started_at);
                }
            }
            let whole = last.is_none();
            let (mut facts, gone) = known.next(pulls, whole);
            facts.extend(gone);
            emit(timeline, source, line.t, whole, facts);
            last = Some(line.t);
            Ok(())
        })?;
        if let Some(last) = last {
            over(&mut known, last, &mut self.timeline);
        }
        Ok(())
    }

    fn logs(&mut self) -> Result<(), ImportError> {
        let mut received: Vec<(Time, String)> = Vec::new();
        let file = "kubelet.log.jsonl";
        self.each(file, Source::KubeletLog, |line, _| {
            received.extend(line.line.clone().map(|text| (line.t, text)));
            Ok(())
        })?;
        self.push_log(NodeLog::Kubelet, &received, file);
        let file = "runtime.log.jsonl";
        received.clear();
        self.each(file, Source::RuntimeLog, |line, _| {
            received.extend(line.line.clone().map(|text| (line.t, text)));
            Ok(())
        })?;
        self.push_log(NodeLog::Runtime, &received, file);
        Ok(())
    }

    /// Adds the records of a log, stamped at their receipt.
    fn push_log(&mut self, log: NodeLog, received: &[(Time, String)], file: &str) {
        let Some((end, _)) = received.last() else { return };
        let lines = received.iter().map(|(t, text)| (Some(*t), text.as_str()));
        for (t, record) in logs::node_log(log, lines, *end, file, &mut self.timeline) {
            self.timeline.push(log.source(), t.unwrap_or(record.at), Fact::LogRecord(Box::new(record)));
        }
    }
}

/// One page, or why there is none.
fn page(
    line: &Line<'_>,
    source: Source,
    call: Call,
    timeline: &mut Timeline,
    read: impl FnOnce(&str, &mut Timeline) -> Result<(), DecodeError>,
) {
    let tried = source.request();
    if let Some(error) = &line.error {
        let error = failure(tried, error);
        if let Some(took) = timed_out_after(line.error.as_deref().unwrap_or_default()) {
            timeline.put(source, line.t - took, Fact::CallBegin(call));
            let took_us = u64::try_from(took.num_microseconds()).unwrap_or_default();
            timeline.put(source, line.t, Fact::CallEnd { call, took_us, error: Some(error.clone()) });
        }
        timeline.fail(source, line.t, error);
        return;
    }
    let body = line.body.as_deref().unwrap_or_default();
    if read(body, timeline).is_err() {
        timeline.fail(source, line.t, failure(tried, body));
    }
}

/// The duration in curl's `timed out after 8001 milliseconds`, where it is a sane one.
fn timed_out_after(error: &str) -> Option<TimeDelta> {
    let millis: i64 = error.split_once("timed out after ")?.1.split_once(" milliseconds")?.0.parse().ok()?;
    (0..86_400_000).contains(&millis).then(|| TimeDelta::milliseconds(millis))
}

fn what_of(error: &DecodeError) -> String {
    match error {
        DecodeError::Json { .. } => "lines with a part that could not be read".into(),
        DecodeError::TooLarge => "lines with an object that is too large".into(),
        DecodeError::Shape(what) => format!("lines: {what}"),
    }
}
