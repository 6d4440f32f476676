//! Owns the temporary roots of unit tests.
//! It must not be built into the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::discover::Root;

/// A directory that goes away with the value.
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

    /// A process with its command line, and its unit as its control group.
    pub fn process(&self, pid: u32, argv: &[&str], cgroup: &str) {
        let line: Vec<u8> = argv.iter().flat_map(|a| a.bytes().chain([0])).collect();
        self.write(&format!("proc/{pid}/cmdline"), line);
        self.write(&format!("proc/{pid}/cgroup"), format!("0::{cgroup}\n"));
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

/// A client certificate as a kubelet has it.
pub fn of_node(name: &str) -> String {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "system:nodes");
    subject.push(DnType::CommonName, name);
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    let key = KeyPair::generate().unwrap();
    format!("{}{}", key.serialize_pem(), params.self_signed(&key).unwrap().pem())
}
