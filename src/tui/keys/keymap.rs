//! Owns which keys are bound to what here and now: the table of keys, or what a configuration makes of it.
//! It must not let a key mean two things in one place, nor take the last way to quit.

use crate::tui::keys::{Action, BINDINGS, Binding, Context, Key};

/// Quits everywhere, whatever is bound.
const ALWAYS_QUITS: Key = Key::Ctrl('c');

/// The keys of every line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    keys: Vec<Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { keys: BINDINGS.iter().map(|b| b.keys.to_vec()).collect() }
    }
}

impl Keymap {
    /// The actions that can be bound to other keys, as the table has them. What edits a line while one types cannot.
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

    /// Binds an action to these keys instead of its own.
    pub fn bind(&mut self, action: Action, keys: &[Key]) {
        for (bound, line) in self.keys.iter_mut().zip(BINDINGS).filter(|(_, b)| b.action == action && is_bindable(b)) {
            *bound = keys.to_vec();
            if line.action == Action::Quit && !bound.contains(&ALWAYS_QUITS) {
                bound.push(ALWAYS_QUITS);
            }
        }
    }

    /// What a key means there.
    pub fn action(&self, context: Context, key: Key) -> Option<Action> {
        self.lines(context).find(|(_, keys)| keys.contains(&key)).map(|(line, _)| line.action)
    }

    /// The lines of the table that hold there, with their keys; what has none is left out.
    pub fn lines(&self, context: Context) -> impl Iterator<Item = (&'static Binding, &[Key])> {
        let here = BINDINGS.iter().zip(&self.keys).filter(move |(line, _)| line.contexts.contains(&context));
        here.map(|(line, keys)| (line, keys.as_slice())).filter(|(_, keys)| !keys.is_empty())
    }

    /// The keys of an action, wherever it is bound first.
    pub fn keys(&self, action: Action) -> &[Key] {
        let line = BINDINGS.iter().position(|b| b.action == action && is_bindable(b));
        line.and_then(|i| self.keys.get(i)).map_or(&[], Vec::as_slice)
    }

    /// A key that means two things in one place, and both.
    pub fn clash(&self) -> Option<(Key, Action, Action)> {
        for context in Context::ALL {
            let mut seen: Vec<(Key, Action)> = Vec::new();
            for (line, keys) in self.lines(context) {
                for &key in keys {
                    match seen.iter().find(|(other, _)| *other == key) {
                        Some((_, before)) => return Some((key, *before, line.action)),
                        None => seen.push((key, line.action)),
                    }
                }
            }
        }
        None
    }
}

fn is_bindable(line: &Binding) -> bool {
    !line.contexts.iter().all(|context| context.is_typing())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::read(name).unwrap()
    }

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        assert_eq!(Keymap::default().clash(), None);
        let mut keymap = Keymap::default();
        keymap.bind(Action::Pause, &[key("s")]);
        assert_eq!(keymap.clash(), Some((key("s"), Action::SortNext, Action::Pause)));
        keymap.bind(Action::SortNext, &[key("p")]);
        assert_eq!(keymap.clash(), None, "exchanged");
        assert_eq!(keymap.action(Context::List, key("p")), Some(Action::SortNext));
        assert_eq!(keymap.action(Context::Pod, key("p")), None);
    }

    #[test]
    fn it_can_always_be_quit_and_always_be_typed() {
        let mut keymap = Keymap::default();
        Keymap::actions().into_iter().for_each(|action| keymap.bind(action, &[]));
        for context in Context::ALL {
            assert_eq!(keymap.action(context, ALWAYS_QUITS), Some(Action::Quit), "{context:?}");
        }
        assert_eq!(keymap.action(Context::Typing, key("Enter")), Some(Action::KeepFilter));
        assert!(!Keymap::actions().contains(&Action::Erase));
    }
}
