//! Splits a Kubernetes list into its items while it is received. At most one item and the other fields of the list are in memory.

use serde::Deserialize;

use super::{DecodeError, nullable};

/// Longest item, bytes: an object is at most 1.5 MiB in etcd, and JSON is longer.
pub const MAX_ITEM: usize = 4 << 20;
/// Longest text of a list without its items, bytes.
const MAX_HEAD: usize = 256 << 10;

/// The fields of a list besides its items.
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
    /// Resource version of the list.
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// Token of the next page; empty on the last.
    #[serde(rename = "continue", deserialize_with = "nullable")]
    pub more: String,
    /// Number of items on later pages, if the server reports it.
    pub remaining_item_count: Option<u64>,
}

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListItem<'a> {
    /// JSON that is not validated.
    Json(&'a [u8]),
    /// Dropped: longer than [`MAX_ITEM`].
    TooLong,
}

/// Splits a list. Invalid JSON is detected when an item or the head is decoded.
#[derive(Debug)]
pub struct ListSplitter {
    /// Longest head, bytes.
    max_head: usize,
    /// The list without its items: valid JSON with an empty list.
    head: Vec<u8>,
    item: Vec<u8>,
    too_long: bool,
    depth: usize,
    place: SplitterState,
    string: Option<Escape>,
    /// Offset in `head` of the last string in the outermost object.
    key: usize,
}

/// State in a string: is the next byte escaped?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    Yes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SplitterState {
    /// Before or after the items.
    #[default]
    Head,
    /// The key `items` was read; its value follows.
    Key,
    /// Between two items of the array.
    Between,
    /// In an item.
    Item,
}

/// The key of the items, as every encoder writes it.
const ITEMS: &[u8] = b"\"items\"";

impl Default for ListSplitter {
    fn default() -> Self {
        Self::with_max_head(MAX_HEAD)
    }
}

impl ListSplitter {
    /// A splitter with another limit for the text besides the items, bytes: the limit of a single object that is not a list.
    pub fn with_max_head(max_head: usize) -> Self {
        let (head, item) = (Vec::new(), Vec::new());
        Self { max_head, head, item, too_long: false, depth: 0, place: SplitterState::Head, string: None, key: 0 }
    }

    /// Reads the next bytes, and passes each complete item to `take`.
    ///
    /// # Errors
    /// When the text is not a list of a Kubernetes server.
    pub fn push(&mut self, mut bytes: &[u8], take: &mut impl FnMut(ListItem<'_>)) -> Result<(), DecodeError> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Some(escape) = self.string {
                // The largest part of a list is strings.
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

    /// Reads one byte outside of strings.
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
            // A comma ends a number or a literal.
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
            _ if self.head.len() + bytes.len() > self.max_head => {
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
        // Free the memory of a large item.
        self.item.shrink_to(64 << 10);
    }

    /// The kind of the list, once items are read: servers write it before them.
    pub fn kind(&self) -> Option<String> {
        if self.place == SplitterState::Head {
            return None;
        }
        #[derive(Deserialize)]
        struct ListKindOnly {
            kind: String,
        }
        // The head so far, closed.
        let mut head = self.head.clone();
        head.extend_from_slice(b"]}");
        serde_json::from_slice::<ListKindOnly>(&head).ok().map(|head| head.kind)
    }

    /// The fields of the list that are read so far.
    pub fn head_so_far(mut self) -> ListHead {
        self.head.extend_from_slice(b"]}");
        serde_json::from_slice(&self.head).unwrap_or_default()
    }

    /// Ends the list. Returns its JSON without its items, or the whole JSON of another object.
    pub fn finish_raw(self) -> Vec<u8> {
        self.head
    }

    /// Ends the list. Returns its fields besides the items.
    ///
    /// # Errors
    /// When it is not a complete JSON object.
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
    fn splits_a_page_and_its_head() {
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
    fn items_above_the_limit_are_dropped() {
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
        fn any_chunks_give_the_items_of_serde(
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
