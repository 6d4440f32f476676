//! The kubelet's own HTTP against a fake kubelet on real sockets: what it says, what it refuses, and every fault.
//! What was captured must come out of a live source as it comes out of its import.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "fakes/kubelet.rs"]
mod fake;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fake::{Authority, FakeKubelet, Leaf, Reply, bare_leaf};
use kpodtrace::observation::{ErrorKind, Fact, Observation, Source, SourceError, SourceState};
use kpodtrace::observe::kubelet::{
    ConfigzSource, HealthSource, KubeletAuth, KubeletClient, KubeletEndpoint, KubeletTrust, MetricsSource, Pem,
    PodsSource,
};
use kpodtrace::observe::{Attempt, BackOff, Clock, ObservationSink, supervise};
use kpodtrace::record::import::{Imported, import};

const NODE: &str = "node-a";
const QUICK: Duration = Duration::from_millis(1);
/// How long an answer may take where none comes.
const PATIENCE: Duration = Duration::from_millis(400);

// ---- what the tests stand on ----

/// A folder of this test alone.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kpodtrace-kubelet-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn client(fake: &FakeKubelet, trust: KubeletTrust, auth: KubeletAuth) -> KubeletClient {
    let endpoint = KubeletEndpoint { address: fake.address, node: NODE.into() };
    KubeletClient::new(endpoint, trust, auth)
}

fn inline(pem: &str) -> Pem {
    Pem::Inline(pem.to_owned().into())
}

/// A kubelet with a certificate of `ca`, and a client that trusts it.
async fn trusted() -> (FakeKubelet, KubeletClient) {
    let ca = Authority::new("cluster");
    let fake = FakeKubelet::start(&ca.leaf(NODE), None).await;
    let client = client(&fake, KubeletTrust::ClusterCa { pem: inline(&ca.pem()) }, KubeletAuth::None);
    (fake, client)
}

