//! A list with a bound: the first entries are kept, the others are summarized. The bound holds also during decoding.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::{DeserializeOwned, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::MapAccess};

use crate::text::Text;
use crate::weight::Weigh;

/// An entry of a bounded list.
pub trait BoundedEntry: Sized {
    /// Summary of the entries that are left out.
    type Summary: OmittedSummary;

    /// Adds this entry to the summary of those left out.
    fn fold(self, rest: &mut Self::Summary);

    /// True for an entry that replaces another one when the list is full.
    fn is_essential(&self) -> bool {
        false
    }
}

/// Summary of the entries that are left out.
pub trait OmittedSummary: Clone + Default + fmt::Debug + PartialEq + Serialize + DeserializeOwned {
    /// Number of entries.
    fn count(&self) -> u64;
}

/// The number of entries that are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OmittedCount {
    count: u64,
}

impl OmittedSummary for OmittedCount {
    fn count(&self) -> u64 {
        self.count
    }
}

impl OmittedCount {
    /// Counts one more.
    pub fn add(&mut self) {
        self.count = self.count.saturating_add(1);
    }
}

/// The first `MOST` entries of a list, and a summary of the others.
///
/// In JSON it is a list as in the API if no entry is left out, else an object with the entries in `kept` and the summary in
/// `rest`.
#[derive(Clone, PartialEq)]
pub struct Bounded<T: BoundedEntry, const MOST: usize> {
    kept: Vec<T>,
    rest: T::Summary,
}

impl<T: BoundedEntry, const MOST: usize> Bounded<T, MOST> {
    /// Adds an entry at the end.
    pub fn push(&mut self, mut entry: T) {
        if self.kept.len() < MOST {
            return self.kept.push(entry);
        }
        if entry.is_essential()
            && let Some(other) = self.kept.iter().rposition(|kept| !kept.is_essential())
        {
            let other = self.kept.remove(other);
            self.kept.push(std::mem::replace(&mut entry, other));
        }
        entry.fold(&mut self.rest);
    }

    /// The summary of the entries that are left out.
    pub fn rest(&self) -> &T::Summary {
        &self.rest
    }

    /// Number of entries, kept or left out. `len` is the number of kept ones.
    pub fn total(&self) -> u64 {
        (self.kept.len() as u64).saturating_add(self.rest.count())
    }

    /// The entries as text, with the number of those left out: `a, b and 3 more`.
    pub fn joined<'a>(&'a self, word: impl Fn(&'a T) -> &'a str) -> String {
        let words: Vec<&str> = self.kept.iter().map(word).collect();
        let more =
            if self.rest.count() > 0 { format!(" and {} more", grouped(self.rest.count())) } else { String::new() };
        words.join(", ") + &more
    }

    /// The number of entries left out; None if there are none. `plural` names the entries.
    pub fn left_out(&self, plural: &'static str) -> Option<LeftOut> {
        let is_partial = self.rest.count() > 0;
        is_partial.then(|| LeftOut { what: plural, kept: self.kept.len(), total: self.total() })
    }
}

/// Entries of one object that are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What they are, plural.
    pub what: &'static str,
    /// Number of kept entries.
    pub kept: usize,
    /// Number of all entries.
    pub total: u64,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.total.saturating_sub(self.kept as u64);
        write!(f, "{} of {} {} left out", grouped(more), grouped(self.total), self.what)
    }
}

/// A count with thousands separators: `110,000`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl<T: BoundedEntry + Weigh, const MOST: usize> Weigh for Bounded<T, MOST> {
    fn heap(&self) -> usize {
        self.kept.heap()
    }
}

impl<T: BoundedEntry, const MOST: usize> Default for Bounded<T, MOST> {
    fn default() -> Self {
        Self { kept: Vec::new(), rest: T::Summary::default() }
    }
}

impl<T: BoundedEntry + fmt::Debug, const MOST: usize> fmt::Debug for Bounded<T, MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kept.fmt(f)?;
        if self.rest.count() > 0 { write!(f, " and {:?}", self.rest) } else { Ok(()) }
    }
}

