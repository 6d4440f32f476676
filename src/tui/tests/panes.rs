//! Tests of navigation between panes: number keys, tabs, names, mouse.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::*;

fn shop() -> App {
    let mut node = Node::new();
    node.pod("shop", "web", None);
    node.pod("shop", "db", Some(("ErrImagePull", "429 Too Many Requests: toomanyrequests")));
    node.pod("kube-system", "coredns", None);
    let mut app = app(false);
    app.show(node.moment(), "");
    app.draw(80, 24);
    app
}

fn command(app: &mut App, text: &str) {
    keys(app, &format!(":{text}"));
    key(app, KeyCode::Enter);
    app.draw(80, 24);
}

fn last(app: &mut App) -> String {
    lines(&app.draw(80, 24)).pop().unwrap()
}

#[test]
fn number_keys_and_tab_go_round_the_panes() {
    let mut app = shop();
    for (i, pane) in PaneId::ALL.iter().copied().enumerate() {
        keys(&mut app, &(i + 1).to_string());
        assert_eq!(app.pane, pane);
        for pane in PaneId::ALL.iter().copied() {
            assert!(last(&mut app).contains(pane.title()), "every tab at 80 columns");
        }
    }
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.pane, PaneId::Pods);
    key(&mut app, KeyCode::BackTab);
    assert_eq!(app.pane, PaneId::Runbook);
    for pane in ["2", "3", "4", "5"] {
        keys(&mut app, pane);
        key(&mut app, KeyCode::Esc);
        assert_eq!(app.pane, PaneId::Pods);
    }
}

#[test]
fn the_open_tab_is_marked_without_color_and_on_a_narrow_screen() {
    let mut app = shop();
    keys(&mut app, "3");
    for width in [60, 79, 80, 200] {
        let frame = app.draw(width, 24);
        let reversed: String = (0..width)
            .map(|x| &frame[(x, 23)])
            .filter(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED))
            .map(|cell| cell.symbol())
            .collect();
        assert_eq!(reversed, "3Kubelet", "{width}");
    }
}

#[test]
fn the_pod_pane_shows_the_selected_pod() {
    let mut app = shop();
    keys(&mut app, "2");
    assert!(shows(&app.draw(80, 24), "shop/db  ErrImagePull"));
    keys(&mut app, "32");
    assert!(shows(&app.draw(80, 24), "shop/db  ErrImagePull"), "from another pane the open pod");
    keys(&mut app, "1j2");
    assert!(shows(&app.draw(80, 24), "kube-system/coredns"), "from the table the selected pod");
    let mut none = self::app(false);
    none.show(Node::new().moment(), "");
    keys(&mut none, "2");
    assert!(shows(&none.draw(80, 24), "no pod selected"));
}

