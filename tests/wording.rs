//! The style of docs/STYLE.md as a table: phrases that must not appear in texts, comments, documents and test names.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use kpodtrace::cli::Cli;
use regex::{Regex, RegexSet};

/// A pattern that must not match (words, any case), and what to write in place of it. docs/STYLE.md explains them.
const HABITS: &[(&str, &str)] = &[
    (r"by itself", "on its own, automatically, or nothing"),
    (r"of (its|their|our|your) own", "its own X, separate"),
    (r"anew", "again"),
    (r"again and again", "repeatedly"),
    (r"sees? (whether|what|which|who|how (many|much))", "check, list, show, read"),
    (r"look(s|ed|ing)? whether", "check whether"),
    (r"look(s|ed) at", "reads, sampled, checks"),
    (r"only looks", "read-only"),
    (r"go(es)? on|went on|going on", "continue, resume, happen"),
    (r"ask(s|ed|ing)? for", "request, configured, set"),
    (r"(says?|said|saying) (why|which|that|so|what|whether|how|nothing|it)", "report, show, state"),
    (r"(says|said|tells?|told|telling)", "report, show, is documented in, `no data`"),
    (r"complain(s|ed|t|ts|ing)?", "error, report"),
    (r"heard", "received"),
    (r"(nobody|somebody|everybody|anybody|whoever|whom)", "name the actor, or use the passive"),
    (r"the ones? who", "name it"),
    (
        r"(stands?|stood|standing) (at|in|on|beside|behind|below|above|with|where|still|alone|there|here)",
        "is at, is in",
    ),
    (r"(can|could|cannot|to) (not )?be had", "is available, is not available"),
    (r"mend(s|ed|ing)?", "fix"),
    (r"(bites?|pays|owed|wished|heals?|healed)", "affects, costs, pending, requested, recovers"),
    (r"troubles?", "failing, problem"),
    (r"promise[sd]?", "guarantee, pending"),
    (r"last words", "last log lines"),
    (r"ended (with|by|in)|ends by", "exited with, terminated by"),
    (r"of before", "previous"),
    (r"may not", "is not allowed to, must not, might not"),
    (r"(be )?made by hand", "created manually"),
    (r"side by side", "in parallel, next to each other"),
    (r"in vain", "without success"),
    (r"for ever", "forever, without limit"),
    (r"begun", "started"),
    (r"(the|a|an|its|their|from|each|until|of|first|last|every) begins?", "start, beginning"),
    (r"wants", "needs, requires, expects"),
    (r"(is|are|was|were) no [a-z]+", "is not an X"),
    (r"is well|are well|be well|not well", "healthy, ok, ready"),
    (r"as (it|they) (is|are|was|were)", "delete it, or: unchanged"),
    (r"what there is|that there be", "delete it"),
    (r"what (is|was|has) (not )?[a-z]+ (is|was|are|were)", "one plain clause"),
    (r"where [^,.;:]{1,50}, there", "one plain clause"),
    (r"for lack of memory", "OOMKilled, out of memory"),
    (r"aside", "separately, except"),
];

/// Good English and fixed terms that a habit would match: removed before the check.
const ALLOWED: &[&str] = &[
    r"there (is|are|was|were) no",
    r"no (longer|more|less|later|earlier|fewer|other|one|matter|such)",
    r"stands for",
    r"well-(formed|known)",
    // A message of the kubelet.
    r"may not have completed yet",
    r"`[^`]*`",
    r"https?://\S+",
];

