//! The runbook: what proves each cause, what it means and what to do, read from TOML files and matched against signals.

mod check;
mod entry;
mod matcher;
mod parse;
mod prefilter;
mod rule;
mod signal;
mod template;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use entry::{Cause, CauseScope, Confidence, Effect, RunbookStep, Severity};
pub use matcher::Hit;
pub use parse::RunbookFileError;
pub use rule::Rule;
pub use signal::{Signal, SignalKind};
pub use template::{Template, Vars, quoted};

use crate::named_file;
use matcher::SignalMatcher;
use parse::{Parsed, parse};

/// A team's own rules, beside the embedded ones.
pub const TEAM_DIR: &str = "/etc/kpodtrace/runbook.d";
/// Longest file that is read, bytes.
const FILE_LIMIT: u64 = 1 << 20;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../assets/runbook/", $name)))),*]
    };
}

/// The files of `assets/runbook`, in the order of the pipeline.
const EMBEDDED: &[(&str, &str)] = embedded![
    "scheduling.toml",
    "admission.toml",
    "volumes.toml",
    "sandbox.toml",
    "image.toml",
    "create.toml",
    "start.toml",
    "running.toml",
    "probes.toml",
    "terminating.toml",
    "node.toml",
    "none.toml",
];

/// Causes and the rules that prove them.
#[derive(Debug)]
pub struct Runbook {
    causes: BTreeMap<String, Arc<Cause>>,
    rules: Vec<Rule>,
    matcher: SignalMatcher,
}

/// Why a runbook could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum RunbookError {
    /// A folder or a file could not be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// Which.
        path: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// A file is wrong.
    #[error(transparent)]
    InvalidFile(#[from] RunbookFileError),
}

impl Runbook {
    /// The embedded runbook.
    pub fn builtin() -> &'static Runbook {
        static BUILTIN: OnceLock<Runbook> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            // A test reads every embedded file; one that is wrong all the same costs its own causes alone.
            let files = EMBEDDED.iter().filter_map(|(name, content)| parse(name, content, true).ok());
            // Examples are needed only to check a runbook.
            Self::of(files.map(Parsed::without_examples))
        })
    }

    /// The embedded runbook and the files of `dirs`: an entry there replaces the texts of one of the same id, its rules
    /// are added.
    ///
    /// # Errors
    /// When a folder cannot be read or a file is wrong: file, line, reason.
    pub fn with(dirs: &[PathBuf]) -> Result<Self, RunbookError> {
        let mut parsed = Vec::new();
        for (name, content) in EMBEDDED {
            parsed.push(parse(name, content, true)?);
        }
        for dir in dirs {
            parsed.extend(read_dir(dir)?);
        }
        Ok(Self::of(parsed))
    }

    /// The files of one folder alone.
    ///
    /// # Errors
    /// When the folder cannot be read or a file is wrong.
    pub fn only(dir: &Path) -> Result<Self, RunbookError> {
        Ok(Self::of(read_dir(dir)?))
    }

    fn of(files: impl IntoIterator<Item = Parsed>) -> Self {
        let (mut causes, mut rules, mut conditions) = (BTreeMap::new(), Vec::new(), Vec::new());
        for file in files {
            let first = conditions.len();
            conditions.extend(file.conditions);
            causes.extend(file.causes.into_iter().map(|c| (c.id.clone(), Arc::new(c))));
            rules.extend(file.rules.into_iter().map(|rule| rule.shifted(first)));
        }
        let matcher = SignalMatcher::new(conditions, &rules);
        Self { causes, rules, matcher }
    }

    /// The entry of that id, or of the nearest one that it refines.
    pub fn cause(&self, id: &str) -> Option<&Arc<Cause>> {
        let mut id = id;
        loop {
            if let Some(cause) = self.causes.get(id) {
                return Some(cause);
            }
            id = id.rsplit_once('.')?.0;
        }
    }

    /// The entries that a reason of Kubernetes leads to, such as `ImagePullBackOff` or `Evicted`.
    pub fn of_reason(&self, reason: &str) -> Vec<&Arc<Cause>> {
        self.causes.values().filter(|c| c.reasons.iter().any(|r| r.eq_ignore_ascii_case(reason))).collect()
    }

    /// Every entry, by id.
    pub fn causes(&self) -> impl Iterator<Item = &Arc<Cause>> {
        self.causes.values()
    }

    /// Every rule.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that these signals meet.
    pub fn hits(&self, signals: &[Signal]) -> Vec<Hit> {
        self.matcher.hits(&self.rules, signals)
    }

    /// What the patterns of a rule pull out of the signals, by their numbers, that prove it.
    pub fn pulled_out(&self, rule: &Rule, used: &[usize], signals: &[Signal]) -> Vars {
        self.matcher.pulled_out(rule, used, signals)
    }

    /// The next number of seconds behind `lasted` at which a condition on such a signal begins or ceases to hold.
    pub fn next_threshold(&self, kind: SignalKind, lasted: i64) -> Option<i64> {
        self.matcher.thresholds(kind).iter().copied().find(|t| *t > lasted)
    }

    /// What is wrong with entries and rules that can be read: examples that do not hold, names that nothing fills, causes
    /// without steps.
    pub fn check(&self) -> Vec<String> {
        check::check(self)
    }
}

fn read_dir(dir: &Path) -> Result<Vec<Parsed>, RunbookError> {
    let failed = |path: &Path, error| RunbookError::Read { path: path.display().to_string(), error };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|e| failed(dir, e))? {
        let path = entry.map_err(|e| failed(dir, e))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut parsed = Vec::new();
    for path in files {
        let content = named_file::text(&path, FILE_LIMIT).map_err(|e| failed(&path, e))?;
        parsed.push(parse(&path.display().to_string(), &content, false)?);
    }
    Ok(parsed)
}
