//! Texts and commands with variables: `{image}`, or `{image|the image}` with a text for an unknown value. Values in commands are
//! quoted for the shell.

use std::collections::BTreeMap;

/// Variables with their values.
pub type Vars = BTreeMap<String, String>;

/// A text with places to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Plain(String),
    Variable { name: String, otherwise: Option<String> },
}

impl Template {
    /// Reads a text; `{{` and `}}` are braces.
    ///
    /// # Errors
    /// When a brace is not closed, or contains no valid name.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let tail = &rest[at..];
            if let Some(after) = tail.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = tail.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some((inside, after)) = tail.strip_prefix('{').and_then(|t| t.split_once('}')) {
                let (name, otherwise) = match inside.split_once('|') {
                    Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
                    None => (inside, None),
                };
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                    return Err(format!("{{{inside}}} names nothing: a name is of a-z and _; {{{{ is a brace"));
                }
                parts.push(TemplatePart::Plain(std::mem::take(&mut plain)));
                parts.push(TemplatePart::Variable { name: name.to_owned(), otherwise });
                rest = after;
            } else {
                return Err("a brace that is not closed; {{ and }} are braces".to_owned());
            }
        }
        plain.push_str(rest);
        parts.push(TemplatePart::Plain(plain));
        parts.retain(|p| *p != TemplatePart::Plain(String::new()));
        Ok(Self(parts))
    }

    /// The same with `change` applied to everything but the variables.
    #[must_use]
    pub fn map_plain(&self, change: impl Fn(&str) -> String) -> Self {
        Self(
            self.0
                .iter()
                .map(|part| match part {
                    TemplatePart::Plain(text) => TemplatePart::Plain(change(text)),
                    TemplatePart::Variable { name, otherwise } => {
                        TemplatePart::Variable { name: name.clone(), otherwise: otherwise.as_deref().map(&change) }
                    }
                })
                .collect(),
        )
    }

    /// The variables in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Variable { name, .. } => Some(name.as_str()),
            TemplatePart::Plain(_) => None,
        })
    }

    /// The text, filled in; what is unknown reads as its alternative, else as its name in angle brackets.
    pub fn fill(&self, vars: &Vars) -> String {
        self.filled(vars, |_, value| value.to_owned())
    }

    /// The command, filled in, each value quoted for the shell. A value of the name `…_command` is a command of quoted words.
    pub fn command(&self, vars: &Vars) -> String {
        self.filled(vars, |name, value| if name.ends_with("_command") { value.to_owned() } else { quoted(value) })
    }

    fn filled(&self, vars: &Vars, put: impl Fn(&str, &str) -> String) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Plain(text) => out.push_str(text),
                TemplatePart::Variable { name, otherwise } => match (vars.get(name), otherwise) {
                    (Some(value), _) if !value.is_empty() => out.push_str(&put(name, value)),
                    (_, Some(otherwise)) => out.push_str(otherwise),
                    (_, None) => out.push_str(&format!("<{}>", name.replace('_', "-").to_uppercase())),
                },
            }
        }
        out
    }
}

/// A value as one word of a POSIX shell.
pub fn quoted(value: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '=' | '+' | ',' | '%');
    if !value.is_empty() && value.chars().all(plain) && !value.starts_with('-') {
        return value.to_owned();
    }
    // A line feed inside quotes would still be one word, and read as two commands.
    let line: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let guard = if line.starts_with('-') { "./" } else { "" };
    format!("'{guard}{}'", line.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn filled_with_what_is_known() {
        let t = Template::read("{image|the image} of {pod} {{x}}").unwrap();
        assert_eq!(t.fill(&vars(&[("pod", "a")])), "the image of a {x}");
        assert_eq!(t.fill(&vars(&[("image", "nginx")])), "nginx of <POD> {x}");
        assert_eq!(t.names().collect::<Vec<_>>(), ["image", "pod"]);
        for wrong in ["{", "a } b", "{}", "{A}", "{a b}"] {
            assert!(Template::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_is_one_word_of_the_shell() {
        let t = Template::read("crictl pull {image}").unwrap();
        let with = |image: &str| t.command(&vars(&[("image", image)]));
        assert_eq!(with("nginx:1.27@sha256:ab"), "crictl pull nginx:1.27@sha256:ab");
        assert_eq!(with("a; rm -rf /"), "crictl pull 'a; rm -rf /'");
        assert_eq!(with("a'b$(x)`y`"), r"crictl pull 'a'\''b$(x)`y`'");
        assert_eq!(with("a\nb"), "crictl pull 'a b'");
        assert_eq!(with("--root=/x"), "crictl pull './--root=/x'");
        assert_eq!(with("~root"), "crictl pull '~root'");
    }
}
