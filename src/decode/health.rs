//! Responses of the kubelet's `/healthz`, which is `ok` also while PLEG is unhealthy.

use crate::observation::Health;
use crate::text::Message;

/// Reads a body and the HTTP status code in its last line.
pub fn health_answer(answer: &str) -> Option<Health> {
    let answer = answer.trim_end();
    let (body, code) = answer.rsplit_once('\n').unwrap_or(("", answer));
    let code: u16 = code.trim().parse().ok()?;
    (100..600).contains(&code).then(|| Health { ok: code == 200, text: Message::new(body.trim()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_body_and_status_code() {
        assert_eq!(health_answer("ok\n200"), Some(Health { ok: true, text: "ok".into() }));
        assert_eq!(health_answer("a\nb\n500\n"), Some(Health { ok: false, text: "a\nb".into() }));
        assert_eq!(health_answer("000"), None);
    }
}
