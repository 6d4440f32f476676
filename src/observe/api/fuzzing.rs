//! Owns the entrances of fuzz targets to the parsers of this module.
//! It must not do anything but call them.

use super::body::LineSplitter;
use super::plugin::{parse_credential, redact_output};
use super::{WatchedResource, proxy, response};
use crate::observe::discover::Env;

/// The body of a refusal: its message, and the permission that it lacks.
pub fn refusal(body: &[u8]) {
    let message = response::status_message(body);
    for what in [
        WatchedResource::pods("node-a"),
        WatchedResource::lease("node-a"),
        WatchedResource::events(),
        WatchedResource::unbound(),
    ] {
        let _ = what.grant(&message.one_line());
    }
}

/// What a credential plugin printed: its credential or its complaint.
pub fn plugin(output: &[u8]) {
    let _ = parse_credential(output);
    let _ = redact_output(&String::from_utf8_lossy(output));
}

/// A stream of a watch, cut into lines; it comes in pieces of `piece` bytes. Gives the number of lines.
pub fn lines(stream: &[u8], piece: usize) -> usize {
    let mut cutter = LineSplitter::default();
    let mut lines = 0;
    for piece in stream.chunks(piece.max(1)) {
        cutter.push(piece);
        while cutter.next().is_some() {
            lines += 1;
        }
    }
    lines
}

/// The variables of a proxy: `proxy`, and `spared` of NO_PROXY, for a server.
pub fn proxy(server: &str, proxy: &str, spared: &str) {
    let Ok(server) = server.parse() else { return };
    let env: Env = [("HTTPS_PROXY", proxy), ("NO_PROXY", spared)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    for named in [None, Some(proxy)] {
        if let Ok(Some(uri)) = proxy::proxy_for(&server, named, &env) {
            let _ = proxy::shown(&uri);
        }
    }
}
