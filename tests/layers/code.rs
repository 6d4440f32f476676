//! The source files of the crate, and the paths in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file, and what of it the checks read.
pub struct SourceFile {
    pub path: PathBuf,
    /// The module path without `crate`: `["model", "pod"]`; of `main.rs` and `lib.rs` their own names.
    pub module: Vec<String>,
    /// The text without comments and without test modules; empty for a file of tests.
    pub code: String,
}

impl SourceFile {
    fn read(root: &Path, path: PathBuf) -> Self {
        let inside = path.strip_prefix(root).unwrap();
        let is_test = inside.iter().any(|part| part == "tests" || part == "tests.rs");
        let code =
            if is_test { String::new() } else { without_comments_and_tests(&fs::read_to_string(&path).unwrap()) };
        let mut module: Vec<String> =
            inside.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs").to_owned()).collect();
        if module.last().is_some_and(|name| name == "mod") {
            module.pop();
        }
        Self { path, module, code }
    }

    /// The top-level module that the file belongs to.
    pub fn layer(&self) -> &str {
        &self.module[0]
    }

    /// Structs, enums, traits and type aliases at module level.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.code.lines().filter_map(type_name)
    }
}

/// All files below `src/`, by path.
pub fn source_files() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    list_files(&root, &mut paths);
    assert!(paths.len() > 40, "only {} source files found", paths.len());
    paths.sort();
    paths.into_iter().map(|path| SourceFile::read(&root, path)).collect()
}

fn list_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// A test module is the last item of its file.
fn without_comments_and_tests(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |l| l.trim_start());
        if line.trim() == "#[cfg(test)]" && next.starts_with("mod tests {") {
            break;
        }
        out.push_str(line.split("//").next().unwrap_or_default());
        out.push('\n');
    }
    out
}

fn type_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) => rest,
        None => line,
    };
    let (keyword, rest) = line.trim_start().split_once(' ')?;
    let is_indented = line.starts_with("  ");
    let name = rest.split(|c: char| !is_name(c)).next()?;
    (!is_indented && matches!(keyword, "struct" | "enum" | "trait" | "type" | "union")).then_some(name)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A path in the code, braces expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePath {
    pub segments: Vec<String>,
    /// The name that a `use` gives to the last segment.
    pub alias: Option<String>,
    /// It is part of a `use` declaration.
    pub is_use: bool,
}

/// Every path of at least two segments, and every path of a `use` declaration.
pub fn paths(code: &str) -> Vec<CodePath> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(word) = next_word(code, at) {
        let end = word + code[word..].chars().take_while(|c| is_name(*c)).map(char::len_utf8).sum::<usize>();
        if &code[word..end] == "use" && code[end..].starts_with(' ') {
            at = parse_tree(code, end, &[], true, &mut out);
        } else if code[end..].starts_with("::") {
            at = parse_tree(code, word, &[], false, &mut out);
        } else {
            at = end;
        }
    }
    out
}

/// Where the next name begins that is not a later segment of a path.
fn next_word(code: &str, from: usize) -> Option<usize> {
    let mut before = code[..from].chars().next_back();
    for (i, c) in code[from..].char_indices() {
        if is_name(c) && !before.is_some_and(is_name) {
            return Some(from + i);
        }
        before = Some(c);
    }
    None
}

/// Reads one tree of a `use` declaration, or one path; returns where it ends.
fn parse_tree(code: &str, from: usize, prefix: &[String], is_use: bool, out: &mut Vec<CodePath>) -> usize {
    let mut segments = prefix.to_vec();
    let mut at = skip_space(code, from);
    loop {
        let rest = &code[at..];
        if is_use && rest.starts_with('{') {
            at += 1;
            loop {
                at = skip_space(code, at);
                if code[at..].starts_with('}') || at >= code.len() {
                    return (at + 1).min(code.len());
                }
                at = skip_space(code, parse_tree(code, at, &segments, is_use, out));
                at += usize::from(code[at..].starts_with(','));
            }
        }
        let len = rest.chars().take_while(|c| is_name(*c) || *c == '*' && is_use).map(char::len_utf8).sum::<usize>();
        if len == 0 {
            break;
        }
        segments.push(rest[..len].to_owned());
        at += len;
        if !code[at..].starts_with("::") {
            break;
        }
        at += 2;
    }
    let mut alias = None;
    if is_use && let Some(rest) = code[at..].strip_prefix(" as ") {
        let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
        at += " as ".len() + name.len();
        alias = Some(name);
    }
    if segments.len() == prefix.len() {
        return code[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    }
    // `use a::{self}` names the module itself.
    if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
        segments.pop();
    }
    out.push(CodePath { segments, alias, is_use });
    at
}

fn skip_space(code: &str, from: usize) -> usize {
    from + code[from..].len() - code[from..].trim_start().len()
}

mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        paths(code).into_iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn paths_are_found_in_declarations_and_expressions() {
        let code = "use crate::{a::{B, c as d}, e};\npub use f::{self, G};\nlet x: Vec<crate::h::I> = super::j::k();\n";
        let want = ["crate::a::B", "crate::a::c", "crate::e", "f", "f::G", "crate::h::I", "super::j::k"];
        assert_eq!(found(code), want);
        assert_eq!(paths("use a::b as c;")[0].alias.as_deref(), Some("c"));
        assert_eq!(found("my_crate::g; x.use_it()"), ["my_crate::g"]);
    }

    #[test]
    fn comments_and_tests_are_left_out() {
        assert_eq!(without_comments_and_tests("a // b\n#[cfg(test)]\nmod tests {\n x"), "a \n");
    }

    #[test]
    fn type_names_are_those_at_module_level() {
        let code =
            "pub struct A<T>(T);\npub(crate) enum B {\n    type C = u8;\ntype D = u8;\nfn e() {\n    struct F;\n";
        assert_eq!(code.lines().filter_map(type_name).collect::<Vec<_>>(), ["A", "B", "D"]);
    }
}
