//! A keyframe that version 0.1.0 wrote is read for ever: what is added to the model later has a default.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use kpodtrace::diagnose::Rounds;
use kpodtrace::model::Model;
use kpodtrace::observation::Time;
use kpodtrace::pipeline::{Stage, StageState};
use kpodtrace::record::RecordReader;
use kpodtrace::view::NodeView;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo/incident.kpt");

#[test]
fn a_keyframe_of_the_first_version_is_understood() {
    let path = common::fixtures().join("../golden/keyframe-1.json.gz");
    if std::env::var_os("KPODTRACE_BLESS").is_some() {
        bless(&path);
    }
    let mut model: Model = serde_json::from_str(&common::read_text(&path)).unwrap();
    model.reindex();
    let snapshot = model.snapshot();
    let now: Time = "2026-11-29T12:41:51Z".parse().unwrap();
    assert!(snapshot.newest.unwrap() <= now);
    let moment = NodeView::new(snapshot, &mut Rounds::default(), now);
    assert_eq!(moment.pods.len(), 42);
    assert_eq!(moment.header().node, "node-a");
    assert_eq!(moment.pleg().windows.len(), 19);
    let at = |name: &str| {
        let place = &moment.pods.iter().find(|p| p.facts.name == name).unwrap().position;
        (place.stage, place.state)
    };
    assert_eq!(at("exit1"), (Stage::Running, StageState::Failed));
    assert_eq!(at("cmvol"), (Stage::Volumes, StageState::Failed));
    let exit1 = moment.pods.iter().find(|p| p.facts.name == "exit1").unwrap();
    assert!(exit1.facts.exits.len() >= 5, "the restart history is in it: {:?}", exit1.facts.exits);
}

/// Writes the keyframe anew, from the recording of the incident. Only for a change that cannot be additive.
fn bless(path: &std::path::Path) {
    let reader = RecordReader::open(std::path::Path::new(DEMO)).unwrap();
    let index = reader.find_frame("2026-11-29T12:41:55Z".parse().unwrap()).unwrap();
    let mut out = flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::best());
    std::io::Write::write_all(&mut out, reader.frame(index).unwrap().keyframe.get().as_bytes()).unwrap();
    out.finish().unwrap();
}
