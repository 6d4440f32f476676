//! Owns which lines of the kernel's log are kept: kills for memory, faults, hung tasks, exhausted limits, broken disks.
//! It must not guess a pod's name: the control group in the line gives at most its UID.

use crate::observation::{LogEntry, LogKind, Time};
use crate::text::Text;

/// Parts of messages of Linux 4 to 6 that are kept: what the kernel says of the causes in the runbook.
const KEPT: &[&str] = &[
    "ut of memory: Kill",
    "oom-kill:constraint=",
    ": segfault at ",
    "general protection fault",
    "blocked for more than ",
    "fork rejected by pids controller",
    "file-max limit ",
    "table full, dropping packet",
    "not responding",
    "EXT4-fs error",
    "XFS (",
    "I/O error",
    "Remounting filesystem read-only",
    "unregister_netdevice: waiting for ",
    "apparmor=\"DENIED\"",
    "avc:  denied",
];

/// Reads one line of the kernel's log that was received at `at`; nothing when it is of no interest here.
pub fn kernel_line(message: &str, at: Time) -> Option<LogEntry> {
    KEPT.iter().any(|part| message.contains(part)).then(|| kernel_entry(message, at))
}

/// Any line, from a log that someone chose to send.
pub fn kernel_entry(message: &str, at: Time) -> LogEntry {
    LogEntry {
        at,
        severe: true,
        pod: Text::default(),
        uid: pod_of(message).unwrap_or_default(),
        what: LogKind::Other { message: message.into() },
    }
}

/// The UID in `…/kubepods-burstable-pod5b2f_….slice/…` or `…/kubepods/burstable/pod5b2f-…/…`: of `task_memcg=` where a kill
/// names the group whose limit it was beside the task's own, else of the first such path.
fn pod_of(message: &str) -> Option<Text> {
    let group = message.split_once("task_memcg=").map_or(message, |(_, rest)| rest);
    let group = group.split([',', ' ']).find(|part| part.contains("kubepods"))?;
    let (_, rest) = group.split_once("kubepods")?;
    let uid: String = rest
        .split('/')
        .find_map(|part| part.strip_prefix("pod").or_else(|| part.split_once("-pod").map(|(_, uid)| uid)))?
        .trim_end_matches(".slice")
        .replace('_', "-");
    matches!(uid.len(), 32 | 36).then(|| Text::name(&uid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runbook_knows_only() {
        let at = Time::from_timestamp(0, 0).unwrap();
        let uid = "dcd23517-deb7-4135-8a25-e4d5a2f471c1";
        let slice = uid.replace('-', "_");
        for group in [
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice/cri-containerd-0a.scope"
            ),
            format!("/kubepods.slice/kubepods-pod{slice}.slice/cri-containerd-0a.scope"),
            format!("/kubepods/burstable/pod{uid}/0a"),
        ] {
            let line = format!(
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=0a,mems_allowed=0,oom_memcg=/x,task_memcg={group},task=stress,pid=7,uid=0"
            );
            assert_eq!(kernel_line(&line, at).unwrap().uid, uid);
        }
        assert!(kernel_line("Memory cgroup out of memory: Killed process 7 (stress) total-vm:1kB", at).is_some());
        assert!(kernel_line("app[7]: segfault at 0 ip 0 sp 0 error 4 in app[0+1]", at).is_some());
        assert!(kernel_line("INFO: task umount:7 blocked for more than 120 seconds.", at).is_some());
        assert!(kernel_line("eth0: link becomes ready", at).is_none());
        let forked = format!(
            "cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{slice}.slice/x.scope"
        );
        assert_eq!(kernel_line(&forked, at).unwrap().uid, uid);
        let on_node = "cgroup: fork rejected by pids controller in /system.slice/containerd.service";
        assert_eq!(kernel_line(on_node, at).unwrap().uid, "");
    }
}
