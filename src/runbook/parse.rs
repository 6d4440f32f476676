//! The format of a runbook file, and the errors of an invalid one: file, line, reason.

use serde::Deserialize;
use toml::Spanned;

use super::entry::{Cause, CauseScope, Confidence, Effect, RunbookStep, Severity};
use super::matcher::compile;
use super::rule::{Rule, RuleTerm, SignalCondition};
use super::signal::{Signal, SignalKind};
use super::template::Template;
use crate::observation::Source;
use crate::pipeline::Stage;
use crate::text::Text;

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct RunbookFileError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunbookFile {
    #[serde(default)]
    cause: Vec<RawCause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCause {
    id: Spanned<String>,
    stage: Spanned<String>,
    #[serde(default = "error")]
    severity: Severity,
    title: Spanned<String>,
    explanation: Spanned<String>,
    #[serde(default)]
    explains: Vec<Spanned<String>>,
    #[serde(default)]
    excludes: Vec<String>,
    #[serde(default)]
    reasons: Vec<String>,
    #[serde(default)]
    docs: Vec<Spanned<String>>,
    #[serde(default)]
    step: Vec<RawStep>,
    #[serde(default)]
    rule: Vec<RawRule>,
}

fn error() -> Severity {
    Severity::Error
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    text: Spanned<String>,
    run: Option<Spanned<String>>,
    disrupts: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: Spanned<String>,
    #[serde(default = "certain")]
    confidence: Confidence,
    #[serde(default = "middle")]
    weight: u8,
    explanation: Option<Spanned<String>>,
    #[serde(default)]
    all: Vec<Spanned<RawTerm>>,
    #[serde(default)]
    any: Vec<Spanned<RawTerm>>,
    #[serde(default)]
    not: Vec<Spanned<RawTerm>>,
    #[serde(default)]
    matches: Vec<Spanned<RawExample>>,
    #[serde(default)]
    misses: Vec<Spanned<RawExample>>,
}

fn certain() -> Confidence {
    Confidence::Certain
}

fn middle() -> u8 {
    50
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTerm {
    #[serde(default)]
    all: Vec<RawTerm>,
    #[serde(default)]
    any: Vec<RawTerm>,
    #[serde(default)]
    signal: OneOrMany<SignalKind>,
    #[serde(default)]
    word: OneOrMany<String>,
    text: Option<String>,
    code: Option<RawCode>,
    #[serde(default)]
    min_count: u32,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum RawCode {
    One(i64),
    Range([i64; 2]),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// A text for the first kind of signal in the rule, one signal, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawExample {
    Text(String),
    One(RawSignal),
    Several(Vec<RawSignal>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSignal {
    signal: SignalKind,
    #[serde(default)]
    word: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    container: String,
    code: Option<i64>,
    #[serde(default = "one")]
    count: u32,
}

fn one() -> u32 {
    1
}

/// What a file holds; the conditions that its rules name by number.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub causes: Vec<Cause>,
    pub rules: Vec<Rule>,
    pub conditions: Vec<SignalCondition>,
}

impl Parsed {
    /// The same, for use alone.
    #[must_use]
    pub fn without_examples(mut self) -> Self {
        for rule in &mut self.rules {
            (rule.matches, rule.misses) = (Vec::new(), Vec::new());
        }
        self
    }
}

/// Reads a file. Patterns are compiled to see that they can be, unless `trusted`.
pub(super) fn parse(name: &str, content: &str, trusted: bool) -> Result<Parsed, RunbookFileError> {
    let at = |offset: usize, reason: String| RunbookFileError {
        file: name.to_owned(),
        line: content.get(..offset).map_or(1, |before| before.matches('\n').count() + 1),
        reason,
    };
    let file: RunbookFile = toml::from_str(content)
        .map_err(|e| at(e.span().map_or(0, |s| s.start), e.message().trim().replace('\n', "; ")))?;
    let mut parsed = Parsed::default();
    for raw in file.cause {
        let id = raw.id.get_ref().clone();
        let well_formed = id.split('.').count() >= 2
            && id
                .split('.')
                .all(|s| !s.is_empty() && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        if !well_formed {
            return Err(at(
                raw.id.span().start,
                format!("{id:?} is not a cause id: expected one such as image.not-found"),
            ));
        }
        let template =
            |text: &Spanned<String>| Template::read(text.get_ref()).map_err(|reason| at(text.span().start, reason));
        let place = CauseScope::read(raw.stage.get_ref()).ok_or_else(|| {
            let names: Vec<&str> = Stage::ALL.iter().map(|s| s.name()).collect();
            at(raw.stage.span().start, format!("no such stage; it is one of {}, node, any", names.join(", ")))
        })?;
        let mut steps = Vec::new();
        for step in &raw.step {
            steps.push(RunbookStep {
                text: template(&step.text)?,
                run: step.run.as_ref().map(template).transpose()?,
                effect: step.disrupts.clone().map_or(Effect::ReadOnly, Effect::Disrupts),
            });
        }
        let mut explains = Vec::new();
        for stage in &raw.explains {
            let found = Stage::ALL.into_iter().find(|s| s.name() == stage.get_ref());
            explains.push(found.ok_or_else(|| at(stage.span().start, "no such stage".to_owned()))?);
        }
        let link = |doc: &&Spanned<String>| !doc.get_ref().starts_with("https://");
        if let Some(doc) = raw.docs.iter().find(link) {
            return Err(at(doc.span().start, "a link begins with https://".to_owned()));
        }
        parsed.causes.push(Cause {
            id: id.clone(),
            place,
            severity: raw.severity,
            title: template(&raw.title)?,
            explanation: template(&raw.explanation)?,
            steps,
            docs: raw.docs.into_iter().map(Spanned::into_inner).collect(),
            reasons: raw.reasons,
            explains,
            excludes: raw.excludes,
        });
        for rule in raw.rule {
            let explanation = rule.explanation.as_ref().map(template).transpose()?;
            let line = rule.name.span().start;
            let mut terms = |raw: Vec<Spanned<RawTerm>>| -> Result<Vec<RuleTerm>, RunbookFileError> {
                let each = raw.into_iter().map(|t| {
                    let offset = t.span().start;
                    term(t.into_inner(), &mut parsed.conditions, trusted).map_err(|reason| at(offset, reason))
                });
                each.collect()
            };
            let (all, any, not) = (terms(rule.all)?, terms(rule.any)?, terms(rule.not)?);
            let Some(first) = all.iter().chain(&any).flat_map(RuleTerm::conditions).next() else {
                return Err(at(line, "a rule without a condition: it needs `all` or `any`".to_owned()));
            };
            let kind =
                parsed.conditions.get(*first).and_then(|c| c.kinds.first()).copied().unwrap_or(SignalKind::Event);
            let examples =
                |raw: Vec<Spanned<RawExample>>| raw.into_iter().map(|e| example(e.into_inner(), kind)).collect();
            parsed.rules.push(Rule {
                cause: id.clone(),
                id: format!("{id}#{}", rule.name.get_ref()),
                all,
                any,
                not,
                confidence: rule.confidence,
                weight: rule.weight,
                explanation,
                matches: examples(rule.matches),
                misses: examples(rule.misses),
            });
        }
    }
    Ok(parsed)
}

fn term(raw: RawTerm, conditions: &mut Vec<SignalCondition>, trusted: bool) -> Result<RuleTerm, String> {
    let bare = raw.all.is_empty() && raw.any.is_empty();
    if bare {
        return Ok(RuleTerm::One(condition(raw, conditions, trusted)?));
    }
    let has_more = !raw.signal.into_vec().is_empty() || raw.text.is_some() || raw.code.is_some();
    if has_more || (!raw.all.is_empty() && !raw.any.is_empty()) {
        return Err("one of signal, all and any, not several".to_owned());
    }
    let mut each = |terms: Vec<RawTerm>| -> Result<Vec<usize>, String> {
        terms.into_iter().map(|t| condition(t, conditions, trusted)).collect()
    };
    Ok(if raw.all.is_empty() { RuleTerm::Any(each(raw.any)?) } else { RuleTerm::All(each(raw.all)?) })
}

fn condition(raw: RawTerm, conditions: &mut Vec<SignalCondition>, trusted: bool) -> Result<usize, String> {
    if !raw.all.is_empty() || !raw.any.is_empty() {
        return Err("all and any go two levels deep, not three".to_owned());
    }
    let kinds = raw.signal.into_vec();
    if kinds.is_empty() {
        let names: Vec<&str> = SignalKind::ALL.iter().map(|(_, name, _)| *name).collect();
        return Err(format!("a condition names its signal: one of {}", names.join(", ")));
    }
    if let Some(text) = raw.text.as_deref().filter(|_| !trusted) {
        compile(text).map_err(|e| format!("not a pattern: {}", e.to_string().replace('\n', "; ")))?;
    }
    let code = raw.code.map(|code| match code {
        RawCode::One(n) => (n, n),
        RawCode::Range([from, to]) => (from, to),
    });
    let condition =
        SignalCondition { kinds, words: raw.word.into_vec(), text: raw.text, code, min_count: raw.min_count };
    // A condition of several rules is kept once.
    if let Some(same) = conditions.iter().position(|c| *c == condition) {
        return Ok(same);
    }
    conditions.push(condition);
    Ok(conditions.len() - 1)
}

fn example(raw: RawExample, kind: SignalKind) -> Vec<Signal> {
    let signal = |raw: RawSignal| {
        let signal = Signal::new(raw.signal, Source::ApiEvents, raw.word, raw.text).times(raw.count);
        let signal = signal.of(&Text::new(&raw.container));
        match raw.code {
            Some(code) => signal.code(code),
            None => signal,
        }
    };
    match raw {
        RawExample::Text(text) => vec![Signal::new(kind, Source::ApiEvents, "", text)],
        RawExample::One(one) => vec![signal(one)],
        RawExample::Several(several) => several.into_iter().map(signal).collect(),
    }
}
