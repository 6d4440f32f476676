//! Connects to the runtime's socket, after a check of the file.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use crate::observation::{ErrorKind, SourceError};
use crate::observe::SourceFailure;
use crate::observe::error_chain::{find, root_text};
use crate::trust::{KnownFile, distrust_of};

/// Remedy for a socket that others than root can have created.
const UNTRUSTED: &str = "if it is the runtime's, name it: --runtime-endpoint unix://PATH";
/// For checking the file, and again for connecting: the kernel alone does both.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Connects to the socket. A discovered socket must be writable by root alone, which is checked each time.
pub(super) async fn connect(file: &KnownFile) -> Result<Channel, SourceFailure> {
    let path = file.path();
    let checked = {
        let file = file.clone();
        tokio::task::spawn_blocking(move || {
            let real = file.socket();
            let metadata = std::fs::metadata(real.as_deref().unwrap_or(file.path()));
            (real, metadata)
        })
    };
    let (real, metadata) = match timeout(CONNECT_DEADLINE, checked).await {
        Ok(Ok((Ok(real), Ok(metadata)))) => (real, metadata),
        Ok(Ok((Err(error), _) | (_, Err(error)))) if distrust_of(&error).is_some() => {
            return Err(retry(path, &error.to_string(), ErrorKind::Denied, UNTRUSTED));
        }
        Ok(Ok((Err(_), Ok(metadata)))) if !metadata.file_type().is_socket() => {
            return Err(not_a_socket(path, &metadata));
        }
        Ok(Ok((Err(error), _) | (_, Err(error)))) => return Err(unusable(path, &error, None)),
        Ok(Err(_)) | Err(_) => return Err(timed_out(path, "checking the socket")),
    };
    let Some(address) = real.to_str() else {
        return Err(retry(path, "the path is not UTF-8", ErrorKind::Other, "use a path in UTF-8"));
    };
    let endpoint = Endpoint::from_shared(format!("unix://{address}"))
        .map_err(|error| retry(path, &root_text(&error), ErrorKind::Other, ""))?;
    match timeout(CONNECT_DEADLINE, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(match find::<io::Error>(&error) {
            Some(error) => unusable(path, error, Some(&metadata)),
            None => retry(path, &root_text(&error), ErrorKind::Unreachable, ""),
        }),
        Err(_) => Err(timed_out(path, "connecting")),
    }
}

/// The kernel refused the connection.
fn unusable(path: &Path, error: &io::Error, metadata: Option<&Metadata>) -> SourceFailure {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let socket = metadata.map(|m| (m.mode(), m.gid()));
            SourceFailure::Forbidden(denied(path, socket, &groups))
        }
        io::ErrorKind::NotFound => retry(
            path,
            "no such file",
            ErrorKind::Unreachable,
            "check the runtime: systemctl status containerd (or crio); name another socket with --runtime-endpoint",
        ),
        io::ErrorKind::ConnectionRefused => retry(
            path,
            "connection refused: no process listens on the socket",
            ErrorKind::Unreachable,
            "start the runtime: systemctl status containerd (or crio)",
        ),
        io::ErrorKind::WouldBlock => retry(
            path,
            "the socket's queue is full: the runtime does not accept connections",
            ErrorKind::Timeout,
            "the runtime is stopped or hangs: read its log",
        ),
        _ => retry(path, &error.to_string(), ErrorKind::Unreachable, ""),
    }
}

/// Permission denied. `socket` is its mode and group; None when its folder cannot be searched.
fn denied(path: &Path, socket: Option<(u32, u32)>, groups: &str) -> SourceError {
    let root = "run as root: sudo kpodtrace";
    let (problem, fix) = match socket {
        Some((mode, gid)) => {
            let group = group_name(groups, gid).map_or_else(|| gid.to_string(), str::to_owned);
            let problem = format!("permission denied (mode {:o}, group {group})", mode & 0o7777);
            let fix = if gid != 0 && mode & 0o060 == 0o060 {
                format!(
                    "{root}, or as a member of the group {group}: sudo usermod -aG {group} $USER, then log in again"
                )
            } else {
                root.to_owned()
            };
            (problem, fix)
        }
        None => ("permission denied: its folder cannot be searched".to_owned(), root.to_owned()),
    };
    SourceError { tried: format!("{}: {problem}", path.display()).into(), kind: ErrorKind::Denied, fix: fix.into() }
}

fn group_name(groups: &str, gid: u32) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then_some(name)
    })
}

fn not_a_socket(path: &Path, metadata: &Metadata) -> SourceFailure {
    let what = if metadata.is_dir() { "a folder" } else { "a file" };
    retry(
        path,
        &format!("this is {what} and not a socket"),
        ErrorKind::Unreachable,
        "name the socket that the kubelet uses: --runtime-endpoint",
    )
}

fn timed_out(path: &Path, doing: &str) -> SourceFailure {
    let seconds = CONNECT_DEADLINE.as_secs();
    retry(path, &format!("{doing} took longer than {seconds}s"), ErrorKind::Timeout, "")
}

fn retry(path: &Path, what: &str, kind: ErrorKind, fix: &str) -> SourceFailure {
    SourceFailure::Retry(SourceError { tried: format!("{}: {what}", path.display()).into(), kind, fix: fix.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\ndocker:x:998:joe\nbroken\n";

    #[test]
    fn the_remedy_depends_on_the_sockets_permissions() {
        let error = |socket| denied(Path::new("/run/c.sock"), socket, GROUPS);
        let own = error(Some((0o140660, 998)));
        assert_eq!(own.tried, "/run/c.sock: permission denied (mode 660, group docker)");
        assert_eq!(own.kind, ErrorKind::Denied);
        assert!(own.fix.contains("usermod -aG docker"), "{}", own.fix);
        let root = "run as root: sudo kpodtrace";
        assert_eq!(error(Some((0o140660, 0))).fix, root);
        assert_eq!(error(Some((0o140600, 998))).fix, root, "the group cannot write");
        assert!(error(Some((0o140660, 7))).fix.contains("group 7:"), "a group without a name");
        assert_eq!(error(None).fix, root);
    }

    #[test]
    fn permission_denied_is_forbidden() {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(matches!(unusable(Path::new("/x"), &error, None), SourceFailure::Forbidden(_)));
        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(matches!(unusable(Path::new("/x"), &error, None), SourceFailure::Retry(_)));
    }
}
