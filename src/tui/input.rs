//! Keyboard input: what keys do now, what the loop does after them, and the message in the footer.

/// What the event loop does after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopAction {
    /// Nothing.
    Idle,
    /// Draw what changed.
    Draw,
    /// Draw the whole screen.
    Redraw,
    /// Stop the process (SIGTSTP).
    Suspend,
    /// Exit.
    Quit,
}

/// What keys do now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InputMode {
    /// They run actions.
    #[default]
    Keys,
    /// They edit the filter or search term of the pane.
    Filter,
    /// They edit this command.
    Command(String),
}

impl InputMode {
    /// Keys are text.
    pub fn is_typing(&self) -> bool {
        *self != InputMode::Keys
    }
}

/// The message in the footer, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusMessage {
    /// The message.
    pub text: String,
    /// Something failed.
    pub is_error: bool,
}
