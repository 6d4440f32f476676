//! Incident folders: minutes of one node, each source a file of JSON lines stamped at receipt. Only what the recorder received
//! becomes an observation.

use super::cri_lines::CriLines;
use super::folder::Folder;
use super::line::IncidentLine;
use super::list_state::{ListState, emit, pods_only};
use super::log_lines;
use crate::decode::{
    DecodeError, Object, WatchEvent, active_ingests, failure, health_answer, kubelet_config, objects, scrape, spans,
    watch_event,
};
use crate::observation::{Call, Fact, LogEntry, Pull, Source, Time};
use crate::record::import::timeline::Timeline;
use crate::record::import::{ImportError, Imported};
use crate::text::Text;
use crate::time::TimeDelta;

/// Ingests are written while any is active: a longer gap between two lines means that all have finished.
const PULLS_GAP: TimeDelta = TimeDelta::seconds(3);
/// After the last line with ingests, they count as finished this much later.
const PULLS_GONE: TimeDelta = TimeDelta::seconds(2);
/// Longest timeout of a request that is plausible, milliseconds.
const MAX_TIMEOUT_MS: i64 = 86_400_000;

pub(super) fn import(folder: &Folder) -> Result<Imported, ImportError> {
    let mut import =
        IncidentImport { folder, timeline: Timeline::new(folder.limits().decoded()), end: None, node: Text::default() };
    import.watch("api-pods.jsonl", Source::ApiPods)?;
    import.watch("api-node.jsonl", Source::ApiNode)?;
    import.watch("api-events.jsonl", Source::ApiEvents)?;
    let mut cri = CriLines::default();
    import.each("cri.jsonl", Source::Cri, |line, timeline| cri.read(line, timeline))?;
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
    import.timeline.check_limit(folder.path())?;
    Ok(import.timeline.finish(end, import.node))
}

struct IncidentImport<'a> {
    folder: &'a Folder,
    timeline: Timeline,
    end: Option<Time>,
    node: Text,
}

