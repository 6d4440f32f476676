//! Owns the way to the runtime's socket: what is seen there before connecting, and the connection.
//! It must not send anything through it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use super::call_error::root;
use crate::observation::{ErrorKind, SourceError};
use crate::observe::SourceFailure;
use crate::trust::{KnownFile, distrust_of};

/// What to do about a socket that others than root could have made.
const UNTRUSTED: &str = "if it is the runtime's, name it: --runtime-endpoint unix://PATH";
/// For looking at the socket, and again for connecting: both are answered by the kernel alone.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Connects to the socket, after a look at what is there: one that was discovered must be root's alone each time.
pub(super) async fn connect(file: &KnownFile) -> Result<Channel, SourceFailure> {
    let path = file.path();
    let looked = {
        let file = file.clone();
        tokio::task::spawn_blocking(move || {
            let real = file.socket();
            let seen = std::fs::metadata(real.as_deref().unwrap_or(file.path()));
            (real, seen)
        })
    };
    let (real, seen) = match timeout(CONNECT_DEADLINE, looked).await {
        Ok(Ok((Ok(real), Ok(seen)))) => (real, seen),
        Ok(Ok((Err(error), _) | (_, Err(error)))) if distrust_of(&error).is_some() => {
            return Err(retry(path, &error.to_string(), ErrorKind::Denied, UNTRUSTED));
        }
        Ok(Ok((Err(_), Ok(seen)))) if !seen.file_type().is_socket() => return Err(no_socket(path, &seen)),
        Ok(Ok((Err(error), _) | (_, Err(error)))) => return Err(unusable(path, &error, None)),
        Ok(Err(_)) | Err(_) => return Err(late(path, "looking at the socket")),
    };
    let Some(address) = real.to_str() else {
        return Err(retry(path, "the path is not UTF-8", ErrorKind::Other, "give the socket a path in UTF-8"));
    };
    let endpoint = Endpoint::from_shared(format!("unix://{address}"))
        .map_err(|error| retry(path, &root(&error), ErrorKind::Other, ""))?;
    match timeout(CONNECT_DEADLINE, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(match io_error(&error) {
            Some(error) => unusable(path, error, Some(&seen)),
            None => retry(path, &root(&error), ErrorKind::Unreachable, ""),
        }),
        Err(_) => Err(late(path, "connecting")),
    }
}

fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        next = error.source();
    }
    None
}

/// The kernel said no.
fn unusable(path: &Path, error: &io::Error, seen: Option<&Metadata>) -> SourceFailure {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let socket = seen.map(|m| (m.mode(), m.gid()));
            SourceFailure::Forbidden(denied(path, socket, &groups))
        }
        io::ErrorKind::NotFound => retry(
            path,
            "there is no such file",
            ErrorKind::Unreachable,
            "is the runtime running? systemctl status containerd (or crio); another socket: --runtime-endpoint",
        ),
        io::ErrorKind::ConnectionRefused => retry(
            path,
            "the socket is there and nobody listens",
            ErrorKind::Unreachable,
            "the runtime is not running: systemctl status containerd (or crio)",
        ),
        io::ErrorKind::WouldBlock => retry(
            path,
            "the socket's queue is full: the runtime does not accept connections",
            ErrorKind::Timeout,
            "the runtime is stopped or hangs: look at its log",
        ),
        _ => retry(path, &error.to_string(), ErrorKind::Unreachable, ""),
    }
}

/// A refusal by the file system. `socket` is its mode and group, where its folder may be searched at all.
fn denied(path: &Path, socket: Option<(u32, u32)>, groups: &str) -> SourceError {
    let root = "run it as root: sudo kpodtrace";
    let (seen, fix) = match socket {
        Some((mode, gid)) => {
            let group = group_name(groups, gid).map_or_else(|| gid.to_string(), str::to_owned);
            let seen = format!("permission denied (mode {:o}, group {group})", mode & 0o7777);
            let fix = if gid != 0 && mode & 0o060 == 0o060 {
                format!(
                    "{root}, or as a member of the group {group}: sudo usermod -aG {group} $USER, then log in again"
                )
            } else {
                root.to_owned()
            };
            (seen, fix)
        }
        None => ("permission denied: its folder may not be searched".to_owned(), root.to_owned()),
    };
    SourceError { tried: format!("{}: {seen}", path.display()).into(), kind: ErrorKind::Denied, fix: fix.into() }
}

fn group_name(groups: &str, gid: u32) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then_some(name)
    })
}

fn no_socket(path: &Path, seen: &Metadata) -> SourceFailure {
    let what = if seen.is_dir() { "a folder" } else { "a file" };
    retry(
        path,
        &format!("this is {what} and not a socket"),
        ErrorKind::Unreachable,
        "give the socket that the kubelet uses: --runtime-endpoint",
    )
}

fn late(path: &Path, doing: &str) -> SourceFailure {
    let seconds = CONNECT_DEADLINE.as_secs();
    retry(path, &format!("{doing} took longer than {seconds} s"), ErrorKind::Timeout, "")
}

fn retry(path: &Path, what: &str, kind: ErrorKind, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: format!("{}: {what}", path.display()).into(), kind, fix: fix.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\ndocker:x:998:joe\nbroken\n";

    #[test]
    fn who_may_use_the_socket_is_said() {
        let told = |socket| denied(Path::new("/run/c.sock"), socket, GROUPS);
        let own = told(Some((0o140660, 998)));
        assert_eq!(own.tried, "/run/c.sock: permission denied (mode 660, group docker)");
        assert_eq!(own.kind, ErrorKind::Denied);
        assert!(own.fix.contains("usermod -aG docker"), "{}", own.fix);
        let root = "run it as root: sudo kpodtrace";
        assert_eq!(told(Some((0o140660, 0))).fix, root);
        assert_eq!(told(Some((0o140600, 998))).fix, root, "the group may not");
        assert!(told(Some((0o140660, 7))).fix.contains("group 7:"), "a group without a name");
        assert_eq!(told(None).fix, root);
    }

    #[test]
    fn a_refusal_by_the_kernel_is_forbidden() {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(matches!(unusable(Path::new("/x"), &error, None), SourceFailure::Forbidden(_)));
        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(matches!(unusable(Path::new("/x"), &error, None), SourceFailure::Retry(_)));
    }
}
