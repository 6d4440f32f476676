//! Entry points for the fuzz targets of this module.

use super::certificate::{base64, common_name, validity};
use super::flags::KubeletFlags;
use super::one_key::one_key;

/// A certificate in PEM form: its subject and its time.
pub fn certificate(text: &str) {
    let _ = (common_name(text), validity(text), base64(text));
}

/// A configuration of which one key is read.
pub fn settings(text: &str) {
    for key in ["kind", "port", "containerRuntimeEndpoint", "node-name"] {
        let _ = one_key(text, key);
    }
}

/// A command line with one word on each line, and the same as a file of flags.
pub fn flags(text: &str) {
    let words: Vec<&str> = text.lines().collect();
    let mut flags = KubeletFlags::of(&words).and(KubeletFlags::of_file(text));
    flags.expand("$SNAP_DATA", "/snap");
    let _ = flags.get("config");
}
