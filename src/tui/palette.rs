//! Owns what can be asked for by name after `:`, how it is completed, and what is said of an unknown name.
//! It must not carry anything out.

use crate::text::Text;
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Action, BINDINGS, Context};
use crate::tui::screen_state::Picture;
use crate::tui::theme::Look;
use crate::view::{Column, Sort};

/// Candidates offered.
const OFFERED: usize = 30;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What a key asks for too.
    Do(Action),
    /// Another order of the table.
    Sort(Sort),
    /// Another filter of the table.
    Filter(String),
    /// Other looks.
    Theme(Look),
    /// The pod of that UID.
    Pod(Text),
    /// The log of a container of that pod.
    Log(Text),
    /// The entry of that cause.
    Entry(Text),
}

/// Commands that take a word more, each with what it is.
const WITH_WORD: [&str; 6] = ["pod", "log", "runbook", "sort", "filter", "theme"];

/// Moving by name is of no use.
const UNNAMED: [Action; 6] =
    [Action::Down, Action::Up, Action::First, Action::Last, Action::Palette, Action::RunCommand];

/// What can follow what is typed, the whole line each.
pub fn candidates(typed: &str, context: Context, picture: &Picture) -> Vec<String> {
    match typed.split_once(' ') {
        None => names(context).into_iter().filter(|name| name.starts_with(typed)).map(str::to_owned).collect(),
        Some((name, word)) => {
            let word = word.trim().to_lowercase();
            let line = |value: String| format!("{name} {value}");
            values(name, picture)
                .into_iter()
                .filter(|value| value.to_lowercase().contains(&word))
                .take(OFFERED)
                .map(line)
                .collect()
        }
    }
}

/// What is typed, completed as far as all candidates agree.
pub fn complete(typed: &str, context: Context, picture: &Picture) -> String {
    let found = candidates(typed, context, picture);
    let Some(first) = found.first() else { return typed.to_owned() };
    let same = |line: &String| first.char_indices().zip(line.chars()).find(|((_, a), b)| a != b).map(|((i, _), _)| i);
    let agreed = found.iter().map(|line| same(line).unwrap_or(first.len().min(line.len()))).min().unwrap_or(0);
    let agreed = first.get(..agreed).unwrap_or_default();
    // Candidates that have the word inside agree on less than what is typed.
    if agreed.starts_with(typed) || found.len() == 1 { agreed.to_owned() } else { typed.to_owned() }
}

/// What is typed, as a command.
///
/// # Errors
/// What is unknown or ambiguous, in words.
pub fn read(typed: &str, context: Context, picture: &Picture) -> Result<Command, String> {
    let (name, word) = typed.trim().split_once(' ').unwrap_or((typed.trim(), ""));
    let (name, word) = (meant(name, context)?, word.trim());
    let named = |word: &str, what: &str| -> Result<String, String> {
        let values = values(name, picture);
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        only(word, &values, what).map(str::to_owned)
    };
    let known = action(name, context);
    match (name, word) {
        ("sort", "") => Ok(Command::Sort(Sort::default())),
        ("sort", word) => named(word, "column").and_then(|word| Sort::parse(&word)).map(Command::Sort),
        ("filter", words) if !words.is_empty() || known.is_none() => Ok(Command::Filter(words.to_owned())),
        ("theme", word) => Look::read(&named(word, "theme")?).map(Command::Theme),
        ("pod" | "log", word) if !word.is_empty() => {
            let which = named(word, "pod")?;
            let row = picture.moment.rows().iter().find(|row| format!("{}/{}", row.namespace, row.name) == which);
            let command = if name == "log" { Command::Log } else { Command::Pod };
            row.map(|row| command(row.key.clone())).ok_or_else(|| format!("no pod {word}"))
        }
        ("log", "") => Ok(Command::Do(Action::Log)),
        ("runbook", word) if !word.is_empty() => named(word, "entry").map(|id| Command::Entry(id.into())),
        (name, "") => known.map(Command::Do).ok_or_else(|| format!("{name} is not of use here")),
        (name, _) => Err(format!("{name} takes no word")),
    }
}

/// The command that is meant: a pane by any begin of its name, else the one of which all others are longer forms.
fn meant(word: &str, context: Context) -> Result<&'static str, String> {
    let names = names(context);
    let begins: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(word)).collect();
    match begins.as_slice() {
        _ if names.contains(&word) => only(word, &names, "command"),
        [first, rest @ ..] if is_pane(first) || rest.iter().all(|name| name.starts_with(first)) => Ok(first),
        _ => only(word, &names, "command"),
    }
}

fn is_pane(name: &str) -> bool {
    Keymap::actions().iter().any(|action| matches!(action, Action::Go(_)) && action.name() == name)
}

/// Panes first, then the commands that take a word, then the actions of this pane.
fn names(context: Context) -> Vec<&'static str> {
    let go = |action: &Action| matches!(action, Action::Go(_));
    let all = Keymap::actions();
    let here =
        |action: &&Action| !go(action) && !UNNAMED.contains(action) && self::action(action.name(), context).is_some();
    let panes = all.iter().filter(|a| go(a)).map(|a| a.name());
    let mut names: Vec<&str> = panes.chain(WITH_WORD).collect();
    names.extend(all.iter().filter(here).map(|a| a.name()));
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    names
}

fn action(name: &str, context: Context) -> Option<Action> {
    BINDINGS.iter().find(|b| b.action.name() == name && b.contexts.contains(&context)).map(|b| b.action)
}

fn values(name: &str, picture: &Picture) -> Vec<String> {
    match name {
        "pod" | "log" => picture.moment.rows().iter().map(|row| format!("{}/{}", row.namespace, row.name)).collect(),
        "runbook" => picture.moment.book().causes().map(|cause| cause.id.clone()).collect(),
        "theme" => Look::ALL.map(|look| look.name().to_owned()).to_vec(),
        "sort" => {
            let names = ["trouble"].into_iter().chain(Column::ALL.map(Column::name));
            names.clone().map(str::to_owned).chain(names.map(|name| format!("-{name}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// The one that is meant: named as it is, or the only one that begins with the word, or has it.
fn only<'a>(word: &str, names: &[&'a str], what: &str) -> Result<&'a str, String> {
    if let Some(exact) = names.iter().find(|name| **name == word) {
        return Ok(exact);
    }
    let lower = word.to_lowercase();
    let begins: Vec<&str> = names.iter().copied().filter(|name| name.to_lowercase().starts_with(&lower)).collect();
    let has: Vec<&str> = names.iter().copied().filter(|name| name.to_lowercase().contains(&lower)).collect();
    match (begins.as_slice(), has.as_slice()) {
        _ if word.is_empty() => Err(format!("which {what}?")),
        ([one], _) | ([], [one]) => Ok(one),
        ([], []) => Err(format!("no {what} {word}")),
        ([], several) | (several, _) => {
            let told: Vec<&str> = several.iter().copied().take(4).collect();
            Err(format!("{word}: which {what}? {}", told.join(", ")))
        }
    }
}
