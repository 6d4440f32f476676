//! Limits of the events kept, per object and in total. The oldest are dropped first, and counted.

use super::Model;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::text::Text;

/// Maximum number of events kept: one hour of a cluster with several thousand pods, about 20 MB.
pub const EVENTS_KEPT: usize = 20_000;

impl Model {
    /// Drops the oldest events above the limits, of the object `about` and of all. Returns their number.
    pub(super) fn drop_oldest_events(&mut self, about: &Text) -> u64 {
        let mut count = 0;
        while let Some(uid) = self.oldest_surplus_of(about).or_else(|| self.oldest_surplus()) {
            if let Some(held) = self.events.remove(&uid) {
                self.unlink_event(&uid, &held.value);
            }
            count += 1;
        }
        count
    }

    fn oldest_surplus_of(&self, about: &Text) -> Option<Text> {
        // Events that name no UID are not about one object.
        let own = self.index.events_of.get(about).filter(|own| own.len() > EVENTS_OF_ONE && !about.is_empty())?;
        own.first().map(|(_, uid)| uid.clone())
    }

    fn oldest_surplus(&mut self) -> Option<Text> {
        if self.events.len() <= EVENTS_KEPT {
            return None;
        }
        self.index.event_ages.pop_first().map(|(_, uid)| uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Event;
    use crate::observation::{Fact, Observation, Sequencer, Source, Time};
    use crate::time::TimeDelta;

    fn event(uid: usize, about: &str, second: i64) -> Event {
        let at = Time::UNIX_EPOCH + TimeDelta::seconds(1_790_000_000 + second);
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": format!("e{uid}"), "namespace": "d", "uid": format!("e{uid:06}")},
            "involvedObject": {"kind": "Pod", "namespace": "d", "name": about, "uid": about},
            "reason": "BackOff", "lastTimestamp": at
        }))
        .unwrap()
    }

    fn apply(model: &mut Model, sequencer: &mut Sequencer, event: Event) {
        let stamp = sequencer.stamp(0, Time::UNIX_EPOCH);
        model.apply(Observation { stamp, fact: Fact::Event(Box::new(event)) });
    }

    #[test]
    fn the_oldest_events_of_one_object_are_dropped_and_counted() {
        let (mut model, mut sequencer) = (Model::default(), Sequencer::new(Source::ApiEvents));
        // The newest arrive first: events are dropped by age, not by order of arrival.
        for i in 0..EVENTS_OF_ONE + 7 {
            apply(&mut model, &mut sequencer, event(i, "u", -(i as i64)));
        }
        apply(&mut model, &mut sequencer, event(9999, "other", -9999));
        assert_eq!(model.events.len(), EVENTS_OF_ONE + 1);
        let has = |model: &Model, n: usize| model.events.get(format!("e{n:06}").as_str()).is_some();
        assert!(has(&model, 0) && has(&model, EVENTS_OF_ONE - 1));
        assert!(!has(&model, EVENTS_OF_ONE) && has(&model, 9999));
        assert_eq!(model.snapshot().sources[&Source::ApiEvents].dropped, 7);
        // A repeated event counts as new.
        apply(&mut model, &mut sequencer, event(EVENTS_OF_ONE - 1, "u", 50));
        apply(&mut model, &mut sequencer, event(5000, "u", 51));
        assert!(has(&model, EVENTS_OF_ONE - 1) && !has(&model, EVENTS_OF_ONE - 2));
    }

    #[test]
    fn the_oldest_events_in_total_are_dropped_also_after_a_keyframe() {
        let (mut model, mut sequencer) = (Model::default(), Sequencer::new(Source::ApiEvents));
        for i in 0..EVENTS_KEPT + 500 {
            apply(&mut model, &mut sequencer, event(i, &format!("u{}", i / 10), i as i64));
        }
        let json = serde_json::to_string(&model).unwrap();
        let mut model: Model = serde_json::from_str(&json).unwrap();
        model.reindex();
        for i in EVENTS_KEPT + 500..EVENTS_KEPT + 1000 {
            apply(&mut model, &mut sequencer, event(i, &format!("u{}", i / 10), i as i64));
        }
        assert_eq!((model.events.len(), model.index.event_ages.len()), (EVENTS_KEPT, EVENTS_KEPT));
        assert!(model.events.get("e000999").is_none() && model.events.get("e001000").is_some());
        assert_eq!(model.snapshot().sources[&Source::ApiEvents].dropped, 1000);
    }
}
