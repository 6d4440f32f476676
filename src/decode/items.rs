//! Owns taking a Kubernetes list apart while it comes in: item by item, never the whole list at once.
//! It must not decode an item, nor hold more than one item and the list's own few fields.

use serde::Deserialize;

use super::{DecodeError, nullable};

/// Longest item, bytes: an object is at most 1.5 MiB in etcd, and JSON is longer.
pub const MAX_ITEM: usize = 4 << 20;
/// Longest text of a list besides its items, bytes.
const MAX_HEAD: usize = 256 << 10;

/// What a list says besides its items.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ListHead {
    /// `PodList`, `List`.
    #[serde(default, deserialize_with = "nullable")]
    pub kind: String,
    /// `metadata`.
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ListMeta,
}

/// `metadata` of a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version that the list shows.
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// Where the next page begins; empty on the last.
    #[serde(rename = "continue", deserialize_with = "nullable")]
    pub more: String,
    /// How many items follow on later pages, where the server says so.
    pub remaining_item_count: Option<u64>,
}

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListItem<'a> {
    /// Its JSON, not yet looked at.
    Json(&'a [u8]),
    /// Longer than [`MAX_ITEM`]; it was not kept.
    TooLong,
}

/// Takes a list apart. JSON that is none is found out when an item or the head is decoded.
#[derive(Debug)]
pub struct ListSplitter {
    /// Longest head, bytes.
    most: usize,
    /// Everything but the items: what is left is a list without any.
    head: Vec<u8>,
    item: Vec<u8>,
    too_long: bool,
    depth: usize,
    place: SplitterState,
    string: Option<Escape>,
    /// Where the last string of the outermost object begins in `head`.
    key: usize,
}

/// In a string: whether the next byte is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    Yes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SplitterState {
    /// Before the items, or behind them.
    #[default]
    Head,
    /// The key `items` was read; its value follows.
    Key,
    /// In the array, between two items.
    Between,
    /// In an item.
    Item,
}

/// The key, as every encoder writes it.
const ITEMS: &[u8] = b"\"items\"";

impl Default for ListSplitter {
    fn default() -> Self {
        Self::with_head(MAX_HEAD)
    }
}

impl ListSplitter {
    /// With another longest text besides the items, bytes: of what may be a single object, that object.
    pub fn with_head(most: usize) -> Self {
        let (head, item) = (Vec::new(), Vec::new());
        Self { most, head, item, too_long: false, depth: 0, place: SplitterState::Head, string: None, key: 0 }
    }

