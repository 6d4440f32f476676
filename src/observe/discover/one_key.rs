//! Reads one top-level key of a small YAML or JSON file; an unsupported notation is an error.

/// The value of `key` at the top level, `None` when it is not there.
///
/// Plain and quoted scalars on the key's own line are read; of YAML's other ways (blocks, anchors, tags, flow) nothing is.
///
/// # Errors
/// Why the value is not known.
pub fn one_key(text: &str, key: &str) -> Result<Option<String>, &'static str> {
    if text.trim_start().starts_with('{') {
        return json(text, key);
    }
    let mut found = None;
    for line in text.lines() {
        let Some(rest) = strip_key(line, key) else { continue };
        // Of a key that is written twice, decoders take the last or refuse; neither is certain.
        if found.is_some() {
            return Err("the key is there twice");
        }
        found = Some(scalar(rest)?);
    }
    Ok(found.flatten())
}

fn json(text: &str, key: &str) -> Result<Option<String>, &'static str> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|_| "neither JSON nor YAML that is read here")?;
    match value.get(key) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(s)) => Ok(Some(s.clone())),
        Some(other @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => Ok(Some(other.to_string())),
        Some(_) => Err("the value is not a scalar"),
    }
}

/// What follows `key:` at the beginning of a line.
fn strip_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quoted = |q: char| line.strip_prefix(q)?.strip_prefix(key)?.strip_prefix(q);
    let rest = line.strip_prefix(key).or_else(|| quoted('"')).or_else(|| quoted('\''))?;
    let rest = rest.trim_start().strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest.trim())
}

fn scalar(raw: &str) -> Result<Option<String>, &'static str> {
    const UNREAD: &str = "the value is written in a way that is not read here";
    for quote in ['"', '\''] {
        let Some(rest) = raw.strip_prefix(quote) else { continue };
        let (value, after) = rest.split_once(quote).ok_or(UNREAD)?;
        let after = after.trim_start();
        let plain = !value.contains('\\') && (after.is_empty() || after.starts_with('#'));
        return if plain { Ok(Some(value.to_owned())) } else { Err(UNREAD) };
    }
    if raw.starts_with(['{', '[', '|', '>', '&', '*', '!', '?', '%', '@', '`']) {
        return Err(UNREAD);
    }
    let value = if raw.starts_with('#') { "" } else { raw.split(" #").next().unwrap_or_default().trim() };
    Ok((!matches!(value, "" | "~" | "null")).then(|| value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_both_formats() {
        let yaml = "# comment\nkind: KubeletConfiguration\nport: 10260 # odd\nauth:\n  port: 1\nempty: \"\"\n\
                    'quoted': 'unix:///run/x.sock'\nnothing:\nblock: |\n  text\ntwice: 1\ntwice: 2\n";
        assert_eq!(one_key(yaml, "port"), Ok(Some("10260".into())));
        assert_eq!(one_key(yaml, "quoted"), Ok(Some("unix:///run/x.sock".into())));
        assert_eq!(one_key(yaml, "nothing"), Ok(None));
        assert_eq!(one_key(yaml, "por"), Ok(None));
        assert_eq!(one_key(yaml, "empty"), Ok(Some(String::new())));
        assert!(one_key(yaml, "block").is_err() && one_key(yaml, "twice").is_err());
        let json = "{\"port\": 10260, \"address\": \"::\", \"auth\": {\"port\": 1}}";
        assert_eq!(one_key(json, "port"), Ok(Some("10260".into())));
        assert_eq!(one_key(json, "x"), Ok(None));
        assert!(one_key(json, "auth").is_err() && one_key("{port: 1}", "port").is_err());
    }
}
