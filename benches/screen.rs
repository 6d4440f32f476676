//! Time for a key press and for a change on a screen of 200×60 with 1,000 pods: draw the frame, encode its bytes.
//!
//! `cargo bench --bench screen`. The pods are copies of those at the end of the demo recording; most of them fail.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::{PodFacts, Snapshot};
use kpodtrace::session::RecordedSession;
use kpodtrace::text::Text;
use kpodtrace::time::TimeDelta;
use kpodtrace::tui::{App, Options, Painter, Theme};
use kpodtrace::view::NodeView;

const PODS: usize = 1000;
const RUNS: usize = 100;
/// A frame is drawn at once when it takes no longer.
const BAR: Duration = Duration::from_millis(10);

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/incident.kpt");
    let moment = RecordedSession::open(&path).unwrap().moment();
    let all: Vec<&Arc<PodFacts>> = moment.snapshot.pods.values().collect();
    let pods: BTreeMap<Text, Arc<PodFacts>> = (0..PODS)
        .map(|i| {
            let mut facts = (**all[i % all.len()]).clone();
            facts.key = format!("{}-{i}", facts.key).into();
            facts.name = format!("{}-{i}", facts.name).into();
            (facts.key.clone(), Arc::new(facts))
        })
        .collect();
    let (mut rounds, mut now) = (DiagnosisCache::default(), moment.now);
    let snapshot = Snapshot { pods: Arc::new(pods), ..(*moment.snapshot).clone() };
    let mut screen = Screen { app: App::new(Theme::new(true, false), &Options::default()), painter: Painter::new() };
    screen.app.show(NodeView::new(snapshot.clone(), &mut rounds, now), "bench");
    screen.frame();

    screen.keys("j, the next row", &[KeyCode::Char('j')]);
    screen.keys("PgDn, a page", &[KeyCode::PageDown]);
    screen.keys("G, g: to the end and back", &[KeyCode::Char('G'), KeyCode::Char('g')]);
    screen.press(KeyCode::Char('/'));
    screen.keys("a letter of a filter, and back", &[KeyCode::Char('w'), KeyCode::Backspace]);
    screen.press(KeyCode::Esc);
    for (pane, name) in
        ["1", "2", "3", "4", "5", "6"].into_iter().zip(["pods", "pod", "kubelet", "node", "events", "runbook"])
    {
        screen.press(KeyCode::Char(pane.chars().next().unwrap()));
        screen.frame();
        screen.keys(&format!("j in the pane {name}"), &[KeyCode::Char('j')]);
        let (mut making, mut drawing) = (Vec::new(), Vec::new());
        for i in 0..RUNS / 5 {
            now += TimeDelta::seconds(1);
            let changed = changed(&snapshot, i);
            let begin = Instant::now();
            let moment = NodeView::new(changed, &mut rounds, now);
            making.push(begin.elapsed());
            let begin = Instant::now();
            screen.app.show(moment, "bench");
            screen.frame();
            drawing.push(begin.elapsed());
        }
        report("  a second later, one pod changed: the moment made", making);
        report("  the same: shown", drawing);
    }
}

/// The node with one pod changed.
fn changed(snapshot: &Snapshot, i: usize) -> Snapshot {
    let mut pods = (*snapshot.pods).clone();
    let (key, facts) = pods.iter().nth(i * 37 % PODS).map(|(key, facts)| (key.clone(), (**facts).clone())).unwrap();
    pods.insert(key, Arc::new(facts));
    Snapshot { pods: Arc::new(pods), ..snapshot.clone() }
}

struct Screen {
    app: App,
    painter: Painter,
}

impl Screen {
    fn press(&mut self, code: KeyCode) {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn frame(&mut self) -> usize {
        let frame = self.app.draw(200, 60);
        self.painter.paint(frame).map_or(0, |bytes| bytes.len())
    }

    fn keys(&mut self, what: &str, codes: &[KeyCode]) {
        let times = (0..RUNS).map(|i| {
            let begin = Instant::now();
            self.press(codes[i % codes.len()]);
            self.frame();
            begin.elapsed()
        });
        let times = times.collect();
        report(what, times);
    }
}

fn report(what: &str, mut all: Vec<Duration>) {
    all.sort();
    println!("{what}: median {:?}, worst {:?} (bar {BAR:?})", all[all.len() / 2], all[all.len() - 1]);
}
