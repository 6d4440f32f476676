//! The manual page, generated from flags and keys. `KPODTRACE_BLESS=1 cargo test --test manual` writes it.
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
    "For the on-call engineer who has just logged in to an unhealthy node. On a node, as root, node name, runtime socket, \
     credential, kubelet and logs are discovered automatically. Every source is optional; missing data is marked as \
     such, and kpodtrace doctor explains how to fix it.",
    "Read-only: kpodtrace uses only list, watch, get and status calls. --from shows the same for a recording, for a \
     folder of captured files or for kubectl output.",
    "Without a command it opens a screen; see KEYS. Each command prints the content of a pane once, as text or, with -o \
     json, as a document whose fields are documented in docs/json.md.",
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_CONFIG_HOME/kpodtrace/config.toml, else ~/.config/kpodtrace/config.toml",
        "Options of the screen and keys of the user; overrides the system file. kpodtrace config prints the effective \
         configuration in this format.",
    ),
    ("/etc/kpodtrace/config.toml", "The system file, for all users of the node."),
    (
        "/etc/kpodtrace/runbook.d/*.toml",
        "Causes and rules of a team. An invalid file disables the whole folder, with a note; kpodtrace runbook check \
         reports the error.",
    ),
    ("~/.kube/config", "Credential for the API server, if no other is found; kpodtrace doctor shows the order."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "KUBECONFIG",
        "Credential for the API server and the kubelet; overrides that of the node. --kubeconfig overrides it.",
    ),
    ("CONTAINER_RUNTIME_ENDPOINT", "Socket of the container runtime. --runtime-endpoint overrides it."),
    (
        "HTTPS_PROXY, NO_PROXY",
        "Proxy to the API server, and hosts that need none; also in lower case. A proxy in the kubeconfig overrides \
         them.",
    ),
    (
        "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
        "In a pod: address of the API server, for the credential of the service account.",
    ),
    ("XDG_CONFIG_HOME, HOME", "Folder of the user configuration; HOME also for ~/.kube/config."),
    ("NO_COLOR", "A non-empty value disables colors."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first that is set decides whether the terminal uses UTF-8; otherwise the screen uses ASCII only.",
    ),
    ("TERM", "The value dumb disables the screen."),
];

/// ASCII only, whatever encoding the preprocessor of the reader assumes.
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

/// The lines after "Examples:" unchanged; other blocks as paragraphs.
fn after_help(roff: &mut Roff, text: &str) {
    for block in text.split("\n\n") {
        roff.control("PP", []);
        match block.strip_prefix("Examples:\n") {
            Some(examples) => {
                roff.control("EX", []);
                examples.lines().for_each(|line| _ = roff.text([roman(line.trim_start())]));
                roff.control("EE", []);
            }
            // Keep sentences that start a line.
            None => block.lines().for_each(|line| {
                roff.text([roman(line)]);
                if line.ends_with('.') {
                    roff.control("br", []);
                }
            }),
        }
    }
}

/// A section of clap_mangen.
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
        "Keys, what they do, and the action: the name of a command after :, and the name to bind other keys in the \
         configuration. Mouse: the wheel scrolls; a click selects a row, sorts by a column heading or opens a tab; a \
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
    // One OPTIONS section; groups of flags are subsections, in lower case as in --help.
    let lesser = |line: &str| match line.strip_prefix(".SH ").filter(|title| *title != "OPTIONS") {
        Some(title) => format!(".SS {}\n", title.replacen(&title[2..], &title[2..].to_lowercase(), 1)),
        None => format!("{line}\n"),
    };
    let options: String = options.lines().map(lesser).collect();

    let mut commands = section("COMMANDS");
    commands
        .text([roman("--from, --at, --runbook and the flags below \"Observing this node\" may follow any command.")]);
    let each = definition.get_subcommands().map(|one| command(one, "kpodtrace"));

    let mut exit = section("EXIT STATUS");
    for code in codes.split(", ") {
        let (number, words) = code.split_once(' ').unwrap();
        item(&mut exit, vec![bold(number)], words);
    }
    exit.control("PP", []).text([roman("For doctor, events, explain, pleg and runbook see the command.")]);
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

/// Variables and files of the page are written by hand: each must occur in the program.
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
