//! Sanitizing and redaction of texts from the node. All credentials here are made-up examples.

use proptest::prelude::*;

use super::clean::{is_hidden, name, sanitize};
use super::redact::redact;
use super::*;

#[test]
fn complete_escape_sequences_are_dropped() {
    assert_eq!(sanitize("a\x1b[31mred\x1b[0m b"), "ared b");
    assert_eq!(sanitize("a\x1b]52;c;aGk=\x07b"), "ab");
    assert_eq!(sanitize("a\x1b]0;title\x1b\\b"), "ab");
    assert_eq!(sanitize("a\u{9b}2Jb"), "ab");
    assert_eq!(sanitize("x\x1b(0y"), "xy");
}

#[test]
fn unterminated_strings_take_linear_time() {
    let start = std::time::Instant::now();
    sanitize(&format!("{}\n\x1b]0;t\x07x", "\x1b]".repeat(200_000)));
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    assert_eq!(
        sanitize("\x1b]a\x1b]b\nc\x1b]0;t\x07d\x1b]0;t\x1b\\e"),
        "␛]a␛]b\ncde",
        "a line with terminated strings"
    );
}

#[test]
fn an_unterminated_sequence_hides_nothing() {
    assert_eq!(sanitize("a\x1b]0;title and more"), "a␛]0;title and more");
    assert_eq!(sanitize("a\x1b"), "a␛");
}

#[test]
fn control_characters_and_overrides_are_shown_or_dropped() {
    assert_eq!(sanitize("a\rb\u{7}c\u{7f}\u{85}"), "a␍b␇c␡\\x85");
    assert_eq!(sanitize("a\u{202e}b\u{200d}c\u{ad}d\u{3164}e\u{fe0f}f\u{e0041}g"), "abcdefg");
    assert_eq!(sanitize("a\u{2028}b\u{2029}c"), "a\\u{2028}b\\u{2029}c");
    assert_eq!(sanitize("one\r\ntwo\tthree"), "one\ntwo\tthree");
}

#[test]
fn lengths_are_limited() {
    let long = "é".repeat(MAX_LINE + 10);
    assert_eq!(sanitize(&long).chars().count(), MAX_LINE);
    assert!(sanitize(&long).ends_with('…'));
    let zalgo = format!("e{}", "\u{301}".repeat(50));
    assert_eq!(sanitize(&zalgo).chars().count(), 5);
    let many = "line\n".repeat(MAX_TEXT);
    assert!(sanitize(&many).chars().count() <= MAX_TEXT + 1);
}

/// The bounds of the ranges of `Default_Ignorable_Code_Point` in Unicode 16.
const HIDDEN: [char; 28] = [
    '\u{ad}',
    '\u{34f}',
    '\u{61c}',
    '\u{115f}',
    '\u{1160}',
    '\u{17b4}',
    '\u{17b5}',
    '\u{180b}',
    '\u{180f}',
    '\u{200b}',
    '\u{200f}',
    '\u{202a}',
    '\u{202e}',
    '\u{2060}',
    '\u{206f}',
    '\u{3164}',
    '\u{fe00}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{ffa0}',
    '\u{fff0}',
    '\u{fff8}',
    '\u{fff9}',
    '\u{fffb}',
    '\u{1bca0}',
    '\u{1d17a}',
    '\u{e0000}',
    '\u{e0fff}',
];

#[test]
fn a_name_has_one_line_and_no_character_is_dropped() {
    assert_eq!(name("web-6d4cf56db6-x2xkq"), "web-6d4cf56db6-x2xkq");
    assert_eq!(name("größe-网络"), "größe-网络");
    assert_eq!(name("probe\n5s     Warning  x"), "probe␊5s ␠␠␠␠Warning ␠x");
    assert_eq!(name(" a b "), "␠a b␠");
    assert_eq!(name("a\r\nb\tc\u{85}d\u{2028}e"), "a␍␊b␉c\\x85d\\u{2028}e");
    assert_eq!(name("a\x1b[31mb\x1b]0;t\x07"), "a␛[31mb␛]0;t␇");
    assert_eq!(name("a\u{a0}b\u{3000}c\u{2800}d\u{2003}"), "a\\u{a0}b\\u{3000}c\\u{2800}d\\u{2003}");
    assert_eq!(name("\u{301}a"), "\\u{301}a", "a mark does not combine with the preceding text");
    for hidden in HIDDEN {
        assert!(is_hidden(hidden), "{hidden:?}");
        assert_eq!(name(&format!("co{hidden}redns")), format!("co\\u{{{:x}}}redns", hidden as u32));
    }
    let long = name(&"\u{ad}".repeat(MAX_LINE)).into_owned();
    assert!(long.chars().count() <= MAX_LINE && long.ends_with('…'));
}

