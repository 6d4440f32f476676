//! Files for what reads files: one folder for each thread, in memory where the machine has such a place.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is gone with the value.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let name = format!("kpodtrace-fuzz-{}-{number}", std::process::id());
        // A folder of that name need not be in memory, nor open to this user.
        let memory = Path::new("/dev/shm").join(&name);
        if fs::create_dir_all(&memory).is_ok() {
            return Self(memory);
        }
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Files from an input: each starts with a line `=== NAME`. Bytes before the first are dropped.
    pub fn files(&self, input: &[u8]) {
        let mut file: Option<(String, Vec<u8>)> = None;
        for line in input.split_inclusive(|b| *b == b'\n') {
            match line.strip_prefix(b"=== ") {
                Some(name) => {
                    self.keep(file.take());
                    file = name_of(name).map(|name| (name, Vec::new()));
                }
                None => file.iter_mut().for_each(|(_, content)| content.extend_from_slice(line)),
            }
        }
        self.keep(file);
    }

    fn keep(&self, file: Option<(String, Vec<u8>)>) {
        // A name may be that of a folder by now: such a file is not there.
        if let Some((name, content)) = file
            && let Some(dir) = self.0.join(&name).parent()
            && fs::create_dir_all(dir).is_ok()
        {
            _ = fs::write(self.0.join(&name), content);
        }
    }
}

/// A name that stays in the folder.
fn name_of(line: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(line).ok()?.trim();
    let plain = !name.is_empty() && name.len() < 200 && !name.contains('\0');
    (plain && Path::new(name).components().all(|c| matches!(c, std::path::Component::Normal(_))))
        .then(|| name.to_owned())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
