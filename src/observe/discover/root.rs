//! Reads the file system below a prefix, with limits on size and time; a call that hangs is abandoned on its thread.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use super::bounds::{Bounds, LogDirs};
use crate::named_file::{self, Kinds};
use crate::observation::Time;
use crate::trust::{Distrust, KnownFile, Owners, Policy, Resolved, distrust_of, resolve};

/// Longest file that is read, in bytes; none of those looked for comes near.
const MAX_FILE: u64 = 1024 * 1024;
/// The root directory of PID 1.
const INIT_ROOT: &str = "/proc/1/root";
/// How long one look may take: a local disk answers in microseconds, a dead mount never.
const DEADLINE: Duration = Duration::from_secs(1);

/// A prefix of all paths: `/` in life.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
    deadline: Duration,
    /// Paths of calls in progress: a path that hangs is not read again, because each try would leave a thread behind.
    looking: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Why a look brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// Not there.
    Absent,
    /// Not allowed.
    Denied,
    /// No answer within the deadline.
    Hangs,
    /// Not text, too long, or another error.
    Unreadable,
    /// A user other than root could have put it there.
    Untrusted(Distrust),
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Miss::Absent => "not there",
            Miss::Denied => "permission denied: run as root",
            Miss::Hangs => "no answer from the file system",
            Miss::Unreadable => "cannot be read: no text file, or a long one",
            Miss::Untrusted(distrust) => return distrust.fmt(f),
        })
    }
}

impl Miss {
    /// The same, with the flag by which the user can name what is not believed.
    pub(super) fn with_way_out(&self, flag: &str) -> String {
        match self {
            Miss::Untrusted(_) => format!("{self}; to use it all the same: {flag}"),
            other => other.to_string(),
        }
    }
}

impl From<io::Error> for Miss {
    fn from(e: io::Error) -> Self {
        if let Some(distrust) = distrust_of(&e) {
            return Miss::Untrusted(distrust.clone());
        }
        match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Miss::Absent,
            io::ErrorKind::PermissionDenied => Miss::Denied,
            _ => Miss::Unreadable,
        }
    }
}

/// Runs `look` on a separate thread, which is abandoned if it takes longer than `deadline`.
pub fn within<T: Send + 'static>(deadline: Duration, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tx, rx) = mpsc::sync_channel(1);
    let run = move || _ = tx.send(look());
    thread::Builder::new().name("look".into()).spawn(run).ok()?;
    rx.recv_timeout(deadline).ok()
}

/// Marks a path as being read until this is dropped.
struct WalkInProgress {
    looking: Arc<Mutex<HashSet<PathBuf>>>,
    path: PathBuf,
}

impl Drop for WalkInProgress {
    fn drop(&mut self) {
        locked(&self.looking).remove(&self.path);
    }
}

