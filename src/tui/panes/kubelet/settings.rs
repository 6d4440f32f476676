//! Kubelet settings with their defaults and remarks.

use ratatui::text::{Line, Span};

use crate::text::cells::{cut, fit, width};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::sections::{nothing, paragraph, title};
use crate::view::{KubeletView, SettingLine};

/// The section.
pub fn lines(view: &KubeletView, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("SETTINGS", "* = non-default (default in parentheses)", cells, theme)];
    if view.settings.is_empty() {
        lines.extend(nothing("no data: /configz not read", cells, theme));
        return lines;
    }
    let names = view.settings.iter().map(|s| width(s.name)).max().unwrap_or(0).min(cells / 2);
    for setting in &view.settings {
        lines.push(one(setting, names, cells, theme));
        if !setting.remark.is_empty() {
            lines.extend(paragraph(&format!("  {}", setting.remark), Role::Warning, cells, theme));
        }
    }
    lines
}

fn one(setting: &SettingLine, names: usize, cells: usize, theme: &Theme) -> Line<'static> {
    let mark = if setting.changed { "* " } else { "  " };
    let value = setting.value.as_deref().unwrap_or(setting.default);
    let default = if setting.changed { format!("  ({})", setting.default) } else { String::new() };
    let room = cells.saturating_sub(names + 4);
    Line::from(vec![
        Span::styled(mark, theme.style(Role::Heading)),
        Span::raw(format!("{}  ", fit(setting.name, names))),
        Span::styled(
            cut(&format!("{value}{default}"), room).into_owned(),
            theme.style(if setting.changed { Role::Heading } else { Role::Plain }),
        ),
    ])
}
