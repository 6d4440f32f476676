//! The manual page is what the flags and the keys say: `KPODTRACE_BLESS=1 cargo test --test manual` writes it again.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use kpodtrace::cli::Cli;
use kpodtrace::tui::{Keymap, key_sections};

const PAGE: &str = "docs/kpodtrace.1";

const DESCRIPTION: &[&str] = &[
    "For the one who has just logged in to a sick node. On a node, as root, everything is found by itself: node name, \
     runtime socket, credential, kubelet, logs. Each source is optional; what one lacks is said where it is missed, and \
     kpodtrace doctor says how to mend it.",
    "Nothing is written, on the node or through any API: list, watch, get and status calls only. With --from the same \
     is told of a recording, of a folder of captured files or of what kubectl printed.",
    "Without a command it is a screen; see KEYS. Each command prints once what a pane of the screen shows, as text or \
     with -o json as a document whose fields docs/json.md tells of.",
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_CONFIG_HOME/kpodtrace/config.toml, else ~/.config/kpodtrace/config.toml",
        "How the screen begins and looks, and the keys; goes before the next one. kpodtrace config prints what is in \
         effect, in this form.",
    ),
    ("/etc/kpodtrace/config.toml", "The same for everybody on the node."),
    (
        "/etc/kpodtrace/runbook.d/*.toml",
        "A team's own causes and rules. When one is wrong the folder is left out, with a note; kpodtrace runbook check \
         says why.",
    ),
    (
        "~/.kube/config",
        "A credential for the API server, when nothing nearer is found: kpodtrace doctor tells the order.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "KUBECONFIG",
        "Credential for the API server and the kubelet, before the node's own; --kubeconfig goes before it.",
    ),
    ("CONTAINER_RUNTIME_ENDPOINT", "Socket of the container runtime; --runtime-endpoint goes before it."),
    (
        "HTTPS_PROXY, NO_PROXY",
        "The proxy to the API server, and who is asked without one; also in small letters. A proxy of the kubeconfig \
         goes before them.",
    ),
    (
        "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
        "Set in a pod: where the API server is, for the service account's credential.",
    ),
    ("XDG_CONFIG_HOME, HOME", "Where the user's configuration is; HOME also for ~/.kube/config."),
    ("NO_COLOR", "When it is set and not empty: no colours."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first that is set says whether the terminal shows UTF-8; if not, ASCII alone is drawn.",
    ),
    ("TERM", "With dumb there is no screen."),
];

/// In ASCII alone, whatever the reader's preprocessor takes the input for.
fn end(roff: Roff) -> String {
    let spelled = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) };
    roff.to_roff().chars().map(spelled).collect()
}

fn section(title: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    roff
}

fn item(roff: &mut Roff, head: Vec<Inline>, text: &str) {
    roff.control("TP", []).text(head).text([roman(text)]);
}

/// The lines after "Examples:", as they are; other blocks as paragraphs.
fn after_help(roff: &mut Roff, text: &str) {
    for block in text.split("\n\n") {
        roff.control("PP", []);
        match block.strip_prefix("Examples:\n") {
            Some(examples) => {
                roff.control("EX", []);
                examples.lines().for_each(|line| _ = roff.text([roman(line.trim_start())]));
                roff.control("EE", []);
            }
            // A sentence that begins a line there begins one here.
            None => block.lines().for_each(|line| {
                roff.text([roman(line)]);
                if line.ends_with('.') {
                    roff.control("br", []);
                }
            }),
        }
    }
}

