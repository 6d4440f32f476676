//! Owns the terminal's modes: set up, restored, and restored before a panic is told.
//! It must not wait long for a terminal that takes nothing.

pub mod clipboard;
pub mod output;
pub mod paint;
pub mod tty;
pub mod watch;

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::tui::terminal::tty::Unwritten;

/// Alternate screen, cleared, bracketed paste, cursor hidden.
const SET_UP: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?2004h\x1b[?25l";
/// Plain style, cursor, no bracketed paste, the screen that was there before.
const RESTORE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l";
/// Buttons and the wheel, in the form that has no largest column.
const MOUSE: &[u8] = b"\x1b[?1000h\x1b[?1006h";
/// No mouse.
const NO_MOUSE: &[u8] = b"\x1b[?1006l\x1b[?1000l";
/// How long a terminal may take none of it, before and after room was made in it.
const PATIENCE: Duration = Duration::from_millis(250);

/// The terminal is set up: whoever restores it first takes this.
static SET: AtomicBool = AtomicBool::new(false);
/// The mouse was asked for: it must be given back.
static HAS_MOUSE: AtomicBool = AtomicBool::new(false);

/// Panics of other threads, told when the terminal is restored.
type Told = Arc<Mutex<Vec<String>>>;

/// Restores the terminal when dropped.
pub struct Terminal {
    told: Told,
}

impl Terminal {
    /// Sets the terminal up, with or without its mouse.
    pub fn new(mouse: bool) -> io::Result<Self> {
        HAS_MOUSE.store(mouse, Ordering::Release);
        let told = hook();
        let terminal = Self { told };
        set_up()?;
        Ok(terminal)
    }

    /// Sets it up once more, after somebody else had it.
    pub fn again(&self) -> io::Result<()> {
        // What crossterm remembers as the modes to go back to is what it finds when it begins.
        SET.store(false, Ordering::Release);
        crossterm::terminal::disable_raw_mode()?;
        set_up()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        for text in self.told.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // There may be nobody to read it any more.
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }
}

fn set_up() -> io::Result<()> {
    SET.store(true, Ordering::Release);
    crossterm::terminal::enable_raw_mode()?;
    let mouse = if HAS_MOUSE.load(Ordering::Acquire) { MOUSE } else { b"" };
    // One that takes nothing is given back all the same.
    _ = tty::write_within(&[SET_UP, mouse].concat(), PATIENCE);
    Ok(())
}

/// The terminal is set up: frames may be written.
pub fn is_set_up() -> bool {
    SET.load(Ordering::Acquire)
}

/// Gives the terminal back as it was; nothing when that was done already.
pub fn restore() {
    if SET.swap(false, Ordering::AcqRel) {
        let mouse = if HAS_MOUSE.load(Ordering::Acquire) { NO_MOUSE } else { b"" };
        // The modes first: they are taken at once, whatever becomes of the output.
        let _ = crossterm::terminal::disable_raw_mode();
        let bytes = [mouse, RESTORE].concat();
        if tty::write_within(&bytes, PATIENCE) == Err(Unwritten::Stopped) {
            // A frame that nobody has read gives way, so that this is read once somebody does.
            tty::make_room();
            _ = tty::write_within(&bytes, PATIENCE);
        }
    }
}

/// Restores before a panic of this thread is told. One of another thread would be written across the screen: it is kept.
fn hook() -> Told {
    let told = Told::default();
    let (kept, screen, before) = (told.clone(), thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() != screen && SET.load(Ordering::Acquire) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
            return;
        }
        restore();
        before(info);
    }));
    told
}
