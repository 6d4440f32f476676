//! Owns `kpodtrace config`, and the way from files and flags to what the screen begins with.
//! It must not draw.

use std::env;

use super::{Failure, Outcome, out, trusted};
use crate::cli::LookArgs;
use crate::config::{Config, Flags, files, toml_text};
use crate::tui::Options;

/// Prints the configuration that is in effect.
pub(super) fn run(args: &LookArgs) -> Result<Outcome, Failure> {
    out::text(&toml_text(&read(args)?))?;
    Ok(Outcome::Done)
}

/// What the screen begins with.
pub(super) fn options(args: &LookArgs) -> Result<Options, Failure> {
    let mut options = read(args)?.options();
    options.filter.namespace.clone_from(&args.namespace);
    Ok(options)
}

fn read(args: &LookArgs) -> Result<Config, Failure> {
    let flags = Flags {
        theme: args.theme.as_deref(),
        sort: args.sort.as_deref(),
        filter: args.filter.as_deref(),
        failing: args.failing,
        ascii: args.ascii,
        no_mouse: args.no_mouse,
    };
    let wrong = |error: crate::config::ConfigError| {
        Failure::usage(error.to_string(), "kpodtrace config --help; a file that is not there is no mistake")
    };
    let mut files = files(|name| env::var(name).ok());
    files.retain(|file| trusted::is_believed(file));
    let config = Config::read(&files).and_then(|config| config.flags(&flags)).map_err(wrong)?;
    config.closed.iter().for_each(|file| out::note(&format!("{file} was left out: this user may not look there")));
    Ok(config)
}
