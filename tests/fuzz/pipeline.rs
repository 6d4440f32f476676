//! The whole way: observations, the model, where each pod is, why, and what is printed and drawn of it.

use std::cell::RefCell;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use kpodtrace::decode::scrape;
use kpodtrace::diagnose::DiagnosisCache;
use kpodtrace::model::Model;
use kpodtrace::observation::{Decoded, Observation, Sequencer, Source, Time};
use kpodtrace::report::{
    NoteChanges, PlegLines, SourceChanges, TableDetail, doctor_json, doctor_text, doctor_verdict, events_json,
    events_table, explain_json, explain_text, node_change, node_json, node_text, notes, pleg_json, pleg_text,
    pod_change, pods_json, pods_table, shown, signals_text,
};
use kpodtrace::time::TimeDelta;
use kpodtrace::tui::{App, Options, Painter, Theme};
use kpodtrace::view::{Filter, NodeView, RowChanges, Sort, SubjectName, events, explain_all, explain_named};

use crate::decode::{lossy, reference};

/// Prints and draws everything of one moment.
pub fn everything(moment: &NodeView) {
    let filter = Filter::default();
    let rows = shown(moment, &filter, Sort::default());
    for detail in [TableDetail::Table, TableDetail::Wide] {
        _ = pods_table(moment, &rows, detail, Some(120));
    }
    let all = explain_all(moment);
    _ = (explain_text(&all, moment.now, Some(80)), signals_text(&all));
    let first = rows.first().map(|row| row.name.to_string()).unwrap_or_default();
    let named = explain_named(moment, &SubjectName::parse(&first));
    let happened = events(moment);
    _ = (events_table(moment, &happened, None), node_text(moment), pleg_text(moment), doctor_text(moment, &[]));
    json(&pods_json(moment, &rows));
    json(&explain_json(moment, &named));
    json(&events_json(moment, &happened, true));
    json(&node_json(moment));
    json(&pleg_json(moment));
    json(&doctor_json(moment, &[]));
    json(&node_change(moment));
    for change in RowChanges::new(filter).update(moment) {
        json(&pod_change(moment, &change));
    }
    _ = (
        notes(moment),
        NoteChanges::new(true).update(moment),
        SourceChanges::default().update(moment),
        doctor_verdict(moment),
    );
    let mut lines = PlegLines::default();
    if lines.needs_line(moment) {
        _ = lines.line(moment);
    }
    _ = (lines.wake(moment), moment.next_change());
    draw(moment);
}

/// JSON that is printed can be read.
fn json(value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).expect("every report is JSON");
    serde_json::from_str::<serde_json::Value>(&text).expect("every report is JSON");
}

fn draw(moment: &NodeView) {
    let mut app = App::new(Theme::new(true, false), &Options::default());
    let mut painter = Painter::new();
    app.show(moment.clone(), "fuzz");
    for key in ['1', '2', '3', '4', '5', '6'] {
        app.event(&Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
        _ = painter.paint(app.draw(100, 30));
    }
    _ = painter.paint(app.draw(20, 5));
}

/// A small node, for what needs one.
pub fn small() -> NodeView {
    thread_local! {
        static MOMENT: RefCell<Option<NodeView>> = const { RefCell::new(None) };
    }
    MOMENT.with_borrow_mut(|moment| moment.get_or_insert_with(|| of_lines(GOLDEN.as_bytes())).clone())
}

const GOLDEN: &str = include_str!("../golden/observations.jsonl");

fn of_lines(bytes: &[u8]) -> NodeView {
    let mut model = Model::default();
    for line in lossy(bytes).lines() {
        if let Decoded::Known(observation) = Observation::decode(line) {
            model.apply(*observation);
        }
    }
    NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), reference())
}

/// Observations, a line each; whatever is understood is also written and read again.
pub fn observations(bytes: &[u8]) {
    let mut model = Model::default();
    let mut last = reference();
    let mut rounds = DiagnosisCache::default();
    let text = lossy(bytes);
    let half = text.lines().count() / 2;
    for (i, line) in text.lines().enumerate() {
        let Decoded::Known(observation) = Observation::decode(line) else { continue };
        last = observation.stamp.wall;
        if let Ok(line) = observation.encode() {
            assert!(!matches!(Observation::decode(&line), Decoded::Malformed), "what is written can be read: {line}");
        }
        model.apply(*observation);
        if i == half {
            everything(&NodeView::new(model.snapshot(), &mut rounds, last));
        }
    }
    everything(&NodeView::new(model.snapshot(), &mut rounds, last));
    everything(&NodeView::new(model.snapshot(), &mut rounds, reference()));
}

/// A model as a recording's frame begins with it.
pub fn keyframe(bytes: &[u8]) {
    if let Ok(mut model) = serde_json::from_slice::<Model>(bytes) {
        model.reindex();
        everything(&NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), reference()));
    }
}

/// Pages of metrics one after the other, between lines `=== `.
pub fn histogram(bytes: &[u8]) {
    let text = lossy(bytes);
    let mut model = Model::default();
    let mut sequencer = Sequencer::new(Source::KubeletMetrics);
    let mut at: Time = reference();
    for page in text.split("=== ").chain([text.as_ref()]) {
        let Ok(scrape) = scrape(page) else { continue };
        at += TimeDelta::seconds(10);
        let stamp = sequencer.stamp(10_000_000, at);
        let fact = kpodtrace::observation::Fact::Scrape(Box::new(scrape));
        model.apply(Observation { stamp, fact });
    }
    everything(&NodeView::new(model.snapshot(), &mut DiagnosisCache::default(), at));
}
