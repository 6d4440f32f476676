//! Pods on disk: the kubelet's directories, log directories, static manifests. Only manifests are opened, and of a volume
//! only the name is read: the volume may hang.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::decode::manifest;
use crate::observation::{ContainerDir, PodDir, StaticPod, Time};
use crate::observe::discover::{Miss, POD_LOGS as LOGS, Root};
use crate::text::Text;

/// Most pods that are reported; a node has a few hundred at most.
const MAX_PODS: usize = 4096;
/// Most containers, and most volumes, of one pod.
const MAX_PARTS: usize = 64;
/// Most manifests that are read.
const MAX_MANIFESTS: usize = 64;
/// Longest time for walking all pods' directories: a few thousand names on a slow disk.
const WALK: Duration = Duration::from_secs(3);

/// Pods with a directory below `root_dir` or in `/var/log/pods`, by UID. The contents are taken from `before` when the walk
/// takes too long.
///
/// # Errors
/// When either directory exists and cannot be listed.
pub fn pod_dirs(root: &Root, root_dir: &Path, before: &BTreeMap<Text, PodDir>) -> Result<BTreeMap<Text, PodDir>, Miss> {
    let mut pods: BTreeMap<Text, PodDir> = BTreeMap::new();
    let dir = root_dir.join("pods");
    for (uid, born) in names(root.born(&dir))? {
        let uid = Text::name(&uid);
        pods.insert(uid.clone(), PodDir { uid, kubelet: true, since: born.map(whole_millis), ..PodDir::default() });
    }
    for (name, _) in names(root.born(LOGS))? {
        let Some((pod, uid)) = log_dir(&name) else { continue };
        let dir = pods.entry(uid.clone()).or_insert_with(|| PodDir { uid, ..PodDir::default() });
        (dir.pod, dir.logs) = (pod, true);
    }
    let mut pods: BTreeMap<_, _> = pods.into_iter().take(MAX_PODS).collect();
    let root = root.clone().with_deadline(WALK);
    let volumes = root.walk(&dir, |dir| each(dir, |name| Some(Text::name(name)), volumes));
    let containers = root.walk(LOGS, |dir| each(dir, |name| Some(log_dir(name)?.1), containers));
    for (uid, pod) in &mut pods {
        let old = before.get(uid);
        pod.volumes = match &volumes {
            Ok(found) => found.get(uid).cloned().unwrap_or_default().into(),
            Err(_) => old.map(|old| old.volumes.clone()).unwrap_or_default(),
        };
        pod.containers = match &containers {
            Ok(found) => found.get(uid).cloned().unwrap_or_default().into(),
            Err(_) => old.map(|old| old.containers.clone()).unwrap_or_default(),
        };
    }
    Ok(pods)
}

/// `namespace_pod_uid`; none of the three contains an underscore.
fn log_dir(name: &str) -> Option<(Text, Text)> {
    let mut parts = name.splitn(3, '_');
    let (namespace, pod, uid) = (parts.next()?, parts.next()?, parts.next()?);
    Some((Text::name(&format!("{namespace}/{pod}")), Text::name(uid)))
}

/// The results of `of` for each directory below `dir`, by the UID in its name.
fn each<T>(dir: &Path, uid: impl Fn(&str) -> Option<Text>, of: impl Fn(&Path) -> Vec<T>) -> BTreeMap<Text, Vec<T>> {
    let found = below(dir).into_iter().take(MAX_PODS);
    found.filter_map(|name| Some((uid(&name)?, of(&dir.join(&name))))).collect()
}

