//! Owns where the files of containers' logs may really lie: pods may mount these directories, and put links there.
//! It must not follow one to what the kubelet keeps for a pod, nor open what is no file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::Root;
use super::kubelet::{POD_LOGS, ROOT_DIR};
use crate::trust::{Owners, Policy, resolve};

/// Where logs lie besides: docker's, to which the kubelet's are links.
const BELOW: [&str; 2] = ["/var/log", "/var/lib/docker/containers"];
/// Where secrets lie.
const NEVER: [&str; 2] = [ROOT_DIR, "/var/lib/etcd"];

/// The directories of a kubelet that matter to logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirs {
    /// Where it has the runtime put the logs of containers.
    pub pods: PathBuf,
    /// Its root directory, in which volumes are, secrets among them.
    pub kubelet: PathBuf,
}

impl Default for LogDirs {
    fn default() -> Self {
        Self { pods: POD_LOGS.into(), kubelet: ROOT_DIR.into() }
    }
}

/// Directories outside of which no file is opened, and those within which none is.
#[derive(Clone, Debug)]
pub struct Bounds {
    root: PathBuf,
    below: Vec<PathBuf>,
    never: Vec<PathBuf>,
}

impl LogDirs {
    /// The same on a machine, as it is seen below `root`.
    pub fn bounds(&self, root: &Root) -> Bounds {
        let below = BELOW.iter().map(Path::new).chain([self.pods.as_path()]);
        let never = NEVER.iter().map(Path::new).chain([self.kubelet.as_path()]);
        // Who has logs put there means it.
        let never = never.filter(|dir| !self.pods.starts_with(dir));
        let all = |dirs: &mut dyn Iterator<Item = &Path>| dirs.map(Path::to_owned).collect();
        Bounds { root: root.path("/"), below: all(&mut below.into_iter()), never: all(&mut never.into_iter()) }
    }
}

impl Bounds {
    /// Opens a regular file, given with the root that it is below, and says where it really is. What a link leads out of
    /// bounds is not there. Blocks.
    ///
    /// # Errors
    /// When it is not there, not a regular file, not allowed, or when others than root could have put it there.
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
    fn no_link_leads_to_a_secret() {
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
    fn the_directory_itself_may_be_a_link_but_not_into_the_kubelets() {
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
        assert_eq!(text(&temp, &within, "var/lib/kubelet/pods/0.log").unwrap(), "hunter2", "it was configured");
    }
}
