//! Configuration and runbook files at fixed paths: ignored, with a note, if users other than root and the current user
//! could have written them.

use std::path::{Path, PathBuf};

use super::out;
use crate::trust::{Distrust, KnownFile, Owners};

/// Whether the file is trusted; prints a note if not. True for a missing or unreadable file, which its reader reports.
pub(super) fn is_trusted(path: &Path) -> bool {
    note_distrust(path, distrust(path))
}

/// The same for a folder and every file in it.
pub(super) fn is_trusted_folder(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let all: Vec<PathBuf> = std::iter::once(folder.to_owned()).chain(entries).collect();
    note_distrust(folder, all.iter().find_map(|path| distrust(path)))
}

fn distrust(path: &Path) -> Option<Distrust> {
    KnownFile::Named(path.to_owned()).distrust(Owners::of_process()).ok().flatten()
}

fn note_distrust(path: &Path, distrust: Option<Distrust>) -> bool {
    if let Some(distrust) = &distrust {
        out::note(&format!("{} is ignored: {distrust}", path.display()));
    }
    distrust.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_world_writable_folder_is_ignored() {
        let folder = std::env::temp_dir().join(format!("kpodtrace-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("team.toml"), "").unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(is_trusted_folder(&folder) && is_trusted(&folder.join("team.toml")));
        mode(&folder.join("team.toml"), 0o666);
        assert!(!is_trusted_folder(&folder) && !is_trusted(&folder.join("team.toml")));
        mode(&folder.join("team.toml"), 0o644);
        mode(&folder, 0o777);
        assert!(!is_trusted_folder(&folder) && !is_trusted(&folder.join("team.toml")));
        assert!(is_trusted(Path::new("/none/config.toml")), "its reader reports a missing file");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
