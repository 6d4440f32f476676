//! Decodes the Prometheus text format for the metric families of [`Scrape`]. Other lines are skipped.

use std::borrow::Cow;

use super::DecodeError;
use crate::observation::{Bucket, Histogram, Scrape};
use crate::text::Text;

/// Most runtime operation types that are kept.
const MAX_OPERATIONS: usize = 256;
/// Most states of pod workers that are kept; the kubelet has nine.
const MAX_WORKING: usize = 32;
/// Largest valid count, 2^53: above it the floating-point numbers of the text format are not exact.
const MAX_COUNT: f64 = 9_007_199_254_740_992.0;
/// Most buckets that are kept of one histogram.
const MAX_BUCKETS: usize = 128;

/// Decodes a whole page.
///
/// # Errors
/// When no line is a sample: the text is an error message, not a page of metrics.
pub fn scrape(page: &str) -> Result<Scrape, DecodeError> {
    let mut builder = ScrapeBuilder::default();
    for line in page.lines() {
        builder.line(line);
    }
    builder.finish()
}

/// Decodes a page line by line, so that a page of megabytes is not kept in memory.
#[derive(Debug, Default)]
pub struct ScrapeBuilder {
    scrape: Scrape,
    samples: bool,
}

impl ScrapeBuilder {
    /// Reads the next line, without its line feed.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let wanted = line.starts_with("kube") || line.starts_with("process_start_time_seconds");
        if !wanted && self.samples {
            return;
        }
        let Some((name, labels, value)) = sample(line) else { return };
        self.samples = true;
        let scrape = &mut self.scrape;
        match name {
            "process_start_time_seconds" => scrape.process_start = finite(value),
            "kubelet_pleg_last_seen_seconds" => scrape.last_seen = finite(value),
            "kubelet_pleg_discard_events" => scrape.discarded = whole(value),
            "kubernetes_build_info" => {
                if let Some(version) = label(labels, "git_version") {
                    scrape.version = Text::name(&version);
                }
            }
            "kubelet_runtime_operations_errors_total" => {
                if let (Some(entry), Some(errors)) = (operation(scrape, labels), whole(value)) {
                    entry.errors = errors;
                }
            }
            "kubelet_working_pods" => {
                let (lifecycle, config) = (label(labels, "lifecycle"), label(labels, "config"));
                if let (Some(lifecycle), Some(config), Some(count)) = (lifecycle, config, whole(value)) {
                    let key = Text::name(&format!("{lifecycle}/{config}"));
                    if scrape.working.len() < MAX_WORKING || scrape.working.contains_key(&key) {
                        let sum = scrape.working.entry(key).or_default();
                        *sum = sum.saturating_add(count);
                    }
                }
            }
            _ => {
                if let Some(part) = name.strip_prefix("kubelet_pleg_relist_duration_seconds_") {
                    add(scrape.relist.get_or_insert_default(), part, labels, value);
                } else if let Some(part) = name.strip_prefix("kubelet_pleg_relist_interval_seconds_") {
                    add(scrape.interval.get_or_insert_default(), part, labels, value);
                } else if let Some(part) = name.strip_prefix("kubelet_pod_start_sli_duration_seconds_") {
                    add(scrape.start_sli.get_or_insert_default(), part, labels, value);
                } else if let Some(part) = name.strip_prefix("kubelet_runtime_operations_duration_seconds_")
                    && let Some(entry) = operation(scrape, labels)
                {
                    add(&mut entry.duration, part, labels, value);
                }
            }
        }
    }

    /// Ends the page.
    ///
    /// # Errors
    /// When no line was a sample.
    pub fn finish(mut self) -> Result<Scrape, DecodeError> {
        if !self.samples {
            return Err(DecodeError::Shape("not a page of metrics"));
        }
        let durations = self.scrape.operations.values_mut().map(|o| &mut o.duration);
        let single = [&mut self.scrape.relist, &mut self.scrape.interval, &mut self.scrape.start_sli];
        for histogram in durations.chain(single.into_iter().flatten()) {
            histogram.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            histogram.buckets.dedup_by(|b, a| a.0 == b.0);
        }
        Ok(self.scrape)
    }
}

fn operation<'a>(scrape: &'a mut Scrape, labels: &str) -> Option<&'a mut crate::observation::OperationTotals> {
    let kind = Text::name(&label(labels, "operation_type")?);
    if scrape.operations.len() >= MAX_OPERATIONS && !scrape.operations.contains_key(&kind) {
        return None;
    }
    Some(scrape.operations.entry(kind).or_default())
}

