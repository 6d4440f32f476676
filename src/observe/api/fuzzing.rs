//! Entry points of fuzz targets to the parsers of this module.

use super::body::watch_splitter;
use super::plugin::{parse_credential, redact_output};
use super::{WatchedResource, proxy, response};
use crate::observe::discover::Env;

/// The body of an error: its message, and the missing permission.
pub fn refusal(body: &[u8]) {
    let message = response::status_message(body);
    for what in [
        WatchedResource::pods("node-a"),
        WatchedResource::lease("node-a"),
        WatchedResource::events(),
        WatchedResource::unbound(),
    ] {
        let _ = what.permission_fix(&message.one_line());
    }
}

/// The output of a credential plugin: its credential or its error.
pub fn plugin(output: &[u8]) {
    let _ = parse_credential(output);
    let _ = redact_output(&String::from_utf8_lossy(output));
}

/// The body of a watch, split into lines; it arrives in chunks of `piece` bytes. Returns the number of lines.
pub fn lines(stream: &[u8], piece: usize) -> usize {
    let mut splitter = watch_splitter();
    let mut lines = 0;
    for piece in stream.chunks(piece.max(1)) {
        splitter.push(piece);
        while splitter.next().is_some() {
            lines += 1;
        }
    }
    lines
}

/// The proxy of a server: `proxy`, with `excluded` as NO_PROXY.
pub fn proxy(server: &str, proxy: &str, excluded: &str) {
    let Ok(server) = server.parse() else { return };
    let env: Env = [("HTTPS_PROXY", proxy), ("NO_PROXY", excluded)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    for named in [None, Some(proxy)] {
        if let Ok(Some(uri)) = proxy::proxy_for(&server, named, &env) {
            let _ = proxy::describe_proxy(&uri);
        }
    }
}