impl IncidentImport<'_> {
    /// Calls `read` with every line of a file; lines that it cannot use are counted.
    fn each(
        &mut self,
        file: &str,
        source: Source,
        mut read: impl FnMut(&IncidentLine<'_>, &mut Timeline) -> Result<(), DecodeError>,
    ) -> Result<(), ImportError> {
        let Some(text) = self.folder.read(file)? else {
            self.timeline.set_off(source, format!("the incident has no {file}"));
            return Ok(());
        };
        self.timeline.set_off(source, format!("{file} has no usable line"));
        for raw in text.lines().filter(|l| !l.trim().is_empty()) {
            match serde_json::from_str::<IncidentLine<'_>>(raw) {
                // Arithmetic with a time at the limits of the range would saturate.
                Ok(line) if !(1970..=9999).contains(&line.t.year()) => {
                    self.timeline.skip(file, "lines with a time outside the years 1970 to 9999", 1);
                }
                Ok(line) => {
                    self.end = self.end.max(Some(line.t));
                    if let Err(e) = read(&line, &mut self.timeline) {
                        self.timeline.skip(file, skip_reason(&e), 1);
                    }
                }
                Err(_) => self.timeline.skip(file, "lines that are not valid JSON", 1),
            }
        }
        Ok(())
    }

    fn watch(&mut self, file: &str, source: Source) -> Result<(), ImportError> {
        let (mut listing, mut watching, mut node) = (false, false, Text::default());
        self.each(file, source, |line, timeline| {
            let is_closed = line.closed.is_some() || line.event.is_some_and(|e| e.get() == "\"closed\"");
            let event = match line.event {
                _ if is_closed => WatchEvent::Error { code: 0, message: "watch closed".into() },
                Some(event) => watch_event(event.get())?,
                None => return Err(DecodeError::Shape("without an event")),
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
                    return Err(DecodeError::Shape("with a watch event of an unused kind"));
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

    /// Pages of the kubelet. A line has the time of receipt, and a duration only for a request that timed out.
    fn pages(
        &mut self,
        file: &str,
        source: Source,
        call: Call,
        mut read: impl FnMut(&str, &mut Timeline) -> Result<Fact, DecodeError>,
    ) -> Result<(), ImportError> {
        self.each(file, source, |line, timeline| {
            add_page(line, source, call, timeline, |body, timeline| {
                let fact = read(body, timeline)?;
                timeline.push(source, line.t, fact);
                Ok(())
            });
            Ok(())
        })
    }

    fn kubelet_pods(&mut self) -> Result<(), ImportError> {
        let (file, source) = ("kubelet-pods.jsonl", Source::KubeletPods);
        let mut state = ListState::default();
        self.each(file, source, |line, timeline| {
            add_page(line, source, Call::KubeletPods, timeline, |body, timeline| {
                let pods = pods_only(objects(body)?, file, timeline);
                let whole = !timeline.is_live(source);
                let (mut facts, gone) = state.next(pods, whole);
                facts.extend(gone);
                emit(timeline, source, line.t, whole, facts);
                Ok(())
            });
            Ok(())
        })
    }

    fn pulls(&mut self) -> Result<(), ImportError> {
        let source = Source::Pulls;
        let mut state: ListState<Pull> = ListState::default();
        let mut last: Option<Time> = None;
        let finish = |state: &mut ListState<Pull>, last: Time, timeline: &mut Timeline| {
            for gone in state.next(Vec::new(), false).1 {
                timeline.push(source, last + PULLS_GONE, gone);
            }
        };
        self.each("pulls.jsonl", source, |line, timeline| {
            let mut pulls = active_ingests(line.active.as_deref().unwrap_or_default(), line.t)?;
            if let Some(last) = last.filter(|last| line.t - *last > PULLS_GAP) {
                finish(&mut state, last, timeline);
            }
            for pull in &mut pulls {
                // Ages get coarser as they grow: the first one gives the best start time.
                if let Some(before) = state.get(&pull.reference) {
                    pull.started_at = before.started_at.or(pull.started_at);
                }
            }
            let whole = last.is_none();
            let (mut facts, gone) = state.next(pulls, whole);
            facts.extend(gone);
            emit(timeline, source, line.t, whole, facts);
            last = Some(line.t);
            Ok(())
        })?;
        if let Some(last) = last {
            finish(&mut state, last, &mut self.timeline);
        }
        Ok(())
    }

    fn logs(&mut self) -> Result<(), ImportError> {
        let file = "kubelet.log.jsonl";
        let received = self.log_lines(file, Source::KubeletLog)?;
        let lines = received.iter().map(|(t, text)| (*t, text.as_str()));
        let entries = log_lines::kubelet_entries_of(lines, |t| *t, file, &mut self.timeline);
        self.push_entries(Source::KubeletLog, entries);
        let file = "runtime.log.jsonl";
        let received = self.log_lines(file, Source::RuntimeLog)?;
        let lines = received.iter().map(|(t, text)| (*t, text.as_str()));
        let entries = log_lines::runtime_entries_of(lines, file, &mut self.timeline);
        self.push_entries(Source::RuntimeLog, entries);
        Ok(())
    }

    /// The lines of a log, with the time of receipt.
    fn log_lines(&mut self, file: &str, source: Source) -> Result<Vec<(Time, String)>, ImportError> {
        let mut received = Vec::new();
        self.each(file, source, |line, _| {
            received.extend(line.line.clone().map(|text| (line.t, text)));
            Ok(())
        })?;
        Ok(received)
    }

    fn push_entries(&mut self, source: Source, entries: Vec<(Time, LogEntry)>) {
        for (received, entry) in entries {
            self.timeline.push(source, received, Fact::Log(Box::new(entry)));
        }
    }
}

/// Adds one page, or the error in its place.
fn add_page(
    line: &IncidentLine<'_>,
    source: Source,
    call: Call,
    timeline: &mut Timeline,
    read: impl FnOnce(&str, &mut Timeline) -> Result<(), DecodeError>,
) {
    let tried = source.request();
    if let Some(error) = &line.error {
        let error = failure(tried, error);
        if let Some(took) = timed_out_after(line.error.as_deref().unwrap_or_default()) {
            timeline.add(source, line.t - took, Fact::CallBegin(call));
            let took_us = u64::try_from(took.num_microseconds()).unwrap_or_default();
            timeline.add(source, line.t, Fact::CallEnd { call, took_us, error: Some(error.clone()) });
        }
        timeline.fail(source, line.t, error);
        return;
    }
    let body = line.body.as_deref().unwrap_or_default();
    if read(body, timeline).is_err() {
        timeline.fail(source, line.t, failure(tried, body));
    }
}

/// The duration in curl's `timed out after 8001 milliseconds`, at most a day.
fn timed_out_after(error: &str) -> Option<TimeDelta> {
    let millis: i64 = error.split_once("timed out after ")?.1.split_once(" milliseconds")?.0.parse().ok()?;
    (0..MAX_TIMEOUT_MS).contains(&millis).then(|| TimeDelta::milliseconds(millis))
}

fn skip_reason(error: &DecodeError) -> String {
    match error {
        DecodeError::Json { .. } => "lines with invalid JSON in a field".into(),
        DecodeError::TooLarge => "lines with an object above the size limit".into(),
        DecodeError::Shape(what) => format!("lines: {what}"),
    }
}
