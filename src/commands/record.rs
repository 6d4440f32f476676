//! Owns `kpodtrace record`: what the live sources say, or an import, becomes a recording.
//! It must not overwrite a file, nor leave one behind that looks complete and is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::Utc;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{Failure, Outcome, live, out};
use crate::cli::{Input, RecordArgs};
use crate::record::import::import_within;
use crate::record::{Header, create_file};
use crate::session::{Recorder, write_recording};

pub(super) fn run(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let Some(path) = &input.from else { return observe(input, args) };
    if input.at.is_some() {
        return Err(Failure::usage("--at with record: a recording holds the whole input", "leave --at away"));
    }
    let imported = import_within(path, input.max_memory)?;
    for skipped in &imported.skipped {
        out::note(&format!("not read of {}: {} ({} times)", skipped.path, skipped.what, skipped.count));
    }
    let header = Header::new(imported.node.clone(), imported.begin);
    let mut writer = create_file(&args.output, &header)?;
    write_recording(&mut writer, &imported.observations)?;
    let (frames, count) = (writer.frames(), imported.observations.len());
    let file = writer.finish()?;
    // What was said to be written must be there after a power cut.
    file.sync_all().map_err(|why| Failure::unseen(format!("writing {}: {why}", args.output.display()), ""))?;
    let size = file.metadata().map_or(0, |m| m.len());
    out::note(&format!("{}: {count} observations in {frames} frames, {size} bytes", args.output.display()));
    Ok(Outcome::Done)
}

/// Records this node until the time is over or a signal comes.
fn observe(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|why| Failure::unseen(format!("waiting for signals: {why}"), ""))?;
    }
    let mut observed = live::begin(input)?;
    let header = Header::new(observed.node.as_str().into(), Utc::now());
    observed.live.record(Recorder::new(create_file(&args.output, &header)?));
    let until = args.time.map_or("Ctrl-C ends it".to_owned(), |time| format!("for {}s", time.as_secs_f64()));
    out::note(&format!("recording to {}; {until}", args.output.display()));
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && args.time.is_none_or(|time| begin.elapsed() < time) {
        observed.pass_for(Duration::from_millis(100))?;
    }
    if let Some((frames, bytes)) = observed.live.finish()? {
        out::note(&format!("{}: {frames} frames, {bytes} bytes", args.output.display()));
    }
    Ok(Outcome::Done)
}
