//! Owns when the runtime's images and their file systems are looked at, and what of them is news.
//! It must not call the runtime, nor be in a hurry: nothing waits for an image that is told late.

use std::collections::BTreeMap;
use std::time::Instant;

use super::entries::ListEntries;
use super::timings::CriTimings;
use crate::observation::{Fact, Image, ImageFs};
use crate::observe::LONGEST_RETRY;
use crate::text::Text;

/// What was said. Outlives an attempt: a new epoch says it again, and the next look says what has changed since.
#[derive(Debug, Default)]
pub(super) struct ImageInventory {
    images: BTreeMap<Text, Image>,
    fs: ImageFs,
    /// Images that there was no room for.
    pub left_out: u64,
}

impl ImageInventory {
    /// Everything, for an epoch.
    pub fn all(&self) -> Vec<Fact> {
        let images = self.images.values().cloned().map(|image| Fact::Image(Box::new(image)));
        let fs = (self.fs != ImageFs::default()).then(|| Fact::ImageFs(Box::new(self.fs.clone())));
        images.chain(fs).collect()
    }

    /// Takes a look in, and returns what to say.
    pub fn apply(&mut self, seen: ImageAnswer) -> Vec<Fact> {
        match seen {
            ImageAnswer::Images(list) => {
                self.left_out = list.left_out;
                let now: BTreeMap<_, _> = list.all.into_iter().map(|image| (image.id.clone(), image)).collect();
                let before = std::mem::replace(&mut self.images, now);
                let gone = before.keys().filter(|id| !self.images.contains_key(*id)).cloned().map(Fact::ImageGone);
                let news = self.images.values().filter(|image| before.get(&image.id) != Some(*image));
                gone.chain(news.map(|image| Fact::Image(Box::new(image.clone())))).collect()
            }
            ImageAnswer::Fs(fs) if fs == self.fs => Vec::new(),
            ImageAnswer::Fs(fs) => {
                self.fs = fs.clone();
                vec![Fact::ImageFs(Box::new(fs))]
            }
        }
    }
}

/// What there is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageCall {
    /// ListImages.
    Images,
    /// ImageFsInfo.
    Fs,
}

/// What was seen.
#[derive(Debug)]
pub(super) enum ImageAnswer {
    /// ListImages.
    Images(ListEntries<Image>),
    /// ImageFsInfo.
    Fs(ImageFs),
}

/// How a look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// With an answer, or with a refusal.
    Answered,
    /// Given up for the lists.
    Canceled,
    /// Nothing came.
    Failed,
    /// The runtime does not have the call.
    Unimplemented,
}

/// When each look is due, in one attempt.
#[derive(Debug)]
pub(super) struct ImageSchedule {
    /// None when the runtime does not have the call.
    images: Option<Instant>,
    fs: Option<Instant>,
    /// Begin of the last look at images.
    began: Option<Instant>,
}

impl ImageSchedule {
    pub fn new(now: Instant) -> Self {
        Self { images: Some(now), fs: Some(now), began: None }
    }

    /// The next look and when it is due.
    pub fn next(&self) -> Option<(Instant, ImageCall)> {
        let images = self.images.map(|at| (at, ImageCall::Images));
        let fs = self.fs.map(|at| (at, ImageCall::Fs));
        images.into_iter().chain(fs).min_by_key(|(at, _)| *at)
    }

    /// An image or a container has come: images may have.
    pub fn woken(&mut self, timings: &CriTimings, now: Instant) {
        let earliest = self.began.map_or(now, |began| began + timings.images_spacing);
        self.images = self.images.map(|at| at.min(earliest.max(now + timings.settle)));
    }

    /// A look that began then has ended now.
    pub fn ended(&mut self, look: ImageCall, end: CallOutcome, began: Instant, now: Instant, timings: &CriTimings) {
        let rest = timings.rest_after(now.duration_since(began));
        let next = match end {
            CallOutcome::Answered => Some((began + timings.images_every).max(now + rest)),
            CallOutcome::Canceled => Some(now + timings.images_spacing),
            CallOutcome::Failed => Some(now + timings.images_every.min(LONGEST_RETRY)),
            CallOutcome::Unimplemented => None,
        };
        match look {
            ImageCall::Images => (self.images, self.began) = (next, Some(now + rest)),
            ImageCall::Fs => self.fs = next,
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

    fn images<const N: usize>(all: [Image; N]) -> ImageAnswer {
        let mut entries = ListEntries::within(u64::MAX);
        entries.all.extend(all);
        ImageAnswer::Images(entries)
    }

    #[test]
    fn only_differences_are_said() {
        let mut inventory = ImageInventory::default();
        assert!(inventory.all().is_empty() && inventory.apply(ImageAnswer::Fs(ImageFs::default())).is_empty());
        assert_eq!(inventory.apply(images([image("a", 1), image("b", 1)])).len(), 2);
        assert_eq!(inventory.apply(images([image("b", 1), image("a", 1)])), []);
        let facts = inventory.apply(images([image("b", 2)]));
        assert_eq!(facts, [Fact::ImageGone("a".into()), Fact::Image(Box::new(image("b", 2)))]);
        assert_eq!(inventory.all(), [Fact::Image(Box::new(image("b", 2)))]);
    }

    #[test]
    fn looks_are_rare_and_rarer_where_they_are_slow() {
        let timings = CriTimings::default();
        let zero = Instant::now();
        let at = |s: u64| zero + Duration::from_secs(s);
        let mut turns = ImageSchedule::new(zero);
        assert_eq!(turns.next(), Some((zero, ImageCall::Images)));
        turns.ended(ImageCall::Images, CallOutcome::Answered, zero, zero, &timings);
        assert_eq!(turns.next(), Some((zero, ImageCall::Fs)));
        turns.ended(ImageCall::Fs, CallOutcome::Unimplemented, zero, zero, &timings);
        assert_eq!(turns.next(), Some((at(60), ImageCall::Images)), "nothing happens");
        turns.woken(&timings, at(1));
        assert_eq!(turns.next(), Some((at(15), ImageCall::Images)), "an image soon after");
        turns.ended(ImageCall::Images, CallOutcome::Answered, at(15), at(17), &timings);
        turns.woken(&timings, at(18));
        assert_eq!(
            turns.next(),
            Some((at(42), ImageCall::Images)),
            "a slow one: a rest five times as long before the spacing"
        );
        turns.ended(ImageCall::Images, CallOutcome::Canceled, at(42), at(45), &timings);
        assert_eq!(turns.next(), Some((at(60), ImageCall::Images)));
        turns.ended(ImageCall::Images, CallOutcome::Failed, at(60), at(70), &timings);
        assert_eq!(turns.next(), Some((at(100), ImageCall::Images)));
        turns.ended(ImageCall::Images, CallOutcome::Unimplemented, at(130), at(130), &timings);
        turns.woken(&timings, at(131));
        assert_eq!(turns.next(), None);
    }
}
