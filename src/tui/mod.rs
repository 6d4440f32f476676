//! The screen: terminal, event loop, panes. It only formats what the view computes; node views come from a [`Feed`].

mod act;
mod app;
mod event_loop;
mod feed;
mod feed_worker;
mod go;
mod help;
mod input;
mod keys;
mod layout;
mod mouse;
mod palette;
mod pane_table;
mod panes;
mod screen_state;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod widgets;

use std::io;

use thiserror::Error;

use crate::view::{Column, Filter, Sort};

pub use app::App;
pub use event_loop::run;
pub use feed::Feed;
pub use input::{InputMode, LoopAction};
pub use keys::bindings::BINDINGS;
pub use keys::keymap::Keymap;
pub use keys::reference::{KeyRow, KeySection, key_sections, keys_markdown};
pub use keys::{Action, Binding, Context, KeyPress};
pub use pane_table::PaneId;
pub use screen_state::ScreenState;
pub use terminal::paint::Painter;
pub use theme::{ColorScheme, Role, Theme};

/// Options of the screen, from command line and configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Use ASCII characters only, whatever the locale.
    pub ascii: bool,
    /// Colors of the theme.
    pub colors: ColorScheme,
    /// Handle the mouse.
    pub mouse: bool,
    /// Highest number of frames per second: 1 to 10.
    pub frames: u8,
    /// Filter of the table at the start.
    pub filter: Filter,
    /// Order of the table at the start.
    pub sort: Sort,
    /// The columns that may be visible, from left to right.
    pub columns: Vec<Column>,
    /// The key bindings.
    pub keymap: Keymap,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ascii: false,
            colors: ColorScheme::Default,
            mouse: true,
            frames: 10,
            filter: Filter::default(),
            sort: Sort::default(),
            columns: Column::ALL.to_vec(),
            keymap: Keymap::default(),
        }
    }
}

/// Why the screen exited, other than by `q`.
#[derive(Debug, Error)]
pub enum TuiError {
    /// There is no terminal to draw on.
    #[error("standard output is not a terminal")]
    NotATerminal,
    /// The terminal cannot place a cursor.
    #[error("TERM=dumb cannot show a screen")]
    Dumb,
    /// The limit of open files leaves no room for keys and signals.
    #[error("too many open files")]
    Files,
    /// The terminal could not be set up, read or written.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// A signal terminated the program.
    #[error("terminated by signal {0}")]
    Signal(i32),
    /// The terminal was closed.
    #[error("the terminal was closed")]
    HangUp,
    /// The thread that makes what is shown has failed; its words are printed beside this.
    #[error("the thread that computes what is shown failed")]
    Feed,
}

impl TuiError {
    /// Exit code of the process; 128 plus the number for a signal.
    pub fn exit_code(&self) -> i32 {
        match self {
            TuiError::Signal(number) => 128 + number,
            TuiError::HangUp => 128 + signal_hook::consts::SIGHUP,
            TuiError::NotATerminal | TuiError::Dumb | TuiError::Files | TuiError::Terminal(_) | TuiError::Feed => 1,
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            TuiError::NotATerminal | TuiError::Dumb => "`kpodtrace pods` prints the same table",
            TuiError::Files => "raise the limit: ulimit -n 1024",
            TuiError::Feed => "report the message below",
            TuiError::Terminal(_) | TuiError::Signal(_) | TuiError::HangUp => "`kpodtrace pods` prints a table",
        }
    }

    /// No message is needed: the user or the system ended the program.
    pub fn is_quiet(&self) -> bool {
        matches!(self, TuiError::Signal(_) | TuiError::HangUp)
    }
}
