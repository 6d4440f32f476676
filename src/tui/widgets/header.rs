//! The first line: node, Ready, versions, time; below it the conditions that are wrong.
//!
//! ```text
//! node-7  NotReady  cordoned  kubelet v1.36.2  containerd 2.3.3      demo: recorded …, x1  14:03:22Z
//! NotReady: KubeletNotReady: container runtime is down
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::cells::width;
use crate::tui::screen_state::ScreenState;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right};
use crate::view::clock;

/// Conditions that are wrong, one per line.
pub fn conditions(screen: &ScreenState) -> &[String] {
    &screen.header.conditions
}

/// Draws the line, and as many conditions as there are rows. False if the title did not fit.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &ScreenState, paused: bool, theme: &Theme) -> bool {
    if area.height == 0 {
        return false;
    }
    let header = &screen.header;
    let node = if header.node.is_empty() { "node unknown" } else { header.node.as_str() };
    // A Ready condition without recent updates is stale, neither ok nor failed.
    let old = format!("{} {} ago", header.ready, header.ready_age);
    let ready = match header.ready {
        "" => ("", Role::Muted),
        _ if !header.ready_age.is_empty() => (old.as_str(), Role::Warning),
        "Ready" => ("Ready", Role::Ok),
        other => (other, Role::Error),
    };
    let kubelet = if header.kubelet.is_empty() { String::new() } else { format!("kubelet {}", header.kubelet) };
    let unverified = match header.unverified.as_slice() {
        [] => String::new(),
        who => format!("{}: TLS not verified", who.join(", ")),
    };
    let time = format!("{}Z", clock(header.now));
    let right = if paused { format!("PAUSED  {time}") } else { time.clone() };
    let end = area.right().saturating_sub(width(&right) as u16 + 2);
    let role = if paused { Role::Selected } else { Role::Heading };
    put_right(buffer, area, 0, area.x, &right, theme.style(role));
    // Only an expired lease: it precedes NotReady by half a minute.
    let lease = header.lease.as_ref().filter(|l| l.expired == Some(true)).map(|l| l.text.as_str());
    let pieces = [
        (node, Role::Heading),
        ready,
        (lease.unwrap_or_default(), Role::Error),
        (if header.unschedulable { "cordoned" } else { "" }, Role::Warning),
        (unverified.as_str(), Role::Error),
        (kubelet.as_str(), Role::Plain),
        (header.runtime.as_str(), Role::Plain),
    ];
    let mut x = area.x;
    for (text, role) in pieces.into_iter().filter(|(text, _)| !text.is_empty()) {
        x = put(buffer, x, area.y, end, text, theme.style(role)) + 2;
    }
    let room = Rect { width: end.saturating_sub(area.x), height: 1, ..area };
    // A title that does not fit is drawn next to the counts.
    put_right(buffer, room, 0, x, &screen.title, theme.style(Role::Muted));
    let titled = x + (width(&screen.title) as u16) < end;
    for (row, text) in (1..area.height).zip(conditions(screen)) {
        put(buffer, area.x, area.y + row, area.right(), text, theme.style(Role::Error));
    }
    titled
}
