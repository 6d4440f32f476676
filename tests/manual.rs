//! The man page matches flags and keys: `KPODTRACE_BLESS=1 cargo test --test manual` generates it.
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
    "For the on-call engineer who has just logged in to an unhealthy node. On a node, as root, it finds everything \
     automatically: node name, runtime socket, credentials, kubelet, logs. Every source is optional; missing data is \
     marked as such, and kpodtrace doctor explains how to fix it.",
    "Read-only: it uses only list, watch, get and status calls. With --from it shows the same for a recording or for \
     the output of kubectl.",
    "Without a command it opens the screen; see KEYS. Each command prints the content of one pane as text, or with \
     -o json as a document (docs/json.md).",
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_CONFIG_HOME/kpodtrace/config.toml, else ~/.config/kpodtrace/config.toml",
        "The user's configuration of the screen and its keys; overrides the system file. kpodtrace config prints the \
         configuration in effect in the same format.",
    ),
    ("/etc/kpodtrace/config.toml", "The system configuration, for all users of the node."),
    (
        "/etc/kpodtrace/runbook.d/*.toml",
        "Additional causes and rules. A folder with an invalid file is ignored with a note; kpodtrace runbook check \
         lists the errors.",
    ),
    (
        "~/.kube/config",
        "Kubeconfig for the API server if no other credential is found; kpodtrace doctor lists the order.",
    ),
    ("~/.kube/config", "Credential for the API server, if no other is found; kpodtrace doctor shows the order."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "KUBECONFIG",
        "Kubeconfig for the API server and the kubelet, instead of the node's own; --kubeconfig overrides it.",
    ),
    ("CONTAINER_RUNTIME_ENDPOINT", "Socket of the container runtime; --runtime-endpoint overrides it."),
    (
        "HTTPS_PROXY, NO_PROXY",
        "Proxy for the API server, and the hosts without proxy; also in lower case. The proxy-url of a kubeconfig \
         overrides them.",
    ),
    (
        "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
        "Set in a pod: address of the API server, for the service account's credential.",
    ),
    ("XDG_CONFIG_HOME, HOME", "Folder of the user's configuration; HOME also for ~/.kube/config."),
    ("NO_COLOR", "If set and not empty: no colours."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first one that is set determines whether the terminal shows UTF-8; otherwise ASCII characters only.",
    ),
    ("TERM", "With dumb the screen is not available."),
];

/// In ASCII only, so that the encoding of the reader does not matter.
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
            // A line that ends a sentence also ends here.
            None => block.lines().for_each(|line| {
                roff.text([roman(line)]);
                if line.ends_with('.') {
                    roff.control("br", []);
                }
            }),
        }
    }
}

/// One section as clap_mangen renders it.
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
        "Keys, their effect, and the name of the action, which : accepts and the configuration binds to other keys. \
         Mouse: the wheel scrolls, a click selects a row, sorts by a heading or opens a tab, a double click opens.",
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
    // One OPTIONS section with the groups of flags below it, in sentence case like --help.
    let lesser = |line: &str| match line.strip_prefix(".SH ").filter(|title| *title != "OPTIONS") {
        Some(title) => format!(".SS {}\n", title.replacen(&title[2..], &title[2..].to_lowercase(), 1)),
        None => format!("{line}\n"),
    };
    let options: String = options.lines().map(lesser).collect();

    let mut commands = section("COMMANDS");
    commands.text([roman(
        "The flags --from, --at, --runbook, --max-memory and those of \"Observing this node\" can follow any command.",
    )]);
    let each = definition.get_subcommands().map(|one| command(one, "kpodtrace"));

    let mut exit = section("EXIT STATUS");
    for code in codes.split(", ") {
        let (number, words) = code.split_once(' ').unwrap();
        item(&mut exit, vec![bold(number)], words);
    }
    exit.control("PP", [])
        .text([roman("The exit codes of doctor, events, explain, logs, pleg and runbook are described above.")]);
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
fn the_man_page_matches_flags_and_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("KPODTRACE_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{PAGE} does not match flags and keys: KPODTRACE_BLESS=1 cargo test --test manual");
}

/// Variables and files are listed here manually: each must be in the program.
#[test]
fn the_man_page_names_no_unused_variable() {
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
