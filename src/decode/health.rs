//! Owns answers of `/healthz`, as a body with its status code or as a whole HTTP response.
//! It must not take `ok` for a sign that pods are synced.

use crate::observation::{Health, Time};
use crate::text::Message;

/// Reads a body that is followed by a line with the HTTP status code.
pub fn health_answer(answer: &str) -> Option<Health> {
    let answer = answer.trim_end();
    let (body, code) = answer.rsplit_once('\n').unwrap_or(("", answer));
    let code: u16 = code.trim().parse().ok()?;
    (100..600).contains(&code).then(|| Health { ok: code == 200, text: Message::new(body.trim()) })
}

/// Reads an HTTP response with its head; gives back what its `Date` says too.
pub fn health_response(response: &str) -> Option<(Health, Option<Time>)> {
    let mut lines = response.lines();
    let code: u16 = lines.next()?.strip_prefix("HTTP/")?.split_whitespace().nth(1)?.parse().ok()?;
    let mut date = None;
    for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("date")
        {
            date = Time::parse_rfc2822(value.trim());
        }
    }
    let body = lines.collect::<Vec<_>>().join("\n");
    Some((Health { ok: code == 200, text: Message::new(body.trim()) }, date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        assert_eq!(health_answer("ok\n200"), Some(Health { ok: true, text: "ok".into() }));
        assert_eq!(health_answer("a\nb\n500\n"), Some(Health { ok: false, text: "a\nb".into() }));
        assert_eq!(health_answer("000"), None);
        let (health, date) =
            health_response("HTTP/1.1 200 OK\r\nDate: Sun, 29 Nov 2026 12:21:42 GMT\r\n\r\nok").unwrap();
        assert_eq!((health.ok, health.text.as_str()), (true, "ok"));
        assert_eq!(date, Some("2026-11-29T12:21:42Z".parse().unwrap()));
        assert_eq!(health_response("curl: (7) refused"), None);
    }
}
