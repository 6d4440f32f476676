//! kpodtrace: where every pod on a Kubernetes node stands in the kubelet's sync pipeline, for how long, and why.

pub mod cli;
pub mod commands;
pub mod config;
pub mod container_log;
pub mod decode;
pub mod diagnose;
pub mod model;
mod named_file;
pub mod objects;
pub mod observation;
pub mod observe;
pub mod pipeline;
mod proto;
pub mod record;
pub mod report;
pub mod runbook;
pub mod session;
pub mod text;
pub mod thresholds;
pub mod time;
pub mod trust;
pub mod tui;
pub mod view;
pub mod weight;
