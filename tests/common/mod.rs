//! Where the fixtures are, and how a test reads them.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use kpodtrace::diagnose::Rounds;
use kpodtrace::model::Model;
use kpodtrace::observation::{Fact, Observation, Sequencer, Source, Time};
use kpodtrace::record::import::{Imported, import};
use kpodtrace::view::NodeView;
use serde_json::{Value, json};

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub fn capture(scenario: &str) -> PathBuf {
    fixtures().join("captures").join(scenario)
}

pub fn imported(path: &Path) -> Imported {
    import(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The moment after all of an import.
pub fn moment_of(path: &Path) -> NodeView {
    let Imported { observations, end, .. } = imported(path);
    let mut model = Model::default();
    observations.into_iter().for_each(|o| model.apply(o));
    NodeView::new(model.snapshot(), &mut Rounds::default(), end)
}

/// The model after what was received up to `at`.
pub fn model_at(observations: &[Observation], at: Time) -> Model {
    let mut model = Model::default();
    observations.iter().filter(|o| o.stamp.wall <= at).for_each(|o| model.apply(o.clone()));
    model
}

pub fn read_text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        use std::io::Read;
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    text
}

/// What a source says, as it is written in a recording.
pub fn fact(kind: &str, value: Value) -> Fact {
    serde_json::from_value(json!({"kind": kind, "value": value})).unwrap()
}

/// The capture, and what a source says behind it.
pub fn with(scenario: &str, facts: &[(Source, &str, Value)]) -> NodeView {
    let import = imported(&capture(scenario));
    let mut model = Model::default();
    import.observations.into_iter().for_each(|o| model.apply(o));
    for (source, kind, value) in facts {
        let mut sequencer = Sequencer::new(*source);
        let mut stamp = sequencer.stamp(u64::MAX, import.end);
        stamp.seq = 1_000_000 + facts.iter().position(|f| f.2 == *value).unwrap() as u64;
        stamp.epoch = u32::MAX;
        model.apply(Observation { stamp, fact: fact(kind, value.clone()) });
    }
    NodeView::new(model.snapshot(), &mut Rounds::default(), import.end)
}
