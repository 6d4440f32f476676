//! The command line after `:`: parsing, completion, and messages for unknown names.

use crate::text::Text;
use crate::tui::keys::bindings::BINDINGS;
use crate::tui::keys::keymap::Keymap;
use crate::tui::keys::{Action, Context};
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::ColorScheme;
use crate::view::{Column, SEVERITY, Sort};

/// Highest number of candidates.
const OFFERED: usize = 30;

/// A command of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaletteCommand {
    /// An action that keys have too.
    Run(Action),
    /// Sort the table.
    Sort(Sort),
    /// Filter the table.
    Filter(String),
    /// Change the theme.
    Theme(ColorScheme),
    /// Open the pod of this UID.
    Pod(Text),
    /// Open the log of a container of this pod.
    Log(Text),
    /// Open the runbook entry of this cause.
    Entry(Text),
}

/// Commands with an argument.
const WITH_WORD: [&str; 6] = ["pod", "log", "runbook", "sort", "filter", "theme"];

/// Actions that the palette leaves out.
const UNNAMED: [Action; 6] =
    [Action::Down, Action::Up, Action::First, Action::Last, Action::Palette, Action::RunCommand];

/// Completions of the input, as whole lines.
pub fn candidates(typed: &str, context: Context, screen: &ScreenState) -> Vec<String> {
    match typed.split_once(' ') {
        None => names(context).into_iter().filter(|name| name.starts_with(typed)).map(str::to_owned).collect(),
        Some((name, word)) => {
            let word = word.trim().to_lowercase();
            let line = |value: String| format!("{name} {value}");
            values(name, screen)
                .into_iter()
                .filter(|value| value.to_lowercase().contains(&word))
                .take(OFFERED)
                .map(line)
                .collect()
        }
    }
}

/// The input, completed as far as all candidates agree.
pub fn complete(typed: &str, context: Context, screen: &ScreenState) -> String {
    let found = candidates(typed, context, screen);
    let Some(first) = found.first() else { return typed.to_owned() };
    let same = |line: &String| first.char_indices().zip(line.chars()).find(|((_, a), b)| a != b).map(|((i, _), _)| i);
    let agreed = found.iter().map(|line| same(line).unwrap_or(first.len().min(line.len()))).min().unwrap_or(0);
    let agreed = first.get(..agreed).unwrap_or_default();
    // Candidates with the word inside may agree on less than the input.
    if agreed.starts_with(typed) || found.len() == 1 { agreed.to_owned() } else { typed.to_owned() }
}

/// Parses a command.
///
/// # Errors
/// A message for an unknown or ambiguous name.
pub fn parse(typed: &str, context: Context, screen: &ScreenState) -> Result<PaletteCommand, String> {
    let (name, word) = typed.trim().split_once(' ').unwrap_or((typed.trim(), ""));
    let (name, word) = (meant(name, context)?, word.trim());
    let named = |word: &str, what: &str| -> Result<String, String> {
        let values = values(name, screen);
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        only(word, &values, what).map(str::to_owned)
    };
    let known = action(name, context);
    match (name, word) {
        ("sort", "") => Ok(PaletteCommand::Sort(Sort::default())),
        ("sort", word) => named(word, "column").and_then(|word| Sort::parse(&word)).map(PaletteCommand::Sort),
        ("filter", words) if !words.is_empty() || known.is_none() => Ok(PaletteCommand::Filter(words.to_owned())),
        ("theme", word) => ColorScheme::parse(&named(word, "theme")?).map(PaletteCommand::Theme),
        ("pod" | "log", word) if !word.is_empty() => {
            let which = named(word, "pod")?;
            let row = screen.node_view.rows().iter().find(|row| format!("{}/{}", row.namespace, row.name) == which);
            let command = if name == "log" { PaletteCommand::Log } else { PaletteCommand::Pod };
            row.map(|row| command(row.key.clone())).ok_or_else(|| format!("no pod {word}"))
        }
        ("log", "") => Ok(PaletteCommand::Run(Action::Log)),
        ("runbook", word) if !word.is_empty() => named(word, "entry").map(|id| PaletteCommand::Entry(id.into())),
        (name, "") => known.map(PaletteCommand::Run).ok_or_else(|| format!("{name} is not available here")),
        (name, _) => Err(format!("{name} takes no argument")),
    }
}

/// The command of an abbreviation: a pane by any prefix, else the one command that is a prefix of all other matches.
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

/// Panes, then commands with an argument, then the actions of this context.
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
    BINDINGS.iter().find(|b| b.action.name() == name && b.holds_in(context)).map(|b| b.action)
}

fn values(name: &str, screen: &ScreenState) -> Vec<String> {
    match name {
        "pod" | "log" => screen.node_view.rows().iter().map(|row| format!("{}/{}", row.namespace, row.name)).collect(),
        "runbook" => screen.node_view.book().causes().map(|cause| cause.id.clone()).collect(),
        "theme" => ColorScheme::ALL.map(|look| look.name().to_owned()).to_vec(),
        "sort" => {
            let names = [SEVERITY].into_iter().chain(Column::ALL.map(Column::name));
            names.clone().map(str::to_owned).chain(names.map(|name| format!("-{name}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// The name that equals the word, or the only one that starts with it, or the only one that contains it.
fn only<'a>(word: &str, names: &[&'a str], what: &str) -> Result<&'a str, String> {
    if let Some(exact) = names.iter().find(|name| **name == word) {
        return Ok(exact);
    }
    let lower = word.to_lowercase();
    let begins: Vec<&str> = names.iter().copied().filter(|name| name.to_lowercase().starts_with(&lower)).collect();
    let has: Vec<&str> = names.iter().copied().filter(|name| name.to_lowercase().contains(&lower)).collect();
    match (begins.as_slice(), has.as_slice()) {
        _ if word.is_empty() => Err(format!("{what} missing")),
        ([one], _) | ([], [one]) => Ok(one),
        ([], []) => Err(format!("no {what} {word}")),
        ([], several) | (several, _) => {
            let names: Vec<&str> = several.iter().copied().take(4).collect();
            Err(format!("{word}: ambiguous {what}: {}", names.join(", ")))
        }
    }
}
