//! Owns the import of a capture: what each source of one node said at one moment, and its logs and spans before.
//! It must not import the watch streams: objects are those of the end.

use super::files::Folder;
use super::kubectl::{Moment, most_used, newest_of_pod};
use super::listing::{Known, pods_only};
use super::timeline::Timeline;
use super::{ImportError, Imported, logs};
use crate::decode::{
    NodeLog, ReceivedRecord, container_details, containers, failure, health_response, image_fs, images, kubelet_config,
    objects, runtime_status, sandbox_details, sandboxes, scrape, spans,
};
use crate::objects::Pod;
use crate::observation::{Container, ErrorKind, Fact, Sandbox, Source, SourceError, Span, Time};
use crate::text::Message;

/// What a source said at the end: facts in order, or why it did not.
type Said = Result<Vec<Fact>, SourceError>;

pub(super) fn import(folder: &Folder) -> Result<Imported, ImportError> {
    let mut capture =
        Capture { folder, timeline: Timeline::within(folder.limits().decoded()), said: Vec::new(), times: Vec::new() };
    for source in Source::ALL {
        capture.timeline.off(source, "the capture does not hold it");
    }
    let moment = capture.api()?;
    let pods = capture.kubelet_pods()?;
    capture.page("configz.json", Source::KubeletConfig, |body| {
        Ok((Fact::KubeletConfig(Box::new(kubelet_config(body).map_err(|_| ())?)), None))
    })?;
    capture.page("kubelet-metrics.prom", Source::KubeletMetrics, |body| {
        Ok((Fact::Scrape(Box::new(scrape(body).map_err(|_| ())?)), None))
    })?;
    capture.page("healthz.txt", Source::KubeletHealth, |body| {
        health_response(body).map(|(health, date)| (Fact::Health(health), date)).ok_or(())
    })?;
    capture.cri()?;
    let runtime_log = capture.runtime_log()?;
    let spans = capture.spans()?;
    let later = runtime_log.iter().flatten().map(|e| e.1.at).chain(spans.iter().flatten().map(|s| s.end)).max();
    let newest = moment.newest().into_iter().chain(capture.times.iter().copied()).max();
    let end = capture.end_of_when()?.or(newest).or(later);
    let end = end.ok_or_else(|| ImportError::NoTime { path: folder.path().to_owned() })?;

    capture.kubelet_log(end)?;
    let timeline = &mut capture.timeline;
    if let Some(entries) = runtime_log {
        push_log(entries, Source::RuntimeLog, end, timeline);
    }
    if let Some(spans) = spans {
        for span in spans {
            timeline.push(Source::Spans, span.end, Fact::Span(Box::new(span)));
        }
        timeline.live(Source::Spans, end);
    }
    let node = most_used(pods.iter()).unwrap_or_else(|| moment.node());
    let answered: Vec<Source> = capture.said.iter().filter(|(_, said)| said.is_ok()).map(|(s, _)| *s).collect();
    moment.emit(&answered, end, timeline);
    for (source, said) in capture.said {
        match said {
            Ok(facts) => facts.into_iter().for_each(|fact| timeline.push(source, end, fact)),
            Err(error) => timeline.fail(source, end, error),
        }
    }
    capture.timeline.fits(folder.path())?;
    Ok(capture.timeline.finish(end, node))
}

struct Capture<'a> {
    folder: &'a Folder,
    timeline: Timeline,
    said: Vec<(Source, Said)>,
    /// Times that were met, for captures that do not say when they were made.
    times: Vec<Time>,
}