fn locked(looking: &Mutex<HashSet<PathBuf>>) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
    looking.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Root {
    /// The machine itself, as PID 1 has it: from inside of a container that sees the node's processes, as a debug pod does,
    /// the node's root and not the container's.
    pub fn live() -> Self {
        let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let elsewhere = mounts("1").zip(mounts("self")).is_some_and(|(its, ours)| its != ours);
        Self::new(if elsewhere && Path::new(INIT_ROOT).is_dir() { INIT_ROOT } else { "/" })
    }

    /// Everything below `prefix`.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        Self { prefix: prefix.into(), deadline: DEADLINE, looking: Arc::default() }
    }

    /// The same with another deadline for each look.
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// How long one look may take.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// An absolute path of the node, below the prefix.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.prefix.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn look<T: Send + 'static>(
        &self,
        path: impl AsRef<Path>,
        look: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Miss> {
        let path = self.path(path);
        self.look_as(path.clone(), path, look)
    }

    /// Reads everything below a directory in one access; other accesses to the directory do not wait for it.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn walk<T: Send + 'static>(
        &self,
        path: impl AsRef<Path>,
        walk: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Result<T, Miss> {
        let path = self.path(path);
        self.look_as(path.join("**"), path, |path| Ok(walk(path)))
    }

    fn look_as<T: Send + 'static>(
        &self,
        key: PathBuf,
        path: PathBuf,
        look: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Miss> {
        let looking = self.looking.clone();
        let began = Instant::now();
        while !locked(&looking).insert(key.clone()) {
            if began.elapsed() >= self.deadline {
                return Err(Miss::Hangs);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let looking = WalkInProgress { looking, path: key };
        let look = move || {
            let found = look(&path);
            drop(looking);
            found
        };
        within(self.deadline, look)
            .unwrap_or(Err(io::ErrorKind::TimedOut.into()))
            .map_err(|e| if e.kind() == io::ErrorKind::TimedOut { Miss::Hangs } else { e.into() })
    }

    /// Reads the target of a discovered path if root alone could have put it there.
    fn trusted<T: Send + 'static>(
        &self,
        path: impl AsRef<Path>,
        look: impl FnOnce(Resolved) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Miss> {
        let (root, below) = (self.prefix.clone(), path.as_ref().to_owned());
        self.look(path, move |_| look(resolve(&root, &below, Policy::Trusted(Owners::of_process()))?))
    }

    /// A file that was discovered, to be opened later.
    pub fn discovered(&self, path: impl Into<PathBuf>) -> KnownFile {
        KnownFile::Discovered { root: self.prefix.clone(), path: path.into() }
    }

    /// The text of a file that was discovered.
    ///
    /// # Errors
    /// [`Miss`]; [`Miss::Untrusted`] unless root alone could have put it there.
    pub fn read<P: AsRef<Path>>(&self, path: P) -> Result<String, Miss> {
        text(self.trusted(path, |resolved| bounded(resolved.open()?))?)
    }

    /// The text of a file that the user named.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn read_named<P: AsRef<Path>>(&self, path: P) -> Result<String, Miss> {
        text(self.look(path, |p| bounded(named_file::open(p, Kinds::File)?))?)
    }

    /// The text of a file that the kernel makes, below `/proc` or `/sys`.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn read_kernel(&self, path: impl AsRef<Path>) -> Result<String, Miss> {
        text(self.look(path, read_bytes)?)
    }

    /// True when there is something of that name, and root alone could have put it there.
    ///
    /// # Errors
    /// [`Miss::Denied`], [`Miss::Hangs`] and [`Miss::Untrusted`].
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool, Miss> {
        match self.trusted(path, |_| Ok(())) {
            Ok(()) => Ok(true),
            Err(Miss::Absent) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// True when there is a socket of that name, which root alone could have put there.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn is_socket(&self, path: impl AsRef<Path>) -> Result<bool, Miss> {
        self.trusted(path, |resolved| Ok(resolved.kind() == FileType::Socket))
    }

    /// The same for a socket named by the user, without a trust check.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn is_named_socket(&self, path: impl AsRef<Path>) -> Result<bool, Miss> {
        use std::os::unix::fs::FileTypeExt;
        self.look(path, |p| Ok(fs::metadata(p)?.file_type().is_socket()))
    }

    /// Whether the file, which was discovered, can be opened for reading.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn may_read(&self, path: impl AsRef<Path>) -> Result<(), Miss> {
        self.trusted(path, |resolved| resolved.open().map(|_| ()))
    }

    /// Whether the file, which the user named, can be opened for reading.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn may_read_named(&self, path: impl AsRef<Path>) -> Result<(), Miss> {
        self.look(path, |p| named_file::open(p, Kinds::File).map(|_| ()))
    }

    /// What a symbolic link points at.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn link(&self, path: impl AsRef<Path>) -> Result<PathBuf, Miss> {
        self.look(path, |p| fs::read_link(p))
    }

    /// True when there is a regular file of that name, which root alone could have put there.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn is_file(&self, path: impl AsRef<Path>) -> Result<bool, Miss> {
        self.trusted(path, |resolved| Ok(resolved.kind() == FileType::RegularFile))
    }

    /// Size of the file system that a directory lies on, and what is left of it.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn space(&self, path: impl AsRef<Path>) -> Result<rustix::fs::StatVfs, Miss> {
        self.look(path, |p| Ok(rustix::fs::statvfs(p)?))
    }

    /// Names in a directory, in order.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn names(&self, path: impl AsRef<Path>) -> Result<Vec<String>, Miss> {
        self.look(path, |p| {
            let mut names = Vec::new();
            for entry in fs::read_dir(p)? {
                names.extend(entry?.file_name().into_string());
            }
            names.sort();
            Ok(names)
        })
    }
}

impl Root {
    /// Names in a directory with their birth time, if the file system reports it.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn born(&self, path: impl AsRef<Path>) -> Result<Vec<(String, Option<Time>)>, Miss> {
        self.look(path, |p| {
            let mut names = Vec::new();
            for entry in fs::read_dir(p)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                names.push((name, entry.metadata().and_then(|m| m.created()).ok().map(Time::from)));
            }
            Ok(names)
        })
    }
}

