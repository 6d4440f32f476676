//! Owns the thread that writes frames to the terminal, one at a time.
//! It must not make anybody wait: a terminal that is slow or stopped only means that frames are left out.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::tui::terminal::tty::{self, Unwritten};
use crate::tui::terminal::watch::Message;
use crate::tui::terminal::{self};

/// Frames that may wait: the writer is given one only when it is idle.
const WAITING: usize = 1;

/// The writer.
pub struct Output {
    frames: SyncSender<Vec<u8>>,
    busy: Arc<AtomicBool>,
}

impl Output {
    /// Starts the writer; it tells `loop_` of every frame that is written, and of the end of the terminal.
    pub fn start(loop_: SyncSender<Message>) -> io::Result<Self> {
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

    /// Hands a frame over. False when the terminal is gone.
    pub fn send(&self, frame: Vec<u8>) -> bool {
        self.busy.store(true, Ordering::Release);
        !matches!(self.frames.try_send(frame), Err(TrySendError::Disconnected(_)))
    }

    /// Waits until all is written, but not longer than `limit`.
    pub fn settle(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.is_busy() && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write_frames(waiting: &Receiver<Vec<u8>>, busy: &AtomicBool, loop_: &SyncSender<Message>) {
    while let Ok(frame) = waiting.recv() {
        // Without the lock of the standard library, which whoever restores the terminal must not wait for; and no more of the
        // frame once that was done.
        let written = tty::write(&frame, terminal::is_set_up);
        busy.store(false, Ordering::Release);
        if written == Err(Unwritten::Gone) {
            // The hang-up guard or the next frame tells the loop should its channel be full.
            let _ = loop_.try_send(Message::HangUp);
            return;
        }
        let _ = loop_.try_send(Message::Written);
    }
}
