//! When the runtime's images and their file systems are listed, and the differences.

use std::time::Instant;

use super::entries::ListEntries;
use super::timings::CriTimings;
use crate::observation::{Fact, Image, ImageFs};
use crate::observe::LONGEST_RETRY;
use crate::observe::differences::{KeyedObjects, differences};

/// Images and file systems of the last calls. Outlives an attempt: a new epoch emits them again.
#[derive(Debug, Default)]
pub(super) struct ImageInventory {
    images: KeyedObjects<Image>,
    fs: ImageFs,
    /// Images beyond the memory budget.
    pub left_out: u64,
}

impl ImageInventory {
    /// All facts, for an epoch.
    pub fn all(&self) -> Vec<Fact> {
        let images = self.images.values().cloned().map(|image| Fact::Image(Box::new(image)));
        let fs = (self.fs != ImageFs::default()).then(|| Fact::ImageFs(Box::new(self.fs.clone())));
        images.chain(fs).collect()
    }

    /// Applies a response, and returns the facts to emit.
    pub fn apply(&mut self, response: ImageResponse) -> Vec<Fact> {
        match response {
            ImageResponse::Images(list) => {
                self.left_out = list.left_out;
                let now: KeyedObjects<Image> = list.all.into_iter().map(|image| (image.id.clone(), image)).collect();
                let before = std::mem::replace(&mut self.images, now);
                differences(&before, &self.images, |image| Fact::Image(Box::new(image.clone())), Fact::ImageGone)
            }
            ImageResponse::Fs(fs) if fs == self.fs => Vec::new(),
            ImageResponse::Fs(fs) => {
                self.fs = fs.clone();
                vec![Fact::ImageFs(Box::new(fs))]
            }
        }
    }
}

/// A call of the image service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageCall {
    /// ListImages.
    Images,
    /// ImageFsInfo.
    Fs,
}

/// The response to a call.
#[derive(Debug)]
pub(super) enum ImageResponse {
    /// ListImages.
    Images(ListEntries<Image>),
    /// ImageFsInfo.
    Fs(ImageFs),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// With a response.
    Completed,
    /// Cancelled in favour of the lists.
    Canceled,
    /// With an error, or without a response.
    Failed,
    /// The runtime does not have the call.
    Unimplemented,
}

/// When each call is due, in one attempt.
#[derive(Debug)]
pub(super) struct ImageSchedule {
    /// None when the runtime does not have the call.
    images: Option<Instant>,
    fs: Option<Instant>,
    /// From when the least time to the next list of images counts.
    images_from: Option<Instant>,
}

impl ImageSchedule {
    pub fn new(now: Instant) -> Self {
        Self { images: Some(now), fs: Some(now), images_from: None }
    }

    /// The next call, and when it is due.
    pub fn next(&self) -> Option<(Instant, ImageCall)> {
        let images = self.images.map(|at| (at, ImageCall::Images));
        let fs = self.fs.map(|at| (at, ImageCall::Fs));
        images.into_iter().chain(fs).min_by_key(|(at, _)| *at)
    }

    /// An image or a container was created: the images may differ.
    pub fn woken(&mut self, timings: &CriTimings, now: Instant) {
        let earliest = self.images_from.map_or(now, |began| began + timings.images_spacing);
        self.images = self.images.map(|at| at.min(earliest.max(now + timings.settle)));
    }

    /// A call that started at `began` ends now.
    pub fn finish(&mut self, call: ImageCall, end: CallOutcome, began: Instant, now: Instant, timings: &CriTimings) {
        let rest = timings.rest_after(now.duration_since(began));
        let next = match end {
            CallOutcome::Completed => Some((began + timings.images_every).max(now + rest)),
            CallOutcome::Canceled => Some(now + timings.images_spacing),
            CallOutcome::Failed => Some(now + timings.images_every.min(LONGEST_RETRY)),
            CallOutcome::Unimplemented => None,
        };
        match call {
            ImageCall::Images => (self.images, self.images_from) = (next, Some(now + rest)),
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

    fn images<const N: usize>(all: [Image; N]) -> ImageResponse {
        let mut entries = ListEntries::within(u64::MAX);
        entries.all.extend(all);
        ImageResponse::Images(entries)
    }

    #[test]
    fn only_differences_are_said() {
        let mut inventory = ImageInventory::default();
        assert!(inventory.all().is_empty() && inventory.apply(ImageResponse::Fs(ImageFs::default())).is_empty());
        assert_eq!(inventory.apply(images([image("a", 1), image("b", 1)])).len(), 2);
        assert_eq!(inventory.apply(images([image("b", 1), image("a", 1)])), []);
        let facts = inventory.apply(images([image("b", 2)]));
        assert_eq!(facts, [Fact::Image(Box::new(image("b", 2))), Fact::ImageGone("a".into())]);
        assert_eq!(inventory.all(), [Fact::Image(Box::new(image("b", 2)))]);
    }

    #[test]
    fn calls_are_rare_and_rarer_for_a_slow_runtime() {
        let timings = CriTimings::default();
        let zero = Instant::now();
        let at = |s: u64| zero + Duration::from_secs(s);
        let mut schedule = ImageSchedule::new(zero);
        assert_eq!(schedule.next(), Some((zero, ImageCall::Images)));
        schedule.finish(ImageCall::Images, CallOutcome::Completed, zero, zero, &timings);
        assert_eq!(schedule.next(), Some((zero, ImageCall::Fs)));
        schedule.finish(ImageCall::Fs, CallOutcome::Unimplemented, zero, zero, &timings);
        assert_eq!(schedule.next(), Some((at(60), ImageCall::Images)), "no event");
        schedule.woken(&timings, at(1));
        assert_eq!(schedule.next(), Some((at(15), ImageCall::Images)), "an image soon after");
        schedule.finish(ImageCall::Images, CallOutcome::Completed, at(15), at(17), &timings);
        schedule.woken(&timings, at(18));
        assert_eq!(
            schedule.next(),
            Some((at(42), ImageCall::Images)),
            "a slow call: a rest five times as long before the spacing"
        );
        schedule.finish(ImageCall::Images, CallOutcome::Canceled, at(42), at(45), &timings);
        assert_eq!(schedule.next(), Some((at(60), ImageCall::Images)));
        schedule.finish(ImageCall::Images, CallOutcome::Failed, at(60), at(70), &timings);
        assert_eq!(schedule.next(), Some((at(100), ImageCall::Images)));
        schedule.finish(ImageCall::Images, CallOutcome::Unimplemented, at(130), at(130), &timings);
        schedule.woken(&timings, at(131));
        assert_eq!(schedule.next(), None);
    }
}
