//! Parses flags as the kubelet does, from a command line or from files of flags.

/// Flags with their values; of a flag given twice, the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletFlags(Vec<(String, String)>);

impl KubeletFlags {
    /// Flags of a command line, `--name=value` or `--name value`.
    pub fn of<S: AsRef<str>>(argv: &[S]) -> Self {
        let mut flags = Vec::new();
        let mut words = argv.iter().map(AsRef::as_ref).peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
            if let Some((name, value)) = name.split_once('=') {
                flags.push((name.to_owned(), value.to_owned()));
            } else if let Some(value) = words.next_if(|w| !w.starts_with('-')) {
                flags.push((name.to_owned(), value.to_owned()));
            }
        }
        Self(flags)
    }

    /// Flags in a file of shell variables (`KUBELET_EXTRA_ARGS="--a=b"`) or one flag a line.
    pub fn of_file(text: &str) -> Self {
        let mut words = Vec::new();
        for line in text.lines().map(str::trim).filter(|l| !l.starts_with('#')) {
            let line = if line.starts_with('-') { line } else { line.split_once('=').map_or("", |(_, value)| value) };
            let line = unquoted(line);
            words.extend(line.split_whitespace().map(unquoted));
        }
        Self::of(&words)
    }

    /// Adds the flags of `later`, which win.
    pub fn and(mut self, later: KubeletFlags) -> Self {
        self.0.extend(later.0);
        self
    }

    /// The value of a flag.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Replaces `from` in every value: files of flags may use variables.
    pub fn expand(&mut self, from: &str, to: &str) {
        for (_, value) in &mut self.0 {
            *value = value.replace(from, to);
        }
    }
}

fn unquoted(s: &str) -> &str {
    let inner = |q: char| s.strip_prefix(q)?.strip_suffix(q);
    inner('"').or_else(|| inner('\'')).unwrap_or(s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_and_files() {
        let flags = KubeletFlags::of(&["kubelet", "--a=1", "--b", "2", "--c", "--d=", "--a=3"]);
        assert_eq!(
            [flags.get("a"), flags.get("b"), flags.get("c"), flags.get("d")],
            [Some("3"), Some("2"), None, Some("")]
        );
        let env =
            KubeletFlags::of_file("# x=--z=1\nKUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///a --e=f\"\n");
        assert_eq!(
            [env.get("container-runtime-endpoint"), env.get("e"), env.get("z")],
            [Some("unix:///a"), Some("f"), None]
        );
        let mut args = KubeletFlags::of_file("--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n--name='x'\n");
        args.expand("${SNAP_DATA}", "/snap");
        assert_eq!(args.get("kubeconfig"), Some("/snap/credentials/kubelet.config"));
    }
}
