//! The closed set of signals that a rule can match, and their names in the runbook.

use serde::Deserialize;

use crate::observation::{Source, Time};
use crate::text::Text;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $name:literal),* $(,)?) => {
        /// What a signal is about: the operation that failed, or its source.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        pub enum SignalKind {
            $($(#[doc = $doc])* #[serde(rename = $name)] $kind),*
        }

        impl SignalKind {
            /// Every kind, with its name and what it holds.
            pub const ALL: &'static [(SignalKind, &'static str, &'static str)] =
                &[$((SignalKind::$kind, $name, concat!($($doc),*))),*];
        }
    };
}

kinds! {
    /// One reason of a FailedScheduling message; `code` counts the nodes it is true of, `word` is `preemption` behind that word.
    Schedule = "schedule",
    /// A scheduling gate; `text` is its name.
    Gate = "gate",
    /// An event about a claim of the pod; `word` is its reason.
    Claim = "claim",
    /// An event about the pod's owner, such as FailedCreate; `word` is its reason.
    Owner = "owner",
    /// `status.reason` and `status.message` of a pod that has failed; `word` is the reason.
    Status = "status",
    /// A pod condition; `word` is `Type=Status`, or `Type=Status/Reason`.
    Condition = "condition",
    /// The kubelet refused the pod at admission; `word` is the reason.
    Rejected = "rejected",
    /// A container waits; `word` is the reason.
    Waiting = "waiting",
    /// How a container ended: `word` is one of `completed error oom oom-suspected killed signal liveness startup hook
    /// start-error lost stopped`, `code` the exit code.
    Ended = "ended",
    /// An image could not be pulled; `word` is the reason where there is one.
    Pull = "pull",
    /// The sandbox (pause) image is not available.
    Pause = "pause",
    /// CNI ADD failed.
    Network = "network",
    /// The sandbox could not be created, for another reason than its network.
    Sandbox = "sandbox",
    /// A volume could not be mounted.
    Mount = "mount",
    /// A volume could not be attached.
    Attach = "attach",
    /// A volume could not be unmounted or cleaned up.
    Unmount = "unmount",
    /// The container's configuration could not be generated (CreateContainerConfigError).
    Config = "config",
    /// The container could not be created.
    Create = "create",
    /// The container could not be started.
    Start = "start",
    /// A postStart or preStop hook failed; `word` is `post-start` or `pre-stop`.
    Hook = "hook",
    /// A probe failed; `word` is `liveness`, `readiness` or `startup`.
    Probe = "probe",
    /// A container or pod could not be killed.
    Kill = "kill",
    /// The sandbox could not be torn down (CNI DEL, StopPodSandbox).
    Teardown = "teardown",
    /// An in-place resize was deferred or refused; `word` is `deferred`, `infeasible` or `error`.
    Resize = "resize",
    /// A static pod's file, or its mirror pod.
    Static = "static",
    /// Any other event on the pod; `word` is its reason.
    Event = "event",
    /// A line that the container itself wrote.
    Output = "output",
    /// A line of the kernel's log.
    Kernel = "kernel",
    /// Any other line of the runtime's log.
    Runtime = "runtime",
    /// Any other line of the kubelet's log.
    Kubelet = "kubelet",
    /// A line of another log.
    Foreign = "foreign",
    /// A node condition; `word` is `Type=Status` or `Type=Status/Reason`; `code` its age in seconds.
    NodeCondition = "node-condition",
    /// An event on the node; `word` is its reason.
    NodeEvent = "node-event",
    /// A taint of the node; `word` is its key.
    Taint = "taint",
    /// The kubelet's sync loop is blocked; `text` is one of the reasons.
    Loop = "loop",
    /// A metric; `word` is its name, `code` its value in whole units (milliseconds for durations).
    Metric = "metric",
    /// A measurement of kpodtrace: `word` names it, `code` is its duration in seconds.
    Watched = "watched",
    /// The pod's stage: `word` is `stage=state`, `code` the seconds since it reached the stage.
    Position = "place",
    /// A property of the pod: `word` is its name, `text` its value.
    Trait = "trait",
}

impl SignalKind {
    /// The name in the runbook.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }
}

/// One typed piece of evidence: extracted once, from one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// What it is about.
    pub kind: SignalKind,
    /// The word that names it: a reason, a type, a state.
    pub word: Text,
    /// The text.
    pub text: Text,
    /// The container it is about; empty for the pod or the node.
    pub container: Text,
    /// An exit code, a count of nodes, a value.
    pub code: Option<i64>,
    /// Number of repeats, at least 1.
    pub count: u32,
    /// The time of the last repeat.
    pub at: Option<Time>,
    /// The source.
    pub source: Source,
}

impl Signal {
    /// A signal without container, code or time.
    pub fn new(kind: SignalKind, source: Source, word: impl Into<Text>, text: impl Into<Text>) -> Self {
        let (word, text) = (word.into(), text.into());
        Self { kind, word, text, container: Text::default(), code: None, count: 1, at: None, source }
    }

    /// The same, at that time.
    #[must_use]
    pub fn at(mut self, at: Option<Time>) -> Self {
        self.at = at;
        self
    }

    /// The same, about that container.
    #[must_use]
    pub fn of(mut self, container: &Text) -> Self {
        self.container = container.clone();
        self
    }

    /// The same, with that number.
    #[must_use]
    pub fn code(mut self, code: i64) -> Self {
        self.code = Some(code);
        self
    }

    /// The same with that number of repeats.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.count = count.max(1);
        self
    }
}
