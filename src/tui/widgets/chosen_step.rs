//! Owns which of the steps with a command is chosen, and that it comes into sight when another one is.
//! It must not run a command: it is only shown and copied.

use ratatui::text::Line;

use crate::diagnose::Todo;

/// Begins the line of the chosen step.
pub const MARK: &str = "▸";

/// The chosen step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Which of those that have a command.
    index: usize,
    /// Another one was chosen since the last frame.
    moved: bool,
}

impl Step {
    /// The chosen one's place among all steps; None where no step has a command.
    pub fn of(self, steps: &[Todo]) -> Option<usize> {
        let with: Vec<usize> = (0..steps.len()).filter(|&i| steps[i].command.is_some()).collect();
        with.get(self.index).or(with.last()).copied()
    }

    /// The chosen command.
    pub fn command(self, steps: &[Todo]) -> Option<&str> {
        steps.get(self.of(steps)?)?.command.as_deref()
    }

    /// Chooses the one `by` further.
    pub fn go(&mut self, by: isize, steps: &[Todo]) {
        let count = steps.iter().filter(|s| s.command.is_some()).count();
        let here = self.index.min(count.saturating_sub(1));
        (self.index, self.moved) = (here.saturating_add_signed(by).min(count.saturating_sub(1)), true);
    }

    /// Scrolls so that the chosen step is seen, if it has just been chosen.
    pub fn show(&mut self, lines: &[Line<'_>], rows: usize, scroll: &mut usize) {
        if !std::mem::take(&mut self.moved) {
            return;
        }
        let marked = |line: &Line<'_>| line.spans.first().is_some_and(|span| span.content.starts_with(MARK));
        let Some(at) = lines.iter().position(marked) else { return };
        // With the command below it, and a line of what comes before.
        if at <= *scroll || at + 3 > *scroll + rows {
            *scroll = at.saturating_sub(rows / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_with_a_command_are_chosen() {
        let todo = |command: Option<&str>| Todo { text: "x".into(), command: command.map(Into::into), disrupts: None };
        let steps = [todo(None), todo(Some("a")), todo(None), todo(Some("b"))];
        let mut step = Step::default();
        assert_eq!((step.of(&steps), step.command(&steps)), (Some(1), Some("a")));
        step.go(5, &steps);
        assert_eq!((step.of(&steps), step.command(&steps)), (Some(3), Some("b")));
        step.go(-9, &steps);
        assert_eq!(step.of(&steps), Some(1));
        assert_eq!(step.of(&steps[..1]), None);
        step.go(1, &[]);
        assert_eq!(step.command(&[]), None);
    }
}
