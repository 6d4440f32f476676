//! Notes for standard error: the node's faults, failing sources, omitted data.

use std::collections::BTreeSet;

use crate::objects::LeftOut;
use crate::observation::{Source, SourceState};
use crate::view::{NodeView, plural};

/// Objects named that hold more than is kept.
const OBJECTS: usize = 8;

/// One sentence, and its subject in words that stay the same while it holds; a note without a subject is printed once only.
struct Note {
    about: String,
    text: String,
}

/// Sentences for standard error, what is worst first.
pub fn notes(moment: &NodeView) -> Vec<String> {
    all(moment).into_iter().map(|note| note.text).collect()
}

/// Remembers the notes of the last view: each is printed once when it starts to hold and once when it is over.
#[derive(Debug)]
pub struct NoteChanges {
    known: BTreeSet<String>,
    once: bool,
}

impl NoteChanges {
    /// No notes so far; with `once` the missing sources are a note of the first view.
    pub fn new(once: bool) -> Self {
        Self { known: BTreeSet::new(), once }
    }

    /// What began since the last moment, and what is over.
    pub fn update(&mut self, moment: &NodeView) -> Vec<String> {
        let mut now = all(moment);
        let once = std::mem::take(&mut self.once);
        now.retain(|note| once || !note.about.is_empty());
        let about: BTreeSet<String> = now.iter().map(|note| note.about.clone()).collect();
        let over = self
            .known
            .difference(&about)
            .filter(|a| !a.is_empty())
            .map(|about| format!("over: {about}"))
            .collect::<Vec<_>>();
        let new = now.into_iter().filter(|note| !self.known.contains(&note.about)).map(|note| note.text);
        let news = new.chain(over).collect();
        self.known = about;
        news
    }
}

fn all(moment: &NodeView) -> Vec<Note> {
    let header = moment.header();
    let mut notes: Vec<Note> =
        header.faults.iter().map(|fault| Note { about: fault.about.clone(), text: fault.to_string() }).collect();
    let plain = |text: String| Note { about: text.clone(), text };
    if matches!(header.ready, "NotReady" | "Unknown") {
        notes.push(plain(format!("node is {}", header.ready)));
    }
    notes.extend(header.conditions.into_iter().map(|c| plain(format!("node condition {c}"))));
    for source in &header.sources {
        let name = source.source.name();
        if matches!(source.word, "degraded" | "retrying" | "forbidden") {
            notes.push(Note { about: format!("{name} is {}", source.word), text: format!("{name}: {}", source.text) });
        }
    }
    for source in header.sources.iter().filter(|s| s.unreadable > 0) {
        let name = source.source.name();
        let text = format!("{name}: {}, not shown", plural(source.unreadable, "unreadable object"));
        notes.push(Note { about: format!("{name} has unreadable objects"), text });
    }
    notes.extend(header.unverified.into_iter().map(|who| plain(format!("{who}: TLS not verified"))));
    for dropped in header.sources.iter().filter(|s| s.dropped > 0) {
        let name = dropped.source.name();
        let what = if dropped.source == Source::ApiEvents { "older events" } else { "lines" };
        let text = format!("{name}: {} {what} dropped", dropped.dropped);
        notes.push(Note { about: format!("{name} drops {what}"), text });
    }
    notes.extend(left_out(moment).into_iter().map(plain));
    let missing: Vec<&str> = Source::ALL.into_iter().filter(|s| is_missing(moment, *s)).map(Source::name).collect();
    if !missing.is_empty() {
        notes.push(Note {
            about: String::new(),
            text: format!("no data: {} (`doctor` lists details)", missing.join(", ")),
        });
    }
    notes
}

/// Objects that hold more than is kept.
fn left_out(moment: &NodeView) -> Vec<String> {
    let note = |what: &str, name: &str, all: Vec<LeftOut>| {
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        (!words.is_empty()).then(|| format!("{what} {name}: {}", words.join("; ")))
    };
    let node = moment.snapshot.node.iter().filter_map(|n| note("node", &n.metadata.name, n.left_out()));
    let pods = moment.pods.iter().map(|placed| &placed.facts);
    let mut notes: Vec<String> = node
        .chain(pods.filter_map(|pod| note("pod", &format!("{}/{}", pod.namespace, pod.name), pod.left_out())))
        .collect();
    let more = notes.len().saturating_sub(OBJECTS);
    notes.truncate(OBJECTS);
    notes.extend((more > 0).then(|| format!("parts of {} left out", plural(more, "more object"))));
    notes
}

fn is_missing(moment: &NodeView, source: Source) -> bool {
    moment.snapshot.sources.get(&source).is_none_or(|facts| matches!(facts.state, SourceState::Off { .. }))
}
