//! Owns the language in which rows are asked for: words, `field:` and `!`, all of which must hold.
//! It must not change what a row is: it only says whether one is meant.
//!
//! ```text
//! web !kube-system            the name has web, or its letters in order; kube-system is nowhere
//! status:crash stage:running  a part of that field
//! cause:image. !node:node-7   the cause begins with or has `image.`; not of that node
//! ```

use super::{PodHealth, Row};

/// Which rows are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only pods that are failing or slow.
    pub failing: bool,
    /// What is asked for, as it was typed.
    pub words: String,
}

/// A filter, read once for many rows.
#[derive(Clone, Debug)]
pub struct RowMatcher<'a> {
    filter: &'a Filter,
    terms: Vec<FilterTerm>,
}

/// What can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterField {
    Namespace,
    Name,
    Status,
    Stage,
    Cause,
    Why,
    Node,
}

const FIELDS: [(&str, FilterField); 8] = [
    ("ns", FilterField::Namespace),
    ("namespace", FilterField::Namespace),
    ("name", FilterField::Name),
    ("status", FilterField::Status),
    ("stage", FilterField::Stage),
    ("cause", FilterField::Cause),
    ("why", FilterField::Why),
    ("node", FilterField::Node),
];

#[derive(Clone, Debug)]
struct FilterTerm {
    field: Option<FilterField>,
    not: bool,
    text: String,
}

impl Filter {
    /// Reads it, for many rows.
    pub fn matcher(&self) -> RowMatcher<'_> {
        let terms = self.words.split_whitespace().filter_map(|word| FilterTerm::parse(word).ok()).collect();
        RowMatcher { filter: self, terms }
    }

    /// What in it is not understood, and therefore not asked for.
    pub fn problem(&self) -> Option<String> {
        self.words.split_whitespace().find_map(|word| FilterTerm::parse(word).err())
    }
}

impl RowMatcher<'_> {
    /// True when the row is meant.
    pub fn accepts(&self, row: &Row) -> bool {
        if self.filter.namespace.as_ref().is_some_and(|ns| row.namespace != ns.as_str()) {
            return false;
        }
        if self.filter.failing && row.health < PodHealth::Slow {
            return false;
        }
        self.terms.iter().all(|term| term.holds(row) != term.not)
    }
}

impl FilterTerm {
    /// A word; an error is a field that there is not. What is still empty asks for nothing.
    fn parse(word: &str) -> Result<Self, String> {
        let (not, rest) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
        let (field, text) = match rest.split_once(':') {
            Some((name, text)) if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()) => {
                let lower = name.to_ascii_lowercase();
                let field = FIELDS.iter().find(|(known, _)| *known == lower).map(|(_, field)| *field);
                (Some(field.ok_or_else(|| format!("no field {name}: there are {}", names()))?), text)
            }
            _ => (None, rest),
        };
        Ok(Self { field, not: not && !text.is_empty(), text: text.to_lowercase() })
    }

    fn holds(&self, row: &Row) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.text);
        match self.field {
            _ if self.text.is_empty() => true,
            Some(FilterField::Namespace) => has(&row.namespace),
            Some(FilterField::Name) => has(&row.name),
            Some(FilterField::Status) => has(&row.status),
            Some(FilterField::Stage) => has(row.stage.name()),
            Some(FilterField::Cause) => has(&row.cause),
            Some(FilterField::Why) => has(&row.why) || has(&row.reason),
            Some(FilterField::Node) => has(&row.node),
            None => {
                let name = format!("{}/{}", row.namespace, row.name).to_lowercase();
                let rest = [row.status.as_str(), row.stage.name(), &row.cause, &row.why, &row.reason];
                // What is not wanted is meant as it is written: its letters in order are in too much.
                name.contains(&self.text) || rest.into_iter().any(has) || !self.not && is_near(&name, &self.text)
            }
        }
    }
}

fn names() -> String {
    FIELDS.iter().map(|(name, _)| format!("{name}:")).filter(|name| name != "namespace:").collect::<Vec<_>>().join(" ")
}

/// True when the letters of `word` are in `name` in order: near one another, or each that leaps at the begin of a part.
pub fn is_near(name: &str, word: &str) -> bool {
    let (name, word): (Vec<char>, Vec<char>) = (name.chars().collect(), word.chars().collect());
    leaps_to_parts(&name, &word) || word.len() > 2 && shortest_span(&name, &word).is_some_and(|n| n <= 2 * word.len())
}

/// `hw` in `healthy-web`: a letter follows the one before, or begins a part.
fn leaps_to_parts(name: &[char], word: &[char]) -> bool {
    let begins = |i: usize| i == 0 || !name[i - 1].is_alphanumeric() || !name[i].is_alphanumeric();
    // Where the letters so far may end.
    let mut ends: Vec<bool> = Vec::new();
    for (n, letter) in word.iter().enumerate() {
        let first = ends.iter().position(|e| *e);
        let reached = |i: usize| match n {
            0 => begins(i),
            _ => i > 0 && ends[i - 1] || begins(i) && first.is_some_and(|f| f < i),
        };
        ends = (0..name.len()).map(|i| name[i] == *letter && reached(i)).collect();
    }
    !word.is_empty() && ends.contains(&true)
}

/// How many letters the word spans at least: `cdns` in `coredns` seven.
fn shortest_span(name: &[char], word: &[char]) -> Option<usize> {
    let first = word.first()?;
    let span = |start: usize| {
        let mut letters = word.iter();
        let mut wanted = letters.next();
        for (i, c) in name.iter().enumerate().skip(start) {
            if Some(c) == wanted {
                wanted = letters.next();
                if wanted.is_none() {
                    return Some(i + 1 - start);
                }
            }
        }
        None
    };
    name.iter().enumerate().filter(|(_, c)| *c == first).filter_map(|(start, _)| span(start)).min()
}

/// True when the text has every one of the words somewhere, whatever their case; the text is made only when there are any.
pub fn has_words(words: &str, text: impl FnOnce() -> String) -> bool {
    if words.trim().is_empty() {
        return true;
    }
    let text = text().to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_close_together_or_at_the_begin_of_parts() {
        let near = |word| is_near("shop/healthy-web-69b9", word);
        assert!(["hw", "shw", "hweb", "helthy", "web69", "s/hw", "healthyweb"].into_iter().all(near));
        assert!(!["wh", "hb", "soy", "xyz", "hwz", "se9"].into_iter().any(near));
        assert!(is_near("kube-system/coredns-5d78c", "cdns") && is_near("kube-system/kube-proxy-x", "kproxy"));
        assert!(!is_near("", "a") && !is_near("a", "aa"));
        assert!(!is_near(&"a-".repeat(120), &"a".repeat(121)), "a long word takes no long time");
    }

    #[test]
    fn what_is_not_understood_is_said_and_not_asked_for() {
        let problem = |words: &str| Filter { words: words.into(), ..Filter::default() }.problem();
        assert_eq!(
            problem("web !pod:x"),
            Some("no field pod: there are ns: name: status: stage: cause: why: node:".into())
        );
        for fine in ["", "web", "ns:", "!ns:x", "NS:x", "10:20", "a/b:c", ":x", "!"] {
            assert_eq!(problem(fine), None, "{fine}");
        }
    }
}
