//! The architecture as tables: which module uses which, and which words are banned where.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "layers/code.rs"]
mod code;
#[path = "layers/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};

use code::{paths, source_files};
use imports::Imports;

/// Groups of modules that import each other and are still to be separated, one a line, modules sorted. The check demands
/// that the list is exact: when it fails, it prints the list that is.
const OPEN_CIRCLES: &str = "
observe::api::access observe::api::plugin
observe::discover::bounds observe::discover::kubelet observe::discover::process observe::discover::proof observe::discover::root observe::discover::settings
observe::kubelet::body observe::kubelet::client observe::kubelet::fault
record::error record::format
record::import::cri_lines record::import::incident
report::json_pleg report::pleg
tui::app tui::counts tui::footer tui::help tui::pod tui::screen tui::selected tui::table
tui::log tui::log_draw
view::header view::moment view::pleg
";

/// Type names that are still defined more than once. Exact, as [`OPEN_CIRCLES`].
const OPEN_NAMES: &str = "
At
Built
Busy
Bytes
Change
Command
Container
Cutter
Detail
End
Ended
Entry
Failure
Feed
File
FileStamp
Flags
Form
Found
Group
Header
Health
Identity
Image
Input
Item
Kept
Key
Known
LeftOut
Line
Lines
Listed
Log
LogOf
Look
Looking
Matcher
Message
NodeView
Names
Open
Pace
Page
Part
Place
PodLog
Raw
Reader
Reason
Refused
Request
Rest
Rule
Running
Said
Set
Severity
Shared
Stamp
Step
Term
Told
Way
Why
";

/// A top-level module, and the other modules of the crate that it is allowed to use.
const LAYERS: &[(&str, &[&str])] = &[
    ("time", &[]),
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
            "time",
            "weight",
        ],
    ),
    ("model", &["observation", "objects", "text", "time", "weight"]),
    ("pipeline", &["model", "observation", "objects", "text", "time"]),
    ("runbook", &["pipeline", "observation", "named_file", "text", "time"]),
    ("diagnose", &["runbook", "pipeline", "model", "observation", "objects", "text", "time"]),
    ("view", &["diagnose", "runbook", "pipeline", "model", "observation", "objects", "container_log", "text", "time"]),
    ("report", &["view", "diagnose", "runbook", "pipeline", "model", "observation", "objects", "text", "time"]),
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
    assert_exact("OPEN_CIRCLES", OPEN_CIRCLES, &circles);
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
    for (name, modules) in &defined {
        println!("{name}: {}", modules.join(" "));
    }
    assert_exact("OPEN_NAMES", OPEN_NAMES, &defined.into_keys().map(str::to_owned).collect());
}

/// The list of exceptions is what was found: a new one is a mistake, and one that is gone leaves the list.
fn assert_exact(list: &str, listed: &str, found: &BTreeSet<String>) {
    let listed: BTreeSet<&str> = listed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let new: Vec<_> = found.iter().filter(|one| !listed.contains(one.as_str())).collect();
    let gone: Vec<_> = listed.iter().filter(|one| !found.contains(**one)).collect();
    let exact = found.iter().map(|one| format!("{one}\n")).collect::<String>();
    assert!(new.is_empty() && gone.is_empty(), "new: {new:#?}\nresolved: {gone:#?}\n{list} would be:\n{exact}");
}