/// Sorted names in a directory; none when it cannot be listed.
fn below(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// `volumes/PLUGIN/NAME`.
fn volumes(pod: &Path) -> Vec<Text> {
    let dir = pod.join("volumes");
    let mut names: Vec<Text> = below(&dir)
        .into_iter()
        .flat_map(|plugin| below(&dir.join(plugin)))
        .map(|name| Text::name(&name))
        .take(MAX_PARTS)
        .collect();
    names.sort();
    names
}

/// `CONTAINER/N.log`, and rotated `N.log.…` next to it.
fn containers(pod: &Path) -> Vec<ContainerDir> {
    let number = |file: &String| file.split_once(".log")?.0.parse::<u32>().ok();
    let container = |name: String| {
        let restarts = below(&pod.join(&name)).iter().filter_map(number).max();
        ContainerDir { name: Text::name(&name), restarts }
    };
    below(pod).into_iter().take(MAX_PARTS).map(container).collect()
}

/// The static pods whose manifests are in `dir`: the kubelet reads every file whose name does not begin with a dot; `dir` may
/// be one file. The kubelet appends the name of the `node` to the pod's name.
///
/// # Errors
/// When `dir` exists and cannot be listed.
pub fn manifests(root: &Root, dir: &Path, node: &str) -> Result<BTreeMap<Text, StaticPod>, Miss> {
    if root.is_file(dir) == Ok(true) {
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok([static_pod(root, dir, &name, node)].into());
    }
    let mut names: Vec<String> = names(root.born(dir))?.into_iter().map(|(name, _)| name).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    let files = names.into_iter().map(|name| (dir.join(&name), name));
    let files = files.filter(|(path, _)| root.is_file(path) != Ok(false)).take(MAX_MANIFESTS);
    Ok(files.map(|(path, name)| static_pod(root, &path, &name, node)).collect())
}

fn static_pod(root: &Root, path: &Path, file: &str, node: &str) -> (Text, StaticPod) {
    let file = Text::name(file);
    let mut pod = StaticPod { file: file.clone(), ..StaticPod::default() };
    if let Some(read) = root.read(path).ok().and_then(|text| manifest(&text)) {
        pod.namespace = Text::name(&read.namespace);
        // pkg/kubelet/config/common.go generatePodName
        pod.name = Text::name(&format!("{}-{}", read.name, node.to_lowercase()));
        pod.containers = read.containers.iter().map(|name| Text::name(name)).collect();
    }
    (file, pod)
}

type DirEntries = Vec<(String, Option<Time>)>;

fn names(listed: Result<DirEntries, Miss>) -> Result<DirEntries, Miss> {
    match listed {
        Err(Miss::Absent) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Birth times have nanoseconds, which are not needed.
fn whole_millis(at: Time) -> Time {
    Time::from_timestamp_millis(at.timestamp_millis()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    fn dirs(temp: &Temp, root_dir: &str) -> BTreeMap<Text, PodDir> {
        pod_dirs(&temp.root(), Path::new(root_dir), &BTreeMap::new()).unwrap()
    }

    #[test]
    fn kubelet_and_log_directories_are_joined_by_uid() {
        let temp = Temp::new();
        temp.write("var/lib/kubelet/pods/u1/etc-hosts", "");
        temp.write("var/log/pods/shop_web-0_u1/app/0.log", "");
        temp.write("var/log/pods/shop_old_u2/app/0.log", "");
        let pods = dirs(&temp, "/var/lib/kubelet");
        let short: Vec<_> = pods.values().map(|d| (d.uid.as_str(), d.pod.as_str(), d.kubelet, d.logs)).collect();
        assert_eq!(short, [("u1", "shop/web-0", true, true), ("u2", "shop/old", false, true)]);
        assert!(dirs(&temp, "/none").len() == 2);
    }

    #[test]
    fn restarts_come_from_log_names_and_volumes_have_names() {
        let temp = Temp::new();
        temp.write("var/lib/kubelet/pods/u1/volumes/kubernetes.io~nfs/data/file", "");
        temp.write("var/lib/kubelet/pods/u1/volumes/kubernetes.io~projected/kube-api-access-x/token", "");
        for log in ["app/0.log", "app/11.log", "app/11.log.20260101-000000.gz", "app/x.log", "side/.keep"] {
            temp.write(&format!("var/log/pods/shop_web-0_u1/{log}"), "");
        }
        let pods = dirs(&temp, "/var/lib/kubelet");
        let pod = pods.values().next().unwrap();
        assert_eq!(pod.volumes[..], ["data", "kube-api-access-x"]);
        let containers: Vec<_> = pod.containers.iter().map(|c| (c.name.as_str(), c.restarts)).collect();
        assert_eq!(containers, [("app", Some(11)), ("side", None)]);
    }

    #[test]
    fn manifests_are_read_and_other_files_are_listed_by_name() {
        let temp = Temp::new();
        let pod = "kind: Pod\nmetadata: {name: etcd, namespace: kube-system}\nspec: {containers: [{name: e}]}\n";
        temp.write("etc/kubernetes/manifests/etcd.yaml", pod);
        temp.write("etc/kubernetes/manifests/broken.yaml", "hunter2: [");
        temp.write("etc/kubernetes/manifests/.etcd.yaml.swp", pod);
        temp.write("etc/kubernetes/manifests/dir/etcd.yaml", pod);
        let dir = Path::new("/etc/kubernetes/manifests");
        let found = manifests(&temp.root(), dir, "Node-A").unwrap();
        let short: Vec<_> = found.values().map(|p| (p.file.as_str(), p.namespace.as_str(), p.name.as_str())).collect();
        assert_eq!(short, [("broken.yaml", "", ""), ("etcd.yaml", "kube-system", "etcd-node-a")]);
        let one = manifests(&temp.root(), &dir.join("etcd.yaml"), "a").unwrap();
        assert_eq!(one.values().next().unwrap().name, "etcd-a");
    }
}
