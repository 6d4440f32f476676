//! The selected remedy step, of those with a command.

use ratatui::text::Line;

use crate::diagnose::RemedyStep;

/// Mark of the selected step.
pub const MARK: &str = "▸";

/// The selected step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCursor {
    /// Index among the steps with a command.
    index: usize,
    /// The selection changed since the last frame.
    moved: bool,
}

impl StepCursor {
    /// Index of the selected step; None without commands.
    pub fn of(self, steps: &[RemedyStep]) -> Option<usize> {
        let with: Vec<usize> = (0..steps.len()).filter(|&i| steps[i].command.is_some()).collect();
        with.get(self.index).or(with.last()).copied()
    }

    /// The selected command.
    pub fn command(self, steps: &[RemedyStep]) -> Option<&str> {
        steps.get(self.of(steps)?)?.command.as_deref()
    }

    /// Selects the step `by` further.
    pub fn move_by(&mut self, by: isize, steps: &[RemedyStep]) {
        let count = steps.iter().filter(|s| s.command.is_some()).count();
        let here = self.index.min(count.saturating_sub(1));
        (self.index, self.moved) = (here.saturating_add_signed(by).min(count.saturating_sub(1)), true);
    }

    /// Scrolls to the selected step, if the selection changed.
    pub fn scroll_to(&mut self, lines: &[Line<'_>], rows: usize, scroll: &mut usize) {
        if !std::mem::take(&mut self.moved) {
            return;
        }
        let marked = |line: &Line<'_>| line.spans.first().is_some_and(|span| span.content.starts_with(MARK));
        let Some(at) = lines.iter().position(marked) else { return };
        // With its command and one line before.
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
        let todo =
            |command: Option<&str>| RemedyStep { text: "x".into(), command: command.map(Into::into), disrupts: None };
        let steps = [todo(None), todo(Some("a")), todo(None), todo(Some("b"))];
        let mut step = StepCursor::default();
        assert_eq!((step.of(&steps), step.command(&steps)), (Some(1), Some("a")));
        step.move_by(5, &steps);
        assert_eq!((step.of(&steps), step.command(&steps)), (Some(3), Some("b")));
        step.move_by(-9, &steps);
        assert_eq!(step.of(&steps), Some(1));
        assert_eq!(step.of(&steps[..1]), None);
        step.move_by(1, &[]);
        assert_eq!(step.command(&[]), None);
    }
}
