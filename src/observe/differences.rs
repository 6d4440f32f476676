//! The facts that turn one listing into the next.

use std::collections::BTreeMap;

use super::ObservationSink;
use crate::observation::Fact;
use crate::text::Text;

/// Objects by their key.
pub(super) type KeyedObjects<T> = BTreeMap<Text, T>;

/// New and changed objects of `now`, then those of `before` that are gone.
pub(super) fn differences<T: PartialEq>(
    before: &KeyedObjects<T>,
    now: &KeyedObjects<T>,
    fact: impl Fn(&T) -> Fact,
    gone: impl Fn(Text) -> Fact,
) -> Vec<Fact> {
    let mut facts = changed(before, now, fact);
    facts.extend(before.keys().filter(|key| !now.contains_key(*key)).cloned().map(gone));
    facts
}

/// New and changed objects of `now`.
pub(super) fn changed<T: PartialEq>(
    before: &KeyedObjects<T>,
    now: &KeyedObjects<T>,
    fact: impl Fn(&T) -> Fact,
) -> Vec<Fact> {
    now.iter().filter(|(key, object)| before.get(*key) != Some(*object)).map(|(_, object)| fact(object)).collect()
}

/// Emits a listing: all of it as a new epoch where there is none before, else the differences, or that there are none.
pub(super) async fn emit_listing<T: PartialEq>(
    out: &mut ObservationSink,
    before: Option<&KeyedObjects<T>>,
    now: &KeyedObjects<T>,
    fact: impl Fn(&T) -> Fact,
    gone: impl Fn(Text) -> Fact,
) {
    let facts = match before {
        Some(before) if before == now => vec![Fact::Alive],
        Some(before) => differences(before, now, fact, gone),
        None => {
            out.begin_epoch().await;
            changed(&KeyedObjects::new(), now, fact)
        }
    };
    for fact in facts {
        out.emit(fact).await;
    }
    if before.is_none() {
        out.end_epoch().await;
    }
}
