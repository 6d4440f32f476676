//! Remedy steps with commands, and links to documentation. Steps that disrupt are marked.
//!
//! ```text
//! ▸1. See the last lines of the run before (read-only)
//!     $ kubectl -n shop logs web-0 -c web --previous
//! 2. Go back to the version before
//!    ! disrupts: replaces every pod of the Deployment
//!    $ kubectl -n shop rollout undo deployment web
//! ```

use ratatui::text::{Line, Span};

use crate::diagnose::RemedyStep;
use crate::text::cells::{width, wrap};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::chosen_step::MARK;

/// Numbered steps, of which one is marked.
pub fn steps(steps: &[RemedyStep], chosen: Option<usize>, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let number = if chosen == Some(i) { format!("{MARK}{:>2}. ", i + 1) } else { format!("{:>3}. ", i + 1) };
        out.extend(hung(&number, &step.text.one_line(), Role::Plain, cells, theme));
        if let Some(disrupts) = &step.disrupts {
            out.extend(hung("     ! ", &format!("disrupts: {}", disrupts.one_line()), Role::Warning, cells, theme));
        }
        for (i, part) in folded(step.command.as_deref().unwrap_or_default(), cells.saturating_sub(7)).iter().enumerate()
        {
            out.push(Line::from(vec![
                Span::raw(if i == 0 { "     $ " } else { "       " }),
                Span::styled(part.clone(), theme.style(Role::Key)),
            ]));
        }
    }
    out
}

/// Links.
pub fn docs(docs: &[String], cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    docs.iter().flat_map(|doc| hung("  see ", doc, Role::Muted, cells, theme)).collect()
}

/// Text wrapped after a prefix, with a hanging indent.
pub fn hung(before: &str, text: &str, role: Role, cells: usize, theme: &Theme) -> Vec<Line<'static>> {
    let indent = width(before);
    let line = |(i, text): (usize, String)| {
        let before = if i == 0 { before.to_owned() } else { " ".repeat(indent) };
        Line::from(vec![Span::styled(before, theme.style(role)), Span::styled(text, theme.style(role))])
    };
    wrap(text, cells.saturating_sub(indent)).into_iter().enumerate().map(line).collect()
}

/// A command on several lines that a shell still reads as one: broken between words with `\`, never inside quotes. A word
/// longer than a line is wrapped without a mark.
pub fn folded(command: &str, cells: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(command) {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) + 2 <= cells => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let last = lines.len().saturating_sub(1);
    lines.iter_mut().take(last).for_each(|line| line.push_str(" \\"));
    lines.iter().flat_map(|line| broken(line, cells)).collect()
}

/// Words between unquoted spaces.
fn words(command: &str) -> Vec<&str> {
    let (mut out, mut start, mut quote, mut escaped) = (Vec::new(), 0, None, false);
    for (i, c) in command.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            (' ', None) => {
                out.push(&command[start..i]);
                start = i + 1;
            }
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    out.push(&command[start..]);
    out.retain(|word| !word.is_empty());
    out
}

/// Pieces of at most `cells`, nothing added and nothing lost.
fn broken(line: &str, cells: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    for c in line.chars() {
        let mut buffer = [0; 4];
        let wide = width(c.encode_utf8(&mut buffer));
        match out.last_mut() {
            Some(last) if last.is_empty() || width(last) + wide <= cells => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_command_is_the_same_command() {
        let command = r#"kubectl -n shop get pod web-0 -o jsonpath='{.spec.a  b}' --x "c \" d" e\ f | grep -E 'toomany requests'"#;
        for cells in 30..120 {
            let lines = folded(command, cells);
            assert!(lines.iter().all(|l| width(l) <= cells), "{cells}: {lines:?}");
            let joined = lines.join("\n").replace(" \\\n", " ");
            assert_eq!(joined, command, "{cells}");
        }
        assert_eq!(folded("a b", 40), ["a b"]);
        assert!(folded("", 40).is_empty());
        assert_eq!(folded(&"x".repeat(25), 10).concat(), "x".repeat(25));
    }

    #[test]
    fn a_disruptive_step_is_marked() {
        let todo = |disrupts: Option<&str>, command: Option<&str>| RemedyStep {
            text: "Do it".into(),
            command: command.map(Into::into),
            disrupts: disrupts.map(Into::into),
        };
        let todos = [todo(None, Some("ls")), todo(Some("stops it"), Some("rm x")), todo(None, None)];
        let text: Vec<String> =
            steps(&todos, Some(1), 60, &Theme::new(true, false)).iter().map(ToString::to_string).collect();
        let expected =
            ["  1. Do it", "     $ ls", "▸ 2. Do it", "     ! disrupts: stops it", "     $ rm x", "  3. Do it"];
        assert_eq!(text, expected);
    }
}
