//! Changes JSON as a tree: values of other types, keys moved between objects, elements repeated, depth.

use serde_json::{Map, Value, json};

use crate::rng::Rng;
use crate::words::{NUMBERS, TEXTS, TIMES};

/// The document with one change; nothing when it is not JSON. `donors` give keys and values.
pub fn change(document: &[u8], donors: &[Value], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut root: Value = serde_json::from_slice(document).ok()?;
    let count = count(&root);
    let donor = rng.pick(donors).map_or(Value::Null, |d| {
        let n = rng.below(self::count(d));
        node(d, n).cloned().unwrap_or_default()
    });
    let at = rng.below(count);
    if let Some(here) = node_mut(&mut root, at) {
        change_node(here, donor, rng);
    }
    serde_json::to_vec(&root).ok()
}

fn change_node(here: &mut Value, donor: Value, rng: &mut Rng) {
    match here {
        _ if rng.once_in(6) => *here = donor,
        _ if rng.once_in(12) => *here = odd(rng),
        _ if rng.once_in(200) => {
            let depth = 1 + rng.below(200);
            *here = (0..depth).fold(here.take(), |inner, _| json!([inner]));
        }
        Value::Object(map) => change_object(map, donor, rng),
        Value::Array(all) => change_array(all, donor, rng),
        Value::String(text) => {
            *text = match rng.below(5) {
                0 => rng.pick(TIMES).copied().unwrap_or_default().to_owned(),
                1 => rng.pick(NUMBERS).copied().unwrap_or_default().to_owned(),
                2 => rng.pick(TEXTS).copied().unwrap_or_default().to_owned(),
                3 => {
                    let mut at = rng.below(text.len() + 1);
                    while !text.is_char_boundary(at) {
                        at -= 1;
                    }
                    let word = rng.pick(TEXTS).copied().unwrap_or_default();
                    let times = if rng.once_in(16) { 1 + rng.below(2000) } else { 1 };
                    format!("{}{}{}", &text[..at], word.repeat(times), &text[at..])
                }
                _ => text.chars().rev().collect(),
            }
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => *here = odd(rng),
    }
}

fn change_object(map: &mut Map<String, Value>, donor: Value, rng: &mut Rng) {
    let keys: Vec<String> = map.keys().cloned().collect();
    let key = rng.pick(&keys).cloned().unwrap_or_default();
    match (rng.below(4), donor) {
        (0, _) => _ = map.remove(&key),
        (1, Value::Object(other)) => map.extend(other),
        (1 | 2, donor) => _ = map.insert(key, donor),
        (_, _) => {
            let other = rng.pick(&keys).cloned().unwrap_or_default();
            if let Some(value) = map.get(&key).cloned() {
                map.insert(other, value);
            }
        }
    }
}

fn change_array(all: &mut Vec<Value>, donor: Value, rng: &mut Rng) {
    let at = rng.below(all.len());
    match rng.below(5) {
        0 if !all.is_empty() => _ = all.remove(at),
        1 => all.clear(),
        2 => all.insert(at, donor),
        3 => all.reverse(),
        _ => {
            let Some(one) = all.get(at).cloned() else { return };
            let times = if rng.once_in(16) { 1 + rng.below(100) } else { 1 };
            all.extend(std::iter::repeat_n(one, times));
        }
    }
}

fn odd(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0 => Value::Null,
        1 => Value::Bool(rng.once_in(2)),
        2 => json!(rng.pick(TIMES)),
        3 => json!(rng.pick(TEXTS)),
        4 => json!({}),
        _ => {
            let number = rng.pick(NUMBERS).copied().unwrap_or_default();
            serde_json::from_str(number).unwrap_or_else(|_| json!(number))
        }
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

fn node(value: &Value, n: usize) -> Option<&Value> {
    let mut left = n;
    let mut open = vec![value];
    while let Some(here) = open.pop() {
        if left == 0 {
            return Some(here);
        }
        left -= 1;
        match here {
            Value::Array(all) => open.extend(all),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
    None
}

fn node_mut(value: &mut Value, n: usize) -> Option<&mut Value> {
    let mut left = n;
    let mut open = vec![value];
    while let Some(here) = open.pop() {
        if left == 0 {
            return Some(here);
        }
        left -= 1;
        match here {
            Value::Array(all) => open.extend(all),
            Value::Object(map) => open.extend(map.values_mut()),
            _ => {}
        }
    }
    None
}
