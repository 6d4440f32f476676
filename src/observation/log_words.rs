//! Words of log lines that report a failure or a recovery: they decide which lines of level I are kept, and which are evidence.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words of failures, in any case. A line of level I without one reports progress.
const FAILURE: [&str; 38] = [
    "fail",
    "error",
    "denied",
    "denies",
    "unable",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "timed out",
    "timeout",
    "deadline",
    "refused",
    "unhealthy",
    "not found",
    "no such",
    "forbidden",
    "unauthorized",
    "invalid",
    "reject",
    "exceed",
    "expired",
    "missing",
    "evict",
    "reclaim",
    "kill",
    "oom",
    "out of memory",
    "not ready",
    "=false",
    "no progress",
    "not completed",
    "crash",
    "panic",
    "fatal",
    "unavailable",
    "skipping",
    "blocked for more",
];

/// Parts of lines that report that a failure is over: a pull that succeeded, a probe that succeeds again, a mounted volume.
const RECOVERY: [&str; 10] = [
    "SyncLoop (probe)",
    "returns sandbox id",
    "returns image reference",
    "Pulled image: ",
    "Successfully registered node",
    "MountVolume.SetUp succeeded for volume",
    "MountVolume.MountDevice succeeded for volume",
    "k3s is up and running",
    "rke2 is up and running",
    "MountVolume.WaitForAttach succeeded for volume",
];

/// The text has a word of failure.
pub fn reports_failure(text: &str) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(FAILURE).ok());
    WORDS.as_ref().is_some_and(|words| words.is_match(text))
}

/// The text reports that a failure is over.
pub fn reports_recovery(text: &str) -> bool {
    static PARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(RECOVERY).ok());
    PARTS.as_ref().is_some_and(|parts| parts.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_in_any_case_and_recovery_as_written() {
        assert!(
            reports_failure("Probe FAILED")
                && reports_failure("NetworkReady=false")
                && !reports_failure("SyncLoop ADD")
        );
        assert!(reports_recovery("MountVolume.SetUp succeeded for volume \"v\"") && !reports_recovery("pulled image"));
    }
}
