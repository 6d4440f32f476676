//! The architecture as tables: which module uses which, and which words are banned where.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "layers/code.rs"]
mod code;
#[path = "layers/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};

use code::{paths, source_files};
use imports::Imports;

/// A top-level module, and the other modules of the crate that it is allowed to use.
const LAYERS: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("thresholds", &["time"]),
    ("weight", &["time"]),
    ("named_file", &[]),
    ("trust", &["named_file"]),
    ("text", &["weight"]),
    ("cli", &["text", "time", "weight"]),
    ("container_log", &["text", "time"]),
    ("objects", &["text", "time", "weight"]),
    ("observation", &["objects", "text", "time", "weight"]),
    ("decode", &["observation", "objects", "container_log", "text", "time", "weight"]),
    ("record", &["decode", "observation", "objects", "named_file", "trust", "text", "time", "weight"]),
    ("proto", &[]),
    (
        "observe",
        &[
            "proto",
            "decode",
            "observation",
            "objects",
            "container_log",
            "named_file",
            "trust",
            "text",
            "thresholds",
            "time",
            "weight",
        ],
    ),
    ("model", &["observation", "objects", "text", "thresholds", "time", "weight"]),
    ("pipeline", &["model", "observation", "objects", "text", "thresholds", "time"]),
    ("runbook", &["pipeline", "observation", "named_file", "text", "time"]),
    ("diagnose", &["runbook", "pipeline", "model", "observation", "objects", "text", "thresholds", "time"]),
    (
        "view",
        &[
            "diagnose",
            "runbook",
            "pipeline",
            "model",
            "observation",
            "objects",
            "container_log",
            "text",
            "thresholds",
            "time",
        ],
    ),
    (
        "report",
        &["view", "diagnose", "runbook", "pipeline", "model", "observation", "objects", "text", "thresholds", "time"],
    ),
    (
        "tui",
        &[
            "view",
            "diagnose",
            "runbook",
            "pipeline",
            "model",
            "observation",
            "objects",
            "container_log",
            "text",
            "thresholds",
            "time",
        ],
    ),
    (
        "session",
        &[
            "view",
            "diagnose",
            "runbook",
            "pipeline",
            "model",
            "record",
            "decode",
            "observation",
            "objects",
            "container_log",
            "named_file",
            "text",
            "time",
            "weight",
        ],
    ),
    ("config", &["tui", "view", "named_file", "text"]),
    (
        "commands",
        &[
            "cli",
            "config",
            "tui",
            "report",
            "session",
            "observe",
            "view",
            "diagnose",
            "runbook",
            "pipeline",
            "model",
            "record",
            "decode",
            "observation",
            "objects",
            "container_log",
            "trust",
            "text",
            "time",
            "weight",
        ],
    ),
    ("lib", &[]),
    ("main", &[]),
];

/// Banned text, where it is allowed or banned, and why.
const BANNED: &[(&str, Where, &str)] = &[
    ("ratatui", Where::OnlyIn(&["tui"]), "only the screen draws"),
    ("crossterm", Where::OnlyIn(&["tui"]), "only the screen owns the terminal"),
    ("chrono::", Where::OnlyIn(&["time"]), "its arithmetic panics: use `time`"),
    ("Time::now", Where::NotIn(PURE), "`now` is an argument"),
    ("read_as_local", Where::OnlyIn(&["time", "observe"]), "the time zone is the machine's"),
    ("SystemTime::now", Where::NotIn(PURE), "`now` is an argument"),
    ("Instant::now", Where::NotIn(PURE), "`now` is an argument"),
    ("std::fs", Where::NotIn(&["model", "pipeline", "view", "report", "decode"]), "no I/O in pure modules"),
    ("std::net", Where::NotIn(&["model", "pipeline", "view", "report", "decode", "record"]), "no I/O"),
    (".unwrap()", Where::OnlyIn(&[]), "return an error that says what failed"),
    (".expect(", Where::OnlyIn(&[]), "return an error that says what failed"),
    ("println!", Where::OnlyIn(&[]), "it panics when the reader has closed: write to the locked stream"),
    ("eprint", Where::OnlyIn(&[]), "it panics when the reader has closed: write to the locked stream"),
    ("unsafe ", Where::OnlyIn(&[]), "forbidden"),
];

/// Modules whose results depend on their arguments alone.
const PURE: &[&str] =
    &["text", "container_log", "objects", "observation", "decode", "record", "model", "pipeline", "view", "report"];

enum Where {
    OnlyIn(&'static [&'static str]),
    NotIn(&'static [&'static str]),
}

#[test]
fn every_module_uses_only_modules_below_it() {
    let mut wrong = Vec::new();
    for file in source_files() {
        let Some((_, allowed)) = LAYERS.iter().find(|(module, _)| *module == file.layer()) else {
            wrong.push(format!("{}: module {} has no layer", file.path.display(), file.layer()));
            continue;
        };
        let used = paths(&file.code).into_iter().filter(|path| path.segments[0] == "crate");
        for name in used.filter_map(|path| path.segments.get(1).cloned()).collect::<BTreeSet<_>>() {
            if name != file.layer() && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{}: {} must not use {name}", file.path.display(), file.layer()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn layers_are_listed_bottom_up() {
    let at = |module: &str| LAYERS.iter().position(|(m, _)| *m == module).unwrap();
    for (module, allowed) in LAYERS {
        for below in *allowed {
            assert!(at(below) < at(module), "{module} uses {below}, which is above it");
        }
    }
}

#[test]
fn banned_text_does_not_occur() {
    let mut wrong = Vec::new();
    for file in source_files() {
        for (text, place, why) in BANNED {
            let is_allowed = match place {
                Where::OnlyIn(modules) => modules.contains(&file.layer()),
                Where::NotIn(modules) => !modules.contains(&file.layer()),
            };
            if !is_allowed && file.code.contains(text) {
                wrong.push(format!("{}: {text}: {why}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_do_not_import_each_other() {
    let circles = Imports::new(&source_files()).circles();
    assert!(circles.is_empty(), "import circles: {circles:#?}");
}

#[test]
fn every_type_name_is_defined_once() {
    let files = source_files();
    let mut defined: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &files {
        for name in file.types() {
            defined.entry(name).or_default().push(file.module.join("::"));
        }
    }
    defined.retain(|_, modules| modules.len() > 1);
    assert!(defined.is_empty(), "defined more than once: {defined:#?}");
}
