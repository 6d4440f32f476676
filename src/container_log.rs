//! Owns what passes between who reads a container's log and who shows it: which log, its lines, what became of it, how many
//! are held. It must not read or draw a line. These lines are no observations: they may hold secrets, and nothing records them.

use std::collections::VecDeque;

use crate::text::Text;
use crate::time::Time;

/// Most lines of a log that are held, and their bytes.
pub const MOST: (usize, usize) = (10_000, 4 << 20);

/// Which run of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instance {
    /// The latest: the one that runs, or that ended last, as with `kubectl logs`.
    #[default]
    Current,
    /// The one before it.
    Previous,
}

/// Which log is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// Namespace of the pod.
    pub namespace: Text,
    /// Name of the pod.
    pub pod: Text,
    /// The UID by which the runtime knows the pod, and the kubelet names its directory.
    pub uid: Text,
    /// Name of the container.
    pub container: Text,
    /// Which of its runs.
    pub instance: Instance,
    /// Go on with what is written from now on.
    pub follow: bool,
}

/// Where a container wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// Not told: neither API server nor kubelet does.
    Unknown,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When the runtime took it in; absent for what is of no form that is known.
    pub at: Option<Time>,
    /// By which stream.
    pub stream: Stream,
    /// What was written, without its line feed.
    pub text: Text,
}

/// Where a log is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// A file of this node.
    File(Text),
    /// The API server at this address.
    Api(Text),
    /// The kubelet at this address.
    Kubelet(Text),
    /// A recording, which has only what was observed.
    Recording,
}

/// What stands before the lines that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing, as far as it is known.
    None,
    /// Lines that can be asked for.
    More,
    /// Lines that cannot be had: more than are held, or than a server gives.
    LeftOut,
}

/// What is new of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogNews {
    /// It is read here from now on; what was told before is void.
    Begin {
        /// Where.
        place: LogPlace,
        /// Which run it is, counted from 0, where that is told.
        restart: Option<u32>,
        /// There are older lines that can be asked for.
        older: bool,
    },
    /// Lines behind those told so far.
    Lines(Vec<LogLine>),
    /// Lines before those told so far.
    Older {
        /// The lines.
        lines: Vec<LogLine>,
        /// What stands before them.
        rest: Rest,
    },
    /// More came than could be told, and is left out here.
    Skipped {
        /// So many lines.
        lines: u64,
        /// So many bytes besides, whose lines were not counted.
        bytes: u64,
    },
    /// The container was started again: what follows is of this run.
    Restarted {
        /// Which run, counted from 0, where that is told.
        restart: Option<u32>,
        /// Where it is read.
        place: LogPlace,
    },
    /// Something to be said between the lines: the file was cut, the pod is gone.
    Said(Text),
    /// Everything that was there when it was asked for was told. What is not followed ends here.
    End,
    /// Nothing more will ever come, for this reason.
    Over(Text),
    /// It can be read nowhere; why, for each place that was tried. It is tried again.
    Nowhere(Vec<Text>),
}

/// What is asked of who reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogAsk {
    /// This log, and no other any more.
    Open(Box<LogRequest>),
    /// What stands before the lines told so far.
    Older,
    /// No log any more.
    Close,
}

impl LogRequest {
    /// No part of it leads out of a directory that it names.
    pub fn is_plain(&self) -> bool {
        let plain = |name: &Text| !name.is_empty() && !name.contains(['/', '\0']) && *name != "." && *name != "..";
        [&self.namespace, &self.pod, &self.uid, &self.container].into_iter().all(plain)
    }
}

/// The last lines of a log, as many as are held.
#[derive(Debug)]
pub struct LastLines {
    most: usize,
    lines: VecDeque<LogLine>,
    bytes: usize,
    cut: bool,
}

impl LastLines {
    /// No line yet, and never more than `most`, nor than [`MOST`].
    pub fn new(most: usize) -> Self {
        Self { most: most.min(MOST.0), lines: VecDeque::new(), bytes: 0, cut: false }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Lines were left out before the first.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// There is no room for a line before the first.
    pub fn is_full(&self) -> bool {
        self.cut || self.lines.len() >= self.most
    }

    /// Puts lines behind the last; the first make room.
    pub fn push(&mut self, lines: Vec<LogLine>) {
        for line in lines {
            self.bytes += line.text.len();
            self.lines.push_back(line);
            while self.lines.len() > self.most || self.bytes > MOST.1 {
                let Some(gone) = self.lines.pop_front() else { break };
                self.bytes -= gone.text.len();
                self.cut = true;
            }
        }
    }

    /// Puts lines before the first, as far as there is room; none where some were left out between.
    pub fn push_before(&mut self, lines: Vec<LogLine>) {
        for line in lines.into_iter().rev() {
            self.cut |= self.is_full() || self.bytes + line.text.len() > MOST.1;
            if self.cut {
                return;
            }
            self.bytes += line.text.len();
            self.lines.push_front(line);
        }
    }

    /// The lines.
    pub fn into_vec(self) -> Vec<LogLine> {
        self.lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: impl IntoIterator<Item = String>) -> Vec<LogLine> {
        texts.into_iter().map(|t| LogLine { at: None, stream: Stream::Out, text: t.as_str().into() }).collect()
    }

    fn texts(last: LastLines) -> Vec<String> {
        last.into_vec().into_iter().map(|l| l.text.to_string()).collect()
    }

    #[test]
    fn the_last_lines_are_held_and_no_hole_is_between_them() {
        let named = |names: &str| lines(names.chars().map(String::from));
        let mut last = LastLines::new(4);
        last.push(named("de"));
        last.push_before(named("abc"));
        assert!(last.is_cut() && last.is_full());
        assert_eq!(texts(last), ["b", "c", "d", "e"]);
        let mut last = LastLines::new(4);
        last.push(named("cdefg"));
        last.push_before(named("ab"));
        assert_eq!(texts(last), ["d", "e", "f", "g"]);
        let mut none = LastLines::new(0);
        none.push(named("a"));
        assert!(none.is_empty() && none.is_full());
    }

    #[test]
    fn lines_and_bytes_are_bounded() {
        let mut many = LastLines::new(usize::MAX);
        many.push(lines((0..20_000).map(|i| i.to_string())));
        assert_eq!((many.len(), many.is_cut()), (MOST.0, true));
        let mut long = LastLines::new(usize::MAX);
        (0..3000).for_each(|_| long.push(lines(["x".repeat(4000)])));
        assert_eq!((long.len(), long.is_full()), (MOST.1 / 4000, true));
        let mut older = LastLines::new(usize::MAX);
        older.push_before(lines((0..3000).map(|_| "x".repeat(4000))));
        assert_eq!((older.len(), older.is_cut()), (MOST.1 / 4000, true));
    }
}
