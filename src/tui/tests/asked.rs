//! Tests of filter, order, columns and clipboard.

use super::*;
use crate::view::Filter;

fn names(app: &App) -> Vec<String> {
    let screen = app.screen.as_ref().unwrap();
    (0..screen.shown.len()).map(|i| screen.row(i).unwrap().name.to_string()).collect()
}

fn filtered(app: &mut App, words: &str) -> Vec<String> {
    app.panes.pods.filter = Filter { words: words.into(), ..Filter::default() };
    app.search();
    names(app)
}

fn shop() -> App {
    let mut node = Node::new();
    node.pod("shop", "web-0", None);
    node.pod("shop", "web-1", Some(("ErrImagePull", "429 Too Many Requests: toomanyrequests")));
    node.pod("kube-system", "coredns-5d78c", None);
    node.pod("other", "job", Some(("CreateContainerConfigError", "configmap \"x\" not found")));
    let mut app = app(false);
    app.show(node.moment(), "");
    app.draw(160, 40);
    app
}

#[test]
fn words_fields_and_not() {
    let mut app = shop();
    for (words, expected) in [
        ("web", &["web-1", "web-0"][..]),
        ("sw1", &["web-1"]),
        ("cdns", &["coredns-5d78c"]),
        ("ns:shop", &["web-1", "web-0"]),
        ("ns:shop !web-0", &["web-1"]),
        ("status:errimage", &["web-1"]),
        ("STATUS:ERRIMAGE", &["web-1"]),
        ("stage:running", &["coredns-5d78c", "web-0"]),
        ("!status:running !ns:other", &["web-1"]),
        ("cause:image.", &["web-1"]),
        ("node:n", &["job", "web-1", "coredns-5d78c", "web-0"]),
        ("!node:n", &[]),
        ("name:shop", &[]),
        ("ns:", &["job", "web-1", "coredns-5d78c", "web-0"]),
    ] {
        assert_eq!(filtered(&mut app, words), expected, "{words}");
    }
}

#[test]
fn an_unknown_filter_field_is_reported_and_hides_nothing() {
    let mut app = shop();
    keys(&mut app, "/nod:x");
    assert_eq!(names(&app).len(), 4);
    assert!(shows(&app.draw(160, 24), "unknown field nod (available: ns: name: status: stage: cause: why: node:)"));
    assert!(shows(&app.draw(80, 24), "unknown field nod"));
}

#[test]
fn any_column_sorts_both_ways_with_an_arrow() {
    let mut app = shop();
    assert_eq!(names(&app), ["job", "web-1", "coredns-5d78c", "web-0"]);
    keys(&mut app, "s");
    assert_eq!(names(&app), ["coredns-5d78c", "job", "web-0", "web-1"]);
    assert!(shows(&app.draw(160, 40), "NAMESPACE/POD▲"));
    keys(&mut app, "S");
    assert_eq!(names(&app), ["web-1", "web-0", "job", "coredns-5d78c"]);
    assert!(shows(&app.draw(160, 40), "NAMESPACE/POD▼"));
    keys(&mut app, "<");
    assert_eq!(app.panes.pods.sort, Sort::default());
    keys(&mut app, "S");
    assert_eq!(names(&app)[2..], ["job", "web-1"], "what fares well first");
    keys(&mut app, "<");
    assert_eq!(app.panes.pods.sort.by, Some(Column::Why));
    assert_eq!(names(&app)[..2], ["job", "web-1"], "and without a reason last: {:?}", names(&app));
    keys(&mut app, "S");
    assert_eq!(names(&app)[..2], ["web-1", "job"]);
    for _ in 0..Column::ALL.len() + 1 {
        keys(&mut app, ">");
        let frame = app.draw(160, 40);
        assert_eq!(
            shows(&frame, "▲") || shows(&frame, "▼"),
            app.panes.pods.sort.by.is_some(),
            "{:?}",
            app.panes.pods.sort
        );
    }
    app.panes.pods.sort = Sort { by: Some(Column::Restarts), reversed: false };
    assert!(shows(&app.draw(80, 24), "by restarts"), "a hidden sort column is named");
}

