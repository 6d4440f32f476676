//! Temporary root directories for unit tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::discover::Root;

/// A directory that is removed with the value.
pub struct Temp(PathBuf);

impl Temp {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("kpodtrace-unit-{}-{n}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn root(&self) -> Root {
        Root::new(&self.0)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A process of root with its command line and its program, in the namespaces of PID 1 and the cgroup of its unit, on a
    /// machine with systemd.
    pub fn process(&self, pid: u32, argv: &[&str], cgroup: &str) {
        if !self.path("proc/1").exists() {
            self.write("run/systemd/system/x", "");
            self.write("proc/1/cgroup", "0::/init.scope\n");
            self.namespaces("1");
            self.namespaces("self");
        }
        let line: Vec<u8> = argv.iter().flat_map(|a| a.bytes().chain([0])).collect();
        self.write(&format!("proc/{pid}/cmdline"), line);
        self.write(&format!("proc/{pid}/cgroup"), format!("0::{cgroup}\n"));
        self.write(&format!("proc/{pid}/status"), "Name:\tx\nUid:\t0\t0\t0\t0\n");
        self.namespaces(&pid.to_string());
        let name = argv.first().and_then(|a| a.split(' ').next()?.rsplit('/').next()).unwrap_or("program");
        let program = format!("usr/bin/{name}");
        self.write(&program, "");
        self.mode(&program, 0o755);
        self.link(self.path(&program).to_str().unwrap(), &format!("proc/{pid}/exe"));
    }

    fn namespaces(&self, pid: &str) {
        for (i, name) in ["user", "pid", "mnt", "cgroup", "net"].into_iter().enumerate() {
            self.link(&format!("{name}:[402653183{i}]"), &format!("proc/{pid}/ns/{name}"));
        }
    }

    /// A symbolic link at `at`, which replaces what exists there.
    pub fn link(&self, to: &str, at: &str) {
        let at = self.0.join(at);
        fs::create_dir_all(at.parent().unwrap_or(Path::new("/"))).unwrap();
        _ = fs::remove_file(&at);
        std::os::unix::fs::symlink(to, at).unwrap();
    }

    /// Permissions of a file or directory.
    pub fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.0.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn socket(&self, path: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A client certificate as a kubelet has one.
pub fn of_node(name: &str) -> String {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, name);
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    let key = KeyPair::generate().unwrap();
    format!("{}{}", key.serialize_pem(), params.self_signed(&key).unwrap().pem())
}
