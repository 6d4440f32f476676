//! Decodes lists of the runtime and the content store entry by entry, up to a byte budget: a whole decoded response could
//! be hundreds of times its size.

use std::marker::PhantomData;

use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::{Status, codec::Encoder};
use tonic_prost::ProstEncoder;

use super::convert;
use crate::observation::{Container, Image, Pull, Sandbox};
use crate::proto::{content, cri};
use crate::weight::Weigh;

/// A longer entry is decoded only if it has few fields, bytes: two bytes of a map can decode to a hundred.
const LONG_ENTRY: usize = 1 << 20;
/// Most fields of such an entry: each label and annotation is one.
const MAX_FIELDS: usize = 4096;
/// The field of its entries, in every list.
const ENTRIES: u32 = 1;

/// The entry of a list.
pub(super) trait ListEntry: Weigh + Send + 'static {
    /// The message of the protocol.
    type Wire: Message + Default;
    /// Converts the message.
    fn convert(wire: Self::Wire) -> Self;
}

macro_rules! entries {
    ($($ty:ty = $wire:ty, $convert:path;)*) => {
        $(impl ListEntry for $ty {
            type Wire = $wire;
            fn convert(wire: $wire) -> Self {
                $convert(wire)
            }
        })*
    };
}

entries! {
    Sandbox = cri::PodSandbox, convert::sandbox;
    Container = cri::Container, convert::container;
    Image = cri::Image, convert::image_of;
    Pull = content::Status, convert::pull;
}

/// The entries of a list, and the number of those beyond the budget.
#[derive(Debug)]
pub(super) struct ListEntries<T> {
    /// The entries that were kept.
    pub all: Vec<T>,
    /// The number of entries left out.
    pub left_out: u64,
    weight: u64,
    budget: u64,
}

impl<T: ListEntry> ListEntries<T> {
    /// An empty list that keeps at most `budget` bytes.
    pub fn within(budget: u64) -> Self {
        Self { all: Vec::new(), left_out: 0, weight: 0, budget }
    }

    fn add(&mut self, entry: T) {
        // A growing vector allocates up to twice its length.
        let weight = (2 * size_of::<T>() + entry.heap()) as u64;
        if self.weight + weight > self.budget {
            self.left_out += 1;
            return;
        }
        self.weight += weight;
        self.all.push(entry);
    }

    /// Adds the next message of a streamed list.
    pub fn extend(&mut self, part: Self) {
        self.left_out = self.left_out.saturating_add(part.left_out);
        part.all.into_iter().for_each(|entry| self.add(entry));
    }

    /// Decodes one message.
    ///
    /// # Errors
    /// When it is not protobuf.
    pub fn merge(&mut self, buf: &mut impl Buf) -> Result<(), prost::DecodeError> {
        while buf.has_remaining() {
            let (tag, wire_type) = decode_key(buf)?;
            if (tag, wire_type) != (ENTRIES, WireType::LengthDelimited) {
                skip_field(wire_type, tag, buf, DecodeContext::default())?;
                continue;
            }
            let len = decode_varint(buf)?;
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len > buf.remaining() {
                // prost's error for a truncated entry.
                T::Wire::decode_length_delimited(&[0x7f][..])?;
            }
            if self.weight >= self.budget {
                self.left_out += 1;
                buf.advance(len);
                continue;
            }
            let entry = buf.copy_to_bytes(len);
            if len > LONG_ENTRY && fields(&entry)? > MAX_FIELDS {
                self.left_out += 1;
            } else {
                self.add(T::convert(T::Wire::decode(entry)?));
            }
        }
        Ok(())
    }
}

/// Number of fields of a message, without those of nested messages.
fn fields(mut message: &[u8]) -> Result<usize, prost::DecodeError> {
    let mut count = 0;
    while message.has_remaining() {
        let (tag, wire_type) = decode_key(&mut message)?;
        skip_field(wire_type, tag, &mut message, DecodeContext::default())?;
        count += 1;
    }
    Ok(count)
}

/// Encodes the request `R`, and decodes a list of `T` within a byte budget.
#[derive(Clone, Debug)]
pub(super) struct ListCodec<R, T> {
    budget: u64,
    of: PhantomData<(R, T)>,
}

impl<R, T> ListCodec<R, T> {
    pub fn within(budget: u64) -> Self {
        Self { budget, of: PhantomData }
    }
}

impl<R: Message + Send + 'static, T: ListEntry> Codec for ListCodec<R, T>
where
    ProstEncoder<R>: Encoder<Item = R, Error = Status>,
{
    type Encode = R;
    type Decode = ListEntries<T>;
    type Encoder = ProstEncoder<R>;
    type Decoder = ListDecoder<T>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        ListDecoder { budget: self.budget, of: PhantomData }
    }
}

/// Decodes the messages of a list.
#[derive(Debug)]
pub(super) struct ListDecoder<T> {
    budget: u64,
    of: PhantomData<T>,
}

impl<T: ListEntry> Decoder for ListDecoder<T> {
    type Item = ListEntries<T>;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        let mut entries = ListEntries::within(self.budget);
        // The status that tonic returns for every other malformed response.
        entries.merge(buf).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Some(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, PartialEq, Message)]
    struct List {
        #[prost(message, repeated, tag = "1")]
        items: Vec<cri::PodSandbox>,
        #[prost(string, tag = "7")]
        later: String,
    }

    fn sandbox(id: &str) -> cri::PodSandbox {
        cri::PodSandbox { id: id.into(), ..Default::default() }
    }

    fn read(bytes: &[u8], budget: u64) -> Result<(Vec<String>, u64), prost::DecodeError> {
        let mut entries = ListEntries::<Sandbox>::within(budget);
        entries.merge(&mut &bytes[..])?;
        Ok((entries.all.iter().map(|s| s.id.to_string()).collect(), entries.left_out))
    }

    #[test]
    fn entries_beyond_the_budget_are_counted() {
        let list = List { items: ["a", "b", "c"].map(sandbox).to_vec(), later: "x".into() }.encode_to_vec();
        assert_eq!(read(&list, u64::MAX).unwrap(), (vec!["a".into(), "b".into(), "c".into()], 0));
        let one = (2 * size_of::<Sandbox>() + 100) as u64;
        assert_eq!(read(&list, one).unwrap(), (vec!["a".into()], 2));
        let note = |n: usize| (n.to_string(), "x".repeat(300));
        let long = |notes| cri::PodSandbox { annotations: (0..notes).map(note).collect(), ..sandbox("a") };
        for (notes, expected) in [(3500, (vec!["a".to_owned(), "b".into()], 0)), (4500, (vec!["b".into()], 1))] {
            let list = List { items: vec![long(notes), sandbox("b")], later: String::new() };
            assert_eq!(read(&list.encode_to_vec(), u64::MAX).unwrap(), expected);
        }
        // Eight million entries of two bytes each.
        let empty = [ENTRIES as u8 * 8 + 2, 0].repeat(8 << 20);
        let (kept, left) = read(&empty, 1 << 20).unwrap();
        assert!(kept.len() <= 4096 && left > 8_000_000, "{} kept", kept.len());
        assert!(read(&list[..list.len() - 5], u64::MAX).is_err(), "truncated");
        assert!(read(&[0x0a, 0x7f, 0x00], u64::MAX).is_err(), "longer than the message");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            _ = read(&bytes, u64::MAX);
        }
    }
}