impl Capture<'_> {
    /// Objects of the API server. The facts are added by the moment itself.
    fn api(&mut self) -> Result<Moment, ImportError> {
        let mut moment = Moment::default();
        let mut no_nodes = false;
        for (file, source) in
            [("pods.json", Source::ApiPods), ("events.json", Source::ApiEvents), ("nodes.json", Source::ApiNode)]
        {
            let Some(body) = self.folder.read(file)? else { continue };
            let said = match objects(&body) {
                Ok(objects) => {
                    no_nodes |= source == Source::ApiNode && objects.is_empty();
                    moment.add(objects, file, &mut self.timeline);
                    Ok(Vec::new())
                }
                Err(_) => Err(failure(file, &body)),
            };
            self.said.push((source, said));
        }
        if no_nodes && moment.is_empty() {
            // A cluster without a node has no kubelet: nobody answered.
            for (_, said) in &mut self.said {
                *said = Err(SourceError {
                    tried: "kubectl get: an empty list of nodes, as printed when the API server does not answer".into(),
                    kind: ErrorKind::Unreachable,
                    fix: Message::default(),
                });
            }
        }
        Ok(moment)
    }

    fn kubelet_pods(&mut self) -> Result<Vec<Pod>, ImportError> {
        let file = "kubelet-pods.json";
        let Some(body) = self.folder.read(file)? else { return Ok(Vec::new()) };
        let pods = match objects(&body) {
            Ok(objects) => pods_only(objects, file, &mut self.timeline),
            Err(_) => {
                self.said.push((Source::KubeletPods, Err(failure(Source::KubeletPods.request(), &body))));
                return Ok(Vec::new());
            }
        };
        self.times.extend(pods.iter().filter_map(newest_of_pod));
        let facts = Known::default().next(pods.clone(), true).0;
        self.said.push((Source::KubeletPods, Ok(epoch(facts))));
        Ok(pods)
    }

    fn page(
        &mut self,
        file: &str,
        source: Source,
        read: impl FnOnce(&str) -> Result<(Fact, Option<Time>), ()>,
    ) -> Result<(), ImportError> {
        let Some(body) = self.folder.read(file)? else { return Ok(()) };
        let said = match read(&body) {
            Ok((fact, time)) => {
                self.times.extend(time);
                Ok(vec![fact])
            }
            Err(()) => Err(failure(source.request(), &body)),
        };
        self.said.push((source, said));
        Ok(())
    }

    fn cri(&mut self) -> Result<(), ImportError> {
        let version = self.folder.read("cri/version.txt")?;
        let info = self.folder.read("cri/info.json")?;
        let lists = (self.folder.read("cri/pods.json")?, self.folder.read("cri/ps.json")?);
        let status = runtime_status(version.as_deref(), info.as_deref());
        let said = match lists {
            (Some(pods), Some(ps)) => match (sandboxes(&pods), containers(&ps)) {
                (Ok(sandboxes), Ok(containers)) => {
                    let mut facts = self.cri_listing(sandboxes, containers)?;
                    facts.extend(status.ok().map(|s| Fact::RuntimeStatus(Box::new(s))));
                    Ok(facts)
                }
                (Err(_), _) => Err(failure("crictl pods", &pods)),
                (_, Err(_)) => Err(failure("crictl ps", &ps)),
            },
            _ => match version {
                Some(version) if status.is_err() => Err(failure("crictl version", &version)),
                Some(_) => Err(failure("crictl pods", "no answer was kept")),
                None => return Ok(()),
            },
        };
        self.said.push((Source::Cri, said));
        Ok(())
    }

    fn cri_listing(
        &mut self,
        mut sandboxes: Vec<Sandbox>,
        mut containers: Vec<Container>,
    ) -> Result<Vec<Fact>, ImportError> {
        for file in self.folder.names("cri", "inspectp-") {
            match self.folder.read(&file)?.map(|json| sandbox_details(&json)) {
                Some(Ok(details)) => {
                    sandboxes.iter_mut().filter(|s| s.id == details.id).for_each(|s| details.merge_into(s));
                }
                _ => self.timeline.skip(&file, "statuses that could not be read", 1),
            }
        }
        for file in self.folder.names("cri", "inspect-") {
            match self.folder.read(&file)?.map(|json| container_details(&json)) {
                Some(Ok(details)) => {
                    containers.iter_mut().filter(|c| c.id == details.id).for_each(|c| details.merge_into(c));
                }
                _ => self.timeline.skip(&file, "statuses that could not be read", 1),
            }
        }
        self.times.extend(sandboxes.iter().flat_map(|s| [s.created_at, s.seen]).flatten());
        self.times.extend(containers.iter().flat_map(|c| [c.created_at, c.started_at, c.finished_at]).flatten());
        let mut facts = Known::default().next(sandboxes, true).0;
        facts.extend(Known::default().next(containers, true).0);
        facts.extend(self.images()?);
        Ok(epoch(facts))
    }

    /// Images and what they take, where the runtime told them.
    fn images(&mut self) -> Result<Vec<Fact>, ImportError> {
        let mut facts = Vec::new();
        let file = "cri/images.json";
        match self.folder.read(file)?.map(|json| images(&json)) {
            Some(Ok(images)) => facts.extend(Known::default().next(images, true).0),
            Some(Err(_)) => self.timeline.skip(file, "lists of images that could not be read", 1),
            None => {}
        }
        let file = "cri/imagefsinfo.json";
        match self.folder.read(file)?.map(|json| image_fs(&json)) {
            Some(Ok(fs)) => facts.push(Fact::ImageFs(Box::new(fs))),
            Some(Err(_)) => self.timeline.skip(file, "file systems that could not be read", 1),
            None => {}
        }
        Ok(facts)
    }

    fn runtime_log(&mut self) -> Result<Option<Vec<ReceivedRecord>>, ImportError> {
        let file = "containerd.log";
        let text = self.folder.read(file)?;
        let read = |text: String| {
            let lines = text.lines().map(|l| (None, l));
            // Lines of the runtime have a year.
            logs::node_log(NodeLog::Runtime, lines, Time::UNIX_EPOCH, file, &mut self.timeline)
        };
        Ok(text.map(read))
    }

    fn kubelet_log(&mut self, end: Time) -> Result<(), ImportError> {
        let file = "kubelet.log";
        let Some(text) = self.folder.read(file)? else { return Ok(()) };
        let lines = text.lines().map(|l| (None, l));
        let entries = logs::node_log(NodeLog::Kubelet, lines, end, file, &mut self.timeline);
        push_log(entries, Source::KubeletLog, end, &mut self.timeline);
        Ok(())
    }

    fn spans(&mut self) -> Result<Option<Vec<Span>>, ImportError> {
        let file = "traces.jsonl";
        let Some(text) = self.folder.read(file)? else { return Ok(None) };
        let mut all = Vec::new();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            match spans(line) {
                Ok(spans) => all.extend(spans),
                Err(_) => self.timeline.skip(file, "lines that are not export requests", 1),
            }
        }
        all.sort_by(|a, b| (a.end, a.begin, &a.id).cmp(&(b.end, b.begin, &b.id)));
        Ok(Some(all))
    }

    /// The end in `start TIME end TIME`.
    fn end_of_when(&self) -> Result<Option<Time>, ImportError> {
        let when = self.folder.read("when.txt")?;
        Ok(when.and_then(|w| w.split_once("end ")?.1.split_whitespace().next()?.parse().ok()))
    }
}

fn epoch(facts: Vec<Fact>) -> Vec<Fact> {
    [Fact::EpochBegin].into_iter().chain(facts).chain([Fact::EpochEnd]).collect()
}

/// A log without a line that is kept was nevertheless there.
fn push_log(entries: Vec<ReceivedRecord>, source: Source, end: Time, timeline: &mut Timeline) {
    logs::push_own_time(entries, source, timeline);
    timeline.live(source, end);
}
