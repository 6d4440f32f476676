//! Capture folders: the state of each source of one node at one time, and its logs and spans until then.

use super::folder::Folder;
use super::list_state::{ListState, pods_only};
use super::log_lines;
use crate::decode::{
    container_details, containers, failure, health_response, image_fs, images, kubelet_config, objects, runtime_status,
    sandbox_details, sandboxes, scrape, spans,
};
use crate::objects::Pod;
use crate::observation::{Container, ErrorKind, Fact, LogEntry, Sandbox, Source, SourceError, Span, Time};
use crate::record::import::kubectl::{ClusterObjects, most_used, newest_of_pod};
use crate::record::import::timeline::Timeline;
use crate::record::import::{ImportError, Imported};
use crate::text::Message;

/// The facts of a source in order, or its failure.
type SourceResult = Result<Vec<Fact>, SourceError>;

pub(super) fn import(folder: &Folder) -> Result<Imported, ImportError> {
    let mut capture =
        Capture { folder, timeline: Timeline::new(folder.limits().decoded()), results: Vec::new(), times: Vec::new() };
    for source in Source::ALL {
        capture.timeline.set_off(source, "not in this capture");
    }
    let cluster = capture.api()?;
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
    let newest = cluster.newest().into_iter().chain(capture.times.iter().copied()).max();
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
        timeline.set_live(Source::Spans, end);
    }
    let node = most_used(pods.iter()).unwrap_or_else(|| cluster.node());
    let listed: Vec<Source> = capture.results.iter().filter(|(_, result)| result.is_ok()).map(|(s, _)| *s).collect();
    cluster.emit(&listed, end, timeline);
    for (source, result) in capture.results {
        match result {
            Ok(facts) => facts.into_iter().for_each(|fact| timeline.push(source, end, fact)),
            Err(error) => timeline.fail(source, end, error),
        }
    }
    capture.timeline.check_limit(folder.path())?;
    Ok(capture.timeline.finish(end, node))
}

struct Capture<'a> {
    folder: &'a Folder,
    timeline: Timeline,
    results: Vec<(Source, SourceResult)>,
    /// Times in the files, for captures without `when.txt`.
    times: Vec<Time>,
}