/// Runs a source until an observation is the last that is wanted.
async fn run(attempt: impl Attempt + 'static, source: Source, mut last: impl FnMut(&Fact) -> bool) -> Vec<Observation> {
    let (tx, mut rx) = tokio::sync::mpsc::channel(16);
    let out = ObservationSink::new(source, Clock::start(), tx);
    let back_off = BackOff { first: QUICK, limit: QUICK, forbidden: QUICK };
    let task = tokio::spawn(async move { supervise(attempt, out, back_off).await });
    let mut all = Vec::new();
    let listen = async {
        while let Some(observation) = rx.recv().await {
            let end = last(&observation.fact);
            all.push(observation);
            if end {
                break;
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), listen).await;
    task.abort();
    let tail = &all[all.len().saturating_sub(5)..];
    assert!(ended.is_ok(), "{source:?} never said what was waited for, but at last {tail:?}");
    all
}

fn failed(fact: &Fact) -> Option<&SourceError> {
    match fact {
        Fact::SourceState(SourceState::Retrying { error, .. } | SourceState::Forbidden { error }) => Some(error),
        _ => None,
    }
}

/// Runs a source until it fails; gives the state.
async fn failure(attempt: impl Attempt + 'static, source: Source) -> SourceState {
    let all = run(attempt, source, |fact| failed(fact).is_some()).await;
    match all.into_iter().next_back().unwrap().fact {
        Fact::SourceState(state) => state,
        fact => panic!("{fact:?}"),
    }
}

fn error(state: SourceState) -> SourceError {
    failed(&Fact::SourceState(state)).unwrap().clone()
}

fn said(observations: &[Observation], source: Source) -> Vec<Fact> {
    let is_said = |fact: &Fact| !matches!(fact, Fact::SourceState(_) | Fact::CallBegin(_) | Fact::CallEnd { .. });
    let of_source = observations.iter().filter(|o| o.stamp.source == source);
    of_source.map(|o| o.fact.clone()).filter(is_said).collect()
}

/// Names of the states in order, without repetition.
fn states(observations: &[Observation], source: Source) -> Vec<&'static str> {
    let mut names: Vec<&str> = observations
        .iter()
        .filter(|o| o.stamp.source == source)
        .filter_map(|o| match &o.fact {
            Fact::SourceState(SourceState::Live { .. }) => Some("live"),
            Fact::SourceState(SourceState::Retrying { .. } | SourceState::Forbidden { .. }) => Some("failed"),
            _ => None,
        })
        .collect();
    names.dedup();
    names
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(folder: &Path, name: &str) -> Option<String> {
    if let Ok(text) = std::fs::read_to_string(folder.join(name)) {
        return Some(text);
    }
    let zipped = std::fs::File::open(folder.join(format!("{name}.gz"))).ok()?;
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(zipped).read_to_end(&mut bytes).unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

/// After the last reply there is no page any more.
fn is_over(fact: &Fact) -> bool {
    failed(fact).is_some_and(|e| e.tried.contains(": 404 Not Found") || e.tried.contains("the response is 404"))
}

async fn play(
    fake: &FakeKubelet,
    path: &str,
    replies: Vec<Reply>,
    attempt: impl Attempt + 'static,
    source: Source,
) -> Vec<Observation> {
    fake.replies(path, replies.into_iter().chain([Reply::Status(404, String::new())]));
    let mut all = run(attempt, source, is_over).await;
    all.pop();
    all
}

fn same(live: &[Observation], imported: &Imported, source: Source, of: &str) {
    let (live, imported) = (said(live, source), said(&imported.observations, source));
    assert_eq!(live.len(), imported.len(), "{of} {source:?}");
    for (i, (live, imported)) in live.iter().zip(&imported).enumerate() {
        assert_eq!(live, imported, "{of} {source:?} {i}");
    }
}

// ---- what was captured ----

fn incident_replies(file: &str) -> Vec<Reply> {
    let text = read(&fixtures().join("incident"), file).unwrap();
    let reply = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match (line["body"].as_str(), line["answer"].as_str()) {
            (Some(body), _) if body.starts_with("Authorization error") => Reply::Status(500, body.into()),
            (Some(body), _) => Reply::Page(body.into()),
            (None, Some(answer)) => {
                let (body, code) = answer.rsplit_once('\n').unwrap();
                Reply::Status(code.parse().unwrap(), body.into())
            }
            (None, None) => Reply::Hang,
        }
    };
    text.lines().map(reply).collect()
}

#[tokio::test]
async fn the_incident_is_told_live_as_it_is_imported() {
    let (fake, client) = trusted().await;
    let client = client.with_deadline(PATIENCE * 4);
    let imported = import(&fixtures().join("incident")).unwrap();

    let source = Source::KubeletMetrics;
    let metrics = MetricsSource::new(client.clone()).every(QUICK);
    let live = play(&fake, "/metrics", incident_replies("metrics.jsonl"), metrics, source).await;
    assert_eq!(states(&live, source), states(&imported.observations, source));
    same(&live, &imported, source, "incident");
    let timed_out =
        |o: &&Observation| matches!(&o.fact, Fact::CallEnd { error: Some(e), .. } if e.kind == ErrorKind::Timeout);
    assert!(live.iter().filter(timed_out).count() >= 2, "the runtime hung, and the scrape with it");

    let source = Source::KubeletConfig;
    let configz = ConfigzSource::new(client.clone()).every(QUICK);
    let live = play(&fake, "/configz", incident_replies("configz.jsonl"), configz, source).await;
    same(&live, &imported, source, "incident");

    let source = Source::KubeletPods;
    let pods = PodsSource::new(client).every(QUICK);
    let live = play(&fake, "/pods", incident_replies("kubelet-pods.jsonl"), pods, source).await;
    assert_eq!(states(&live, source)[..1], states(&imported.observations, source)[..1]);
    same(&live, &imported, source, "incident");

    let source = Source::KubeletHealth;
    let health = HealthSource::new(fake.health).every(QUICK).with_deadline(PATIENCE);
    let live = play(&fake, "/healthz", incident_replies("health.jsonl"), health, source).await;
    same(&live, &imported, source, "incident");

    let asked = fake.asked();
    assert!(asked.iter().all(|asked| asked.method == "GET"));
    let of = |path: &str| asked.iter().filter(|asked| asked.path == path).count();
    // Each reply was asked for once, and then once more.
    let expected = ["metrics", "configz", "kubelet-pods", "health"]
        .map(|file| incident_replies(&format!("{file}.jsonl")).len() + 1);
    assert_eq!([of("/metrics"), of("/configz"), of("/pods"), of("/healthz")], expected);
}

#[tokio::test]
async fn captures_are_told_live_as_they_are_imported() {
    let (fake, client) = trusted().await;
    let (mut pages, mut refusals) = (0, 0);
    for entry in std::fs::read_dir(fixtures().join("captures")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(imported) = import(&folder) else { continue };
        let of = folder.display().to_string();
        let answers = states_of(&imported);
        for (file, path, source) in [
            ("kubelet-metrics.prom", "/metrics", Source::KubeletMetrics),
            ("configz.json", "/configz", Source::KubeletConfig),
            ("kubelet-pods.json", "/pods", Source::KubeletPods),
            ("healthz.txt", "/healthz", Source::KubeletHealth),
        ] {
            let Some(body) = read(&folder, file) else { continue };
            if body.trim().is_empty() || body.starts_with("curl:") {
                continue;
            }
            let answered = answers(source);
            let reply = match (source, answered) {
                (Source::KubeletHealth, _) => Reply::Page(body.rsplit("\n\n").next().unwrap().trim().into()),
                (_, true) => Reply::Page(body.into_bytes()),
                (_, false) => Reply::Status(500, body),
            };
            let live = match source {
                Source::KubeletMetrics => {
                    let attempt = MetricsSource::new(client.clone()).every(QUICK);
                    play(&fake, path, vec![reply], attempt, source).await
                }
                Source::KubeletConfig => {
                    let attempt = ConfigzSource::new(client.clone()).every(QUICK);
                    play(&fake, path, vec![reply], attempt, source).await
                }
                Source::KubeletPods => {
                    let attempt = PodsSource::new(client.clone()).every(QUICK);
                    play(&fake, path, vec![reply], attempt, source).await
                }
                _ => {
                    let attempt = HealthSource::new(fake.health).every(QUICK);
                    play(&fake, path, vec![reply], attempt, source).await
                }
            };
            same(&live, &imported, source, &of);
            if answered {
                pages += 1;
                assert_eq!(states(&live, source)[..1], ["live"], "{of}");
            } else {
                refusals += 1;
                let error = live.iter().find_map(|o| failed(&o.fact)).expect("it failed");
                assert!(error.tried.contains("Authorization error") && error.fix.contains("API server"), "{error:?}");
            }
        }
    }
    assert!(pages > 200 && refusals > 0, "{pages} pages, {refusals} refusals");
}

fn states_of(imported: &Imported) -> impl Fn(Source) -> bool {
    move |source| states(&imported.observations, source).contains(&"live")
}

// ---- whom to trust ----

#[tokio::test]
async fn a_pinned_certificate_is_the_kubelet_whoever_signed_it_and_however_old_it_is() {
    let folder = Folder::new("pinned");
    let ca = Authority::new("node-a-ca@1");
    // A certificate that signed itself, the kubelet's usual one, one past its end, one for another name, and the file
    // of a kubelet that rotates, which holds the key too.
    let leaves = [bare_leaf(NODE), ca.leaf(NODE), ca.expired_leaf(NODE), ca.leaf("elsewhere")];
    for (i, leaf) in leaves.iter().enumerate() {
        let fake = FakeKubelet::start(leaf, None).await;
        fake.replies("/configz", [Reply::Page(br#"{"kubeletconfig":{"maxPods":7}}"#.to_vec())]);
        for (name, text) in
            [("kubelet.crt", leaf.pem.clone()), ("kubelet-server.pem", format!("{}{}", leaf.pem, leaf.key))]
        {
            let cert = folder.write(name, &text);
            let client = client(&fake, KubeletTrust::Pinned { cert: cert.into() }, KubeletAuth::None);
            let all = run(ConfigzSource::new(client), Source::KubeletConfig, |fact| {
                assert_eq!(failed(fact), None, "{i} {name}");
                matches!(fact, Fact::KubeletConfig(c) if c.max_pods == Some(7))
            })
            .await;
            assert_eq!(states(&all, Source::KubeletConfig), ["live"]);
        }
    }
}

async fn refused_by(trust: KubeletTrust, leaf: &Leaf) -> SourceError {
    let fake = FakeKubelet::start(leaf, None).await;
    fake.replies("/metrics", [Reply::Page(b"up 1\n".to_vec())]);
    let token = KubeletAuth::Token("secret".to_owned().into());
    let state = failure(MetricsSource::new(client(&fake, trust, token)), Source::KubeletMetrics).await;
    assert!(matches!(state, SourceState::Retrying { .. }), "{state:?}");
    assert!(fake.asked().is_empty(), "nothing may be sent to whom is not trusted");
    error(state)
}

#[tokio::test]
async fn another_certificate_is_refused_and_named() {
    let folder = Folder::new("refused");
    let (ca, other) = (Authority::new("cluster"), Authority::new("other"));
    let cert = folder.write("kubelet.crt", &ca.leaf(NODE).pem);
    let error = refused_by(KubeletTrust::Pinned { cert: cert.clone().into() }, &other.leaf(NODE)).await;
    let expected = format!("its certificate is not the one in {}", cert.display());
    assert!(error.tried.ends_with(&expected) && error.fix.contains("kubelet-server-current.pem"), "{error:?}");
    // The same CA and another key: only the very certificate is pinned.
    let error = refused_by(KubeletTrust::Pinned { cert: cert.into() }, &ca.leaf(NODE)).await;
    assert!(error.tried.ends_with(&expected), "{error:?}");

    let trust = KubeletTrust::ClusterCa { pem: inline(&ca.pem()) };
    for leaf in [other.leaf(NODE), bare_leaf(NODE)] {
        let error = refused_by(trust.clone(), &leaf).await;
        assert!(error.tried.contains("not signed by the given CA") && error.fix.contains("kubelet.crt"), "{error:?}");
    }
    let error = refused_by(trust.clone(), &ca.leaf("node-b")).await;
    assert!(error.tried.contains("its certificate is not for node-a"), "{error:?}");
    let error = refused_by(trust, &ca.expired_leaf(NODE)).await;
    assert!(error.tried.contains("its certificate has expired"), "{error:?}");
}

#[tokio::test]
async fn a_copied_certificate_without_its_key_is_of_no_use() {
    let folder = Folder::new("copied");
    let mut leaf = bare_leaf(NODE);
    let cert = folder.write("kubelet.crt", &leaf.pem);
    leaf.key = bare_leaf(NODE).key;
    let error = refused_by(KubeletTrust::Pinned { cert: cert.into() }, &leaf).await;
    assert!(error.tried.contains("BadSignature"), "{error:?}");
    assert_eq!(error.kind, ErrorKind::Other);
}

#[tokio::test]
async fn without_verification_only_when_asked_for() {
    let fake = FakeKubelet::start(&bare_leaf("whoever"), None).await;
    fake.replies("/metrics", [Reply::Page(b"up 1\n".to_vec())]);
    let client = client(&fake, KubeletTrust::Insecure, KubeletAuth::None);
    assert!(!client.trust().is_verified());
    run(MetricsSource::new(client), Source::KubeletMetrics, |fact| matches!(fact, Fact::Scrape(_))).await;
}

#[tokio::test]
async fn a_new_certificate_is_trusted_once_its_file_says_so() {
    let folder = Folder::new("rotated");
    let (old, new) = (bare_leaf(NODE), bare_leaf(NODE));
    let cert = folder.write("kubelet.crt", &old.pem);
    let fake = FakeKubelet::start(&old, None).await;
    fake.replies("/metrics", [Reply::Page(b"up 1\n".to_vec())]);
    let client = client(&fake, KubeletTrust::Pinned { cert: cert.into() }, KubeletAuth::None);
    let (mut scrapes, mut refusals) = (0, 0);
    run(MetricsSource::new(client).every(QUICK), Source::KubeletMetrics, |fact| {
        scrapes += u32::from(matches!(fact, Fact::Scrape(_)));
        if scrapes == 3 && refusals == 0 {
            fake.certificate(&new);
            scrapes = 0;
        }
        if let Some(error) = failed(fact) {
            // The connection that was cut may tell first.
            refusals += u32::from(error.tried.contains("not the one in"));
            if refusals == 1 {
                folder.write("kubelet.crt", &new.pem);
                scrapes = 100;
            }
        }
        scrapes == 103
    })
    .await;
}

// ---- what is shown ----

#[tokio::test]
async fn credentials_are_shown_and_read_again_and_never_told() {
    let folder = Folder::new("credentials");
    let (ca, clients) = (Authority::new("cluster"), Authority::new("clients"));
    let fake = FakeKubelet::start(&ca.leaf(NODE), Some(&clients)).await;
    fake.replies("/metrics", [Reply::Page(b"up 1\n".to_vec())]);
    let trust = KubeletTrust::ClusterCa { pem: Pem::File(folder.write("ca.crt", &ca.pem()).into()) };
    let is_scrape = |fact: &Fact| matches!(fact, Fact::Scrape(_));

    let one_file = clients.leaf("system:admin");
    let one_file = folder.write("client.pem", &format!("{}{}", one_file.pem, one_file.key));
    let auth = KubeletAuth::ClientCert { cert: Pem::File(one_file.clone().into()), key: Pem::File(one_file.into()) };
    run(MetricsSource::new(client(&fake, trust.clone(), auth)), Source::KubeletMetrics, is_scrape).await;
    assert!(fake.asked().pop().unwrap().certificate);

    let foreign = ca.leaf("system:admin");
    let auth = KubeletAuth::ClientCert { cert: inline(&foreign.pem), key: inline(&foreign.key) };
    let told = failure(MetricsSource::new(client(&fake, trust.clone(), auth)), Source::KubeletMetrics).await;
    let told = error(told);
    assert!(told.tried.contains("aborted the TLS handshake") && told.kind == ErrorKind::Denied, "{told:?}");

    let token = folder.write("token", "first-secret\n");
    let with_file = client(&fake, trust.clone(), KubeletAuth::TokenFile(token.into()));
    let mut scrapes = 0;
    run(MetricsSource::new(with_file).every(QUICK), Source::KubeletMetrics, |fact| {
        scrapes += u32::from(is_scrape(fact));
        if scrapes == 1 {
            folder.write("token", "second-secret");
        }
        fake.asked().iter().any(|a| a.authorization.as_deref() == Some("Bearer second-secret"))
    })
    .await;
    assert!(fake.asked().iter().any(|a| a.authorization.as_deref() == Some("Bearer first-secret")));

    fake.replies("/metrics", [Reply::Status(401, "Unauthorized".into())]);
    let auth = KubeletAuth::Token("third-secret".to_owned().into());
    let client = client(&fake, trust, auth.clone());
    assert!(!format!("{auth:?} {client:?}").contains("third-secret"));
    let all = run(MetricsSource::new(client.clone()), Source::KubeletMetrics, |fact| failed(fact).is_some()).await;
    assert!(!format!("{all:?} {client:?}").contains("third-secret"));
    assert_eq!(fake.asked().pop().unwrap().authorization.as_deref(), Some("Bearer third-secret"));
}

#[tokio::test]
async fn files_that_are_not_there_or_nothing_of_the_kind_are_named() {
    let folder = Folder::new("files");
    let fake = FakeKubelet::start(&bare_leaf(NODE), None).await;
    let missing = folder.0.join("missing.crt");
    let trust = KubeletTrust::Pinned { cert: missing.clone().into() };
    let told =
        error(failure(MetricsSource::new(client(&fake, trust, KubeletAuth::None)), Source::KubeletMetrics).await);
    assert!(told.tried.contains(&missing.display().to_string()) && told.tried.contains("No such file"), "{told:?}");
    let cert = folder.write("empty.crt", "not a certificate");
    let trust = KubeletTrust::Pinned { cert: cert.into() };
    let told =
        error(failure(MetricsSource::new(client(&fake, trust, KubeletAuth::None)), Source::KubeletMetrics).await);
    assert!(told.tried.contains("no certificate in PEM form"), "{told:?}");
    let auth = KubeletAuth::ClientCert { cert: inline(&bare_leaf(NODE).pem), key: inline(&bare_leaf(NODE).key) };
    let told = failure(MetricsSource::new(client(&fake, KubeletTrust::Insecure, auth)), Source::KubeletMetrics).await;
    assert!(error(told.clone()).tried.contains("the key does not match the certificate"), "{told:?}");
}

// ---- refusals and faults ----

#[tokio::test]
async fn refusals_say_which_permission_is_missing() {
    let (fake, client) = trusted().await;
    let forbidden = |user: &str, subresources: &str| {
        let body = format!("Forbidden (user={user}, verb=get, resource=nodes, subresource(s)=[{subresources}])\n");
        Reply::Status(403, body)
    };
    fake.replies("/metrics", [forbidden("system:node:node-a", "metrics")]);
    let state = failure(MetricsSource::new(client.clone()), Source::KubeletMetrics).await;
    let SourceState::Forbidden { error: told } = state else { panic!("{state:?}") };
    assert!(
        told.tried.ends_with(
            "/metrics: 403: Forbidden (user=system:node:node-a, verb=get, resource=nodes, subresource(s)=[metrics])"
        ),
        "{told:?}"
    );
    assert!(told.kind == ErrorKind::Denied && told.fix.starts_with("`nodes/metrics get` is missing"), "{told:?}");

    fake.replies("/pods", [forbidden("jane", "pods proxy")]);
    let state = failure(PodsSource::new(client.clone()), Source::KubeletPods).await;
    let SourceState::Forbidden { error: told } = state else { panic!("{state:?}") };
    assert!(told.fix.starts_with("`nodes/pods get` is missing for jane: kubectl create clusterrole"), "{told:?}");

    fake.replies("/configz", [Reply::Status(401, "Unauthorized".into())]);
    let state = failure(ConfigzSource::new(client), Source::KubeletConfig).await;
    let SourceState::Forbidden { error: told } = state else { panic!("{state:?}") };
    assert!(told.tried.ends_with("/configz: 401: Unauthorized") && told.fix.contains("credential"), "{told:?}");
}

#[tokio::test]
async fn an_api_server_that_is_down_is_retried_and_named() {
    let (fake, client) = trusted().await;
    let body = "Authorization error (user=kubernetes-admin, verb=get, resource=nodes, subresource=metrics)\n";
    fake.replies("/metrics", [Reply::Status(500, body.into()), Reply::Page(b"up 1\n".to_vec())]);
    let mut told = Vec::new();
    let all = run(MetricsSource::new(client), Source::KubeletMetrics, |fact| {
        told.extend(failed(fact).cloned());
        matches!(fact, Fact::Scrape(_))
    })
    .await;
    assert_eq!(states(&all, Source::KubeletMetrics), ["failed", "live"]);
    assert!(told[0].tried.contains("500: Authorization error") && told[0].fix.contains("the API server"), "{told:?}");
}

#[tokio::test]
async fn what_is_no_answer_is_told_as_what_it_is() {
    let (fake, client) = trusted().await;
    let client = client.with_deadline(PATIENCE);
    let page = b"kubelet_pleg_discard_events 3\n".to_vec();
    for (reply, kind, words) in [
        (Reply::Hang, ErrorKind::Timeout, "no complete response within 400ms"),
        (Reply::HangAfterHead, ErrorKind::Timeout, "no complete response within 400ms"),
        (Reply::Truncated(page.clone()), ErrorKind::Malformed, "the answer broke off after 30 bytes"),
        (Reply::Page(Vec::new()), ErrorKind::Malformed, "the answer is not a page of metrics"),
        (Reply::Page(b"<html>hello</html>".to_vec()), ErrorKind::Malformed, "not a page of metrics"),
        (Reply::Status(404, "404 page not found".into()), ErrorKind::Other, "404 Not Found"),
        (Reply::Status(302, String::new()), ErrorKind::Other, "302 Found"),
        (Reply::Status(500, String::new()), ErrorKind::Other, "500 Internal Server Error"),
        (Reply::Status(503, "\x1b[31mred\x1b[0m".into()), ErrorKind::Other, "503: red"),
    ] {
        fake.replies("/metrics", [reply.clone()]);
        let all = run(MetricsSource::new(client.clone()), Source::KubeletMetrics, |fact| failed(fact).is_some()).await;
        let told = failed(&all.last().unwrap().fact).unwrap();
        assert!(told.kind == kind && told.tried.contains(words) && !told.fix.contains('\x1b'), "{reply:?}: {told:?}");
        assert_eq!(said(&all, Source::KubeletMetrics), [], "half a page is no page");
        let ended = all.iter().any(|o| matches!(&o.fact, Fact::CallEnd { error: Some(e), .. } if e == told));
        assert!(ended, "the call ended with the same words: {all:?}");
    }
    for body in ["{", r#"{"kind":"Status","message":"x"}"#, r#"{"kind":"PodList","items":[5]}"#] {
        fake.replies("/pods", [Reply::Page(body.into())]);
        let told = error(failure(PodsSource::new(client.clone()), Source::KubeletPods).await);
        assert_eq!(told.kind, ErrorKind::Malformed, "{body}: {told:?}");
    }
}

#[tokio::test]
async fn bodies_have_a_limit_compressed_or_not() {
    let (fake, client) = trusted().await;
    let client = client.with_deadline(Duration::from_secs(60));
    fake.replies("/metrics", [Reply::Megabytes(70)]);
    let told = error(failure(MetricsSource::new(client.clone()), Source::KubeletMetrics).await);
    assert!(told.tried.contains("the response is larger than 64 MiB"), "{told:?}");
    fake.replies("/configz", [Reply::Gzip(vec![b' '; 65 << 20])]);
    let told = error(failure(ConfigzSource::new(client.clone()), Source::KubeletConfig).await);
    assert!(told.tried.contains("the response is larger than 1 MiB"), "{told:?}");
    assert_eq!(told.kind, ErrorKind::TooLarge);
    fake.replies("/configz", [Reply::Gzip(br#"{"kubeletconfig":{"maxPods":9}}"#.to_vec())]);
    run(
        ConfigzSource::new(client),
        Source::KubeletConfig,
        |fact| matches!(fact, Fact::KubeletConfig(c) if c.max_pods == Some(9)),
    )
    .await;
}

/// Sixty thousand pods were nearly a gigabyte; now as many are kept as the source's share holds.
#[tokio::test]
async fn more_pods_than_there_is_room_for_are_left_out_and_said() {
    let (fake, client) = trusted().await;
    let client = client.with_deadline(Duration::from_secs(60));
    let pod = |n: usize| {
        format!(
            r#"{{"metadata":{{"name":"p{n}","namespace":"n","uid":"u{n}"}},"spec":{{"containers":[{{"name":"a"}}]}}}}"#
        )
    };
    let page = |count: usize| {
        let pods: Vec<_> = (0..count).map(pod).collect();
        Reply::Gzip(format!(r#"{{"kind":"PodList","items":[{}]}}"#, pods.join(",")).into_bytes())
    };
    fake.replies("/pods", [page(60_000), page(10)]);
    let degraded = |fact: &Fact| match fact {
        Fact::SourceState(SourceState::Degraded { error, .. }) => Some(error.clone()),
        _ => None,
    };
    let source = PodsSource::new(client).every(Duration::from_millis(50));
    let (mut weight, mut told, mut ends) = (0, None, 0);
    run(source, Source::KubeletPods, |fact| {
        weight += if ends == 0 && matches!(fact, Fact::Pod(_)) { fact.weight() } else { 0 };
        told = degraded(fact).or(told.take());
        ends += u32::from(matches!(fact, Fact::EpochEnd));
        // The next list has room for all: it is whole again.
        told.is_some() && ends > 0 && matches!(fact, Fact::SourceState(SourceState::Live { .. }))
    })
    .await;
    let told = told.unwrap();
    assert_eq!(told.kind, ErrorKind::TooLarge);
    assert!(told.tried.contains("objects left out: more than 20MiB, the share of kubelet-pods"), "{told:?}");
    assert!(weight <= 20 << 20 && weight > 10 << 20, "{weight}");
}

#[tokio::test]
async fn an_odd_page_costs_only_what_is_odd() {
    let (fake, client) = trusted().await;
    let mut page =
        b"# HELP x y\nnew_family{a=\"b\"} 1\nkubelet_pleg_discard_events 3\nkubelet_pleg_last_seen_seconds NaN\n"
            .to_vec();
    page.extend_from_slice(b"kubelet_odd{a=\"\xff\xfe\"} 1\n\xff\xff\nkubelet_pleg_relist_duration_seconds_count 5");
    fake.replies("/metrics", [Reply::Page(page)]);
    let all =
        run(MetricsSource::new(client.clone()), Source::KubeletMetrics, |fact| matches!(fact, Fact::Scrape(_))).await;
    let Fact::Scrape(scrape) = &all.last().unwrap().fact else { panic!() };
    assert_eq!((scrape.discarded, scrape.last_seen), (Some(3), None));
    assert_eq!(scrape.relist.as_ref().map(|h| h.count), Some(5), "the last line needs no line feed");

    let items = |items: &str| Reply::Page(format!(r#"{{"kind":"PodList","items":[{items}]}}"#).into_bytes());
    let (a, b) = (r#"{"metadata":{"uid":"a"}}"#, r#"{"metadata":{"uid":"b"}}"#);
    fake.replies("/pods", [items(&format!("{a},5")), items(&format!("{a},{b}")), items(b), items(b), items("")]);
    let source = Source::KubeletPods;
    let mut alive = 0;
    let all = run(PodsSource::new(client).every(QUICK), source, |fact| {
        alive += u32::from(*fact == Fact::Alive);
        alive == 2
    })
    .await;
    let told: Vec<String> = said(&all, source)
        .iter()
        .map(|fact| match fact {
            Fact::Pod(pod) => pod.metadata.uid.to_string(),
            Fact::PodGone(uid) => format!("-{uid}"),
            Fact::EpochBegin => "[".into(),
            Fact::EpochEnd => "]".into(),
            _ => ".".into(),
        })
        .collect();
    assert_eq!(told.join(" "), "[ a ] b -a . -b .");
}

#[tokio::test]
async fn one_source_has_one_request_in_flight() {
    let (fake, client) = trusted().await;
    fake.replies("/metrics", [Reply::Slow(Duration::from_millis(20), b"up 1\n".to_vec())]);
    let mut scrapes = 0;
    run(MetricsSource::new(client).every(QUICK), Source::KubeletMetrics, |fact| {
        scrapes += u32::from(matches!(fact, Fact::Scrape(_)));
        scrapes == 10
    })
    .await;
    assert_eq!(fake.most_in_flight(), 1);
}

#[tokio::test]
async fn nothing_listens_or_something_else_does() {
    let (fake, client_of_fake) = trusted().await;
    let told = error(failure(HealthSource::new(fake.health), Source::KubeletHealth).await);
    assert!(told.tried.contains("another program than the kubelet"), "{told:?}");
    fake.replies("/healthz", [Reply::Status(500, "[-]syncloop failed: reason withheld\n".into())]);
    let all = run(HealthSource::new(fake.health), Source::KubeletHealth, |fact| matches!(fact, Fact::Health(_))).await;
    let Fact::Health(health) = &all.last().unwrap().fact else { panic!() };
    assert!(!health.ok && health.text == "[-]syncloop failed: reason withheld", "{health:?}");
    fake.replies("/healthz", [Reply::Hang]);
    let health = HealthSource::new(fake.health).with_deadline(PATIENCE);
    assert_eq!(error(failure(health, Source::KubeletHealth).await).kind, ErrorKind::Timeout);

    // The pages' port without TLS.
    let endpoint = KubeletEndpoint { address: fake.health, node: NODE.into() };
    let plain = KubeletClient::new(endpoint, client_of_fake.trust().clone(), KubeletAuth::None);
    let told = error(failure(MetricsSource::new(plain), Source::KubeletMetrics).await);
    assert!(told.tried.contains("does not speak TLS"), "{told:?}");

    let (health, address) = (fake.health, fake.address);
    drop(fake);
    let told = error(failure(HealthSource::new(health), Source::KubeletHealth).await);
    let expected = format!(
        "nothing listens on {health}: the kubelet is down or uses another healthzPort (systemctl status kubelet)"
    );
    assert!(told.kind == ErrorKind::Unreachable && told.fix == *expected, "{told:?}");
    let told = error(failure(MetricsSource::new(client_of_fake), Source::KubeletMetrics).await);
    assert!(told.kind == ErrorKind::Unreachable, "{told:?}");
    assert!(told.fix.starts_with(&format!("nothing listens on {address}")), "{told:?}");
}
