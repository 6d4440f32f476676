//! Owns what lies on disk of pods: the kubelet's directories, log directories, static manifests.
//! It must not go deeper than one level, nor open a file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::observation::{PodDir, Time};
use crate::observe::discover::{Miss, Root};
use crate::text::Text;

const LOGS: &str = "/var/log/pods";
/// Most pods that are told of; a node has some hundreds at most.
const MAX_PODS: usize = 4096;

/// Pods that have a directory below `root_dir` or in `/var/log/pods`, by UID.
///
/// # Errors
/// When either directory is there and cannot be listed.
pub fn pod_dirs(root: &Root, root_dir: &Path) -> Result<BTreeMap<Text, PodDir>, Miss> {
    let mut pods: BTreeMap<Text, PodDir> = BTreeMap::new();
    let dir = root_dir.join("pods");
    for (uid, born) in names(root.born(&dir))? {
        let uid = Text::from(uid);
        pods.insert(uid.clone(), PodDir { uid, kubelet: true, since: born.map(whole_millis), ..PodDir::default() });
    }
    for (name, _) in names(root.born(LOGS))? {
        // `namespace_pod_uid`; none of the three holds an underscore.
        let mut parts = name.splitn(3, '_');
        let (Some(namespace), Some(pod), Some(uid)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let uid = Text::new(uid);
        let dir = pods.entry(uid.clone()).or_insert_with(|| PodDir { uid, ..PodDir::default() });
        dir.pod = Text::from(format!("{namespace}/{pod}"));
        dir.logs = true;
    }
    Ok(pods.into_iter().take(MAX_PODS).collect())
}

/// Names of the manifests in `dir`, of which the kubelet takes every file that does not begin with a dot.
///
/// # Errors
/// When it is there and cannot be listed.
pub fn manifests(root: &Root, dir: &Path) -> Result<BTreeMap<Text, ()>, Miss> {
    let names = names(root.born(dir))?;
    Ok(names.into_iter().filter(|(name, _)| !name.starts_with('.')).map(|(name, _)| (Text::from(name), ())).collect())
}

type Names = Vec<(String, Option<Time>)>;

fn names(listed: Result<Names, Miss>) -> Result<Names, Miss> {
    match listed {
        Err(Miss::Absent) => Ok(Vec::new()),
        listed => listed,
    }
}

/// File systems tell a birth to the nanosecond, which no reader needs.
fn whole_millis(at: Time) -> Time {
    Time::from_timestamp_millis(at.timestamp_millis()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    #[test]
    fn both_directories_are_joined() {
        let temp = Temp::new();
        temp.write("var/lib/kubelet/pods/u1/etc-hosts", "");
        temp.write("var/log/pods/shop_web-0_u1/app/0.log", "");
        temp.write("var/log/pods/shop_old_u2/app/0.log", "");
        temp.write("etc/kubernetes/manifests/etcd.yaml", "");
        temp.write("etc/kubernetes/manifests/.etcd.yaml.swp", "");
        let pods = pod_dirs(&temp.root(), Path::new("/var/lib/kubelet")).unwrap();
        let short: Vec<_> = pods.values().map(|d| (d.uid.as_str(), d.pod.as_str(), d.kubelet, d.logs)).collect();
        assert_eq!(short, [("u1", "shop/web-0", true, true), ("u2", "shop/old", false, true)]);
        let manifests = manifests(&temp.root(), Path::new("/etc/kubernetes/manifests")).unwrap();
        assert_eq!(manifests.keys().map(Text::as_str).collect::<Vec<_>>(), ["etcd.yaml"]);
        assert!(pod_dirs(&temp.root(), Path::new("/none")).unwrap().len() == 2);
    }
}
