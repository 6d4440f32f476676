//! What is sent as files: recordings, lists, captures, incidents, logs.

use std::path::Path;

use kpodtrace::record::RecordReader;
use kpodtrace::session::{LogFile, LogOf, RecordedSession};

use crate::decode::reference;
use crate::pipeline::everything;
use crate::scratch::Scratch;

/// All of a session: its end, its beginning, and a while of playing.
fn play(path: &Path) {
    let Ok(mut session) = RecordedSession::open(path) else { return };
    _ = (session.problems().len(), session.skipped().len(), session.unread_lines());
    everything(&session.moment());
    let (begin, end) = session.span();
    for at in [begin, begin + (end - begin) / 2] {
        if session.seek(at).is_ok() {
            everything(&session.moment());
        }
    }
    for _ in 0..3 {
        _ = session.wake_in();
        if session.advance(std::time::Duration::from_secs(1)).is_err() {
            return;
        }
    }
    everything(&session.moment());
}

/// The bytes of a recording: most changes break a checksum.
pub fn recording(bytes: &[u8]) {
    if let Ok(reader) = RecordReader::from_bytes("fuzz", bytes.to_vec()) {
        for frame in 0..reader.frames().len() {
            if let Ok(frame) = reader.frame(frame) {
                _ = frame.observations().count();
            }
        }
    }
}

/// A recording whose checksums are right whatever is in it: a line with the header, then for each frame a line with its
/// numbers `[observations, number, first mono, last mono, first wall, last wall]`, one with its keyframe, and the
/// observations.
pub fn frames(bytes: &[u8]) {
    let scratch = Scratch::new();
    play(&scratch.write("frames.kpt", &encoded(bytes)));
}

/// The bytes of `src/record/format.rs`, written here once more: the program's own writer would not write such.
fn encoded(input: &[u8]) -> Vec<u8> {
    let mut lines = input.split(|b| *b == b'\n');
    let header = [lines.next().unwrap_or_default(), b"\n"].concat();
    let mut out = b"\x89KPT\r\n\x1a\n".to_vec();
    out.extend([1, 0, 0, 0]);
    out.extend((header.len() as u32).to_le_bytes());
    let crc = crc32fast::hash(&[&out[..], &header].concat());
    out.extend(crc.to_le_bytes());
    out.extend(header);
    let mut frame: Option<([i64; 6], Vec<u8>)> = None;
    for line in lines {
        match serde_json::from_slice::<[f64; 6]>(line) {
            Ok(numbers) => {
                out.extend(frame.take().map(|(n, raw)| frame_bytes(n, &raw)).unwrap_or_default());
                frame = Some((numbers.map(|n| n as i64), Vec::new()));
            }
            Err(_) => {
                if let Some((_, raw)) = &mut frame {
                    raw.extend_from_slice(line);
                    raw.push(b'\n');
                }
            }
        }
    }
    out.extend(frame.map(|(n, raw)| frame_bytes(n, &raw)).unwrap_or_default());
    out
}

fn frame_bytes([observations, number, first, last, first_wall, last_wall]: [i64; 6], raw: &[u8]) -> Vec<u8> {
    let payload = zstd::bulk::compress(raw, 1).unwrap();
    // A number below zero stands for the right one.
    let lines = raw.iter().filter(|b| **b == b'\n').count().saturating_sub(1);
    let observations = u32::try_from(observations).unwrap_or(lines as u32);
    let mut out = b"\xf7KPTfr\r\n".to_vec();
    out.extend([1, 0, 72, 0]);
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend((raw.len() as u32).to_le_bytes());
    out.extend(observations.to_le_bytes());
    for number in [number, first, last, first_wall, last_wall] {
        out.extend(number.to_le_bytes());
    }
    let crc = crc32fast::hash(&[&out[..], &payload].concat());
    out.extend(crc.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend(crc.to_le_bytes());
    out.extend(payload);
    out
}

/// What `kubectl get -o json` printed.
pub fn list(bytes: &[u8]) {
    let scratch = Scratch::new();
    play(&scratch.write("objects.json", bytes));
}

/// A capture folder as [`Scratch::files`] has it.
pub fn capture(bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.files(bytes);
    play(scratch.path());
}

/// An incident folder likewise.
pub fn incident(bytes: &[u8]) {
    capture(bytes);
}

/// Files of logs, each taken for what its name says.
pub fn logs(bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.files(bytes);
    let of = [
        ("kubelet", LogOf::Kubelet),
        ("runtime", LogOf::Runtime),
        ("kernel", LogOf::Kernel),
        ("container", LogOf::Container("app".into())),
        ("other", LogOf::Other),
        ("metrics", LogOf::Metrics),
    ];
    let files = of.map(|(name, of)| LogFile { of, path: scratch.path().join(name) });
    let files: Vec<LogFile> = files.into_iter().filter(|file| file.path.is_file()).collect();
    for now in [None, Some(reference())] {
        if let Ok(mut session) =
            RecordedSession::examine(None, &files, now, "shop/web-0", kpodtrace::weight::DEFAULT_MEMORY)
        {
            everything(&session.moment());
        }
    }
}