impl<T: BoundedEntry, const MOST: usize> Deref for Bounded<T, MOST> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.kept
    }
}

impl<T: BoundedEntry, const MOST: usize> DerefMut for Bounded<T, MOST> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.kept
    }
}

impl<'a, T: BoundedEntry, const MOST: usize> IntoIterator for &'a Bounded<T, MOST> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.kept.iter()
    }
}

impl<'a, T: BoundedEntry, const MOST: usize> IntoIterator for &'a mut Bounded<T, MOST> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.kept.iter_mut()
    }
}

impl<T: BoundedEntry, const MOST: usize> IntoIterator for Bounded<T, MOST> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

impl<T: BoundedEntry, const MOST: usize> FromIterator<T> for Bounded<T, MOST> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut all = Self::default();
        entries.into_iter().for_each(|entry| all.push(entry));
        all
    }
}

impl<T: BoundedEntry, const MOST: usize> From<Vec<T>> for Bounded<T, MOST> {
    fn from(entries: Vec<T>) -> Self {
        entries.into_iter().collect()
    }
}

/// The JSON form of a list with entries left out.
#[derive(Serialize, Deserialize)]
struct PartialList<K, R> {
    kept: K,
    rest: R,
}

impl<T: BoundedEntry + Serialize, const MOST: usize> Serialize for Bounded<T, MOST> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.rest.count() {
            0 => self.kept.serialize(s),
            _ => PartialList { kept: &self.kept, rest: &self.rest }.serialize(s),
        }
    }
}

impl<'de, T: BoundedEntry + Deserialize<'de>, const MOST: usize> Deserialize<'de> for Bounded<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: BoundedEntry + Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedVisitor<T, MOST> {
    type Value = Bounded<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Bounded::default();
        while let Some(entry) = list.next_element()? {
            all.push(entry);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct KeptEntries<T: BoundedEntry, const MOST: usize>(
            #[serde(deserialize_with = "kept", bound(deserialize = "T: BoundedEntry + Deserialize<'de>"))]
            Bounded<T, MOST>,
        );
        let partial: PartialList<KeptEntries<T, MOST>, T::Summary> =
            Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Bounded { rest: partial.rest, ..partial.kept.0 })
    }
}

/// Reads the entries of the JSON form with entries left out, which does not nest.
fn kept<'de, D, T, const MOST: usize>(d: D) -> Result<Bounded<T, MOST>, D::Error>
where
    D: Deserializer<'de>,
    T: BoundedEntry + Deserialize<'de>,
{
    d.deserialize_seq(BoundedVisitor(PhantomData))
}

impl BoundedEntry for Text {
    type Summary = OmittedCount;
    fn fold(self, rest: &mut OmittedCount) {
        rest.add();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Three = Bounded<Text, 3>;

    #[test]
    fn the_first_entries_are_kept_and_the_others_are_counted() {
        let few: Three = serde_json::from_str(r#"["a","b","c"]"#).unwrap();
        assert_eq!((few.total(), few.joined(|t| t).as_str(), few.left_out("words")), (3, "a, b, c", None));
        assert_eq!(serde_json::to_string(&few).unwrap(), r#"["a","b","c"]"#);
        let many: Three = serde_json::from_str(r#"["a","b","c","d","e"]"#).unwrap();
        assert_eq!((many.len(), many.total(), many.joined(|t| t).as_str()), (3, 5, "a, b, c and 2 more"));
        assert_eq!(many.left_out("words").unwrap().to_string(), "2 of 5 words left out");
        let written = serde_json::to_string(&many).unwrap();
        assert_eq!(written, r#"{"kept":["a","b","c"],"rest":{"count":2}}"#);
        assert_eq!(serde_json::from_str::<Three>(&written).unwrap(), many);
        let nested = (0..50_000).map(|_| r#"{"rest":{},"kept":"#).collect::<String>();
        assert!(serde_json::from_str::<Three>(&nested).is_err());
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
