//! Owns when the runtime's images and their file systems are looked at, and what of them is news.
//! It must not call the runtime, nor be in a hurry: nothing waits for an image that is told late.

use std::collections::BTreeMap;
use std::time::Instant;

use super::entries::Entries;
use super::pace::Pace;
use crate::observation::{Fact, Image, ImageFs};
use crate::observe::LONGEST_RETRY;
use crate::text::Text;

/// What was said. Outlives an attempt: a new epoch says it again, and the next look says what has changed since.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    images: BTreeMap<Text, Image>,
    fs: ImageFs,
    /// Images that there was no room for.
    pub left_out: u64,
}

impl Shelf {
    /// Everything, for an epoch.
    pub fn all(&self) -> Vec<Fact> {
        let images = self.images.values().cloned().map(|image| Fact::Image(Box::new(image)));
        let fs = (self.fs != ImageFs::default()).then(|| Fact::ImageFs(Box::new(self.fs.clone())));
        images.chain(fs).collect()
    }

    /// Takes a look in, and returns what to say.
    pub fn seen(&mut self, seen: Seen) -> Vec<Fact> {
        match seen {
            Seen::Images(list) => {
                self.left_out = list.left_out;
                let now: BTreeMap<_, _> = list.all.into_iter().map(|image| (image.id.clone(), image)).collect();
                let before = std::mem::replace(&mut self.images, now);
                let gone = before.keys().filter(|id| !self.images.contains_key(*id)).cloned().map(Fact::ImageGone);
                let news = self.images.values().filter(|image| before.get(&image.id) != Some(*image));
                gone.chain(news.map(|image| Fact::Image(Box::new(image.clone())))).collect()
            }
            Seen::Fs(fs) if fs == self.fs => Vec::new(),
            Seen::Fs(fs) => {
                self.fs = fs.clone();
                vec![Fact::ImageFs(Box::new(fs))]
            }
        }
    }
}

/// What there is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// ListImages.
    Images,
    /// ImageFsInfo.
    Fs,
}

/// What was seen.
#[derive(Debug)]
pub(super) enum Seen {
    /// ListImages.
    Images(Entries<Image>),
    /// ImageFsInfo.
    Fs(ImageFs),
}

/// How a look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer, or with a refusal.
    Answered,
    /// Given up for the lists.
    GivenUp,
    /// Nothing came.
    Late,
    /// The runtime does not have the call.
    Never,
}

/// When each look is due, in one attempt.
#[derive(Debug)]
pub(super) struct Turns {
    /// None when the runtime does not have the call.
    images: Option<Instant>,
    fs: Option<Instant>,
    /// Begin of the last look at images.
    began: Option<Instant>,
}

impl Turns {
    pub fn new(now: Instant) -> Self {
        Self { images: Some(now), fs: Some(now), began: None }
    }

    /// The next look and when it is due.
    pub fn next(&self) -> Option<(Instant, Look)> {
        let images = self.images.map(|at| (at, Look::Images));
        let fs = self.fs.map(|at| (at, Look::Fs));
        images.into_iter().chain(fs).min_by_key(|(at, _)| *at)
    }

    /// An image or a container has come: images may have.
    pub fn woken(&mut self, pace: &Pace, now: Instant) {
        let earliest = self.began.map_or(now, |began| began + pace.images_spacing);
        self.images = self.images.map(|at| at.min(earliest.max(now + pace.settle)));
    }

    /// A look that began then has ended now.
    pub fn ended(&mut self, look: Look, end: End, began: Instant, now: Instant, pace: &Pace) {
        let rest = pace.rest_after(now.duration_since(began));
        let next = match end {
            End::Answered => Some((began + pace.images_every).max(now + rest)),
            End::GivenUp => Some(now + pace.images_spacing),
            End::Late => Some(now + pace.images_every.min(LONGEST_RETRY)),
            End::Never => None,
        };
        match look {
            Look::Images => (self.images, self.began) = (next, Some(now + rest)),
            Look::Fs => self.fs = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn image(id: &str, size: u64) -> Image {
        Image { id: id.into(), tags: vec!["a:1".into()].into(), digests: Default::default(), size, pinned: false }
    }

    fn images<const N: usize>(all: [Image; N]) -> Seen {
        let mut entries = Entries::within(u64::MAX);
        entries.all.extend(all);
        Seen::Images(entries)
    }

    #[test]
    fn only_differences_are_said() {
        let mut shelf = Shelf::default();
        assert!(shelf.all().is_empty() && shelf.seen(Seen::Fs(ImageFs::default())).is_empty());
        assert_eq!(shelf.seen(images([image("a", 1), image("b", 1)])).len(), 2);
        assert_eq!(shelf.seen(images([image("b", 1), image("a", 1)])), []);
        let facts = shelf.seen(images([image("b", 2)]));
        assert_eq!(facts, [Fact::ImageGone("a".into()), Fact::Image(Box::new(image("b", 2)))]);
        assert_eq!(shelf.all(), [Fact::Image(Box::new(image("b", 2)))]);
    }

    #[test]
    fn looks_are_rare_and_rarer_where_they_are_slow() {
        let pace = Pace::default();
        let zero = Instant::now();
        let at = |s: u64| zero + Duration::from_secs(s);
        let mut turns = Turns::new(zero);
        assert_eq!(turns.next(), Some((zero, Look::Images)));
        turns.ended(Look::Images, End::Answered, zero, zero, &pace);
        assert_eq!(turns.next(), Some((zero, Look::Fs)));
        turns.ended(Look::Fs, End::Never, zero, zero, &pace);
        assert_eq!(turns.next(), Some((at(60), Look::Images)), "nothing happens");
        turns.woken(&pace, at(1));
        assert_eq!(turns.next(), Some((at(15), Look::Images)), "an image soon after");
        turns.ended(Look::Images, End::Answered, at(15), at(17), &pace);
        turns.woken(&pace, at(18));
        assert_eq!(
            turns.next(),
            Some((at(42), Look::Images)),
            "a slow one: a rest five times as long before the spacing"
        );
        turns.ended(Look::Images, End::GivenUp, at(42), at(45), &pace);
        assert_eq!(turns.next(), Some((at(60), Look::Images)));
        turns.ended(Look::Images, End::Late, at(60), at(70), &pace);
        assert_eq!(turns.next(), Some((at(100), Look::Images)));
        turns.ended(Look::Images, End::Never, at(130), at(130), &pace);
        turns.woken(&pace, at(131));
        assert_eq!(turns.next(), None);
    }
}
