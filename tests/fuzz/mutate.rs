//! Changes inputs: as bytes, as text with numbers and times in it, and as JSON.

use serde_json::Value;

use crate::json;
use crate::rng::Rng;
use crate::words::{NUMBERS, TEXTS, TIMES};

/// How the inputs of a target are built, and so how they are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Anything: bytes alone are changed.
    Bytes,
    /// Lines of text.
    Text,
    /// One JSON document.
    Json,
    /// A JSON document on each line.
    JsonLines,
}

/// Longest input, bytes: beyond it only the tests of budgets have something to say.
const LONGEST: usize = 512 << 10;

/// The inputs that a target starts from.
pub struct Seeds {
    pub form: Form,
    pub raw: Vec<Vec<u8>>,
    /// Those that are JSON, and the lines of those that are JSON lines.
    pub values: Vec<Value>,
}

impl Seeds {
    pub fn new(form: Form, raw: Vec<Vec<u8>>) -> Self {
        let lines = |bytes: &Vec<u8>| -> Vec<Value> {
            let pieces: Vec<&[u8]> = match form {
                Form::JsonLines => bytes.split(|b| *b == b'\n').collect(),
                Form::Json => vec![bytes],
                Form::Bytes | Form::Text => Vec::new(),
            };
            pieces.into_iter().filter_map(|piece| serde_json::from_slice(piece).ok()).collect()
        };
        let values = raw.iter().flat_map(lines).collect();
        Self { form, raw, values }
    }

    /// A changed input.
    pub fn input(&self, rng: &mut Rng) -> Vec<u8> {
        let mut input = rng.pick(&self.raw).cloned().unwrap_or_default();
        let most = if rng.once_in(4) { 24 } else { 4 };
        let changes = 1 + rng.below(most);
        for _ in 0..changes {
            input = self.change(input, rng);
            input.truncate(LONGEST);
        }
        input
    }

    fn change(&self, input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
        match self.form {
            Form::Json if !rng.once_in(4) => json::change(&input, &self.values, rng).unwrap_or(input),
            Form::JsonLines if !rng.once_in(4) => self.change_line(input, rng),
            Form::Bytes => self.change_bytes(input, rng),
            Form::Text | Form::Json | Form::JsonLines => {
                if rng.once_in(5) {
                    self.change_bytes(input, rng)
                } else {
                    self.change_text(input, rng)
                }
            }
        }
    }

    fn change_line(&self, input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> = input.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let at = rng.below(lines.len());
        if let Some(line) = lines.get_mut(at)
            && let Some(changed) = json::change(line, &self.values, rng)
        {
            *line = changed;
        }
        lines.join(&b'\n')
    }

    fn change_bytes(&self, mut input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
        let at = rng.below(input.len() + 1);
        match rng.below(8) {
            0 if at < input.len() => input[at] ^= 1 << rng.below(8),
            1 if at < input.len() => input[at] = rng.next() as u8,
            2 => {
                let some: Vec<u8> = (0..rng.below(9)).map(|_| rng.next() as u8).collect();
                insert(&mut input, at, &some);
            }
            3 => {
                let end = (at + 1 + rng.below(16)).min(input.len());
                input.drain(at.min(end)..end);
            }
            4 => input.truncate(at),
            5 => {
                let piece = some_range(&input, rng).to_vec();
                insert(&mut input, at, &piece);
            }
            6 => {
                // The beginning of one and the end of another.
                let other = rng.pick(&self.raw).cloned().unwrap_or_default();
                input.truncate(at);
                input.extend_from_slice(other.get(rng.below(other.len() + 1)..).unwrap_or_default());
            }
            _ => {
                let piece = some_range(&input, rng);
                let piece = piece.get(..piece.len().min(64)).unwrap_or_default().to_vec();
                let many = piece.repeat(if rng.once_in(8) { 1 + rng.below(4096) } else { 1 + rng.below(32) });
                insert(&mut input, at, &many);
            }
        }
        input
    }

    fn change_text(&self, input: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
        let mut input = input;
        match rng.below(8) {
            0 | 1 => replace(&mut input, rng, |b| b.is_ascii_digit() || b == b'.', NUMBERS),
            2 => replace(&mut input, rng, |b| b.is_ascii_digit() || b"-:TZ.+".contains(&b), TIMES),
            3 => replace(&mut input, rng, |b| b.is_ascii_alphanumeric() || b == b'_', TEXTS),
            4 | 5 => {
                let at = rng.below(input.len() + 1);
                let words = if rng.once_in(3) { NUMBERS } else { TEXTS };
                let word = rng.pick(words).copied().unwrap_or_default();
                let times = if rng.once_in(16) { 1 + rng.below(2048) } else { 1 };
                insert(&mut input, at, word.repeat(times).as_bytes());
            }
            _ => input = self.change_lines(&input, rng),
        }
        input
    }

    fn change_lines(&self, input: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = input.split(|b| *b == b'\n').collect();
        let (a, b) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(4) {
            0 => lines.swap(a, b),
            1 => _ = lines.remove(a),
            2 => lines.insert(b, lines[a]),
            _ => {
                let other = rng.pick(&self.raw).map_or(&[][..], Vec::as_slice);
                let others: Vec<&[u8]> = other.split(|b| *b == b'\n').collect();
                lines.insert(a, rng.pick(&others).copied().unwrap_or_default());
            }
        }
        lines.join(&b'\n')
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}

fn some_range<'a>(input: &'a [u8], rng: &mut Rng) -> &'a [u8] {
    let begin = rng.below(input.len());
    let most = if rng.once_in(4) { 512 } else { 24 };
    let end = (begin + 1 + rng.below(most)).min(input.len());
    input.get(begin..end).unwrap_or_default()
}

/// Replaces one run of bytes of a class by one of `words`.
fn replace(input: &mut Vec<u8>, rng: &mut Rng, class: impl Fn(u8) -> bool, words: &[&str]) {
    let from = rng.below(input.len());
    let Some(begin) = input.iter().skip(from).position(|b| class(*b)).map(|i| i + from) else { return };
    let len = input.iter().skip(begin).take_while(|b| class(**b)).count();
    let word = rng.pick(words).copied().unwrap_or_default();
    input.splice(begin..begin + len, word.bytes());
}
