//! A response of `/healthz` with its HTTP headers, as `curl -i` prints it.

use crate::observation::{Health, Time};
use crate::text::Message;

/// Reads the response. Returns the time in its `Date` header too.
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
    fn reads_status_body_and_date() {
        let (health, date) =
            health_response("HTTP/1.1 200 OK\r\nDate: Sun, 29 Nov 2026 12:21:42 GMT\r\n\r\nok").unwrap();
        assert_eq!((health.ok, health.text.as_str()), (true, "ok"));
        assert_eq!(date, Some("2026-11-29T12:21:42Z".parse().unwrap()));
        assert_eq!(health_response("curl: (7) refused"), None);
    }
}
