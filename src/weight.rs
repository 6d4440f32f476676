//! Estimates of the heap memory of decoded values from their lengths, for memory budgets; and the limits of that memory.

use std::collections::BTreeMap;

use crate::time::Time;

/// Default memory limit (`--max-memory`), bytes.
pub const DEFAULT_MEMORY: u64 = 256 << 20;
/// Lowest memory limit, bytes: the program itself needs most of it.
pub const LEAST_MEMORY: u64 = 96 << 20;
/// Overhead and rounding of one allocation, bytes.
const ALLOCATION: usize = 16;
/// Overhead of one map entry, bytes: links and unused capacity.
const MAP_ENTRY: usize = 32;

/// Estimated size of a struct of a keyframe, and of a text with its counts and pointer, bytes.
const OF_JSON: (u64, u64) = (160, 48);

/// Estimated size of a keyframe after decoding, bytes. Half of the strings in its JSON are keys, which need no memory.
pub fn decoded(json: &str) -> u64 {
    let json = json.as_bytes();
    let structs = memchr::memchr_iter(b'{', json).count() as u64;
    let texts = memchr::memchr_iter(b'"', json).count() as u64 / 4;
    json.len() as u64 + structs.saturating_mul(OF_JSON.0) + texts.saturating_mul(OF_JSON.1)
}

/// A value with heap memory.
pub trait Weigh {
    /// Heap memory of the value, bytes, rounded up.
    fn heap(&self) -> usize;
}

/// Size of an allocation with its overhead, bytes; 0 for none.
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

/// Implements [`Weigh`] for a struct as the sum of its fields.
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
    fn heap_follows_the_length() {
        assert_eq!((Text::default().heap(), Vec::<Text>::new().heap(), None::<Text>.heap()), (0, 0, 0));
        let text = Text::from("x".repeat(1000));
        assert!((1000..1100).contains(&text.heap()), "{}", text.heap());
        let many = vec![text.clone(); 10];
        assert!((10_000..12_000).contains(&many.heap()), "{}", many.heap());
        assert!(Box::new(many).heap() > 10_000);
    }
}
