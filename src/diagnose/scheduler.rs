//! Splits a FailedScheduling message into its reasons, each with its number of nodes.

/// Reasons of one message. Each is a filter of the scheduler, of which there are some twenty.
const REASONS: usize = 64;

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleReason {
    /// Nodes it is true of; absent where the message counts none.
    pub nodes: Option<i64>,
    /// The scheduler's phrase.
    pub text: String,
}

/// The message, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Nodes that the scheduler considered, the `N` of `0/N nodes`.
    pub nodes: Option<i64>,
    /// Its reasons, in its order.
    pub reasons: Vec<ScheduleReason>,
}

/// Takes a message apart. What is not of the form `0/N nodes are available` is one reason as a whole.
pub fn split_schedule(message: &str) -> Schedule {
    let whole =
        || Schedule { nodes: None, reasons: vec![ScheduleReason { nodes: None, text: message.trim().to_owned() }] };
    let Some((head, rest)) = message.split_once(" nodes are available") else { return whole() };
    let nodes = head.rsplit(['/', ' ']).next().and_then(|n| n.parse().ok());
    // What preemption could not do is about other pods.
    let rest = rest.split(" preemption:").next().unwrap_or(rest).trim_start_matches(':');
    let rest = rest.strip_prefix(" that match").and_then(|r| Some(r.split_once(':')?.1)).unwrap_or(rest);
    let rest = rest.trim_start_matches(':').trim().trim_end_matches('.');
    let mut reasons: Vec<ScheduleReason> = Vec::new();
    for piece in pieces(rest) {
        if reasons.len() >= REASONS {
            break;
        }
        let piece = piece.trim().trim_end_matches('.').trim();
        let count = piece.split_once(' ').and_then(|(n, text)| Some((n.parse::<i64>().ok()?, text)));
        match (count, reasons.last_mut()) {
            (Some((n, text)), _) => reasons.push(ScheduleReason { nodes: Some(n), text: text.to_owned() }),
            // Old schedulers put the count behind: `Insufficient cpu (3)`.
            _ if behind(piece).is_some() => {
                reasons.extend(behind(piece).map(|(text, n)| ScheduleReason { nodes: Some(n), text: text.to_owned() }));
            }
            _ if piece.starts_with("no new claims to deallocate") => {}
            // A comma inside of a phrase: `had taint {k: v}, that the pod didn't tolerate`.
            (None, Some(last)) if !piece.is_empty() => {
                last.text.push_str(", ");
                last.text.push_str(piece);
            }
            (None, None) if !piece.is_empty() => reasons.push(ScheduleReason { nodes: None, text: piece.to_owned() }),
            _ => {}
        }
    }
    if reasons.is_empty() { whole() } else { Schedule { nodes, reasons } }
}

fn behind(piece: &str) -> Option<(&str, i64)> {
    let (text, count) = piece.rsplit_once(" (")?;
    Some((text, count.strip_suffix(')')?.parse().ok()?))
}

/// Parts between commas and sentence ends that are outside of braces and quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    let bytes = text.as_bytes();
    for (i, b) in bytes.iter().enumerate() {
        match b {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b'"' => quoted = !quoted,
            b',' | b'.' if depth == 0 && !quoted && bytes.get(i + 1).is_none_or(|n| *n == b' ') => {
                out.extend(text.get(start..i));
                start = i + 1;
            }
            _ => {}
        }
    }
    out.extend(text.get(start..));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> (Option<i64>, Vec<(Option<i64>, String)>) {
        let schedule = split_schedule(message);
        (schedule.nodes, schedule.reasons.into_iter().map(|r| (r.nodes, r.text)).collect())
    }

    #[test]
    fn counts_per_reason() {
        let (nodes, reasons) = of(
            "0/7 nodes are available: 1 Too many pods, 6 node(s) didn't match Pod's node affinity/selector. \
             preemption: 0/7 nodes are available: 1 No preemption victims found for incoming pod, 6 Preemption is not helpful.",
        );
        assert_eq!(nodes, Some(7));
        let want = [
            (Some(1), "Too many pods".to_owned()),
            (Some(6), "node(s) didn't match Pod's node affinity/selector".to_owned()),
        ];
        assert_eq!(reasons, want);
    }

    #[test]
    fn braces_sentences_and_old_forms() {
        let (_, reasons) = of(
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had taint {node.kubernetes.io/unreachable: }, that the pod didn't tolerate.",
        );
        assert_eq!(reasons[1].1, "node(s) had taint {node.kubernetes.io/unreachable: }, that the pod didn't tolerate");
        let (_, reasons) = of(
            "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: 0/1 nodes are available: 1 x",
        );
        assert_eq!(reasons[0], (Some(1), "Insufficient memory".to_owned()));
        let (_, reasons) = of(
            "No nodes are available that match all of the predicates: Insufficient cpu (3), PodToleratesNodeTaints (1).",
        );
        assert_eq!(reasons, [(Some(3), "Insufficient cpu".to_owned()), (Some(1), "PodToleratesNodeTaints".to_owned())]);
        assert_eq!(
            of("pod has unbound immediate PersistentVolumeClaims"),
            (None, vec![(None, "pod has unbound immediate PersistentVolumeClaims".to_owned())])
        );
    }
}
