//! Limits the files that are opened as container logs: pods can mount these directories and create links in them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::defaults::{POD_LOGS, ROOT_DIR};
use crate::trust::{Owners, Policy, resolve};

/// Directories of logs; docker's are the targets of the kubelet's links.
const BELOW: [&str; 2] = ["/var/log", "/var/lib/docker/containers"];
/// Directories of secrets.
const NEVER: [&str; 2] = [ROOT_DIR, "/var/lib/etcd"];

/// The kubelet's directories, as far as logs need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirs {
    /// `podLogsDir`: the runtime writes container logs there.
    pub pods: PathBuf,
    /// `--root-dir`; it contains the volumes, secrets included.
    pub kubelet: PathBuf,
}

impl Default for LogDirs {
    fn default() -> Self {
        Self { pods: POD_LOGS.into(), kubelet: ROOT_DIR.into() }
    }
}

/// Directories to which opened files are limited, and directories that are excluded.
#[derive(Clone, Debug)]
pub struct Bounds {
    root: PathBuf,
    below: Vec<PathBuf>,
    never: Vec<PathBuf>,
}

impl LogDirs {
    /// The bounds of these directories on the machine whose files are below `root`.
    pub fn bounds_below(&self, root: PathBuf) -> Bounds {
        let below = BELOW.iter().map(Path::new).chain([self.pods.as_path()]);
        let never = NEVER.iter().map(Path::new).chain([self.kubelet.as_path()]);
        // A configured log directory wins over an excluded one.
        let never = never.filter(|dir| !self.pods.starts_with(dir));
        let all = |dirs: &mut dyn Iterator<Item = &Path>| dirs.map(Path::to_owned).collect();
        Bounds { root, below: all(&mut below.into_iter()), never: all(&mut never.into_iter()) }
    }
}

impl Bounds {
    /// Opens a regular file and returns its path after symbolic links; `path` starts with the root. Blocks.
    ///
    /// # Errors
    /// When it does not exist, is outside the bounds, not a regular file, not readable, or not trusted: a user other than root
    /// could have created it.
    pub fn open(&self, path: &Path) -> io::Result<(File, PathBuf)> {
        let at = |path: &Path| resolve(&self.root, path, Policy::Shown(Owners::of_process()));
        let within = |dirs: &[PathBuf], path: &Path| {
            dirs.iter().filter_map(|dir| at(dir).ok()).any(|dir| path.starts_with(dir.path()))
        };
        let resolved = at(path.strip_prefix(&self.root).unwrap_or(path))?;
        let real = resolved.path();
        if within(&self.below, real) && !within(&self.never, real) {
            Ok((resolved.open()?, self.root.join(real.strip_prefix("/").unwrap_or(real))))
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;
    use std::fs;

    fn text(temp: &Temp, places: &LogDirs, path: &str) -> io::Result<String> {
        let (file, _) = places.bounds(&temp.root()).open(&temp.path(path))?;
        io::read_to_string(file)
    }

    #[test]
    fn links_to_secrets_are_not_followed() {
        let temp = Temp::new();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(Path::new("/").join(to), temp.path(at)).unwrap();
        temp.write("var/log/pods/a/0.log", "of cri");
        temp.write("var/lib/docker/containers/c/c-json.log", "of docker");
        link("var/lib/docker/containers/c/c-json.log", "var/log/pods/a/1.log");
        let secrets =
            ["var/lib/kubelet/pods/u/volumes/s/token", "var/lib/etcd/wal", "data/kubelet/token", "var/lib/other"];
        for (i, secret) in secrets.iter().enumerate() {
            temp.write(secret, "hunter2");
            link(secret, &format!("var/log/pods/a/{}.log", i + 2));
        }
        let own = LogDirs { kubelet: "/data/kubelet".into(), ..LogDirs::default() };
        for places in [LogDirs::default(), own] {
            let text = |n: usize| text(&temp, &places, &format!("var/log/pods/a/{n}.log"));
            assert_eq!((text(0).unwrap(), text(1).unwrap()), ("of cri".into(), "of docker".into()));
            for secret in 2..6 {
                assert_eq!(text(secret).unwrap_err().kind(), io::ErrorKind::NotFound, "{secret}");
            }
        }
    }

    #[test]
    fn the_log_directory_can_be_a_link_but_not_into_the_kubelets_directory() {
        let temp = Temp::new();
        let link = |to: &str| {
            _ = fs::remove_file(temp.path("var/log/pods"));
            std::os::unix::fs::symlink(Path::new("/").join(to), temp.path("var/log/pods")).unwrap();
        };
        temp.write("data/pods/0.log", "elsewhere");
        temp.write("var/lib/kubelet/pods/0.log", "hunter2");
        temp.write("var/log/x", "");
        link("data/pods");
        assert_eq!(text(&temp, &LogDirs::default(), "var/log/pods/0.log").unwrap(), "elsewhere");
        link("var/lib/kubelet/pods");
        assert!(text(&temp, &LogDirs::default(), "var/log/pods/0.log").is_err());
        let within = LogDirs { pods: "/var/lib/kubelet/pods".into(), ..LogDirs::default() };
        assert_eq!(text(&temp, &within, "var/lib/kubelet/pods/0.log").unwrap(), "hunter2", "the configured directory");
    }
}