    /// Takes the next bytes, and hands over each item that is complete.
    ///
    /// # Errors
    /// When this is no list that a Kubernetes server writes.
    pub fn push(&mut self, mut bytes: &[u8], take: &mut impl FnMut(ListItem<'_>)) -> Result<(), DecodeError> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Some(escape) = self.string {
                // Most of a list is text.
                let plain = match escape {
                    Escape::Yes => 1,
                    Escape::No => memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len()),
                };
                let (text, rest) = bytes.split_at(plain);
                self.keep(text)?;
                (self.string, bytes) = (Some(Escape::No), rest);
                match (escape, rest.split_first()) {
                    (Escape::No, Some((b'\\', rest))) => {
                        self.keep(b"\\")?;
                        (self.string, bytes) = (Some(Escape::Yes), rest);
                    }
                    (Escape::No, Some((_, rest))) => {
                        self.keep(b"\"")?;
                        (self.string, bytes) = (None, rest);
                    }
                    _ => {}
                }
                continue;
            }
            self.structure(byte, take)?;
            bytes = rest;
        }
        Ok(())
    }

    /// One byte outside of strings.
    fn structure(&mut self, byte: u8, take: &mut impl FnMut(ListItem<'_>)) -> Result<(), DecodeError> {
        if byte.is_ascii_whitespace() {
            return if self.place == SplitterState::Between { Ok(()) } else { self.keep(&[byte]) };
        }
        match self.place {
            SplitterState::Key if byte == b':' => return self.keep(b":"),
            SplitterState::Key if byte == b'[' => {
                self.place = SplitterState::Between;
                self.depth += 1;
                return self.keep(b"[");
            }
            SplitterState::Key => self.place = SplitterState::Head,
            SplitterState::Between if byte == b',' => return Ok(()),
            SplitterState::Between if byte == b']' => self.place = SplitterState::Head,
            SplitterState::Between => self.place = SplitterState::Item,
            // A number or a word ends with the comma behind it.
            SplitterState::Item if self.depth == 2 && matches!(byte, b',' | b']') => {
                self.end_item(take);
                if byte == b',' {
                    return Ok(());
                }
                self.place = SplitterState::Head;
            }
            SplitterState::Item | SplitterState::Head => {}
        }
        match byte {
            b'"' => {
                if self.depth == 1 && self.place == SplitterState::Head {
                    self.key = self.head.len();
                }
                self.string = Some(Escape::No);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.checked_sub(1).ok_or(DecodeError::Shape("not a list of Kubernetes objects"))?;
            }
            b':' if self.depth == 1 && self.place == SplitterState::Head => {
                let key = self.head.get(self.key..).unwrap_or_default();
                if key.trim_ascii_end() == ITEMS {
                    self.place = SplitterState::Key;
                }
            }
            _ => {}
        }
        self.keep(&[byte])
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        match self.place {
            SplitterState::Item if self.too_long || self.item.len() + bytes.len() > MAX_ITEM => {
                (self.too_long, self.item) = (true, Vec::new());
            }
            SplitterState::Item => self.item.extend_from_slice(bytes),
            _ if self.head.len() + bytes.len() > self.most => {
                return Err(DecodeError::Shape("not a list of Kubernetes objects"));
            }
            _ => self.head.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn end_item(&mut self, take: &mut impl FnMut(ListItem<'_>)) {
        take(if self.too_long { ListItem::TooLong } else { ListItem::Json(&self.item) });
        (self.too_long, self.place) = (false, SplitterState::Between);
        self.item.clear();
        // One that is large should not hold its room for the rest of the list.
        self.item.shrink_to(64 << 10);
    }

    /// The kind, while items come: servers write it before them.
    pub fn kind(&self) -> Option<String> {
        if self.place == SplitterState::Head {
            return None;
        }
        #[derive(Deserialize)]
        struct ListKindOnly {
            kind: String,
        }
        // What was read so far, ended.
        let mut head = self.head.clone();
        head.extend_from_slice(b"]}");
        serde_json::from_slice::<ListKindOnly>(&head).ok().map(|head| head.kind)
    }

    /// What the list says besides its items, as far as it was read.
    pub fn head_so_far(mut self) -> ListHead {
        self.head.extend_from_slice(b"]}");
        serde_json::from_slice(&self.head).unwrap_or_default()
    }

    /// The list is over; its JSON without its items. What was no list is there as it was.
    pub fn finish_raw(self) -> Vec<u8> {
        self.head
    }

    /// The list is over; what it says besides its items.
    ///
    /// # Errors
    /// When it was no whole JSON object.
    pub fn finish(self) -> Result<ListHead, DecodeError> {
        Ok(serde_json::from_slice(&self.head)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn split(pieces: &[&[u8]]) -> Result<(ListHead, Vec<Option<Value>>), DecodeError> {
        let (mut splitter, mut items) = (ListSplitter::default(), Vec::new());
        for piece in pieces {
            splitter.push(piece, &mut |item| match item {
                ListItem::Json(json) => items.push(serde_json::from_slice(json).ok()),
                ListItem::TooLong => items.push(None),
            })?;
        }
        Ok((splitter.finish()?, items))
    }

    #[test]
    fn a_page_and_its_head() {
        let page = br#" {"kind":"PodList","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3,"items":[1]},
            "items" : [ {"a":"]},{\"\\"} , 5,"x\"",[[],{}] ],"z":{"items":[9]}} "#;
        let (head, items) = split(&[page]).unwrap();
        assert_eq!((head.kind.as_str(), head.metadata.resource_version.as_str()), ("PodList", "7"));
        assert_eq!((head.metadata.more.as_str(), head.metadata.remaining_item_count), ("c", Some(3)));
        let expected: Vec<Value> = serde_json::from_str(r#"[{"a":"]},{\"\\"},5,"x\"",[[],{}]]"#).unwrap();
        assert_eq!(items.into_iter().flatten().collect::<Vec<_>>(), expected);
        for none in [r#"{"kind":"items","items":null}"#, r#"{"items":[]}"#, r#"{"x":"items"}"#] {
            assert_eq!(split(&[none.as_bytes()]).unwrap().1, [], "{none}");
        }
        for broken in ["", "[]]", "Authorization error", r#"{"items":[{}"#, r#"{"items":[1"#, "}"] {
            assert!(split(&[broken.as_bytes()]).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_is_too_long_costs_itself_alone_and_takes_no_room() {
        let long = format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_ITEM));
        let page = format!("{{\"kind\":\"PodList\",\"items\":[1,{long},2]}}");
        let pieces: Vec<&[u8]> = page.as_bytes().chunks(1 << 16).collect();
        let (_, items) = split(&pieces).unwrap();
        assert_eq!(items, [Some(1.into()), None, Some(2.into())]);
        let head = format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_HEAD));
        assert!(split(&[head.as_bytes()]).is_err());
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_what_serde_reads(
            items in proptest::collection::vec("\\PC{0,12}", 0..5), pretty in any::<bool>(),
            cut in proptest::collection::vec(0usize..400, 0..6)
        ) {
            let items: Vec<Value> = items.into_iter().map(|text| serde_json::json!({"t": text, "n": [1, {}]})).collect();
            let list = serde_json::json!({"kind": "PodList", "metadata": {"continue": "\"items\":["}, "items": items});
            let text = if pretty { serde_json::to_vec_pretty(&list) } else { serde_json::to_vec(&list) }.unwrap();
            let mut cut: Vec<usize> = cut.into_iter().map(|c| c.min(text.len())).chain([0, text.len()]).collect();
            cut.sort_unstable();
            let pieces: Vec<&[u8]> = cut.windows(2).map(|w| &text[w[0]..w[1]]).collect();
            let (head, found) = split(&pieces).unwrap();
            prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), items);
            prop_assert_eq!(head.metadata.more, "\"items\":[");
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            _ = split(&[&bytes]);
            let framed = [b"{\"items\":[".as_slice(), &bytes].concat();
            _ = split(&[&framed]);
        }
    }
}
