//! Tests of parsing, precedence and printing.

use super::*;

fn take(content: &str) -> Result<Config, String> {
    let mut config = Config::default();
    config.take("c.toml", content).map_err(|e| e.to_string())?;
    Ok(config)
}

#[test]
fn printed_configuration_parses_to_the_same_values() {
    let content = "theme = 'light'\nframes = 4\ncolumns = ['why', 'name']\nsort = '-age'\nfilter = 'a\"b\\c !ns:x'\n[keys]\npause = ['P', 'F5']\nfailing = []\n";
    let config = take(content).unwrap();
    let text = toml_text(&config);
    let again = take(&text).unwrap();
    assert_eq!(again.theme.value, ColorScheme::Light);
    assert_eq!((again.frames.value, again.columns.value.clone()), (4, vec![Column::Why, Column::Name]));
    assert_eq!(again.filter.value, "a\"b\\c !ns:x");
    assert_eq!(again.options().keymap, config.options().keymap);
    let keymap = again.options().keymap;
    assert_eq!(
        keymap.action(crate::tui::Context::Pane(crate::tui::PaneId::Pods), KeyPress::parse("F5").unwrap()),
        Some(Action::Pause)
    );
    assert_eq!(keymap.action(crate::tui::Context::Pane(crate::tui::PaneId::Pods), KeyPress::parse("f").unwrap()), None);
    assert!(text.contains("c.toml:2"), "{text}");
    assert!(take(&toml_text(&Config::default())).is_ok());
}

#[test]
fn an_invalid_file_is_refused_with_line_and_reason() {
    let cases = [
        ("theme = 'dark'", "c.toml:1: unknown theme \"dark\" (available: default, light, high-contrast, colour-blind"),
        ("\nframes = 0", "c.toml:2: frames = 0 is out of range; accepted: 1 to 10"),
        ("ascii = true\ncolumns = ['name',\n 'nam']", "c.toml:3: unknown column \"nam\""),
        ("columns = ['age', 'age']", "c.toml:1: duplicate column \"age\""),
        ("columns = []", "c.toml:1: columns is empty"),
        ("sort = 'size'", "c.toml:1: unknown column \"size\""),
        ("filter = 'pod:x'", "c.toml:1: unknown field pod"),
        ("\n\ncolour = 1", "c.toml:3: unknown field `colour`"),
        ("mouse = 'no'", "c.toml:1: invalid type: string \"no\", expected a boolean"),
        ("[keys]\njump = 'x'", "c.toml:2: unknown action \"jump\" (available: open"),
        ("[keys]\nerase = 'x'", "c.toml:2: unknown action \"erase\""),
        ("[keys]\npause = 'ctrl-x'", "c.toml:2: unknown key \"ctrl-x\""),
        ("[keys]\nhelp = 'F1'\npause = 'q'", "c.toml:3: key q is bound to both pause and quit"),
        ("theme = ", "c.toml:1:"),
    ];
    for (content, expected) in cases {
        let found = take(content).unwrap_err();
        assert!(found.starts_with(expected), "{content:?}: {found}");
    }
}

#[test]
fn flags_override_the_user_file_which_overrides_the_system_file() {
    let dir = std::env::temp_dir().join(format!("kpodtrace-config-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (own, system) = (dir.join("own.toml"), dir.join("system.toml"));
    std::fs::write(&own, "frames = 5\ntheme = 'light'\n").unwrap();
    std::fs::write(&system, "frames = 2\nmouse = false\ntheme = 'high-contrast'\n").unwrap();
    let config = Config::read(&[own.clone(), system.clone(), dir.join("none.toml")]).unwrap();
    let config = config.flags(&ConfigFlags { theme: Some("colour-blind"), ..ConfigFlags::default() }).unwrap();
    assert_eq!((config.frames.value, config.mouse.value, config.theme.value), (5, false, ColorScheme::ColourBlind));
    assert_eq!(config.frames.origin, Origin::File(own.display().to_string(), 1));
    assert_eq!(config.mouse.origin, Origin::File(system.display().to_string(), 2));
    assert_eq!(config.theme.origin, Origin::Flag("theme"));
    assert_eq!(config.sort.origin, Origin::Default);
    assert!(Config::default().flags(&ConfigFlags { sort: Some("x"), ..ConfigFlags::default() }).is_err());
    let below_a_file = own.join("kpodtrace/config.toml");
    assert!(
        Config::read(&[below_a_file]).unwrap().unreadable.is_empty(),
        "a HOME that is not a directory, such as /dev/null, has no configuration"
    );
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(Config::read(&[PathBuf::from("/")]).is_err(), "an unreadable file is an error");
}

#[test]
fn paths_of_the_configuration_files() {
    let of = |vars: &[(&str, &str)]| {
        let vars: Vec<_> = vars.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        files(move |name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    };
    let system = PathBuf::from(SYSTEM_FILE);
    assert_eq!(
        of(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")]),
        [PathBuf::from("/x/kpodtrace/config.toml"), system.clone()]
    );
    assert_eq!(
        of(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")]),
        [PathBuf::from("/h/.config/kpodtrace/config.toml"), system.clone()]
    );
    assert_eq!(of(&[]), [system]);
}
