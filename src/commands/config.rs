//! `kpodtrace config`, and the screen's options from configuration files and flags.

use std::env;

use super::{Failure, Outcome, out, trusted};
use crate::cli::DisplayArgs;
use crate::config::{Config, ConfigFlags, files, toml_text};
use crate::tui::Options;

/// Prints the configuration in effect.
pub(super) fn run(args: &DisplayArgs) -> Result<Outcome, Failure> {
    out::text(&toml_text(&read(args)?))?;
    Ok(Outcome::Done)
}

/// Initial options of the screen.
pub(super) fn options(args: &DisplayArgs) -> Result<Options, Failure> {
    let mut options = read(args)?.options();
    options.filter.namespace.clone_from(&args.namespace);
    Ok(options)
}

fn read(args: &DisplayArgs) -> Result<Config, Failure> {
    let flags = ConfigFlags {
        theme: args.theme.as_deref(),
        sort: args.sort.as_deref(),
        filter: args.filter.as_deref(),
        failing: args.failing,
        ascii: args.ascii,
        no_mouse: args.no_mouse,
    };
    let wrong = |error: crate::config::ConfigError| {
        Failure::usage(error.to_string(), "kpodtrace config --help; a missing configuration file is not an error")
    };
    let mut files = files(|name| env::var(name).ok());
    files.retain(|file| trusted::is_trusted(file));
    let config = Config::read(&files).and_then(|config| config.flags(&flags)).map_err(wrong)?;
    config.unreadable.iter().for_each(|file| out::note(&format!("{file} is ignored: permission denied")));
    Ok(config)
}
