//! Lines of the kernel's log. The control group in a line gives at most the pod's UID.

use super::relevance::is_relevant_to_kernel;
use crate::observation::{LogLevel, LogRecord, Time};
use crate::text::Text;

/// Reads one line of the kernel's log that was received at `at`; nothing if no rule can match it.
pub fn kernel_record(message: &str, at: Time) -> Option<LogRecord> {
    let uid = || uid_of_group(message).unwrap_or_default();
    is_relevant_to_kernel(message).then(|| LogRecord { uid: uid(), ..LogRecord::new(at, LogLevel::Error, message) })
}

/// The UID in `…/kubepods-burstable-pod5b2f_….slice/…` or `…/kubepods/burstable/pod5b2f-…/…`: of `task_memcg=` if an OOM
/// kill names the group with the limit too, else of the first such path.
fn uid_of_group(message: &str) -> Option<Text> {
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
    fn only_what_rules_match() {
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
            assert_eq!(kernel_record(&line, at).unwrap().uid, uid);
        }
        assert!(kernel_record("Memory cgroup out of memory: Killed process 7 (stress) total-vm:1kB", at).is_some());
        assert!(kernel_record("app[7]: segfault at 0 ip 0 sp 0 error 4 in app[0+1]", at).is_some());
        assert!(kernel_record("INFO: task umount:7 blocked for more than 120 seconds.", at).is_some());
        assert!(kernel_record("eth0: link becomes ready", at).is_none());
        let forked = format!(
            "cgroup: fork rejected by pids controller in /kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{slice}.slice/x.scope"
        );
        assert_eq!(kernel_record(&forked, at).unwrap().uid, uid);
        let on_node = "cgroup: fork rejected by pids controller in /system.slice/containerd.service";
        assert_eq!(kernel_record(on_node, at).unwrap().uid, "");
    }
}
