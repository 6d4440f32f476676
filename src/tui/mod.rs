//! Owns the screen: the terminal's life cycle, the loop, and one file per region of what is drawn.
//! It must not observe, record or decide: moments come through [`Feed`], and every fact on the screen is the view's.

mod act;
mod app;
mod event_loop;
mod feed;
mod feed_worker;
mod go;
mod help;
mod keys;
mod mouse;
mod palette;
mod panes;
mod screen;
mod screen_state;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod widgets;

use std::io;

use thiserror::Error;

use crate::view::{Column, Filter, Sort};

pub use app::{App, Flow, Typing};
pub use event_loop::run;
pub use feed::Feed;
pub use keys::keymap::Keymap;
pub use keys::reference::{Line, Place, keys_text, places};
pub use keys::{Action, BINDINGS, Binding, Context, Key};
pub use panes::Pane;
pub use screen_state::Picture;
pub use terminal::paint::Painter;
pub use theme::{Look, Role, Theme};

/// What the command line and the configuration ask of the screen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Draw ASCII only, whatever the locale.
    pub ascii: bool,
    /// Its colours.
    pub look: Look,
    /// Take the mouse.
    pub mouse: bool,
    /// Frames a second, at most: 1 to 10.
    pub frames: u8,
    /// Which pods are shown at the begin.
    pub filter: Filter,
    /// How they are sorted at the begin.
    pub sort: Sort,
    /// The columns that the table may have, from left to right.
    pub columns: Vec<Column>,
    /// What the keys do.
    pub keymap: Keymap,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ascii: false,
            look: Look::Default,
            mouse: true,
            frames: 10,
            filter: Filter::default(),
            sort: Sort::default(),
            columns: Column::ALL.to_vec(),
            keymap: Keymap::default(),
        }
    }
}

/// Why the screen ended, other than by `q`.
#[derive(Debug, Error)]
pub enum TuiError {
    /// There is no terminal to draw on.
    #[error("standard output is not a terminal; `kpodtrace pods` prints the same table")]
    NotATerminal,
    /// The terminal cannot place a cursor.
    #[error("TERM=dumb cannot show a screen; `kpodtrace pods` prints the same table")]
    Dumb,
    /// The limit of open files leaves no room for keys and signals.
    #[error("too many open files; raise the limit: ulimit -n 1024")]
    Files,
    /// The terminal could not be set up, read or written.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
    /// A signal asked the program to end.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The terminal is gone.
    #[error("the terminal is gone")]
    HangUp,
    /// The thread that makes what is shown has failed; its words are printed beside this.
    #[error("the thread that computes what is shown failed; report the message below")]
    Feed,
}

impl TuiError {
    /// The exit code that a shell expects.
    pub fn exit_code(&self) -> i32 {
        match self {
            TuiError::Signal(number) => 128 + number,
            TuiError::HangUp => 128 + signal_hook::consts::SIGHUP,
            TuiError::NotATerminal | TuiError::Dumb | TuiError::Files | TuiError::Terminal(_) | TuiError::Feed => 1,
        }
    }

    /// Nobody needs to be told: whoever ended the program knows.
    pub fn is_quiet(&self) -> bool {
        matches!(self, TuiError::Signal(_) | TuiError::HangUp)
    }
}