#[test]
fn a_text_is_deserialized_as_a_name_and_a_message_keeps_its_lines() {
    let json = r#""a\n  b\u00ad""#;
    assert_eq!(serde_json::from_str::<Text>(json).unwrap(), "a␊ ␠b\\u{ad}");
    assert_eq!(serde_json::from_str::<Message>(json).unwrap(), "a\n  b");
    let message = Message::new("login with password=hunter2");
    assert_eq!(serde_json::to_string(&message).unwrap(), r#""login with password=[redacted]""#);
    assert_eq!(format!("{message} {message:?}"), r#"login with password=[redacted] "login with password=[redacted]""#);
    assert_eq!(message.unredacted(), "login with password=hunter2");
    assert!(message.is_redacted() && message == Message::new("login with password=hunter3"));
    assert_eq!(Text::name("https://admin:hunter2@registry.corp/app"), "https://admin:[redacted]@registry.corp/app");
}

#[test]
fn credentials_are_redacted() {
    let wrong: Vec<String> = SECRETS
        .iter()
        .filter(|(raw, expected)| redact(raw).as_deref() != Some(*expected))
        .map(|(raw, expected)| format!("{raw}\n  is {:?}\n  not {expected}", redact(raw)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_address_is_shown_without_user_and_password() {
    for (address, shown) in [
        ("https://app:hunter2@10.0.0.1:6443/x@y", "https://10.0.0.1:6443/x@y"),
        ("https://app@[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("https://app:pa/ss@host/", "https://host/"),
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("/run/containerd/containerd.sock", "/run/containerd/containerd.sock"),
    ] {
        assert_eq!(without_user(address), shown);
    }
}

#[test]
fn lines_without_credentials_are_kept() {
    let wrong: Vec<String> =
        WITHOUT_CREDENTIALS.iter().filter_map(|raw| Some(format!("{raw}\n  is {}", redact(raw)?))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_private_key_is_redacted_line_by_line() {
    let body = "MIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hyvGZl";
    let mut lines = PemLines::default();
    let log = [
        "start",
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        body,
        "c2hvcnQ=",
        "-----END RSA PRIVATE KEY-----",
        "c2hvcnQ=",
    ];
    let shown: Vec<String> = log.iter().map(|line| lines.line(line).to_string()).collect();
    let r = REDACTED;
    assert_eq!(shown, ["start", log[1], r, r, r, r, log[6], "c2hvcnQ="]);
    let mut open = PemLines::default();
    let cut: Vec<String> =
        [log[1], body, "listening on :8080", body].iter().map(|line| open.line(line).to_string()).collect();
    assert_eq!(cut, [log[1], r, "listening on :8080", body], "other lines without a footer are shown");
    let mut headless: Vec<Text> = ["start", body, body, "c2hvcnQ="].map(Text::from).into();
    PemLines::close(log[6], headless.iter_mut().rev());
    assert_eq!(headless.iter().map(Text::as_str).collect::<Vec<_>>(), ["start", r, r, r]);
    assert_eq!(headless[1].unredacted(), body);
    PemLines::close("-----END CERTIFICATE-----", [Text::from(body)].iter_mut());
}

proptest! {
    #[test]
    fn sanitizing_leaves_no_control_characters_and_is_idempotent(raw in "\\PC*|[\\x00-\\xff\\u{202a}-\\u{202e}\\u{2028}\\u{3164}\\u{fe0f}\\x1b\\[\\];a-z]{0,80}") {
        let once = sanitize(&raw).into_owned();
        prop_assert!(once.chars().all(|c| c == '\n' || c == '\t' || !c.is_control() && !is_hidden(c)), "{once:?}");
        let twice = sanitize(&once).into_owned();
        prop_assert_eq!(twice, once);
        let once = name(&raw).into_owned();
        prop_assert!(once.chars().all(|c| c == ' ' || !c.is_whitespace() && !c.is_control() && !is_hidden(c)), "{once:?}");
        prop_assert!(!once.contains("  ") && once.trim() == once);
        let twice = name(&once).into_owned();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_text_read_from_a_recording_is_unchanged(parts in proptest::collection::vec(0..PARTS.len(), 0..40), cut in 0usize..400) {
        let raw: String = parts.into_iter().filter_map(|i| PARTS.get(i).copied()).collect();
        let raw: String = raw.chars().skip(cut % 7).take(400 - cut).collect();
        let text = Text::new(&raw);
        prop_assert_eq!(Text::new(&text), text);
        let name = Text::name(&raw);
        prop_assert_eq!(Text::name(&name), name);
    }

    #[test]
    fn lines_at_the_limit_are_unchanged_when_read_again(head in 4060usize..4100, part in 0..PARTS.len()) {
        let raw = format!("{} {} x", "y".repeat(head), PARTS[part]);
        let text = Text::new(&raw);
        prop_assert_eq!(Text::new(&text), text);
    }
}

/// Parts of random texts that resemble credentials.
const PARTS: [&str; 40] = [
    "password",
    "=",
    ": ",
    "\"",
    "\\",
    "'",
    "token",
    "secret",
    " ",
    "\n",
    "://",
    "user:",
    "@",
    "host",
    "/",
    "eyJhbGciOiJub25lIn0.e30.c2ln",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "MIIEowIBAAKCAQEAy8Dbv8prpJ0kKhlGeJYozo2t60EG8L0561",
    "[redacted]",
    "Bearer ",
    "Authorization: ",
    "Basic ",
    "Set-Cookie: a=b",
    "AKIAIOSFODNN7EXAMPLE",
    "&",
    ";",
    "{",
    "}",
    "…",
    "auth",
    "--",
    "x1Y2z3A4b5",
    "\u{ad}",
    "\x1b[0m",
    "\u{85}",
    "\t",
    "apiKey",
    "?sig=",
    "@tcp(",
];

const SECRETS: &[(&str, &str)] = &[
    // URLs.
    (
        "dial postgres://app:hunter2@db.prod:5432/shop: refused",
        "dial postgres://app:[redacted]@db.prod:5432/shop: refused",
    ),
    ("redis://:hunter2@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
    ("Get \"https://bob:p%40ss@registry.corp/v2/\": EOF", "Get \"https://bob:[redacted]@registry.corp/v2/\": EOF"),
    ("amqp://guest:p@ss:w@rd@mq/", "amqp://guest:[redacted]@mq/"),
    ("mysql://root:pa/ss#1@db/x", "mysql://root:[redacted]@db/x"),
    ("https://app:hunter2@[fd00::1]:6443/api", "https://app:[redacted]@[fd00::1]:6443/api"),
    ("clone https://x-oauth-basic-1234567890abcdef@github.com/a/b", "clone https://[redacted]@github.com/a/b"),
    ("mongodb+srv://app:hunt…", "mongodb+srv://app:[redacted]"),
    ("root:hunter2@tcp(db:3306)/shop?parseTime=true", "root:[redacted]@tcp(db:3306)/shop?parseTime=true"),
    ("GET https://s3/b?X-Amz-Signature=0a1b2c3d&x=1 403", "GET https://s3/b?X-Amz-Signature=[redacted]&x=1 403"),
    (
        "https://a.blob.core.windows.net/c?sv=2020&sig=a%2Bb%3D&se=1",
        "https://a.blob.core.windows.net/c?sv=2020&sig=[redacted]&se=1",
    ),
    ("https://api/x?access_token=abc123&page=2", "https://api/x?access_token=[redacted]&page=2"),
    // Headers.
    ("Authorization: Bearer swordfish", "Authorization: Bearer [redacted]"),
    ("curl -H \"Authorization: Bearer abc.def-1\" https://x", "curl -H \"Authorization: Bearer [redacted]\" https://x"),
    ("{\"Authorization\":[\"Basic dXNlcjpwYXNz\"]}", "{\"Authorization\":[\"Basic [redacted]\"]}"),
    ("Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: Basic [redacted]"),
    ("sent bearer 0123456789abcdef0123", "sent bearer [redacted]"),
    ("Set-Cookie: session=0a1b2c; Path=/; HttpOnly", "Set-Cookie: [redacted]"),
    ("curl -H 'Cookie: sid=42' x", "curl -H 'Cookie: [redacted]' x"),
    // Known prefixes.
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl expired", "jwt [redacted] expired"),
    ("cut eyJhbGciOiJSUzI1NiIsImtpZC", "cut [redacted]"),
    ("key AKIAIOSFODNN7EXAMPLE is not known", "key [redacted] is not known"),
    ("ASIAIOSFODNN7EXAMPLE", "[redacted]"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]"),
    ("push with ghp_16C7e42F292c6912E7710c838347Ae178B4a.", "push with [redacted]."),
    ("github_pat_11ABCDEFG0123456789_abcdef", "[redacted]"),
    ("glpat-1234567890abcdefghij", "[redacted]"),
    ("xoxb-123456789012-abcdefABCDEF", "[redacted]"),
    ("OpenAI sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12", "OpenAI [redacted]"),
    (
        "AccountName=a;AccountKey=Eby8vdM02xNO==;EndpointSuffix=core",
        "AccountName=a;AccountKey=[redacted];EndpointSuffix=core",
    ),
    // Keys in PEM.
    (
        "x\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKC\nAQEAy8Db\n-----END RSA PRIVATE KEY-----\ny",
        "x\n-----BEGIN RSA PRIVATE KEY-----\n[redacted]\n-----END RSA PRIVATE KEY-----\ny",
    ),
    ("-----BEGIN PRIVATE KEY----- MIIEowIB cut", "-----BEGIN PRIVATE KEY----- [redacted]"),
    (
        "y8Dbv8\nMIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R2\nc2hvcnQ=\n-----END EC PRIVATE KEY-----",
        "[redacted]\n-----END EC PRIVATE KEY-----",
    ),
    (
        "{\"key\":\"-----BEGIN PRIVATE KEY-----\\nMIIEowIB\\n-----END PRIVATE KEY-----\\n\"}",
        "{\"key\":\"-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----\\n\"}",
    ),
    // Named values.
    ("password=hunter2", "password=[redacted]"),
    ("DB_PASSWORD=hunter2 DB_HOST=db", "DB_PASSWORD=[redacted] DB_HOST=db"),
    (
        "connect host=db user=app password=hunter2 sslmode=disable",
        "connect host=db user=app password=[redacted] sslmode=disable",
    ),
    ("export PGPASSWORD='hunter 2'", "export PGPASSWORD='[redacted]'"),
    ("mysql --password hunter2 -h db", "mysql --password [redacted] -h db"),
    ("mysql --password=hun,ter;2 -h db", "mysql --password=[redacted] -h db"),
    ("{\"user\":\"a\",\"password\":\"hun\\\"ter2\",\"x\":1}", "{\"user\":\"a\",\"password\":\"[redacted]\",\"x\":1}"),
    ("{\\\"token\\\":\\\"abc\\\",\\\"x\\\":1}", "{\\\"token\\\":\\\"[redacted]\\\",\\\"x\\\":1}"),
    ("user: a\npassword: hunter2\nhost: db", "user: a\npassword: [redacted]\nhost: db"),
    ("  - apiKey: \"0a1b2c3d\"", "  - apiKey: \"[redacted]\""),
    ("passwd: hunter2", "passwd: [redacted]"),
    ("login failed with password: hunter2", "login failed with password: [redacted]"),
    ("{user: a, token: abc}", "{user: a, token: [redacted]}"),
    ("client_secret=abc-def", "client_secret=[redacted]"),
    ("secret=hunter2", "secret=[redacted]"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted]"),
    ("AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY: [redacted]"),
    ("invalid token: abc123def456", "invalid token: [redacted]"),
    ("{\"auths\":{\"r.corp\":{\"auth\":\"dXNlcjpwYXNz\"}}}", "{\"auths\":{\"r.corp\":{\"auth\":\"[redacted]\"}}}"),
    ("client-key-data: LS0tLS1CRUdJTg==", "client-key-data: [redacted]"),
    ("password=\u{a0}hunter2", "password=\u{a0}[redacted]"),
    (
        "level=error msg=\"login\" password=\"hunter2\" host=db",
        "level=error msg=\"login\" password=\"[redacted]\" host=db",
    ),
];

const WITHOUT_CREDENTIALS: &[&str] = &[
    "Failed to pull image \"nginx@sha256:0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31\": not found",
    "docker-pullable://nginx:1.25@sha256:0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31",
    "pod dcd23517-deb7-4135-8a25-e4d5a2f471c1 resourceVersion 123456",
    "secret \"db-password\" not found",
    "couldn't find key password in Secret default/db",
    "MountVolume.SetUp failed for volume \"db-password\" : secret \"db-password\" not found",
    "MountVolume.SetUp failed for volume \"token\" : references non-existent secret key: password",
    "MountVolume.SetUp failed for volume \"kube-api-access-7x2kq\" : failed to fetch token: serviceaccounts \"web\" not found",
    "MountVolume.SetUp failed for volume \"kube-api-access-token\" : failed to fetch token: Post \"https://10.0.0.1:443/api/v1\": dial tcp 10.0.0.1:443: i/o timeout",
    "unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.",
    "\"Unable to retrieve pull secret, the image pull may not succeed.\" pod=\"default/web\" secret=\"regcred\" err=\"secret \\\"regcred\\\" not found\"",
    "object \"default\"/\"db-secret\" not registered",
    "token expired",
    "the token is expired",
    "serviceaccount token",
    "bound service account token: expired",
    "imagePullSecrets: [{name: regcred}]",
    "imagePullSecret: regcred",
    "secretName: db",
    "secretKeyRef: {name: db, key: password}",
    "automountServiceAccountToken: false",
    "automountServiceAccountToken=true",
    "failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://auth.docker.io/token?scope=repository%3Alibrary%2Fx%3Apull&service=registry.docker.io: 401 Unauthorized",
    "failed to fetch oauth token: Post \"https://gcr.io/v2/token\": x509: certificate signed by unknown authority",
    "Www-Authenticate: Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
    "authorization failed: no basic auth credentials",
    "bearer token authentication",
    "Authorization: user cannot get pods",
    "Access denied for user 'root'@'10.0.0.1' (using password: YES)",
    "FATAL: password authentication failed for user \"app\"",
    "Error: password: authentication failed for app",
    "SyntaxError: Unexpected token: } in JSON at position 42",
    "invalid character 'x' looking for beginning of value",
    "--token is required",
    "--password and --password-file exclude each other",
    "--service-account-signing-key-file=/etc/k/sa.key",
    "DB_PASSWORD=$(PASSWORD)",
    "password: ${DB_PASSWORD}",
    "password=%s",
    "password: <nil>",
    "password=****",
    "token=[redacted]",
    "PWD=/app HOME=/root",
    "tokenFile: /var/run/secrets/tokens/x",
    "token=/var/run/secrets/tokens/x",
    "pass: 12 fail: 3",
    "connect to http://127.0.0.1:10248/healthz: connection refused",
    "https://[::1]:6443/api?limit=500",
    "ssh://git@github.com/a/b",
    "http://$(HOST):$(PORT)/x",
    "http://registry:5000/app@v1",
    "tls: private key does not match public key",
    "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA\n-----END CERTIFICATE-----",
    "certificate key: tls.key",
    "failed to sync secret cache: timed out waiting for the condition",
    "secrets \"db\" is forbidden: User \"system:node:w\" cannot get",
    "Error syncing pod, skipping: failed to get secret: default/db2",
    "primary key: 42",
    "key=value",
    "cookie: monster",
    "sk-web-7d5b8c9f6d-x2xkq-and-more",
    "task-token-server-0",
    "asia-east1-docker.pkg.dev/p/r/i:v1",
    "akia",
    "monkey: banana",
    "Basic validation failed",
    "basic authentication required",
    "sandbox eyJ",
    "the passphrase: is it set?",
];
