//! Owns how many events are kept: of one object and in all, the oldest are left out first.
//! It must not leave out anything uncounted.

use super::Model;
use crate::objects::limits::EVENTS_OF_ONE;
use crate::text::Text;

/// Most events kept in all: an hour of a cluster with several thousand pods, about 20 MB.
pub const EVENTS_KEPT: usize = 20_000;

impl Model {
    /// Leaves out the oldest events, of the object `about` and of all. Gives how many that were.
    pub(super) fn limit_events(&mut self, about: &Text) -> u64 {
        let mut count = 0;
        while let Some(uid) = self.surplus_of(about).or_else(|| self.surplus()) {
            if let Some(held) = self.events.remove(&uid) {
                self.unlink_event(&uid, &held.value);
            }
            count += 1;
        }
        count
    }

    fn surplus_of(&self, about: &Text) -> Option<Text> {
        // Events that name no UID are not about one object.
        let own = self.index.events_of.get(about).filter(|own| own.len() > EVENTS_OF_ONE && !about.is_empty())?;
        own.first().map(|(_, uid)| uid.clone())
    }

    fn surplus(&mut self) -> Option<Text> {
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

    fn fold(model: &mut Model, sequencer: &mut Sequencer, event: Event) {
        let stamp = sequencer.stamp(0, Time::UNIX_EPOCH);
        model.apply(Observation { stamp, fact: Fact::Event(Box::new(event)) });
    }

    #[test]
    fn the_oldest_of_one_object_are_left_out_and_counted() {
        let (mut model, mut sequencer) = (Model::default(), Sequencer::new(Source::ApiEvents));
        // The newest come first: what is left out is not what came first.
        for i in 0..EVENTS_OF_ONE + 7 {
            fold(&mut model, &mut sequencer, event(i, "u", -(i as i64)));
        }
        fold(&mut model, &mut sequencer, event(9999, "other", -9999));
        assert_eq!(model.events.len(), EVENTS_OF_ONE + 1);
        let has = |model: &Model, n: usize| model.events.get(format!("e{n:06}").as_str()).is_some();
        assert!(has(&model, 0) && has(&model, EVENTS_OF_ONE - 1));
        assert!(!has(&model, EVENTS_OF_ONE) && has(&model, 9999));
        assert_eq!(model.snapshot().sources[&Source::ApiEvents].dropped, 7);
        // An event that happens again is young again.
        fold(&mut model, &mut sequencer, event(EVENTS_OF_ONE - 1, "u", 50));
        fold(&mut model, &mut sequencer, event(5000, "u", 51));
        assert!(has(&model, EVENTS_OF_ONE - 1) && !has(&model, EVENTS_OF_ONE - 2));
    }

    #[test]
    fn the_oldest_of_all_are_left_out_also_after_a_keyframe() {
        let (mut model, mut sequencer) = (Model::default(), Sequencer::new(Source::ApiEvents));
        for i in 0..EVENTS_KEPT + 500 {
            fold(&mut model, &mut sequencer, event(i, &format!("u{}", i / 10), i as i64));
        }
        let json = serde_json::to_string(&model).unwrap();
        let mut model: Model = serde_json::from_str(&json).unwrap();
        model.reindex();
        for i in EVENTS_KEPT + 500..EVENTS_KEPT + 1000 {
            fold(&mut model, &mut sequencer, event(i, &format!("u{}", i / 10), i as i64));
        }
        assert_eq!((model.events.len(), model.index.event_ages.len()), (EVENTS_KEPT, EVENTS_KEPT));
        assert!(model.events.get("e000999").is_none() && model.events.get("e001000").is_some());
        assert_eq!(model.snapshot().sources[&Source::ApiEvents].dropped, 1000);
    }
}
