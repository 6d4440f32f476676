//! Owns `kpodtrace record`: what the live sources say, or an import, becomes a recording.
//! It must not overwrite a file, nor leave one behind that looks complete and is not.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::time::Time;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{Failure, Outcome, live, out};
use crate::cli::{Input, RecordArgs};
use crate::record::import::import_within;
use crate::record::{Header, MAX_LINE_LEN, RecordError, Writer, create_file, create_stdout};
use crate::session::{Recorded, Recorder, write_recording};

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
    let mut writer = create(args, &header)?;
    let left_out = write_recording(&mut writer, &imported.observations)?;
    let (frames, count) = (writer.frames(), imported.observations.len() as u64 - left_out);
    let size = writer.finish_synced()?;
    out::note(&format!("{}: {count} observations in {frames} frames, {size} bytes", name(args)));
    note_left_out(left_out);
    Ok(Outcome::Done)
}

fn is_stdout(args: &RecordArgs) -> bool {
    args.output.as_os_str() == "-"
}

fn name(args: &RecordArgs) -> String {
    if is_stdout(args) { "standard output".into() } else { args.output.display().to_string() }
}

fn create(args: &RecordArgs, header: &Header) -> Result<Writer<File>, RecordError> {
    if is_stdout(args) { create_stdout(header) } else { create_file(&args.output, header) }
}

fn note_left_out(count: u64) {
    if count > 0 {
        out::note(&format!("{count} observations longer than {MAX_LINE_LEN} bytes were not recorded"));
    }
}

/// Records this node until the time is over or a signal comes.
fn observe(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|why| Failure::unseen(format!("waiting for signals: {why}"), ""))?;
    }
    let mut observed = live::begin(input)?;
    let header = Header::new(observed.node.as_str().into(), Time::now());
    observed.live.record(Recorder::new(create(args, &header)?));
    let until = args.time.map_or("Ctrl-C ends it".to_owned(), |time| format!("for {}s", time.as_secs_f64()));
    out::note(&format!("recording to {}; {until}", name(args)));
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && args.time.is_none_or(|time| begin.elapsed() < time) {
        observed.pass_for(Duration::from_millis(100))?;
    }
    if let Some(Recorded { frames, bytes, left_out }) = observed.live.finish()? {
        out::note(&format!("{}: {frames} frames, {bytes} bytes", name(args)));
        note_left_out(left_out);
    }
    Ok(Outcome::Done)
}