impl Capture<'_> {
    /// Reads the objects of the API server. [`ClusterObjects::emit`] adds their facts.
    fn api(&mut self) -> Result<ClusterObjects, ImportError> {
        let mut cluster = ClusterObjects::default();
        let mut no_nodes = false;
        for (file, source) in
            [("pods.json", Source::ApiPods), ("events.json", Source::ApiEvents), ("nodes.json", Source::ApiNode)]
        {
            let Some(body) = self.folder.read(file)? else { continue };
            let result = match objects(&body) {
                Ok(objects) => {
                    no_nodes |= source == Source::ApiNode && objects.is_empty();
                    cluster.add(objects, file, &mut self.timeline);
                    Ok(Vec::new())
                }
                Err(_) => Err(failure(file, &body)),
            };
            self.results.push((source, result));
        }
        if no_nodes && cluster.is_empty() {
            // A cluster without a node has no kubelet: the API server did not respond.
            for (_, result) in &mut self.results {
                *result = Err(SourceError {
                    tried: "kubectl get: empty list of nodes, as printed when the API server does not respond".into(),
                    kind: ErrorKind::Unreachable,
                    fix: Message::default(),
                });
            }
        }
        Ok(cluster)
    }

    fn kubelet_pods(&mut self) -> Result<Vec<Pod>, ImportError> {
        let file = "kubelet-pods.json";
        let Some(body) = self.folder.read(file)? else { return Ok(Vec::new()) };
        let pods = match objects(&body) {
            Ok(objects) => pods_only(objects, file, &mut self.timeline),
            Err(_) => {
                self.results.push((Source::KubeletPods, Err(failure(Source::KubeletPods.request(), &body))));
                return Ok(Vec::new());
            }
        };
        self.times.extend(pods.iter().filter_map(newest_of_pod));
        let facts = ListState::default().next(pods.clone(), true).0;
        self.results.push((Source::KubeletPods, Ok(epoch(facts))));
        Ok(pods)
    }

    fn page(
        &mut self,
        file: &str,
        source: Source,
        read: impl FnOnce(&str) -> Result<(Fact, Option<Time>), ()>,
    ) -> Result<(), ImportError> {
        let Some(body) = self.folder.read(file)? else { return Ok(()) };
        let result = match read(&body) {
            Ok((fact, time)) => {
                self.times.extend(time);
                Ok(vec![fact])
            }
            Err(()) => Err(failure(source.request(), &body)),
        };
        self.results.push((source, result));
        Ok(())
    }

    fn cri(&mut self) -> Result<(), ImportError> {
        let version = self.folder.read("cri/version.txt")?;
        let info = self.folder.read("cri/info.json")?;
        let lists = (self.folder.read("cri/pods.json")?, self.folder.read("cri/ps.json")?);
        let status = runtime_status(version.as_deref(), info.as_deref());
        let result = match lists {
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
                Some(_) => Err(failure("crictl pods", "no output in this capture")),
                None => return Ok(()),
            },
        };
        self.results.push((Source::Cri, result));
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
                _ => self.timeline.skip(&file, "unreadable statuses", 1),
            }
        }
        for file in self.folder.names("cri", "inspect-") {
            match self.folder.read(&file)?.map(|json| container_details(&json)) {
                Some(Ok(details)) => {
                    containers.iter_mut().filter(|c| c.id == details.id).for_each(|c| details.merge_into(c));
                }
                _ => self.timeline.skip(&file, "unreadable statuses", 1),
            }
        }
        self.times.extend(sandboxes.iter().flat_map(|s| [s.created_at, s.seen]).flatten());
        self.times.extend(containers.iter().flat_map(|c| [c.created_at, c.started_at, c.finished_at]).flatten());
        let mut facts = ListState::default().next(sandboxes, true).0;
        facts.extend(ListState::default().next(containers, true).0);
        facts.extend(self.images()?);
        Ok(epoch(facts))
    }

    /// Images and the disk space that they use.
    fn images(&mut self) -> Result<Vec<Fact>, ImportError> {
        let mut facts = Vec::new();
        let file = "cri/images.json";
        match self.folder.read(file)?.map(|json| images(&json)) {
            Some(Ok(images)) => facts.extend(ListState::default().next(images, true).0),
            Some(Err(_)) => self.timeline.skip(file, "unreadable lists of images", 1),
            None => {}
        }
        let file = "cri/imagefsinfo.json";
        match self.folder.read(file)?.map(|json| image_fs(&json)) {
            Some(Ok(fs)) => facts.push(Fact::ImageFs(Box::new(fs))),
            Some(Err(_)) => self.timeline.skip(file, "unreadable file system lists", 1),
            None => {}
        }
        Ok(facts)
    }

    fn runtime_log(&mut self) -> Result<Option<Vec<((), LogEntry)>>, ImportError> {
        let file = "containerd.log";
        let text = self.folder.read(file)?;
        Ok(text.map(|text| log_lines::runtime_entries_of(text.lines().map(|l| ((), l)), file, &mut self.timeline)))
    }

    fn kubelet_log(&mut self, end: Time) -> Result<(), ImportError> {
        let file = "kubelet.log";
        let Some(text) = self.folder.read(file)? else { return Ok(()) };
        let lines = text.lines().map(|l| ((), l));
        let entries = log_lines::kubelet_entries_of(lines, |()| end, file, &mut self.timeline);
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

/// Adds a log. The source is live even if no line of it is kept.
fn push_log(entries: Vec<((), LogEntry)>, source: Source, end: Time, timeline: &mut Timeline) {
    log_lines::push_by_own_time(entries, source, timeline);
    timeline.set_live(source, end);
}
