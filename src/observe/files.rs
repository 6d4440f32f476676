//! Owns reading the files that credentials are made of, and what tells that one has changed.
//! It must not open what is no file: a pipe holds its reader for ever. Everything here blocks.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Largest file of certificates, keys, a token or a kubeconfig that is read, bytes.
const LIMIT: u64 = 1 << 20;

/// What tells that a file is another than before, seen through symbolic links: those are what rotates. Inode, change
/// time, length.
pub type FileStamp = (u64, i64, i64, u64);

/// The stamp of a file.
pub fn stamp(path: &Path) -> io::Result<FileStamp> {
    let meta = fs::metadata(path)?;
    Ok((meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len()))
}

/// Whether it is a file of a length that is read.
pub fn check(path: &Path) -> io::Result<()> {
    let is = fs::metadata(path)?;
    if !is.is_file() {
        return Err(wrong(kind(&is)));
    }
    if is.len() > LIMIT {
        return Err(wrong("it is longer than 1 MiB"));
    }
    Ok(())
}

/// The file's bytes.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    fs::read(path)
}

/// The file's text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| wrong("it is not text"))
}

fn kind(is: &Metadata) -> &'static str {
    if is.is_dir() { "it is a directory" } else { "it is no file, but a pipe, a socket or a device" }
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    #[test]
    fn only_files_are_read_and_no_long_ones() {
        let temp = Temp::new();
        temp.write("ok", "text");
        temp.write("binary", b"\xff");
        temp.write("dir/x", "");
        temp.socket("socket");
        let pipe = std::process::Command::new("mkfifo").arg(temp.path("pipe")).status().unwrap();
        assert!(pipe.success());
        // Sparse: a gigabyte that takes no room.
        fs::File::create(temp.path("long")).unwrap().set_len(1 << 30).unwrap();
        let said = |name: &str| text(&temp.path(name)).map_err(|e| e.to_string());
        assert_eq!(said("ok"), Ok("text".into()));
        assert_eq!(said("binary"), Err("it is not text".into()));
        assert_eq!(said("dir"), Err("it is a directory".into()));
        assert_eq!(said("long"), Err("it is longer than 1 MiB".into()));
        for name in ["pipe", "socket"] {
            assert!(said(name).unwrap_err().contains("a pipe"), "{name}");
        }
        assert!(said("none").unwrap_err().contains("No such file"));
    }
}