impl Root {
    /// The last bytes of a file, at most `most`, and whether something stands before them. What a link leads out
    /// of bounds is not there.
    ///
    /// # Errors
    /// [`Miss`].
    pub fn tail(&self, path: impl AsRef<Path>, most: u64, bounds: Bounds) -> Result<(Vec<u8>, bool), Miss> {
        self.look(path, move |p| {
            let (mut file, _) = bounds.open(p)?;
            let begin = file.metadata()?.len().saturating_sub(most);
            file.seek(SeekFrom::Start(begin))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok((bytes, begin > 0))
        })
    }
}

/// The bytes of a file of the kernel's; opening it never waits.
pub(super) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    bounded(named_file::open(path, Kinds::File)?)
}

/// The bytes of an open file; a longer one is none of those looked for.
fn bounded(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE { Err(io::ErrorKind::InvalidData.into()) } else { Ok(bytes) }
}

fn text(bytes: Vec<u8>) -> Result<String, Miss> {
    String::from_utf8(bytes).map_err(|_| Miss::Unreadable)
}

impl LogDirs {
    /// The bounds of these directories on the machine of `root`.
    pub fn bounds(&self, root: &Root) -> Bounds {
        self.bounds_below(root.path("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::discover::LogDirs;
    use crate::observe::tests::Temp;
    use std::process::Command;

    #[test]
    fn what_hangs_is_left_behind() {
        let temp = Temp::new();
        let fifo = temp.path("etc/pipe");
        temp.write("etc/x", "");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let root = temp.root().with_deadline(Duration::from_millis(50));
        let hangs = || root.look("/etc/pipe", |pipe| File::open(pipe).map(|_| ()));
        assert_eq!(hangs(), Err(Miss::Hangs));
        assert_eq!(hangs(), Err(Miss::Hangs), "it is not begun again");
        assert_eq!(root.walk("/etc/pipe", |_| ()), Ok(()), "what looks below it does not wait for it");
        assert_eq!(root.read("/etc/none"), Err(Miss::Absent));
        assert_eq!(root.names("/etc").unwrap(), ["pipe", "x"]);
    }

    #[test]
    fn the_end_of_a_file_and_of_none_that_lies_elsewhere() {
        let temp = Temp::new();
        temp.write("var/lib/docker/containers/log", "0123456789");
        temp.write("etc/shadow", "hunter2");
        temp.write("var/log/pods/x", "");
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(Path::new("/").join(to), temp.path(at)).unwrap();
        link("var/lib/docker/containers/log", "var/log/pods/0.log");
        link("etc/shadow", "var/log/pods/1.log");
        assert!(Command::new("mkfifo").arg(temp.path("var/log/pods/pipe")).status().unwrap().success());
        let tail = |path: &str, most| temp.root().tail(path, most, LogDirs::default().bounds(&temp.root()));
        assert_eq!(tail("/var/log/pods/0.log", 4), Ok((b"6789".to_vec(), true)));
        assert_eq!(tail("/var/log/pods/0.log", 10), Ok((b"0123456789".to_vec(), false)));
        for elsewhere in ["/var/log/pods/1.log", "/etc/shadow", "/var/log/../../etc/shadow"] {
            assert_eq!(tail(elsewhere, 4), Err(Miss::Absent), "{elsewhere}");
        }
        assert_eq!(tail("/var/log/pods/pipe", 4), Err(Miss::Unreadable));
        assert_eq!(tail("/var/log/pods", 4), Err(Miss::Unreadable));
    }

    #[test]
    fn only_files_are_read_and_none_that_is_cut() {
        let temp = Temp::new();
        temp.write("dir/long", "");
        assert!(Command::new("mkfifo").arg(temp.path("pipe")).status().unwrap().success());
        File::options().write(true).open(temp.path("dir/long")).unwrap().set_len(1 << 30).unwrap();
        for path in ["/pipe", "/dir", "/dir/long"] {
            assert_eq!(temp.root().read(path), Err(Miss::Unreadable), "{path}");
        }
        assert_eq!(temp.root().may_read("/pipe"), Err(Miss::Unreadable));
        assert_eq!(temp.root().may_read("/dir/long"), Ok(()));
    }
}
