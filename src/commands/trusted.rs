//! Files of our own that are read without being named, configuration and a team's runbook: left out, with a note, when
//! others than root (or the user that runs the program) could have written them.

use std::path::{Path, PathBuf};

use super::out;
use crate::trust::{Distrust, KnownFile, Owners};

/// True unless the file is not trusted, which is noted. One that is not there or not readable is for its reader to report.
pub(super) fn is_believed(path: &Path) -> bool {
    noted(path, distrust(path))
}

/// The same of a folder and every file in it.
pub(super) fn is_believed_folder(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let all: Vec<PathBuf> = std::iter::once(folder.to_owned()).chain(entries).collect();
    noted(folder, all.iter().find_map(|path| distrust(path)))
}

fn distrust(path: &Path) -> Option<Distrust> {
    KnownFile::Named(path.to_owned()).distrust(Owners::of_process()).ok().flatten()
}

fn noted(path: &Path, distrust: Option<Distrust>) -> bool {
    if let Some(distrust) = &distrust {
        out::note(&format!("{} is left out: {distrust}", path.display()));
    }
    distrust.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_everybody_can_write_to_is_left_out() {
        let folder = std::env::temp_dir().join(format!("kpodtrace-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("team.toml"), "").unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(is_believed_folder(&folder) && is_believed(&folder.join("team.toml")));
        mode(&folder.join("team.toml"), 0o666);
        assert!(!is_believed_folder(&folder) && !is_believed(&folder.join("team.toml")));
        mode(&folder.join("team.toml"), 0o644);
        mode(&folder, 0o777);
        assert!(!is_believed_folder(&folder) && !is_believed(&folder.join("team.toml")));
        assert!(is_believed(Path::new("/none/config.toml")), "its reader reports what is not there");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
