//! What a user writes: arguments, configuration, runbooks, filters.

use clap::Parser;
use kpodtrace::cli::Cli;
use kpodtrace::config::{Config, toml_text};
use kpodtrace::runbook::{Runbook, Template, Vars, quoted};
use kpodtrace::tui::{ColorScheme, KeyPress};
use kpodtrace::view::{Column, Filter, Sort, SubjectName, has_words, is_near};

use crate::decode::lossy;
use crate::scratch::Scratch;

/// Arguments on a line each, of at most 1,000 characters: clap looks for the name most like one that it does not know, in
/// quadratic time.
pub fn arguments(bytes: &[u8]) {
    let text = lossy(bytes);
    _ = Cli::try_parse_from(std::iter::once("kpodtrace").chain(text.lines().filter(|line| line.len() <= 1000)));
}

pub fn config(bytes: &[u8]) {
    let scratch = Scratch::new();
    let file = scratch.write("config.toml", bytes);
    if let Ok(config) = Config::read(&[file]) {
        _ = (config.options(), toml_text(&config));
    }
}

pub fn runbook(bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.write("a.toml", bytes);
    if let Ok(book) = Runbook::only(scratch.path()) {
        _ = book.check();
        _ = (book.causes().count(), book.of_reason("Evicted").len(), book.cause("a.b.c").is_some());
    }
    let text = lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    if let Ok(template) = Template::read(line) {
        _ = (template.names().count(), template.fill(&Vars::default()), template.command(&Vars::default()));
    }
    _ = quoted(line);
}

/// One expression on each line, taken for each thing that is read from a word.
pub fn filter(bytes: &[u8]) {
    let moment = crate::pipeline::small();
    for line in lossy(bytes).lines().take(8) {
        let filter = Filter { words: line.to_owned(), ..Filter::default() };
        _ = filter.problem();
        let sort = Sort::parse(line).unwrap_or_default();
        _ = moment.chosen(&filter, sort);
        _ = (
            Column::parse(line),
            ColorScheme::parse(line),
            SubjectName::parse(line),
            KeyPress::parse(line).map(KeyPress::name),
        );
        _ = (is_near("healthy-web", line), has_words(line, || "Healthy Web".into()));
    }
}
