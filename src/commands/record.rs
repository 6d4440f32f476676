//! `kpodtrace record`: records this node, or converts an input to a recording.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::time::Time;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::live::LiveSession;
use super::{Failure, Outcome, input, out};
use crate::cli::{Input, RecordArgs};
use crate::record::import::import_within;
use crate::record::{MAX_LINE_LEN, RecordError, RecordHeader, RecordWriter, create_file, create_stdout};
use crate::session::{Recorder, RecordingTotals, write_recording};

/// Time between two checks for a signal.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

pub(super) fn run(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let Some(path) = &input.from else { return observe(input, args) };
    if input.at.is_some() {
        return Err(Failure::usage("--at with record: a recording contains the whole input", "omit --at"));
    }
    let imported = import_within(path, input.max_memory)?;
    input::note_skipped(&imported.skipped);
    let header = RecordHeader::new(imported.node.clone(), imported.begin);
    let mut writer = create(args, &header)?;
    let left_out = write_recording(&mut writer, &imported.observations)?;
    let (frames, count) = (writer.frames(), imported.observations.len() as u64 - left_out);
    let size = writer.finish_synced()?;
    out::note(&format!("{}: {count} observations in {frames} frames, {size} bytes", name(args)));
    note_too_long(left_out);
    Ok(Outcome::Done)
}

fn is_stdout(args: &RecordArgs) -> bool {
    args.output.as_os_str() == "-"
}

fn name(args: &RecordArgs) -> String {
    if is_stdout(args) { "standard output".into() } else { args.output.display().to_string() }
}

fn create(args: &RecordArgs, header: &RecordHeader) -> Result<RecordWriter<File>, RecordError> {
    if is_stdout(args) { create_stdout(header) } else { create_file(&args.output, header) }
}

fn note_too_long(count: u64) {
    if count > 0 {
        out::note(&format!("skipped {count} observations longer than {MAX_LINE_LEN} bytes"));
    }
}

/// Records this node until the time of `--for` is over or a signal is received.
fn observe(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|why| Failure::unseen(format!("waiting for signals: {why}"), ""))?;
    }
    let mut session = LiveSession::start(input)?;
    let header = RecordHeader::new(session.node.as_str().into(), Time::now());
    session.model.record_to(Recorder::new(create(args, &header)?));
    let until = args.time.map_or("stop with Ctrl-C".to_owned(), |time| format!("for {}s", time.as_secs_f64()));
    out::note(&format!("recording to {}; {until}", name(args)));
    let started = Instant::now();
    while !stop.load(Ordering::Relaxed) && args.time.is_none_or(|time| started.elapsed() < time) {
        session.observe_for(SIGNAL_CHECK)?;
    }
    if let Some(RecordingTotals { frames, bytes, left_out }) = session.model.finish()? {
        out::note(&format!("{}: {frames} frames, {bytes} bytes", name(args)));
        note_too_long(left_out);
    }
    Ok(Outcome::Done)
}
