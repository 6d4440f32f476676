//! Entry points of fuzz targets to parsers that are private to this layer.

use std::path::Path;

pub use super::api::fuzzing as api;
pub use super::cri::fuzzing as cri;
pub use super::discover::fuzzing as discover;
pub use super::kubelet::fuzzing as kubelet;
pub use super::logs::fuzzing as logs;
pub use super::machine::fuzzing as machine;

use super::discover::{Credential, Env};
use super::kubeconfig::{authorities, read_target};

/// A kubeconfig: its server and user, and the certificates of its CA.
pub fn kubeconfig(path: &Path) {
    let credential = Credential::Kubeconfig(vec![path.to_owned()]);
    for context in [None, Some("c")] {
        if let Ok(target) = read_target(&credential, context, &Env::new()) {
            let _ = authorities(&credential, &target.cluster);
        }
    }
}
