//! The output thread: writes frames to the terminal, one at a time. While a terminal is slow or stopped, frames are
//! skipped.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::tui::terminal::tty::{self, Unwritten};
use crate::tui::terminal::watch::LoopEvent;
use crate::tui::terminal::{self};

/// Capacity of the frame channel; the loop sends a frame only to an idle writer.
const WAITING: usize = 1;

/// The writer.
pub struct Output {
    frames: SyncSender<Vec<u8>>,
    busy: Arc<AtomicBool>,
}

impl Output {
    /// Starts the writer. It reports written frames and hang-up to `loop_`.
    pub fn start(loop_: SyncSender<LoopEvent>) -> io::Result<Self> {
        let (frames, waiting) = sync_channel(WAITING);
        let busy = Arc::new(AtomicBool::new(false));
        let shared = busy.clone();
        thread::Builder::new().name("output".into()).spawn(move || write_frames(&waiting, &shared, &loop_))?;
        Ok(Self { frames, busy })
    }

    /// A frame is being written.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Sends a frame; false after a hang-up.
    pub fn send(&self, frame: Vec<u8>) -> bool {
        self.busy.store(true, Ordering::Release);
        !matches!(self.frames.try_send(frame), Err(TrySendError::Disconnected(_)))
    }

    /// Waits until the frame is written, at most `limit`.
    pub fn settle(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.is_busy() && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write_frames(waiting: &Receiver<Vec<u8>>, busy: &AtomicBool, loop_: &SyncSender<LoopEvent>) {
    while let Ok(frame) = waiting.recv() {
        // Without the lock of the standard library, so that `restore` never waits for it; stops once the terminal is restored.
        let written = tty::write(&frame, terminal::is_set_up);
        busy.store(false, Ordering::Release);
        if written == Err(Unwritten::Gone) {
            // If the channel is full, the hang-up thread or the next frame reports it.
            let _ = loop_.try_send(LoopEvent::HangUp);
            return;
        }
        let _ = loop_.try_send(LoopEvent::Written);
    }
}