#[test]
fn the_selection_follows_its_pod_through_another_order() {
    let mut app = shop();
    keys(&mut app, "j");
    assert_eq!(app.panes.pods.selected.as_deref(), Some("shop/web-1"));
    keys(&mut app, "s");
    assert!(lines(&app.draw(80, 24)).iter().any(|l| l.starts_with("▸shop/web-1")));
    assert_eq!(app.panes.pods.cursor.index, 3);
}

#[test]
fn the_configured_columns_are_visible() {
    let options = Options { columns: vec![Column::Why, Column::Name], ..Options::default() };
    let mut app = App::new(Theme::new(true, false), &options);
    let mut node = Node::new();
    node.pod("shop", "web", None);
    app.show(node.moment(), "");
    let frame = app.draw(100, 24);
    assert!(lines(&frame).iter().any(|l| l.trim_start().starts_with("WHY") && l.contains("NAMESPACE/POD")));
    assert!(!shows(&frame, "STATUS"));
}

#[test]
fn a_name_a_command_or_a_line_is_copied_and_reported() {
    let mut app = shop();
    keys(&mut app, "jy");
    assert!(shows(&app.draw(80, 24), "copied: shop/web-1"));
    assert_eq!(app.take_copied().as_deref(), Some("shop/web-1"));
    assert_eq!(app.take_copied(), None, "once");
    key(&mut app, KeyCode::Enter);
    assert!(!shows(&app.draw(80, 24), "copied"), "until the next key");
    let commands: Vec<String> = app
        .panes
        .pod
        .open
        .as_ref()
        .unwrap()
        .steps()
        .iter()
        .filter_map(|s| s.command.clone())
        .map(|c| c.to_string())
        .collect();
    assert!(commands.len() > 1, "{commands:?}");
    let copied = |app: &mut App, pressed: &str| {
        keys(app, pressed);
        let frame = app.draw(80, 24);
        (app.take_copied(), shows(&frame, "▸"))
    };
    assert_eq!(copied(&mut app, "y").0.as_ref(), commands.first());
    assert_eq!(copied(&mut app, "]y"), (commands.get(1).cloned(), true), "the selected command is visible");
    assert_eq!(copied(&mut app, "ry").0.as_ref(), commands.first(), "the entry has the same commands");
    key(&mut app, KeyCode::Esc);
    assert_eq!(copied(&mut app, "1ry").0, app.panes.runbook.selected().map(|e| e.id.to_string()));
    let mut none = self::app(false);
    none.show(Node::new().moment(), "");
    keys(&mut none, "y");
    assert!(shows(&none.draw(80, 24), "nothing to copy") && none.take_copied().is_none());
}

#[test]
fn what_is_copied_of_a_hostile_name_acts_nowhere() {
    let mut app = app(false);
    app.show(hostile().moment(), "t");
    for press in ["y", "3y", "4y", "5y", "6y", "1\ny"] {
        for c in press.chars() {
            key(&mut app, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
            app.draw(80, 24);
        }
        let copied = app.take_copied().unwrap_or_default();
        assert!(!copied.contains(|c: char| c.is_control() || c == '\u{202e}'), "{copied:?}");
    }
}

#[test]
fn another_key_does_what_it_was_bound_to_and_is_shown() {
    let mut options = Options::default();
    options.keymap.bind(Action::Pause, &[KeyPress::parse("Ctrl-P").unwrap()]);
    let mut app = App::new(Theme::new(true, false), &options);
    app.show(Node::new().moment(), "");
    keys(&mut app, "p");
    assert!(!app.paused);
    app.event(&Event::Key(KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL)));
    assert!(app.paused && shows(&app.draw(160, 24), "Ctrl-P pause"));
    keys(&mut app, "?");
    assert!(shows(&app.draw(80, 60), "  Ctrl-P                  pause / resume"));
}