/// A readable text and where it is.
struct Text {
    /// Relative to the crate, or the command whose help it is.
    path: String,
    line: usize,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(dir: &str, extension: &str, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(dir)).unwrap() {
        let path = entry.unwrap().path();
        let inside = path.strip_prefix(root()).unwrap().to_path_buf();
        if path.is_dir() {
            files(inside.to_str().unwrap(), extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(inside);
        }
    }
    out.sort();
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// What one Rust file holds for a reader.
#[derive(Debug, Default, PartialEq)]
struct Rust {
    /// Comment blocks, with the line of their start.
    comments: Vec<(usize, String)>,
    /// Literals with more than one word, except raw ones, which are patterns. None from a test module on.
    strings: Vec<(usize, String)>,
    /// Function names, with a space for each underscore.
    functions: Vec<(usize, String)>,
}

/// A small tokenizer: comments, string and character literals, and the rest.
fn rust(text: &str) -> Rust {
    let bytes = text.as_bytes();
    let mut found = Rust::default();
    let mut code = String::new();
    let (mut at, mut line, mut last_comment) = (0, 1, 0);
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    while at < bytes.len() {
        let rest = &text[at..];
        let before = code.chars().last().unwrap_or(' ');
        let is_word = before.is_alphanumeric() || before == '_';
        let raw_hashes = rest.strip_prefix('r').map(|r| r.len() - r.trim_start_matches('#').len());
        let len = if rest.starts_with("//") {
            let len = rest.find('\n').unwrap_or(rest.len());
            let words = rest[..len].trim_start_matches(['/', '!']).trim();
            match found.comments.last_mut().filter(|_| last_comment + 1 == line && !words.is_empty()) {
                Some((_, block)) => {
                    block.push(' ');
                    block.push_str(words);
                }
                None => found.comments.push((line, words.to_owned())),
            }
            last_comment = line;
            len
        } else if let Some(hashes) = raw_hashes.filter(|n| !is_word && rest[1 + n..].starts_with('"')) {
            let close = format!("\"{}", "#".repeat(hashes));
            2 + hashes + rest[2 + hashes..].find(&close).map_or(rest.len() - 2 - hashes, |n| n + close.len())
        } else if rest.starts_with('"') {
            let mut end = 1;
            while end < rest.len() && rest.as_bytes()[end] != b'"' {
                end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            let words = rest[1..end.min(rest.len())].replace("\\n", " ").replace("\\\n", " ").replace("\\\"", "\"");
            if words.trim().contains(' ') && at < tests {
                found.strings.push((line, words));
            }
            end + 1
        } else if rest.starts_with('\'') {
            match rest.char_indices().nth(2) {
                Some((end, '\'')) if !rest.starts_with("'\\") => end + 1,
                _ if rest.starts_with("'\\") => {
                    2 + rest[2..].char_indices().skip(1).find(|c| c.1 == '\'').unwrap().0 + 1
                }
                _ => 1,
            }
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let token = &rest[..len.min(rest.len())];
        if len <= 4 && !token.starts_with(['"', '\'']) {
            code.push_str(token);
            if let Some(name) = code.strip_suffix(['(', '<']).and_then(|code| code.rsplit_once("fn ")) {
                if !name.1.is_empty() && name.1.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    found.functions.push((line, name.1.replace('_', " ")));
                }
                code = " ".into();
            }
        } else {
            code = " ".into();
        }
        line += token.matches('\n').count();
        at += token.len();
    }
    found
}

fn texts_of_rust(dir: &str, strings: bool, out: &mut Vec<Text>) {
    let mut paths = Vec::new();
    files(dir, "rs", &mut paths);
    for path in paths.iter().filter(|path| !path.ends_with("tests/wording.rs")) {
        let found = rust(&read(path));
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let path = path.display().to_string();
        let mut add = |(line, text)| out.push(Text { path: path.clone(), line, text });
        found.comments.into_iter().chain(found.functions).for_each(&mut add);
        if strings && !is_test {
            found.strings.into_iter().for_each(&mut add);
        }
    }
}

/// Paragraphs, list items and table rows; no code blocks.
fn texts_of_markdown(path: &Path, out: &mut Vec<Text>) {
    let mut is_code = false;
    let mut block = Text { path: path.display().to_string(), line: 1, text: String::new() };
    for (at, line) in read(path).lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        let starts = line.trim().is_empty() || line.trim_start().starts_with(['-', '|', '#', '<']) || fence;
        if starts {
            let next = Text { path: block.path.clone(), line: at + 1, text: String::new() };
            out.push(std::mem::replace(&mut block, next));
        }
        if !is_code && !fence {
            block.text.push_str(line.trim());
            block.text.push(' ');
        }
    }
    out.push(block);
}

/// What a runbook file shows to a reader: no patterns, examples and commands.
fn texts_of_toml(path: &Path, out: &mut Vec<Text>) {
    const QUOTED: &[&str] = &["matches", "misses", "run", "all", "any", "none", "docs", "reasons", "id", "name"];
    fn walk(value: &toml::Value, add: &mut impl FnMut(&str)) {
        match value {
            toml::Value::String(text) => add(text),
            toml::Value::Array(list) => list.iter().for_each(|value| walk(value, add)),
            toml::Value::Table(table) => {
                table.iter().filter(|(key, _)| !QUOTED.contains(&key.as_str())).for_each(|(_, value)| walk(value, add));
            }
            _ => {}
        }
    }
    let text = read(path);
    let line = |words: &str| text.lines().position(|line| line.contains(words)).map_or(1, |at| at + 1);
    let mut add = |words: &str| {
        out.push(Text { path: path.display().to_string(), line: line(words), text: words.to_owned() });
    };
    walk(&toml::Value::Table(text.parse().unwrap()), &mut add);
    text.lines().filter_map(|line| line.strip_prefix('#')).for_each(add);
}

fn texts_of_help(command: clap::Command, name: &str, out: &mut Vec<Text>) {
    for nested in command.get_subcommands() {
        texts_of_help(nested.clone(), &format!("{name} {}", nested.get_name()), out);
    }
    let help = command.term_width(10_000).render_long_help().to_string();
    out.extend(help.lines().map(|line| Text { path: format!("{name} --help"), line: 0, text: line.to_owned() }));
}

fn texts() -> Vec<Text> {
    let mut out = Vec::new();
    texts_of_rust("src", true, &mut out);
    texts_of_rust("tests", false, &mut out);
    texts_of_rust("benches", false, &mut out);
    let mut documents = vec!["README.md".into(), "CHANGELOG.md".into(), "CONTRIBUTING.md".into()];
    files("docs", "md", &mut documents);
    files("tests", "md", &mut documents);
    // The table of the style itself quotes every habit.
    documents.retain(|path| !path.ends_with("docs/STYLE.md") && root().join(path).exists());
    documents.iter().for_each(|path| texts_of_markdown(path, &mut out));
    let mut runbook = Vec::new();
    files("assets/runbook", "toml", &mut runbook);
    runbook.iter().for_each(|path| texts_of_toml(path, &mut out));
    texts_of_help(Cli::command(), "kpodtrace", &mut out);
    let page = read(Path::new("docs/kpodtrace.1")).replace("\\-", "-");
    let mut screens = Vec::new();
    files("tests/snapshots", "txt", &mut screens);
    let screens = screens.iter().map(|path| (path.display().to_string(), read(path)));
    for (path, text) in screens.chain([("docs/kpodtrace.1".into(), page)]) {
        let line = |(at, text): (usize, &str)| Text { path: path.clone(), line: at + 1, text: text.to_owned() };
        out.extend(text.lines().enumerate().map(line));
    }
    out
}

fn compiled(pattern: &str) -> String {
    match pattern.starts_with(['`', 'h']) {
        true => pattern.to_owned(),
        false => format!(r"(?i)\b({pattern})\b"),
    }
}

struct Checker {
    allowed: Vec<Regex>,
    any: RegexSet,
    each: Vec<Regex>,
}

impl Checker {
    fn new() -> Self {
        let patterns: Vec<String> = HABITS.iter().map(|(pattern, _)| format!(r"(?i)\b({pattern})\b")).collect();
        Self {
            allowed: ALLOWED.iter().map(|pattern| Regex::new(&compiled(pattern)).unwrap()).collect(),
            any: RegexSet::new(&patterns).unwrap(),
            each: patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect(),
        }
    }

    /// The phrases that are found, each with its advice.
    fn check(&self, text: &str) -> Vec<(String, &'static str)> {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.any.is_match(&text) {
            return Vec::new();
        }
        for allowed in &self.allowed {
            text = allowed.replace_all(&text, "_").into_owned();
        }
        let found = |at: usize| Some((self.each[at].find(&text)?.as_str().to_owned(), HABITS[at].1));
        self.any.matches(&text).into_iter().filter_map(found).collect()
    }
}

#[test]
fn texts_follow_the_style() {
    let checker = Checker::new();
    let mut wrong = String::new();
    for Text { path, line, text } in texts() {
        for (phrase, advice) in checker.check(&text) {
            writeln!(wrong, "{path}:{line}: \"{phrase}\": write {advice}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} phrases that docs/STYLE.md rules out:\n{wrong}", wrong.lines().count());
}

#[test]
fn every_module_has_a_short_header() {
    // Further paragraphs hold a map or a table.
    let mut paths = Vec::new();
    files("src", "rs", &mut paths);
    let mut wrong = String::new();
    for path in paths {
        let text = read(&path);
        let lines = text.lines().take_while(|line| line.starts_with("//! ")).count();
        if !(1..=4).contains(&lines) {
            writeln!(wrong, "{}: {lines} lines in the first paragraph of //!, expected 1 to 4", path.display())
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_tokenizer_separates_comments_strings_and_names() {
    let text = "//! One\n//! two.\n\nfn a_b(x: &'a str) { // c\n let y = ('\"', '\\'', \"d e\\\n  f\", r#\"g \" h\"#, \"i\"); }\n\
                #[cfg(test)]\nmod tests {\n fn j() { \"k l\" }\n}\n";
    let Rust { comments, strings, functions } = rust(text);
    assert_eq!(comments, [(1, "One two.".to_owned()), (4, "c".to_owned())]);
    assert_eq!(strings, [(5, "d e   f".to_owned())]);
    assert_eq!(functions, [(4, "a b".to_owned()), (9, "j".to_owned())]);
}

#[test]
fn habits_are_found_and_good_english_is_not() {
    let checker = Checker::new();
    for text in [
        "app ends by itself",
        "See whether it runs",
        "The pod asks for 4 cpu",
        "this is no alarm",
        "a pod\nof before",
        "nobody looked at the machine",
        "app ended with exit code 1",
        "it may not read it",
        "what is damaged is told",
    ] {
        assert!(!checker.check(text).is_empty(), "{text}");
    }
    for text in [
        "the name ends with .toml",
        "there is no data",
        "it is no longer there",
        "PLEG stands for pod lifecycle event generator",
        "at the end of the file",
        "a connection is refused",
        "the field `told`",
        "besides the kubelet",
        "Check whether the pod pulls",
    ] {
        assert_eq!(checker.check(text), [], "{text}");
    }
}
