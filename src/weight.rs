//! Owns how many bytes of heap a decoded value holds, computed from its lengths: what budgets of memory count.
//! It must not do I/O or ask the allocator.

use std::collections::BTreeMap;

use crate::time::Time;

/// Memory that the program uses at most where nothing else is asked for (`--max-memory`), bytes.
pub const DEFAULT_MEMORY: u64 = 256 << 20;
/// The least that can be asked for, bytes: below it hardly more than the program itself fits.
pub const LEAST_MEMORY: u64 = 96 << 20;
/// What the allocator adds to an allocation, and rounds it up by, bytes.
const ALLOCATION: usize = 16;
/// What a map adds to each of its entries, bytes: links, and room that is not filled yet.
const MAP_ENTRY: usize = 32;

/// About what a struct of a keyframe takes, bytes, and a text with its counts and its place.
const OF_JSON: (u64, u64) = (160, 48);

/// About how many bytes a keyframe's JSON takes once it is decoded: half of its strings are keys, which take nothing.
pub fn decoded(json: &str) -> u64 {
    let json = json.as_bytes();
    let structs = memchr::memchr_iter(b'{', json).count() as u64;
    let texts = memchr::memchr_iter(b'"', json).count() as u64 / 4;
    json.len() as u64 + structs.saturating_mul(OF_JSON.0) + texts.saturating_mul(OF_JSON.1)
}

/// Something that holds memory besides its own size.
pub trait Weigh {
    /// Bytes of heap that it holds, rounded up.
    fn heap(&self) -> usize;
}

/// An allocation of so many bytes; none is none.
pub fn allocation(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATION }
}

macro_rules! flat {
    ($($ty:ty),*) => {
        $(impl Weigh for $ty {
            fn heap(&self) -> usize {
                0
            }
        })*
    };
}

flat!(bool, u32, u64, i32, i64, f64, Time);

impl<T: Weigh> Weigh for Option<T> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Weigh::heap)
    }
}

impl<T: Weigh> Weigh for Box<T> {
    fn heap(&self) -> usize {
        allocation(size_of::<T>()) + T::heap(self)
    }
}

impl<T: Weigh> Weigh for Vec<T> {
    fn heap(&self) -> usize {
        allocation(self.capacity() * size_of::<T>()) + self.iter().map(Weigh::heap).sum::<usize>()
    }
}

impl<K: Weigh, V: Weigh> Weigh for BTreeMap<K, V> {
    fn heap(&self) -> usize {
        let entry = size_of::<K>() + size_of::<V>() + MAP_ENTRY;
        self.iter().map(|(key, value)| entry + key.heap() + value.heap()).sum()
    }
}

impl<A: Weigh, B: Weigh> Weigh for (A, B) {
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap()
    }
}

/// Weighs a struct by its fields.
macro_rules! weighs {
    ($ty:ty: $($field:ident),* $(,)?) => {
        impl $crate::weight::Weigh for $ty {
            fn heap(&self) -> usize {
                0 $(+ $crate::weight::Weigh::heap(&self.$field))*
            }
        }
    };
}

pub(crate) use weighs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn what_is_empty_holds_nothing_and_what_is_long_its_length() {
        assert_eq!((Text::default().heap(), Vec::<Text>::new().heap(), None::<Text>.heap()), (0, 0, 0));
        let text = Text::from("x".repeat(1000));
        assert!((1000..1100).contains(&text.heap()), "{}", text.heap());
        let many = vec![text.clone(); 10];
        assert!((10_000..12_000).contains(&many.heap()), "{}", many.heap());
        assert!(Box::new(many).heap() > 10_000);
    }
}
