//! Owns the diagnoses of all pods and of the node, made again only for what changed or when waiting alone changes one.
//! It must not decide anything: `Doctor` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Diagnosis, Finding};
use super::{Doctor, HEALTHY};
use crate::model::{PodFacts, Snapshot};
use crate::objects::Event;
use crate::observation::Time;
use crate::pipeline::{Placed, Placer, Stage};
use crate::runbook::{Confidence, Runbook};
use crate::text::Text;

/// The node's diagnosis rests on many sources and is cheap: it is made again at most so often, milliseconds.
const NODE_EVERY_MS: i64 = 1000;

struct Kept {
    facts: Arc<PodFacts>,
    elsewhere: Arc<Vec<Arc<Event>>>,
    made: Time,
    diagnosis: Arc<Diagnosis>,
}

/// Places and diagnoses, remembered by the facts that they were made from.
#[derive(Default)]
pub struct Rounds {
    /// Where the pods stand.
    pub placer: Placer,
    book: Option<Arc<Runbook>>,
    kept: BTreeMap<Text, Kept>,
    node: Option<(Time, Arc<Diagnosis>)>,
}

/// What a round found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Of each pod, by UID.
    pub pods: Arc<BTreeMap<Text, Arc<Diagnosis>>>,
    /// Of the node.
    pub node: Arc<Diagnosis>,
    /// When waiting alone changes one of them.
    pub until: Option<Time>,
}

impl Rounds {
    /// Diagnoses with this runbook instead of the embedded one.
    pub fn with(book: Arc<Runbook>) -> Self {
        Self { book: Some(book), ..Self::default() }
    }

    /// Forgets all pods, and keeps the runbook: time has been moved.
    pub fn forget(&mut self) {
        *self = Self { book: self.book.take(), ..Self::default() };
    }

    /// The runbook in use.
    pub fn book(&self) -> &Runbook {
        self.book.as_deref().unwrap_or_else(|| Runbook::builtin())
    }

    /// The runbook that was given; none for the embedded one.
    pub fn own_book(&self) -> Option<Arc<Runbook>> {
        self.book.clone()
    }

    /// Diagnoses what changed since the last round.
    pub fn make(&mut self, placed: &[Placed], snapshot: &Snapshot, now: Time) -> Found {
        let book = self.book.clone();
        let doctor = Doctor { book: book.as_deref().unwrap_or_else(|| Runbook::builtin()), snapshot, now };
        self.kept.retain(|key, _| snapshot.pods.contains_key(key));
        let mut until: Option<Time> = None;
        let mut pods = BTreeMap::new();
        for pod in placed {
            let key = &pod.facts.key;
            let still = self.kept.get(key).filter(|kept| {
                Arc::ptr_eq(&kept.facts, &pod.facts)
                    && Arc::ptr_eq(&kept.elsewhere, &snapshot.events_elsewhere)
                    && kept.made <= now
                    && kept.diagnosis.holds_until.is_none_or(|at| now < at)
            });
            let diagnosis = match still {
                Some(kept) => kept.diagnosis.clone(),
                None => {
                    // What it was made from is for those who write rules, not for keeping.
                    let made = Diagnosis { signals: Vec::new(), ..doctor.pod(pod) };
                    let diagnosis = Arc::new(made);
                    let kept = Kept {
                        facts: pod.facts.clone(),
                        elsewhere: snapshot.events_elsewhere.clone(),
                        made: now,
                        diagnosis: diagnosis.clone(),
                    };
                    self.kept.insert(key.clone(), kept);
                    diagnosis
                }
            };
            until = [until, diagnosis.holds_until].into_iter().flatten().min();
            pods.insert(key.clone(), diagnosis);
        }
        Found { pods: Arc::new(pods), node: self.node(&doctor), until }
    }

    fn node(&mut self, doctor: &Doctor) -> Arc<Diagnosis> {
        let fresh = |at: Time| (0..NODE_EVERY_MS).contains(&(doctor.now - at).num_milliseconds());
        if let Some((_, diagnosis)) = self.node.as_ref().filter(|(at, _)| fresh(*at)) {
            return diagnosis.clone();
        }
        let name = doctor.snapshot.node.as_ref().map(|n| n.metadata.name.clone()).unwrap_or_default();
        let diagnosis = Arc::new(Diagnosis { signals: Vec::new(), ..doctor.node(&name, false) });
        self.node = Some((doctor.now, diagnosis.clone()));
        diagnosis
    }
}

/// The node's fault that explains why a pod stands where it stands: it is told once, on the node.
pub fn fault_of_node<'a>(book: &Runbook, node: &'a Diagnosis, own: &Diagnosis, stage: Stage) -> Option<&'a Finding> {
    let best = own.top()?;
    let settled = best.confidence == Confidence::Certain && !best.cause.starts_with("none.");
    if settled || best.cause == HEALTHY {
        return None;
    }
    let explains = |f: &&Finding| {
        f.confidence >= Confidence::Likely && book.cause(&f.cause).is_some_and(|c| c.explains.contains(&stage))
    };
    node.findings.iter().find(explains)
}
