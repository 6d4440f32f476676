//! The key bindings in use: the defaults, changed by the configuration.

use crate::tui::keys::bindings::BINDINGS;
use crate::tui::keys::{Action, Binding, Context, KeyPress};

/// Quits in every context, whatever is configured.
const ALWAYS_QUITS: KeyPress = KeyPress::Ctrl('c');

/// The keys of every binding, in the order of `BINDINGS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    keys: Vec<Vec<KeyPress>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { keys: BINDINGS.iter().map(|b| b.keys.to_vec()).collect() }
    }
}

impl Keymap {
    /// The actions that the configuration can bind, without those of the input lines.
    pub fn actions() -> Vec<Action> {
        let mut actions: Vec<Action> = BINDINGS.iter().filter(|b| is_bindable(b)).map(|b| b.action).collect();
        let mut seen = Vec::new();
        actions.retain(|action| {
            let new = !seen.contains(action);
            seen.push(*action);
            new
        });
        actions
    }

    /// Replaces the keys of an action.
    pub fn bind(&mut self, action: Action, keys: &[KeyPress]) {
        let bindings = self.keys.iter_mut().zip(BINDINGS.iter());
        for (bound, binding) in bindings.filter(|(_, b)| b.action == action && is_bindable(b)) {
            *bound = keys.to_vec();
            if binding.action == Action::Quit && !bound.contains(&ALWAYS_QUITS) {
                bound.push(ALWAYS_QUITS);
            }
        }
    }

    /// The action of a key in a context.
    pub fn action(&self, context: Context, key: KeyPress) -> Option<Action> {
        self.bindings(context).find(|(_, keys)| keys.contains(&key)).map(|(binding, _)| binding.action)
    }

    /// The bindings of a context with their keys, without those that have none.
    pub fn bindings(&self, context: Context) -> impl Iterator<Item = (&'static Binding, &[KeyPress])> {
        let here = BINDINGS.iter().zip(&self.keys).filter(move |(binding, _)| binding.holds_in(context));
        here.map(|(binding, keys)| (binding, keys.as_slice())).filter(|(_, keys)| !keys.is_empty())
    }

    /// The keys of an action, in its first context.
    pub fn keys(&self, action: Action) -> &[KeyPress] {
        let binding = BINDINGS.iter().position(|b| b.action == action && is_bindable(b));
        binding.and_then(|i| self.keys.get(i)).map_or(&[], Vec::as_slice)
    }

    /// A key with two actions in one context, and both.
    pub fn clash(&self) -> Option<(KeyPress, Action, Action)> {
        for context in Context::all() {
            let mut seen: Vec<(KeyPress, Action)> = Vec::new();
            for (binding, keys) in self.bindings(context) {
                for &key in keys {
                    match seen.iter().find(|(other, _)| *other == key) {
                        Some((_, first)) => return Some((key, *first, binding.action)),
                        None => seen.push((key, binding.action)),
                    }
                }
            }
        }
        None
    }
}

fn is_bindable(binding: &Binding) -> bool {
    Context::all().any(|context| !context.is_typing() && binding.holds_in(context))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::pane_table::PaneId;

    fn key(name: &str) -> KeyPress {
        KeyPress::parse(name).unwrap()
    }

    #[test]
    fn no_key_has_two_actions_in_one_context() {
        assert_eq!(Keymap::default().clash(), None);
        let mut keymap = Keymap::default();
        keymap.bind(Action::Pause, &[key("s")]);
        assert_eq!(keymap.clash(), Some((key("s"), Action::SortNext, Action::Pause)));
        keymap.bind(Action::SortNext, &[key("p")]);
        assert_eq!(keymap.clash(), None, "exchanged");
        assert_eq!(keymap.action(Context::Pane(PaneId::Pods), key("p")), Some(Action::SortNext));
        assert_eq!(keymap.action(Context::Pane(PaneId::Pod), key("p")), None);
    }

    #[test]
    fn quit_and_input_keys_cannot_be_unbound() {
        let mut keymap = Keymap::default();
        Keymap::actions().into_iter().for_each(|action| keymap.bind(action, &[]));
        for context in Context::all() {
            assert_eq!(keymap.action(context, ALWAYS_QUITS), Some(Action::Quit), "{context:?}");
        }
        assert_eq!(keymap.action(Context::FilterInput, key("Enter")), Some(Action::KeepFilter));
        assert!(!Keymap::actions().contains(&Action::Erase));
    }
}