#[test]
fn names_are_completed_and_unknown_names_reported() {
    let mut app = shop();
    command(&mut app, "kub");
    assert_eq!(app.pane, PaneId::Kubelet);
    for (prefix, pane) in [("p", PaneId::Pods), ("no", PaneId::Node), ("ev", PaneId::Events), ("ku", PaneId::Kubelet)] {
        command(&mut app, prefix);
        assert_eq!(app.pane, pane, "{prefix}");
    }
    command(&mut app, "so");
    assert_eq!(app.message, None, "sort, and not one of its longer forms");
    command(&mut app, "pod web");
    assert!(app.pane == PaneId::Pod && shows(&app.draw(80, 24), "shop/web"));
    command(&mut app, "runbook image.rate");
    assert!(app.panes.runbook.page.as_ref().is_some_and(|p| p.entry.id.starts_with("image.rate")), "{:?}", app.message);
    command(&mut app, "sort -restarts");
    assert_eq!((app.pane, app.panes.pods.sort), (PaneId::Pods, Sort { by: Some(Column::Restarts), reversed: true }));
    command(&mut app, "filter status:err");
    assert_eq!(app.screen.as_ref().unwrap().shown.len(), 1);
    command(&mut app, "filter");
    assert_eq!(app.mode, InputMode::Filter, "without words it is typed");
    key(&mut app, KeyCode::Esc);
    command(&mut app, "theme light");
    assert_eq!(app.theme, Theme::new(true, false).with(ColorScheme::Light));
    for (wrong, said) in [
        ("nonsense", "no command nonsense"),
        ("pod missing", "no pod missing"),
        ("pod o", "o: ambiguous pod: "),
        ("sort size", "no column size"),
        ("pa", "pa: ambiguous command: "),
        ("theme", "theme missing"),
        ("kubelet now", "kubelet takes no argument"),
    ] {
        command(&mut app, wrong);
        assert!(last(&mut app).starts_with(said), "{wrong}: {}", last(&mut app));
    }
    keys(&mut app, ":the");
    key(&mut app, KeyCode::Tab);
    keys(&mut app, " hi");
    assert!(last(&mut app).starts_with(":theme hi") && last(&mut app).contains("high-contrast"));
    key(&mut app, KeyCode::Tab);
    assert_eq!(app.mode, InputMode::Command("theme high-contrast".into()));
    key(&mut app, KeyCode::Esc);
    keys(&mut app, ":q");
    assert_eq!(key(&mut app, KeyCode::Enter), LoopAction::Quit);
    keys(&mut app, ":x");
    key(&mut app, KeyCode::Backspace);
    key(&mut app, KeyCode::Backspace);
    assert_eq!(app.mode, InputMode::Keys);
}

fn mouse(app: &mut App, kind: MouseEventKind, x: u16, y: u16, double: bool) -> LoopAction {
    let flow = app.mouse(&MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE }, double);
    app.draw(80, 24);
    flow
}

#[test]
fn the_mouse_selects_scrolls_opens_and_goes_to_tabs() {
    let mut app = shop();
    let press = MouseEventKind::Down(MouseButton::Left);
    let web = lines(&app.draw(80, 24)).iter().position(|l| l.contains("shop/web")).unwrap() as u16;
    assert_eq!(mouse(&mut app, press, 10, web, false), LoopAction::Draw);
    assert_eq!(app.panes.pods.selected.as_deref(), Some("shop/web"));
    assert_eq!(app.pane, PaneId::Pods);
    let heading = lines(&app.draw(80, 24)).iter().position(|l| l.contains("NAMESPACE")).unwrap() as u16;
    let status = lines(&app.draw(80, 24))[usize::from(heading)].find("STATUS").unwrap() as u16;
    mouse(&mut app, press, status + 3, heading, false);
    assert_eq!(app.panes.pods.sort, Sort { by: Some(Column::Status), reversed: false });
    mouse(&mut app, press, status + 3, heading, false);
    assert_eq!(app.panes.pods.sort, Sort { by: Some(Column::Status), reversed: true });
    mouse(&mut app, press, 0, heading, false);
    assert_eq!(app.panes.pods.sort.by, Some(Column::Status), "beside it nothing");
    app.panes.pods.sort = Sort::default();
    app.search();
    mouse(&mut app, press, 10, web, true);
    assert!(app.pane == PaneId::Pod && shows(&app.draw(80, 24), "shop/web"));
    mouse(&mut app, MouseEventKind::ScrollDown, 10, 5, false);
    assert!(app.panes.pod.open.as_ref().unwrap().scroll > 0);
    mouse(&mut app, MouseEventKind::ScrollUp, 10, 5, false);
    assert_eq!(app.panes.pod.open.as_ref().unwrap().scroll, 0);
    let x = last(&mut app).chars().position(|c| c == '3').unwrap() as u16;
    mouse(&mut app, press, x, 23, false);
    assert_eq!(app.pane, PaneId::Kubelet);
    for (x, y) in [(79, 0), (0, 23), (500, 500)] {
        mouse(&mut app, press, x, y, true);
    }
    assert_eq!(app.pane, PaneId::Kubelet);
    assert_eq!(mouse(&mut app, MouseEventKind::Moved, 1, 1, false), LoopAction::Idle);
}
