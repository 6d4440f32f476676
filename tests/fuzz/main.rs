//! Fuzz targets: every parser, and the whole way from an input to what is printed, must take any bytes without a panic and
//! in bounded time. README.md describes longer runs and how to keep an input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decode;
mod files;
mod harness;
mod inputs;
mod json;
mod mutate;
mod observe;
mod pipeline;
mod rng;
mod scratch;
mod words;

use harness::{Target, check};
use mutate::Form;

/// One test for each target: name, form of its inputs, weight (the whole way takes a hundred times as long as a decoder),
/// entrance, and which inputs beside those of its corpus it starts from.
macro_rules! targets {
    ($($name:ident $form:ident $weight:literal $run:path $(, also $also:literal)*;)*) => {
        const COUNT: usize = [$(stringify!($name)),*].len();
        const WEIGHTS: usize = 0 $(+ $weight)*;
        $(#[test]
        fn $name() {
            let target = Target {
                name: stringify!($name),
                form: Form::$form,
                run: $run,
                weight: $weight,
                also: &[$($also),*],
            };
            check(&target, COUNT, WEIGHTS);
        })*
    };
}

targets! {
    klog Text 1 decode::klog;
    container_log Text 1 decode::container_log;
    prometheus Text 1 decode::prometheus;
    spans Json 1 decode::spans;
    kube_objects Json 1 decode::kube_objects, also "tests/fuzz/corpus/list";
    crictl Json 1 decode::crictl;
    ctr_active Text 1 decode::ctr_active;
    configz Json 1 decode::configz;
    manifest Text 1 decode::manifest;
    kernel Text 1 decode::kernel;
    runtime_log Text 1 decode::runtime_log;
    plain_line Text 1 decode::plain_line;
    go Text 1 decode::go;
    answer Text 1 decode::answer;
    proc_files Text 1 decode::proc_files;
    quantity Text 1 decode::quantity;
    text Text 1 decode::text;
    scheduler Text 1 decode::scheduler;
    journal JsonLines 1 observe::journal;
    log_file Text 1 observe::log_file, also "tests/fuzz/corpus/klog", also "tests/fuzz/corpus/runtime_log";
    certificate Text 1 observe::certificate;
    kubeconfig Text 1 observe::kubeconfig;
    settings Text 1 observe::settings;
    flags Text 1 observe::flags;
    discovery Text 1 observe::discovery;
    machine Text 1 observe::machine;
    systemctl Text 1 observe::systemctl;
    cri_messages Bytes 1 observe::cri_messages;
    refusal Json 1 observe::refusal;
    plugin Json 1 observe::plugin;
    proxy Text 1 observe::proxy;
    stream Bytes 1 observe::stream;
    arguments Text 1 inputs::arguments;
    config Text 1 inputs::config;
    runbook Text 1 inputs::runbook;
    filter Text 1 inputs::filter;
    recording Bytes 1 files::recording, also "tests/golden/format-1.kpt";
    frames JsonLines 4 files::frames;
    list Json 4 files::list;
    capture Text 4 files::capture;
    incident JsonLines 4 files::incident;
    logs Text 4 files::logs;
    observations JsonLines 4 pipeline::observations, also "tests/golden/observations.jsonl";
    keyframe Json 4 pipeline::keyframe;
    histogram Text 4 pipeline::histogram, also "tests/fuzz/corpus/prometheus";
}
