//! Owns the first line, what node this is and what time is shown, and the node's conditions that are wrong.
//! It must not show a source or a pod.
//!
//! ```text
//! node-7  NotReady  cordoned  kubelet v1.36.2  containerd 2.3.3      demo: recorded …, x1  14:03:22Z
//! NotReady: KubeletNotReady: container runtime is down
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::{put, put_right, width};
use crate::view::clock;

/// The conditions that are wrong, one a line.
pub fn conditions(picture: &Picture) -> &[String] {
    &picture.header.conditions
}

/// Draws the line, and as many conditions as there are rows. False when the title found no room.
pub fn draw(buffer: &mut Buffer, area: Rect, picture: &Picture, paused: bool, theme: &Theme) -> bool {
    if area.height == 0 {
        return false;
    }
    let header = &picture.header;
    let node = if header.node.is_empty() { "node unknown" } else { header.node.as_str() };
    // What nobody vouches for now is neither good nor bad, but old.
    let old = format!("{} {} ago", header.ready, header.ready_age);
    let ready = match header.ready {
        "" => ("", Role::Muted),
        _ if !header.ready_age.is_empty() => (old.as_str(), Role::Slow),
        "Ready" => ("Ready", Role::Good),
        other => (other, Role::Trouble),
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
    // One that is renewed says nothing that Ready does not; one that is not says it half a minute before.
    let lease = header.lease.as_ref().filter(|l| l.expired == Some(true)).map(|l| l.text.as_str());
    let pieces = [
        (node, Role::Heading),
        ready,
        (lease.unwrap_or_default(), Role::Trouble),
        (if header.unschedulable { "cordoned" } else { "" }, Role::Slow),
        (unverified.as_str(), Role::Trouble),
        (kubelet.as_str(), Role::Plain),
        (header.runtime.as_str(), Role::Plain),
    ];
    let mut x = area.x;
    for (text, role) in pieces.into_iter().filter(|(text, _)| !text.is_empty()) {
        x = put(buffer, x, area.y, end, text, theme.style(role)) + 2;
    }
    let room = Rect { width: end.saturating_sub(area.x), height: 1, ..area };
    // Half a title says nothing: without room here it stands beside the counts.
    put_right(buffer, room, 0, x, &picture.title, theme.style(Role::Muted));
    let titled = x + (width(&picture.title) as u16) < end;
    for (row, text) in (1..area.height).zip(conditions(picture)) {
        put(buffer, area.x, area.y + row, area.right(), text, theme.style(Role::Trouble));
    }
    titled
}
