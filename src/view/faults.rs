//! Owns what is wrong with the node, in one sentence each: what was found, and the alarms that no finding tells.
//! What its log lines say of one pod is that pod's. It must not say one thing twice: an alarm that a finding rests on gives
//! its words, the finding its cause.

use super::format::alarm_text;
use crate::diagnose::{Diagnosis, Finding, UNKNOWN, is_nothing};
use crate::model::Alarm;
use crate::observation::{Call, Time};
use crate::runbook::Confidence;

/// One thing that is wrong with the node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFault {
    /// In a sentence.
    pub text: String,
    /// `[cause]`, with how sure where that matters; empty for an alarm that no finding tells.
    pub cause: String,
    /// What it is about, in words that stay the same while it lasts.
    pub about: String,
}

impl std::fmt::Display for NodeFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gap = if self.cause.is_empty() { "" } else { " " };
        write!(f, "{}{gap}{}", self.text, self.cause)
    }
}

/// Findings first, best first; then the other alarms.
pub(super) fn faults(node: &Diagnosis, alarms: &[Alarm], now: Time) -> Vec<NodeFault> {
    let mut untold: Vec<&Alarm> = alarms.iter().collect();
    let mut out = Vec::new();
    let of_node = |f: &&Finding| f.stage == "node" && !is_nothing(&f.cause) && f.cause != UNKNOWN;
    for finding in node.findings.iter().filter(of_node) {
        let same = untold.iter().position(|alarm| is_told_by(alarm, &finding.cause));
        // The alarm counts the seconds; the finding says what they mean.
        let text = match same {
            Some(i) => alarm_text(untold.remove(i), now),
            None => format!("the node: {}", finding.title),
        };
        let sure = if finding.confidence == Confidence::Possible { "perhaps " } else { "" };
        out.push(NodeFault { text, cause: format!("[{sure}{}]", finding.cause), about: finding.cause.to_string() });
    }
    let alone = |alarm: &Alarm| NodeFault { text: alarm_text(alarm, now), cause: String::new(), about: about(alarm) };
    out.extend(untold.into_iter().map(alone));
    out
}

fn about(alarm: &Alarm) -> String {
    match alarm {
        Alarm::Unanswered { source, .. } => format!("{} does not answer", source.name()),
        Alarm::PlegStale { .. } => "PLEG does not relist".into(),
        Alarm::PullStalled { reference, .. } => format!("the pull of {} does not move", reference.one_line()),
    }
}

fn is_told_by(alarm: &Alarm, cause: &str) -> bool {
    match alarm {
        Alarm::Unanswered { call: Call::CriList, .. } => cause.starts_with("runtime."),
        Alarm::Unanswered { call: Call::Healthz, .. } => cause.starts_with("node.kubelet-down"),
        Alarm::PlegStale { .. } => cause.starts_with("node.pleg-unhealthy"),
        Alarm::Unanswered { .. } | Alarm::PullStalled { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Source;
    use crate::runbook::Severity;
    use crate::time::TimeDelta;

    fn finding(cause: &str, title: &str, confidence: Confidence) -> Finding {
        Finding {
            cause: cause.into(),
            stage: "node",
            confidence,
            severity: Severity::Error,
            title: title.into(),
            explanation: "".into(),
            container: "".into(),
            evidence: Vec::new(),
            events: Vec::new(),
            next: None,
            steps: Vec::new(),
            docs: Vec::new(),
        }
    }

    #[test]
    fn an_alarm_and_the_finding_that_rests_on_it_are_one_line() {
        let now = Time::from_timestamp(1_790_000_000, 0).unwrap();
        let since = now - TimeDelta::seconds(24);
        let unanswered = |source, call| Alarm::Unanswered { source, call, since, in_flight: None };
        let alarms = [unanswered(Source::KubeletMetrics, Call::Metrics), unanswered(Source::Cri, Call::CriList)];
        let findings = vec![
            finding("runtime.unresponsive", "The runtime hangs", Confidence::Certain),
            finding("node.network-not-ready", "CNI is not ready", Confidence::Possible),
        ];
        let node = Diagnosis { findings, signals: Vec::new(), holds_until: None };
        let expected = [
            "the container runtime has not answered for 24s [runtime.unresponsive]",
            "the node: CNI is not ready [perhaps node.network-not-ready]",
            "kubelet-metrics has not answered for 24s",
        ];
        let told = |node, alarms| faults(node, alarms, now).iter().map(NodeFault::to_string).collect::<Vec<_>>();
        assert_eq!(told(&node, &alarms[..]), expected);
        let starting = vec![finding("none.transient.kubelet-starting", "The kubelet starts", Confidence::Likely)];
        let starting = Diagnosis { findings: starting, signals: Vec::new(), holds_until: None };
        let expected = ["the node: The kubelet starts [none.transient.kubelet-starting]"];
        assert_eq!(told(&starting, &[]), expected, "it explains why nothing moves");
        let well = vec![finding("none.healthy", "", Confidence::Likely)];
        let well = Diagnosis { findings: well, signals: Vec::new(), holds_until: None };
        assert_eq!(told(&well, &alarms[1..]), ["the container runtime has not answered for 24s"]);
    }
}
