//! Parsers of the layer that talks to the node.

use kpodtrace::observe::discover::{Env, Host, Root};
use kpodtrace::observe::fuzzing;

use crate::decode::{lossy, reference};
use crate::scratch::Scratch;

pub fn journal(bytes: &[u8]) {
    _ = fuzzing::logs::journal(bytes);
}

pub fn log_file(bytes: &[u8]) {
    _ = fuzzing::logs::file(&lossy(bytes), reference());
}

pub fn certificate(bytes: &[u8]) {
    fuzzing::discover::certificate(&lossy(bytes));
}

pub fn kubeconfig(bytes: &[u8]) {
    let scratch = Scratch::new();
    fuzzing::kubeconfig(&scratch.write("config", bytes));
}

pub fn settings(bytes: &[u8]) {
    fuzzing::discover::settings(&lossy(bytes));
}

pub fn flags(bytes: &[u8]) {
    fuzzing::discover::flags(&lossy(bytes));
}

/// A node's files as discovery reads them. In command lines a line stands for a word.
pub fn discovery(bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.files(bytes);
    let line = scratch.path().join("proc/70/cmdline");
    if let Ok(mut words) = std::fs::read(&line) {
        words.iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = 0);
        std::fs::write(&line, words).unwrap();
    }
    let host = Host::look(Root::new(scratch.path()), Env::new());
    _ = (host.node_name(None), host.cri_endpoint(None), host.credential(None));
    _ = (host.kubelet_place(None), host.kubelet_log(None), host.runtime_log(None, None));
}

pub fn machine(bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.files(bytes);
    fuzzing::machine::machine(&Root::new(scratch.path()));
}

pub fn systemctl(bytes: &[u8]) {
    fuzzing::machine::units(&lossy(bytes));
}

pub fn cri_messages(bytes: &[u8]) {
    _ = fuzzing::cri::messages(bytes);
}

/// The body of a refusal, with each status that is distinguished.
pub fn refusal(bytes: &[u8]) {
    fuzzing::api::refusal(bytes);
    let body = lossy(bytes);
    for status in [400, 401, 403, 404, 410, 429, 500, 503] {
        fuzzing::kubelet::refusal(status, &body);
    }
}

pub fn plugin(bytes: &[u8]) {
    fuzzing::api::plugin(bytes);
}

/// Server, proxy and NO_PROXY on a line each.
pub fn proxy(bytes: &[u8]) {
    let text = lossy(bytes);
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap_or_default();
    fuzzing::api::proxy(next(), next(), next());
}

/// However a stream is cut into pieces, its lines are the same.
pub fn stream(bytes: &[u8]) {
    assert_eq!(fuzzing::api::lines(bytes, 7), fuzzing::api::lines(bytes, usize::MAX));
    assert_eq!(fuzzing::kubelet::lines(bytes, 7), fuzzing::kubelet::lines(bytes, usize::MAX));
}
