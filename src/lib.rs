//! kpodtrace shows where each pod on a Kubernetes node is in the kubelet's sync pipeline, since when, and why.
//!
//! The modules, from the lowest layer up; each uses only modules above it in this list (`tests/layers.rs`). How one
//! observation becomes a cell of the table is in `docs/ARCHITECTURE.md`.
//!
//! | module | what it is |
//! |---|---|
//! | [`time`] | times, spans and durations with saturating arithmetic |
//! | [`weight`] | memory accounting: bytes per object, limits |
//! | `named_file` | opens a file that the user named, with a size limit |
//! | [`trust`] | whether root alone could have created a file, a socket or a program |
//! | [`text`] | text from outside: control sequences escaped, credentials redacted |
//! | [`cli`] | flags, subcommands and their help |
//! | [`container_log`] | a container's log: what to read, and the lines that are kept |
//! | [`objects`] | the Kubernetes objects that are decoded, with only the fields in use |
//! | [`observation`] | observations: what a source reported, when, in which epoch |
//! | [`decode`] | bytes to values: klog, CRI, Prometheus, journal, kernel log |
//! | [`record`] | recordings and imports: observations to and from files |
//! | `proto` | generated gRPC clients for CRI and containerd |
//! | [`observe`] | the only I/O with the node: discovery, and one task per source |
//! | [`model`] | the state of the node: a fold over observations |
//! | [`pipeline`] | the stage of a pod, and the evidence for it |
//! | [`runbook`] | causes, rules and steps from TOML files |
//! | [`diagnose`] | signals and rules to findings, for pods and for the node |
//! | [`view`] | everything shown, as typed values: rows, order, verdicts |
//! | [`report`] | `view` as text tables and JSON |
//! | [`tui`] | `view` as a screen: panes, keys, terminal |
//! | [`session`] | a live node or an input, as a sequence of models in time |
//! | [`config`] | configuration of the screen: files, flags, precedence |
//! | [`commands`] | one module per subcommand: input to output and exit code |

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
pub mod time;
pub mod trust;
pub mod tui;
pub mod view;
pub mod weight;
