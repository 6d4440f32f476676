//! Terminal modes: set up, restored, and restored before a panic is printed. A terminal that accepts no output blocks
//! it only briefly.

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
/// How long a terminal may accept no output, before and after its queue is flushed.
const PATIENCE: Duration = Duration::from_millis(250);

/// The terminal is set up; the first to restore it clears this.
static SET: AtomicBool = AtomicBool::new(false);
/// The mouse is enabled and must be disabled on exit.
static HAS_MOUSE: AtomicBool = AtomicBool::new(false);

/// Panics of other threads, printed when the terminal is restored.
type DeferredPanics = Arc<Mutex<Vec<String>>>;

/// Restores the terminal when dropped.
pub struct Terminal {
    panics: DeferredPanics,
}

impl Terminal {
    /// Sets the terminal up, with or without its mouse.
    pub fn new(mouse: bool) -> io::Result<Self> {
        HAS_MOUSE.store(mouse, Ordering::Release);
        let panics = hook();
        let terminal = Self { panics };
        set_up()?;
        Ok(terminal)
    }

    /// Sets the terminal up again after another process used it.
    pub fn again(&self) -> io::Result<()> {
        // crossterm restores the modes that it finds at its first call.
        SET.store(false, Ordering::Release);
        crossterm::terminal::disable_raw_mode()?;
        set_up()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        for text in self.panics.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Standard error may be closed.
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }
}

fn set_up() -> io::Result<()> {
    SET.store(true, Ordering::Release);
    crossterm::terminal::enable_raw_mode()?;
    let mouse = if HAS_MOUSE.load(Ordering::Acquire) { MOUSE } else { b"" };
    // Restored later even if the terminal accepts no output now.
    _ = tty::write_within(&[SET_UP, mouse].concat(), PATIENCE);
    Ok(())
}

/// True while frames may be written.
pub fn is_set_up() -> bool {
    SET.load(Ordering::Acquire)
}

/// Restores the terminal once.
pub fn restore() {
    if SET.swap(false, Ordering::AcqRel) {
        let mouse = if HAS_MOUSE.load(Ordering::Acquire) { NO_MOUSE } else { b"" };
        // Modes first: they take effect even if the terminal accepts no output.
        let _ = crossterm::terminal::disable_raw_mode();
        let bytes = [mouse, RESTORE].concat();
        if tty::write_within(&bytes, PATIENCE) == Err(Unwritten::Stopped) {
            // Drop a frame that the terminal has not accepted, so that this fits.
            tty::make_room();
            _ = tty::write_within(&bytes, PATIENCE);
        }
    }
}

/// Restores the terminal before a panic of this thread is printed. A panic of another thread is printed later.
fn hook() -> DeferredPanics {
    let panics = DeferredPanics::default();
    let (kept, screen, before) = (panics.clone(), thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() != screen && SET.load(Ordering::Acquire) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
            return;
        }
        restore();
        before(info);
    }));
    panics
}
