//! Owns which region lies where in each pane, and which give way when there is little room.
//! It must not draw anything itself but the line for a terminal that is too small.
//!
//! ```text
//! node, versions, time, title     header.rs
//! conditions that are wrong       header.rs
//! sources, one or two lines       sources.rs
//! PLEG and its sparkline          pleg.rs
//! the node's faults, up to four   alarms.rs
//! counts and filter               counts.rs
//! NAMESPACE/POD  STATUS  …        table.rs      or, under the first line alone, the file of another pane
//! …
//! why of the selected pod         selected.rs
//! keys and tabs                   footer.rs, tabs.rs
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::help;
use crate::tui::panes::log::draw;
use crate::tui::panes::pods::{alarms, counts, pleg, selected, sources, table};
use crate::tui::panes::runbook::{entry, list};
use crate::tui::panes::{Pane, events, kubelet, node, pod};
use crate::tui::screen_state::Picture;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::cells::put;
use crate::tui::widgets::scroll::View;
use crate::tui::widgets::{footer, header};

/// Narrowest and lowest terminal that is drawn in.
pub const SMALLEST: (u16, u16) = (60, 15);
/// Rows of the table that the regions above leave, where there are so many.
const ROWS: u16 = 5;

/// Draws everything.
pub fn draw(buffer: &mut Buffer, app: &mut App, theme: &Theme) {
    let all = buffer.area;
    if all.width < SMALLEST.0 || all.height < SMALLEST.1 {
        let text = format!("too small: {}×{}, needs {}×{}", all.width, all.height, SMALLEST.0, SMALLEST.1);
        put(buffer, all.x, all.y, all.right(), &text, theme.style(Role::Heading));
        return;
    }
    app.view = View::default();
    let (body, foot) = (Rect { height: all.height - 1, ..all }, Rect { y: all.bottom() - 1, height: 1, ..all });
    let Some(mut picture) = app.picture.take() else {
        put(buffer, all.x, all.y, all.right(), "nothing observed yet", theme.style(Role::Muted));
        footer::draw(buffer, foot, app, theme);
        return;
    };
    picture.secrets = app.secrets;
    app.log.iter_mut().for_each(|log| log.lines.show_secrets(app.secrets));
    if app.help {
        help::draw(buffer, body, app, theme);
    } else if app.pane == Pane::Pods {
        list(buffer, body, &picture, app, theme);
    } else {
        let (head, body) = split(body, 1);
        header::draw(buffer, head, &picture, app.paused, theme);
        app.view = pane(buffer, body, &picture, app, theme);
    }
    app.picture = Some(picture);
    app.copy();
    footer::draw(buffer, foot, app, theme);
}

fn pane(buffer: &mut Buffer, area: Rect, picture: &Picture, app: &mut App, theme: &Theme) -> View {
    match (app.pane, &mut app.book.page) {
        (Pane::Pods, _) => View::default(),
        (Pane::Pod, _) => match &mut app.log {
            Some(log) => draw::draw(buffer, area, log, theme),
            None => pod::draw(buffer, area, picture, app.open.as_mut(), theme),
        },
        (Pane::Kubelet, _) => kubelet::draw(buffer, area, picture, &mut app.kubelet, theme),
        (Pane::Node, _) => node::draw(buffer, area, picture, &mut app.node, theme),
        (Pane::Events, _) => events::draw(buffer, area, picture, &mut app.events, theme),
        (Pane::Runbook, Some(page)) => entry::draw(buffer, area, page, theme),
        (Pane::Runbook, None) => list::draw(buffer, area, &mut app.book, app.typing.is_on(), theme),
    }
}

fn list(buffer: &mut Buffer, area: Rect, picture: &Picture, app: &mut App, theme: &Theme) {
    // Header, counts, heading of the table and its rows come first; the rest shares what is left, alarms before all.
    let mut left = area.height.saturating_sub(3 + ROWS);
    let mut take = |wanted: usize| {
        let got = left.min(u16::try_from(wanted).unwrap_or(u16::MAX));
        left -= got;
        got
    };
    let alarms = take(alarms::height(picture));
    let conditions = take(header::conditions(picture).len().min(2));
    let pleg = take(1);
    let sources = take(sources::height(picture, area.width));
    let selected = take(selected::height(picture));
    let (top, area) = split(area, 1 + conditions);
    let titled = header::draw(buffer, top, picture, app.paused, theme);
    let (top, area) = split(area, sources);
    sources::draw(buffer, top, picture, theme);
    let (top, area) = split(area, pleg);
    pleg::draw(buffer, top, picture, theme);
    let (top, area) = split(area, alarms);
    alarms::draw(buffer, top, picture, theme);
    let (top, area) = split(area, 1);
    counts::draw(buffer, top, picture, app, !titled, theme);
    let (middle, bottom) = split(area, area.height - selected.min(area.height));
    table::draw(buffer, middle, picture, app, theme);
    selected::draw(buffer, bottom, picture, app, theme);
}

/// The first `rows` rows, and the rest.
fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}
