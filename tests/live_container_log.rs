//! A container's log from files, from a fake API server and from a fake kubelet.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "fakes/api.rs"]
mod api;
#[allow(dead_code)]
#[path = "fakes/kubelet.rs"]
mod kubelet;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use api::{Certificates, FakeApi};
use kpodtrace::container_log::{Instance, LogLine, LogOrigin, LogRequest, LogStream, LogUpdate, NewestRun};
use kpodtrace::observe::api::ApiAccess;
use kpodtrace::observe::discover::{Credential, Env, LogDirs, Root};
use kpodtrace::observe::kubelet::{KubeletAuth, KubeletClient, KubeletEndpoint, KubeletTrust, Pem};
use kpodtrace::observe::{LogReader, OpenLog, tls};
use kpodtrace::text::Text;
use kubelet::{Authority, FakeKubelet, Reply};

const PATIENCE: Duration = Duration::from_secs(20);
const LOG: &str = "shop/web/app";

/// A root of this test alone.
struct Node(PathBuf);

impl Node {
    fn new(name: &str) -> Self {
        tls::install_provider();
        let dir = std::env::temp_dir().join(format!("kpodtrace-log-{}-{name}", std::process::id()));
        _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("var/log/pods")).unwrap();
        Self(dir)
    }

    fn append(&self, file: &str, text: &str) {
        let path = self.0.join("var/log/pods/shop_web_u1/app").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn access(&self, kubeconfig: &str) -> ApiAccess {
        let path = self.0.join("kubeconfig");
        std::fs::write(&path, kubeconfig).unwrap();
        ApiAccess::new(Credential::Kubeconfig(vec![path]), Env::new())
    }

    fn reader(&self, api: Result<ApiAccess, Text>, kubelet: Result<KubeletClient, Text>) -> LogReader {
        LogReader::new(tokio::runtime::Handle::current(), Root::new(&self.0), api, kubelet)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn request(instance: Instance) -> LogRequest {
    let [namespace, pod, uid, container] = ["shop", "web", "u1", "app"].map(Text::from);
    LogRequest { namespace, pod, uid, container, instance, newest: NewestRun::Running, follow: true }
}

/// What a reader received of a log.
#[derive(Default, Debug)]
struct Seen {
    place: Option<LogOrigin>,
    lines: Vec<String>,
    older: Vec<String>,
    said: Vec<String>,
    /// Number of lines when all older lines had arrived.
    ends: Vec<usize>,
    nowhere: Vec<String>,
}

impl Seen {
    fn take(&mut self, log: &mut OpenLog) {
        let texts = |lines: Vec<LogLine>| lines.into_iter().map(|l| l.text.to_string());
        for news in log.take_updates() {
            match news {
                LogUpdate::Opened { origin, .. } => self.place = Some(origin),
                LogUpdate::Lines(lines) => self.lines.extend(texts(lines)),
                LogUpdate::Older { lines, remaining } => {
                    self.older.extend(texts(lines));
                    self.said.push(format!("older, remaining: {remaining:?}"));
                }
                LogUpdate::Restarted { restart, .. } => self.said.push(format!("restarted {restart:?}")),
                LogUpdate::Notice(text) => self.said.push(text.to_string()),
                LogUpdate::CaughtUp => self.ends.push(self.lines.len()),
                LogUpdate::Closed(text) => self.said.push(format!("over: {text}")),
                LogUpdate::Skipped { .. } => self.said.push("skipped".into()),
                LogUpdate::Unavailable(why) => self.nowhere = why.iter().map(ToString::to_string).collect(),
            }
        }
    }

    async fn until(&mut self, log: &mut OpenLog, what: &str, done: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.take(log);
            if done(self) {
                return;
            }
            assert!(Instant::now() < end, "never: {what}; {self:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn served(second: u32, text: &str) -> String {
    format!("2026-03-02T09:{:02}:{:02}.5Z {text}\n", second / 60, second % 60)
}

fn none() -> (Result<ApiAccess, Text>, Result<KubeletClient, Text>) {
    (Err("no credential".into()), Err("no kubelet".into()))
}

#[tokio::test]
async fn files_come_first_and_are_followed() {
    let node = Node::new("files");
    node.append("0.log", "2026-03-02T09:00:00Z stdout F one\n");
    let (api, kubelet) = none();
    let reader = node.reader(api, kubelet);
    let (mut log, mut seen) = (reader.open(request(Instance::Current)), Seen::default());
    seen.until(&mut log, "the first line", |s| s.lines == ["one"]).await;
    assert_eq!(seen.place, Some(LogOrigin::File("/var/log/pods/shop_web_u1/app/0.log".into())));
    node.append("0.log", "2026-03-02T09:00:01Z stderr F two\n");
    seen.until(&mut log, "the second", |s| s.lines == ["one", "two"]).await;
    node.append("1.log", "2026-03-02T09:00:02Z stdout F three\n");
    seen.until(&mut log, "the next run", |s| s.lines.len() == 3 && s.said == ["restarted Some(1)"]).await;
    let (mut log, mut seen) = (reader.open(request(Instance::Previous)), Seen::default());
    seen.until(&mut log, "the run before", |s| s.lines == ["one", "two"]).await;
    log.request_older();
    seen.until(&mut log, "that there is no more", |s| s.said == ["older, remaining: None"]).await;
}

#[tokio::test]
async fn a_missing_log_is_reported_and_read_once_it_exists() {
    let node = Node::new("nowhere");
    let (api, kubelet) = none();
    let reader = node.reader(api, kubelet);
    let (mut log, mut seen) = (reader.open(request(Instance::Current)), Seen::default());
    seen.until(&mut log, "why not", |s| s.nowhere.len() == 3).await;
    assert!(seen.nowhere[0].starts_with("/var/log/pods/shop_web_u1/app: no log file"), "{:?}", seen.nowhere);
    assert_eq!(seen.nowhere[1..], ["no credential", "no kubelet"]);
    node.append("0.log", "2026-03-02T09:00:00Z stdout F at last\n");
    seen.until(&mut log, "the line", |s| s.lines == ["at last"]).await;
    std::fs::create_dir_all(node.0.join("data")).unwrap();
    std::fs::rename(node.0.join("var/log/pods"), node.0.join("data/pods")).unwrap();
    let mut elsewhere = reader
        .clone()
        .with_dirs(LogDirs { pods: "/data/pods".into(), ..LogDirs::default() })
        .open(request(Instance::Current));
    let mut seen = Seen::default();
    seen.until(&mut elsewhere, "the line", |s| s.lines == ["at last"]).await;
    let odd = LogRequest { container: "../../../../etc".into(), ..request(Instance::Current) };
    let (mut log, mut seen) = (reader.open(odd), Seen::default());
    seen.until(&mut log, "a refusal", |s| s.nowhere == ["invalid name: empty, `.`, `..`, or with a slash or NUL"])
        .await;
}

#[tokio::test]
async fn the_api_server_serves_what_files_do_not() {
    let node = Node::new("api");
    let fake = FakeApi::start(&Certificates::new(), 0).await;
    let lines: String = (0..2500).map(|i| served(i, &format!("line {i}"))).collect();
    fake.state().logs.insert(LOG.into(), lines);
    let reader = node.reader(Ok(node.access(&fake.kubeconfig("token: t0"))), Err("no kubelet".into()));
    let (mut log, mut seen) = (reader.open(request(Instance::Current)), Seen::default());
    seen.until(&mut log, "the last lines", |s| s.lines.len() == 2000).await;
    assert_eq!((seen.lines[0].as_str(), seen.lines[1999].as_str()), ("line 500", "line 2499"));
    assert_eq!(seen.place, Some(LogOrigin::Api(fake.url().into())));
    seen.until(&mut log, "the end of what was there, though the log goes on", |s| s.ends == [2000]).await;
    fake.state().logs.get_mut(LOG).unwrap().push_str(&served(2499, "what came later"));
    seen.until(&mut log, "what is followed", |s| s.lines.last().is_some_and(|l| l == "what came later")).await;
    log.request_older();
    seen.until(&mut log, "older lines", |s| s.said == ["older, remaining: None"]).await;
    assert_eq!((seen.older.len(), seen.older[499].as_str()), (500, "line 499"));
    // The stream ends, like when the container exits; lines of the same second are reported once.
    let all = fake.state().logs.remove(LOG).unwrap();
    seen.until(&mut log, "the end of the stream", |s| s.said.len() == 2).await;
    assert!(seen.said[1].starts_with("the server closed the stream"), "{:?}", seen.said);
    fake.state().logs.insert(LOG.into(), all + &served(2500, "of the next run"));
    seen.until(&mut log, "the next run", |s| s.lines.last().is_some_and(|l| l == "of the next run")).await;
    assert_eq!(seen.lines.len(), 2002, "{:?}", &seen.lines[1998..]);
    let asked = fake.state().asked.clone();
    assert!(
        asked.iter().all(|a| a.starts_with("GET /api/v1/namespaces/shop/pods/web/log?container=app&")),
        "{asked:?}"
    );
    assert!(asked.last().unwrap().contains("sinceTime=2026-03-02T09:41:39Z"), "{asked:?}");
    // After the deletion of its pod the log is complete and is not requested again.
    fake.state().logs.remove(LOG);
    fake.state().deleted.insert("shop/web".into());
    seen.until(&mut log, "that it is over", |s| s.said.iter().any(|said| said.starts_with("over: "))).await;
    let over = seen.said.last().unwrap();
    assert!(over.contains("404") && over.contains("not found"), "{over}");
    drop(log);
}

#[tokio::test]
async fn of_a_long_log_the_server_returns_the_end_and_the_omission_is_reported() {
    let node = Node::new("long");
    let fake = FakeApi::start(&Certificates::new(), 0).await;
    let lines: String = (0..12_000).map(|i| served(i % 3600, &format!("line {i}"))).collect();
    fake.state().logs.insert(LOG.into(), lines);
    let reader = node.reader(Ok(node.access(&fake.kubeconfig("token: t0"))), Err("no kubelet".into()));
    let (mut log, mut seen) =
        (reader.open(LogRequest { follow: false, ..request(Instance::Current) }), Seen::default());
    seen.until(&mut log, "the last lines", |s| s.ends == [2000]).await;
    log.request_older();
    seen.until(&mut log, "older lines", |s| s.said == ["older, remaining: Omitted"]).await;
    assert_eq!((seen.older.len(), seen.older[0].as_str(), seen.older[7999].as_str()), (8000, "line 2000", "line 9999"));
}

#[tokio::test]
async fn a_refusal_of_the_api_server_is_reported_with_a_remedy() {
    let node = Node::new("refused");
    let fake = FakeApi::start(&Certificates::new(), 0).await;
    fake.state().tokens.insert("t1".into(), "system:node:node-a".into());
    let nowhere = async |access: ApiAccess, instance| {
        let reader = node.reader(Ok(access), Err("no kubelet".into()));
        let (mut log, mut seen) = (reader.open(request(instance)), Seen::default());
        seen.until(&mut log, "why not", |s| !s.nowhere.is_empty()).await;
        seen.nowhere.remove(1)
    };
    let own = nowhere(node.access(&fake.kubeconfig("token: t1")), Instance::Current).await;
    assert!(
        own.contains("403")
            && own.contains("A node's own credential does not have this permission. `get pods/log` is missing"),
        "{own}"
    );
    assert!(own.ends_with("--user=system:node:node-a"), "{own}");
    let access = node.access(&fake.kubeconfig("token: t0"));
    let waiting = nowhere(access.clone(), Instance::Current).await;
    assert!(waiting.contains("400") && waiting.contains("is waiting to start: ContainerCreating"), "{waiting}");
    let previous = nowhere(access.clone(), Instance::Previous).await;
    assert!(previous.contains("previous terminated container \"app\" in pod \"web\" not found"), "{previous}");
    drop(fake);
    let gone = nowhere(access, Instance::Current).await;
    assert!(gone.contains("nothing listens at"), "{gone}");
}

async fn trusted() -> (FakeKubelet, KubeletClient) {
    let ca = Authority::new("cluster");
    let fake = FakeKubelet::start(&ca.leaf("node-a"), None).await;
    let endpoint = KubeletEndpoint { address: fake.address, node: "node-a".into() };
    let trust = KubeletTrust::ClusterCa { pem: Pem::Inline(ca.pem().into()) };
    (fake, KubeletClient::new(endpoint, trust, KubeletAuth::None))
}

const PAGE: &str = "/containerLogs/shop/web/app";

#[tokio::test]
async fn the_kubelet_serves_what_the_api_server_does_not() {
    let node = Node::new("kubelet");
    let (fake, client) = trusted().await;
    let first = served(0, "one") + &served(1, "two");
    // The next request returns the last second again, and newer lines.
    fake.replies(PAGE, [Reply::Page(first.into()), Reply::Page((served(1, "two") + &served(2, "three")).into())]);
    let reader = node.reader(Err("no credential".into()), Ok(client));
    let (mut log, mut seen) = (reader.open(request(Instance::Current)), Seen::default());
    seen.until(&mut log, "the third line", |s| s.lines == ["one", "two", "three"]).await;
    assert_eq!(seen.place, Some(LogOrigin::Kubelet(fake.address.to_string().into())));
    assert!(fake.asked().iter().all(|a| a.method == "GET" && a.path == PAGE));
    drop(log);
    let (mut log, mut seen) = (reader.open(request(Instance::Previous)), Seen::default());
    seen.until(&mut log, "the run before", |s| s.lines == ["two", "three"]).await;
}

#[tokio::test]
async fn refusals_and_timeouts_of_the_kubelet_are_reported() {
    let node = Node::new("kubelet-refuses");
    let (fake, client) = trusted().await;
    let forbidden = "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[proxy])";
    for (reply, says) in [
        (Reply::Status(403, forbidden.into()), "nodes/proxy only"),
        (Reply::Status(404, "pod \"web\" does not exist\n".into()), "pod \"web\" does not exist"),
        (Reply::Status(404, "404 page not found\n".into()), "enableDebuggingHandlers: false"),
        (
            Reply::Status(
                400,
                "{\"message\": \"previous terminated container \\\"app\\\" in pod \\\"web\\\" not found\"}".into(),
            ),
            "previous terminated container",
        ),
        (
            Reply::Status(200, "unable to retrieve container logs for containerd://5b2f".into()),
            "unable to retrieve container logs for containerd://5b2f",
        ),
        (Reply::Hang, "no complete response within"),
    ] {
        fake.replies(PAGE, [reply]);
        let quick = client.clone().with_deadline(Duration::from_millis(300));
        let reader = node.reader(Err("no credential".into()), Ok(quick));
        let (mut log, mut seen) = (reader.open(request(Instance::Current)), Seen::default());
        seen.until(&mut log, says, |s| !s.nowhere.is_empty()).await;
        assert!(seen.nowhere[2].contains(says), "{:?}", seen.nowhere);
    }
}
