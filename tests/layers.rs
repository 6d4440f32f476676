//! The architecture as a table: which module may use which, and what must not occur where.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module, and what of the crate it may use besides itself.
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
            "named_file",
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

/// What must not be written, where it may be nevertheless, and why.
const BANNED: &[(&str, Where, &str)] = &[
    ("ratatui", Where::OnlyIn(&["tui"]), "only the screen draws"),
    ("crossterm", Where::OnlyIn(&["tui"]), "only the screen owns the terminal"),
    ("chrono::", Where::OnlyIn(&["time"]), "its arithmetic panics: times and spans are those of `time`"),
    ("Time::now", Where::NotIn(PURE), "now is an argument"),
    ("read_as_local", Where::OnlyIn(&["time", "observe"]), "the zone is the machine's"),
    ("SystemTime::now", Where::NotIn(PURE), "now is an argument"),
    ("Instant::now", Where::NotIn(PURE), "now is an argument"),
    ("std::fs", Where::NotIn(&["model", "pipeline", "view", "report", "decode"]), "no I/O in what is computed"),
    ("std::net", Where::NotIn(&["model", "pipeline", "view", "report", "decode", "record"]), "no I/O"),
    (".unwrap()", Where::OnlyIn(&[]), "a failure has words"),
    (".expect(", Where::OnlyIn(&[]), "a failure has words"),
    ("println!", Where::OnlyIn(&[]), "it panics when nobody reads: write to the locked stream"),
    ("eprint", Where::OnlyIn(&[]), "it panics when nobody reads: write to the locked stream"),
    ("unsafe ", Where::OnlyIn(&[]), "forbidden"),
];

/// Modules whose results depend on their arguments alone.
const PURE: &[&str] =
    &["text", "container_log", "objects", "observation", "decode", "record", "model", "pipeline", "view", "report"];

enum Where {
    OnlyIn(&'static [&'static str]),
    NotIn(&'static [&'static str]),
}

struct Source {
    path: PathBuf,
    module: String,
    /// The text without comments and without test modules.
    code: String,
    first_line: String,
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    assert!(paths.len() > 40, "the sources were found");
    let mut all: Vec<Source> = paths.into_iter().map(|path| source(&root, path)).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

fn source(root: &Path, path: PathBuf) -> Source {
    let text = fs::read_to_string(&path).unwrap();
    let inside = path.strip_prefix(root).unwrap();
    let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
    let is_test = inside.iter().any(|part| part == "tests" || part == "tests.rs");
    let code = if is_test { String::new() } else { code(&text) };
    Source { first_line: text.lines().next().unwrap_or_default().to_owned(), path, module, code }
}

/// Drops comments, and everything from a test module on: it is the last thing in a file.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |l| l.trim_start());
        if line.trim() == "#[cfg(test)]" && next.starts_with("mod tests {") {
            break;
        }
        let line = line.split("//").next().unwrap_or_default();
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Modules named by paths that begin with `crate::`, those in braces included.
fn used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let path = &code[at + "crate::".len()..];
        let name = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        if let Some(list) = path.strip_prefix('{') {
            let mut depth = 0;
            let mut item = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => used.extend([name(std::mem::take(&mut item).trim())]),
                    c if depth == 0 => item.push(c),
                    _ => {}
                }
            }
            used.extend([name(item.trim())]);
        } else {
            used.insert(name(path));
        }
    }
    used.retain(|name| !name.is_empty());
    used
}

#[test]
fn the_parser_of_paths_works() {
    let found = used("use crate::{a::{B, c}, d};\nlet x = crate::e::f();\nuse my_crate::g;\n");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "d", "e"]);
    assert_eq!(code("a // b\n#[cfg(test)]\nmod tests {\n x"), "a \n");
}

#[test]
fn every_module_uses_only_what_lies_below_it() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some((_, allowed)) = LAYERS.iter().find(|(module, _)| *module == source.module) else {
            wrong.push(format!("{}: module {} has no layer", source.path.display(), source.module));
            continue;
        };
        for name in used(&source.code) {
            if name != source.module && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{}: {} must not use {name}", source.path.display(), source.module));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_of_layers_is_in_order() {
    let at = |module: &str| LAYERS.iter().position(|(m, _)| *m == module).unwrap();
    for (module, allowed) in LAYERS {
        for below in *allowed {
            assert!(at(below) < at(module), "{module} uses {below}, which lies above it");
        }
    }
}

#[test]
fn nothing_banned_is_written() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (words, place, why) in BANNED {
            let may = match place {
                Where::OnlyIn(modules) => modules.contains(&source.module.as_str()),
                Where::NotIn(modules) => !modules.contains(&source.module.as_str()),
            };
            if !may && source.code.contains(words) {
                wrong.push(format!("{}: {words}: {why}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_owns() {
    for source in sources() {
        assert!(source.first_line.starts_with("//! "), "{}", source.path.display());
    }
}
