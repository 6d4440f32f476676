//! The rule on real files, of this user and, as root, of an unprivileged user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::*;

/// A directory that goes away with the value.
struct Dir(PathBuf);

/// An unused user id: the owner of an unprivileged twin's files.
const NOBODY: u32 = 65534;

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("kpodtrace-trust-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, path: &str, mode: u32) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "text").unwrap();
        self.mode(&path, mode);
        path
    }

    fn mode(&self, path: &Path, mode: u32) {
        fs::set_permissions(self.0.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn link(&self, to: &str, at: &str) {
        symlink(to, self.0.join(at)).unwrap();
    }

    fn read(&self, path: &str) -> Result<String, DistrustReason> {
        let file = KnownFile::Discovered { root: self.0.clone(), path: Path::new("/").join(path) };
        file.text().map_err(|e| distrust_of(&e).unwrap_or_else(|| panic!("{path}: {e}")).reason)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_others_can_write_is_not_believed() {
    let dir = Dir::new("writable");
    dir.write("etc/honest", 0o644);
    assert_eq!(dir.read("etc/honest"), Ok("text".into()));
    dir.write("etc/all", 0o646);
    assert_eq!(dir.read("etc/all"), Err(DistrustReason::WritableByAll));
    dir.write("open/file", 0o644);
    dir.mode(Path::new("open"), 0o777);
    assert_eq!(dir.read("open/file"), Err(DistrustReason::WritableByAll));
    dir.mode(Path::new("open"), 0o1777);
    assert_eq!(dir.read("open/file"), Ok("text".into()), "sticky, and the file is ours");
    fs::hard_link(dir.0.join("open/file"), dir.0.join("open/second")).unwrap();
    assert_eq!(dir.read("open/file"), Err(DistrustReason::HardLink));
}

#[test]
fn links_pass_if_link_and_target_pass() {
    let dir = Dir::new("links");
    dir.write("pki/kubelet-client-2026.pem", 0o600);
    dir.link("/pki/kubelet-client-2026.pem", "pki/kubelet-client-current.pem");
    dir.link("../pki/kubelet-client-2026.pem", "pki/relative.pem");
    fs::create_dir_all(dir.0.join("var")).unwrap();
    dir.link("../pki", "var/run");
    dir.link("../../../../../../../../etc/passwd", "pki/out");
    dir.link("loop", "pki/loop");
    for path in ["pki/kubelet-client-current.pem", "pki/relative.pem", "var/run/kubelet-client-2026.pem"] {
        assert_eq!(dir.read(path), Ok("text".into()), "{path}");
    }
    let open = |path: &str| KnownFile::Discovered { root: dir.0.clone(), path: path.into() }.open();
    assert_eq!(open("/pki/out").unwrap_err().kind(), std::io::ErrorKind::NotFound, "the root is not left");
    assert_eq!(open("/pki/loop").unwrap_err().raw_os_error(), Some(40));
    assert!(open("/pki").unwrap_err().to_string().contains("directory"));
}

#[test]
fn a_folder_of_the_users_is_not_left_by_links() {
    let dir = Dir::new("inside");
    dir.write("in/a", 0o644);
    dir.write("secret", 0o600);
    dir.link("a", "in/b");
    dir.link("../secret", "in/up");
    dir.link(dir.0.join("secret").to_str().unwrap(), "in/absolute");
    let open = |name: &str| resolve(&dir.0.join("in"), Path::new(name), Policy::Inside).and_then(|r| r.open());
    assert!(open("a").is_ok() && open("b").is_ok());
    for name in ["up", "absolute", "../secret"] {
        assert_eq!(distrust_of(&open(name).unwrap_err()).unwrap().reason, DistrustReason::LinkLeavesFolder, "{name}");
    }
}

#[test]
fn workload_places_are_refused_with_any_owner() {
    let dir = Dir::new("volumes");
    dir.write("var/lib/kubelet/pods/u/volumes/v/kubeconfig", 0o600);
    dir.write("var/lib/kubelet/kubeconfig", 0o600);
    dir.link("/var/lib/kubelet/pods/u/volumes/v/kubeconfig", "var/lib/kubelet/linked");
    assert_eq!(dir.read("var/lib/kubelet/pods/u/volumes/v/kubeconfig"), Err(DistrustReason::WorkloadPlace));
    assert_eq!(dir.read("var/lib/kubelet/linked"), Err(DistrustReason::WorkloadPlace));
    assert_eq!(dir.read("var/lib/kubelet/kubeconfig"), Ok("text".into()));
}

#[test]
fn only_regular_files_of_a_bounded_length_are_read() {
    let dir = Dir::new("kinds");
    dir.write("x", 0o600);
    drop(std::os::unix::net::UnixListener::bind(dir.0.join("socket")).unwrap());
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.0.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fs::File::create(dir.0.join("long")).unwrap().set_len(1 << 30).unwrap();
    fs::write(dir.0.join("binary"), b"\xff").unwrap();
    for named in [true, false] {
        let text = |name: &str| {
            let file = match named {
                true => KnownFile::Named(dir.0.join(name)),
                false => KnownFile::Discovered { root: dir.0.clone(), path: Path::new("/").join(name) },
            };
            file.text().map_err(|e| e.to_string())
        };
        assert_eq!(text("x"), Ok("text".into()));
        assert_eq!(text("long"), Err("it is longer than 1 MiB".into()));
        assert_eq!(text("binary"), Err("it is not text".into()));
        for name in ["pipe", "socket"] {
            assert!(text(name).unwrap_err().contains("it is a"), "{name}");
        }
    }
    assert!(KnownFile::from("/dev/zero").open().is_err());
}

#[test]
fn programs_are_found_in_fixed_directories_alone() {
    let owners = Owners::of_process();
    assert!(find_program("sh", owners).unwrap().is_absolute());
    assert_eq!(find_program("kpodtrace-no-such-program", owners).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    assert!(find_program("./sh", owners).is_err() && find_program("", owners).is_err());
}

/// The twins need a second user, and root alone can act as another user. For any other user, the owner is that user, which is trusted.
#[test]
fn what_an_unprivileged_user_owns_is_not_believed_by_root() {
    if !Owners::of_process().is_root() {
        let other = Owners::of_user(Owners::of_process_uid() + 1);
        let dir = Dir::new("other");
        let path = dir.write("file", 0o644);
        let file = KnownFile::Named(path);
        let reason = file.distrust(other).unwrap().unwrap().reason;
        assert_eq!(reason, DistrustReason::Owner(Owners::of_process_uid()));
        return;
    }
    let dir = Dir::new("twin");
    let give = |path: &str| chown(dir.0.join(path), Some(NOBODY), Some(NOBODY)).unwrap();
    dir.write("home/config", 0o644);
    give("home/config");
    assert_eq!(dir.read("home/config"), Err(DistrustReason::Owner(NOBODY)), "the file is the twin's");
    dir.write("home2/config", 0o644);
    give("home2");
    assert_eq!(dir.read("home2/config"), Err(DistrustReason::Owner(NOBODY)), "the directory is the twin's");
    dir.write("tmp/config", 0o644);
    dir.mode(Path::new("tmp"), 0o1777);
    give("tmp/config");
    assert_eq!(dir.read("tmp/config"), Err(DistrustReason::Owner(NOBODY)), "sticky, but the file is the twin's");
    dir.write("etc/real", 0o600);
    dir.link("/etc/real", "tmp/link");
    std::os::unix::fs::lchown(dir.0.join("tmp/link"), Some(NOBODY), Some(NOBODY)).unwrap();
    assert_eq!(dir.read("tmp/link"), Err(DistrustReason::Owner(NOBODY)), "the link is the twin's, the target root's");
    dir.write("group/config", 0o644);
    chown(dir.0.join("group"), Some(0), Some(NOBODY)).unwrap();
    dir.mode(Path::new("group"), 0o775);
    assert_eq!(dir.read("group/config"), Err(DistrustReason::WritableByGroup(NOBODY)));
}