fn add(histogram: &mut Histogram, part: &str, labels: &str, value: f64) {
    match part {
        "sum" => histogram.sum = Some(value).filter(|sum| (0.0..=MAX_COUNT).contains(sum)).unwrap_or(histogram.sum),
        "count" => histogram.count = whole(value).unwrap_or(histogram.count),
        "bucket" => {
            let bound = label(labels, "le").and_then(|le| number(&le));
            match (bound, whole(value)) {
                (Some(le), Some(n)) if le == f64::INFINITY => histogram.count = n,
                (Some(le), Some(n)) if le.is_finite() && histogram.buckets.len() < MAX_BUCKETS => {
                    histogram.buckets.push(Bucket(le, n));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// Name, text between the braces, value. The timestamp after the value is not used.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        None => ("", rest),
        Some(rest) => {
            let close = closing_brace(rest)?;
            (rest.get(..close)?, rest.get(close + 1..)?)
        }
    };
    Some((name, labels, number(rest.split_whitespace().next()?)?))
}

fn closing_brace(s: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (i, b) in s.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(i),
            _ => {}
        }
    }
    None
}

/// The unescaped value of one label.
fn label<'a>(mut labels: &'a str, name: &str) -> Option<Cow<'a, str>> {
    loop {
        let (key, rest) = labels.split_once('=')?;
        let rest = rest.trim_start().strip_prefix('"')?;
        let mut escaped = false;
        let close = rest.bytes().position(|b| {
            let end = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            end
        })?;
        let value = rest.get(..close)?;
        if key.trim() == name {
            return Some(if value.contains('\\') { Cow::Owned(unescape(value)) } else { Cow::Borrowed(value) });
        }
        labels = rest.get(close + 1..)?.trim_start().trim_start_matches(',').trim_start();
    }
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => text.parse().ok(),
        _ => None,
    }
}

/// The value, unless JSON has no such number.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The value as a count; None if it is not exact.
fn whole(value: f64) -> Option<u64> {
    (0.0..=MAX_COUNT).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_page() {
        let page = r#"# HELP x y
# TYPE x histogram
kubelet_pleg_relist_duration_seconds_bucket{le="0.01"} 3
kubelet_pleg_relist_duration_seconds_bucket{le="0.005"} 2 1795951277000
kubelet_pleg_relist_duration_seconds_bucket{le="+Inf"} 4
kubelet_pleg_relist_duration_seconds_sum 0.25
kubelet_pleg_relist_duration_seconds_count 4
kubelet_pleg_pod_relist_duration_seconds_sum 9
kubelet_pleg_discard_events 1.2e+03
kubelet_pleg_last_seen_seconds 1.795951293e+09
kubelet_runtime_operations_duration_seconds_bucket{operation_type="pull_image",le="5"} 1
kubelet_runtime_operations_duration_seconds_sum{operation_type="pull_image"} NaN
kubelet_runtime_operations_errors_total{operation_type="odd\"}\\\n"} 7
kubelet_working_pods{config="desired",lifecycle="sync",static=""} 40
kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 2
kubelet_working_pods{config="orphan",lifecycle="terminating",static=""} 0
kubelet_pod_start_sli_duration_seconds_bucket{le="0.5"} 3
kubelet_pod_start_sli_duration_seconds_sum 9
kubelet_pod_start_sli_duration_seconds_count 4
kubernetes_build_info{build_date="2026, \"x\"}",git_version="v1.36.2"} 1
process_start_time_seconds +Inf
garbage here
kubelet_pleg_discard_events{ 5
"#;
        let s = scrape(page).unwrap();
        let relist = s.relist.unwrap();
        assert_eq!(relist.buckets, vec![Bucket(0.005, 2), Bucket(0.01, 3)]);
        assert_eq!((relist.sum, relist.count), (0.25, 4));
        assert_eq!(s.interval, None);
        let working: Vec<_> = s.working.iter().map(|(k, n)| (k.as_str(), *n)).collect();
        assert_eq!(working, [("sync/desired", 42), ("terminating/orphan", 0)]);
        assert_eq!(s.start_sli.map(|h| (h.count, h.sum, h.buckets)), Some((4, 9.0, vec![Bucket(0.5, 3)])));
        assert_eq!((s.discarded, s.last_seen, s.process_start), (Some(1200), Some(1_795_951_293.0), None));
        assert_eq!(s.version, "v1.36.2");
        assert_eq!(s.operations["pull_image"].duration.buckets, vec![Bucket(5.0, 1)]);
        assert_eq!(s.operations["pull_image"].duration.sum, 0.0);
        assert_eq!(s.operations["odd\"}\\␊"].errors, 7);
    }

    #[test]
    fn invalid_counts_are_absent() {
        for bad in ["NaN", "+Inf", "-Inf", "-1", "1e300", "9007199254740994", "nan", "inf"] {
            let page = format!(
                "kubelet_pleg_relist_duration_seconds_count 4\nkubelet_pleg_relist_duration_seconds_count {bad}\n\
                 kubelet_pleg_relist_duration_seconds_sum {bad}\n\
                 kubelet_pleg_relist_duration_seconds_bucket{{le=\"{bad}\"}} {bad}\n\
                 kubelet_pleg_discard_events {bad}\nkubelet_working_pods{{lifecycle=\"a\",config=\"b\"}} {bad}\n"
            );
            let s = scrape(&page).unwrap();
            let relist = s.relist.unwrap();
            assert_eq!((relist.count, relist.sum, relist.buckets.len()), (4, 0.0, 0), "{bad}");
            assert_eq!((s.discarded, s.working.len()), (None, 0), "{bad}");
        }
    }

    #[test]
    fn an_error_text_is_not_a_page() {
        assert!(scrape("Authorization error (user=x, verb=get)").is_err());
        assert!(scrape("").is_err());
        assert_eq!(scrape("up 1\n").unwrap(), Scrape::default());
    }
}
