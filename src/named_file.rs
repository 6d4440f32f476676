//! Opens a file named by the user: checked after it is open, without blocking, with a size limit.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// What may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// A regular file.
    File,
    /// A regular file, or a pipe that is read once from its beginning to its end.
    FileOrPipe,
}

/// Opens it for reading.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidInput`] for what is of another kind.
pub fn open(path: &Path, kinds: Kinds) -> io::Result<File> {
    // Before opening: to open a device may do something.
    check(&fs::metadata(path)?, kinds)?;
    // A pipe without a writer would be waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let opened = file.metadata()?;
    check(&opened, kinds)?;
    if !opened.file_type().is_fifo() {
        return Ok(file);
    }
    // The user named a pipe: its writer is waited for with what is open already. A second opening could miss a writer that
    // came and went in between. Without a writer, reading would give an end.
    while let Err(error) = poll(&mut [PollFd::new(&file, PollFlags::IN)], None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The text of a regular file of at most `limit` bytes.
///
/// # Errors
/// Those of [`open`]; [`io::ErrorKind::FileTooLarge`] and [`io::ErrorKind::InvalidData`] for bytes that are not UTF-8.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    // A file may grow while it is read.
    open(path, Kinds::File)?.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} KiB", limit >> 10)));
    }
    Ok(text)
}

fn check(is: &fs::Metadata, kinds: Kinds) -> io::Result<()> {
    let kind = is.file_type();
    let what = match () {
        () if kind.is_file() || kind.is_fifo() && kinds == Kinds::FileOrPipe => return Ok(()),
        () if kind.is_dir() => "it is a directory",
        () if kind.is_fifo() => "it is a pipe",
        () if kind.is_socket() => "it is a socket",
        () => "it is a device",
    };
    let wanted = match kinds {
        Kinds::File => "a regular file",
        Kinds::FileOrPipe => "a regular file or a pipe",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what}, not {wanted}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_file_types_are_refused_at_once_and_nothing_is_read_beyond_the_limit() {
        let dir = std::env::temp_dir().join(format!("kpodtrace-named-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let at = |name: &str| dir.join(name);
        fs::write(at("ok"), "text").unwrap();
        fs::write(at("binary"), b"\xff").unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, 0o600.into(), 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        // Sparse: it takes no room.
        File::create(at("long")).unwrap().set_len(1 << 40).unwrap();
        let said = |name: &str| text(&at(name), 1 << 20).map_err(|e| e.to_string());
        assert_eq!(said("ok"), Ok("text".into()));
        assert_eq!(said("pipe"), Err("it is a pipe, not a regular file".into()));
        assert_eq!(said("zero"), Err("it is a device, not a regular file".into()));
        assert_eq!(said(""), Err("it is a directory, not a regular file".into()));
        assert_eq!(said("long"), Err("it is larger than 1024 KiB".into()));
        assert!(said("binary").is_err() && said("none").is_err());
        let device = open(&at("zero"), Kinds::FileOrPipe).unwrap_err();
        assert_eq!(device.to_string(), "it is a device, not a regular file or a pipe");
        let writer = std::thread::spawn({
            let pipe = at("pipe");
            move || fs::write(pipe, "through")
        });
        let mut read = String::new();
        // The writer comes while it is waited for, or has come before.
        open(&at("pipe"), Kinds::FileOrPipe).unwrap().read_to_string(&mut read).unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(read, "through");
        fs::remove_dir_all(dir).unwrap();
    }
}