/// What clap_mangen makes of one section, without or with lesser headings.
fn rendered(render: impl Fn(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    render(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn without_headings(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with(".SH ")).map(|line| format!("{line}\n")).collect()
}

fn command(command: &clap::Command, before: &str) -> String {
    let name = format!("{before} {}", command.get_name());
    let man = Man::new(command.clone().disable_help_flag(true).disable_help_subcommand(true).bin_name(name.clone()));
    let mut head = Roff::new();
    head.control("SS", [name.as_str()]);
    let mut about = Roff::new();
    about.control("PP", []).text([roman(command.get_about().unwrap().to_string())]);
    let mut tail = Roff::new();
    after_help(&mut tail, &command.get_after_help().map(ToString::to_string).unwrap_or_default());
    let options = without_headings(&rendered(|w| man.render_options_section(w)));
    let nested = command.get_subcommands().map(|one| self::command(one, &name));
    let parts = [end(head), without_headings(&rendered(|w| man.render_synopsis_section(w))), end(about), options];
    parts.into_iter().chain(nested).chain([end(tail)]).collect()
}

fn keys() -> String {
    let mut roff = section("KEYS");
    roff.text([roman(
        "Of each the keys, what they do, and the name of the action: what : takes, and what the configuration binds to \
         other keys. The mouse: the wheel scrolls, a click selects a row, sorts by a heading or goes to a tab, a \
         double click opens.",
    )]);
    for section in key_sections(&Keymap::default()) {
        roff.control("SS", [section.title]);
        for row in section.rows {
            let mut head = Vec::new();
            for (i, key) in row.keys.iter().enumerate() {
                head.extend((i > 0).then(|| roman(", ")));
                head.push(bold(key.as_str()));
            }
            item(&mut roff, head, &format!("{} ({})", row.text, row.action));
        }
    }
    end(roff)
}

fn table(title: &str, lines: &[(&str, &str)]) -> String {
    let mut roff = section(title);
    lines.iter().for_each(|(name, text)| item(&mut roff, vec![bold(*name)], text));
    end(roff)
}

fn page() -> String {
    let definition = Cli::command();
    let help = definition.get_after_help().unwrap().to_string();
    let (examples, codes) = help.split_once("\n\nExit codes: ").unwrap();
    let usage = "kpodtrace [OPTIONS]\nkpodtrace COMMAND [OPTIONS]";
    let man = Man::new(definition.clone().disable_help_subcommand(true).override_usage(usage)).manual("User Commands");

    let mut description = section("DESCRIPTION");
    DESCRIPTION.iter().for_each(|text| _ = description.control("PP", []).text([roman(*text)]));
    let options = rendered(|w| man.render_options_section(w));
    // One OPTIONS; the groups of its flags are below it, and in small letters as in --help.
    let lesser = |line: &str| match line.strip_prefix(".SH ").filter(|title| *title != "OPTIONS") {
        Some(title) => format!(".SS {}\n", title.replacen(&title[2..], &title[2..].to_lowercase(), 1)),
        None => format!("{line}\n"),
    };
    let options: String = options.lines().map(lesser).collect();

    let mut commands = section("COMMANDS");
    commands.text([roman(
        "The flags --from, --at, --runbook and those below \"Observing this node\" may stand behind any command.",
    )]);
    let each = definition.get_subcommands().map(|one| command(one, "kpodtrace"));

    let mut exit = section("EXIT STATUS");
    for code in codes.split(", ") {
        let (number, words) = code.split_once(' ').unwrap();
        item(&mut exit, vec![bold(number)], words);
    }
    exit.control("PP", []).text([roman("doctor, events, explain, pleg and runbook say above what theirs mean.")]);
    let mut shown = section("EXAMPLES");
    after_help(&mut shown, examples);

    [
        rendered(|w| man.render_title(w)),
        rendered(|w| man.render_name_section(w)),
        rendered(|w| man.render_synopsis_section(w)),
        end(description),
        options,
        end(commands),
    ]
    .into_iter()
    .chain(each)
    .chain([keys(), table("FILES", FILES), table("ENVIRONMENT", ENVIRONMENT), end(exit), end(shown)])
    .collect()
}

#[test]
fn the_manual_page_is_the_flags_and_the_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("KPODTRACE_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "{PAGE} is not what the flags and the keys say: KPODTRACE_BLESS=1 cargo test --test manual"
    );
}

/// What the page says of variables and files is written by hand: each must be in the program.
#[test]
fn the_manual_page_names_no_variable_that_is_not_read() {
    fn sources(dir: &Path, out: &mut String) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, out),
                false => out.push_str(&fs::read_to_string(&path).unwrap()),
            }
        }
    }
    let mut all = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    for name in ENVIRONMENT.iter().flat_map(|(names, _)| names.split(", ")) {
        assert!(all.contains(&format!("\"{name}\"")), "{name}");
    }
    for (name, _) in FILES {
        let name = name.rsplit("~/").next().unwrap().trim_start_matches(".config/").trim_end_matches("/*.toml");
        assert!(all.contains(&format!("{name}\"")), "{name}");
    }
}
