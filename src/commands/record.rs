//! Owns `kpodtrace record`: an import becomes a recording.
//! It must not overwrite a file, nor leave one behind that looks complete and is not.

use super::{Failure, Outcome, input, out};
use crate::cli::{Input, RecordArgs};
use crate::record::import::import;
use crate::record::{Header, create_file};
use crate::session::write_recording;

pub(super) fn run(input: &Input, args: &RecordArgs) -> Result<Outcome, Failure> {
    let Some(path) = &input.from else { return Err(input::no_input()) };
    if input.at.is_some() {
        return Err(Failure::usage("--at with record: a recording holds the whole input", "leave --at away"));
    }
    let imported = import(path)?;
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
