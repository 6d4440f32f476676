//! Whether a line names an image: by the name in the pod, or by the full name that the runtime derives from it.

/// What the runtime puts before a name without a registry, the longest first.
const REGISTRY: [&str; 2] = ["docker.io/library/", "docker.io/"];

/// True where the text has that image's name as a whole; never for an empty one.
pub(super) fn names(text: &str, image: &str) -> bool {
    !image.is_empty()
        && text.match_indices(image).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + image.len()..]);
            begins(before) && ends(after, is_tagged(image))
        })
}

fn begins(before: &str) -> bool {
    let bare = REGISTRY.iter().find_map(|registry| before.strip_suffix(registry)).unwrap_or(before);
    !bare.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@'))
        || bare.ends_with("://")
}

fn ends(after: &str, tagged: bool) -> bool {
    let rest = if tagged { after } else { after.strip_prefix(":latest").unwrap_or(after) };
    let mut next = rest.chars();
    match next.next() {
        Some('.' | ':') => !next.next().is_some_and(|c| c.is_ascii_alphanumeric()),
        Some(c) => !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/')),
        None => true,
    }
}

/// It has a tag or a digest: behind the last slash, since a registry has a port.
fn is_tagged(image: &str) -> bool {
    image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']))
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn one_image_is_not_another() {
        assert!(names(r#"PullImage "r/app:1" failed"#, "r/app:1"));
        assert!(names("failed to resolve r/app:1: not found", "r/app:1"));
        assert!(!names(r#"PullImage "r/app:10" failed"#, "r/app:1"));
        assert!(!names(r#"PullImage "r/app:1.2" failed"#, "r/app:1"));
        assert!(!names(r#"PullImage "other/r/app:1" failed"#, "r/app:1"));
        assert!(names(r#"image "docker.io/library/busybox:latest" failed."#, "busybox"));
        assert!(names(r#"image "busybox" failed"#, "busybox") && names("busybox: not found", "busybox"));
        assert!(!names(r#"image "busybox:nope" failed"#, "busybox") && !names("my-busybox failed", "busybox"));
        assert!(
            names("localhost:5000/app@sha256:aa failed", "localhost:5000/app"),
            "what a name without a tag came to"
        );
        assert!(!names("anything", ""));
    }
}
