//! The decoders of foreign formats.

use kpodtrace::decode::{self, Joiner, LogDecoder, LogForm};
use kpodtrace::observation::Time;
use kpodtrace::text::Text;

/// When the inputs of the corpus were written.
pub fn reference() -> Time {
    Time::from_timestamp(1_795_951_277, 0).unwrap()
}

pub fn lossy(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub fn klog(bytes: &[u8]) {
    let text = lossy(bytes);
    let mut joiner = Joiner::default();
    let mut records: Vec<String> = text.lines().filter_map(|l| joiner.push((), l)).map(|(_, r)| r).collect();
    records.extend(joiner.take().map(|(_, r)| r));
    for record in records.iter().filter_map(|record| decode::klog(record, reference())) {
        _ = (
            record.value("pod").len(),
            decode::kubelet_records(&record).iter().map(|line| line.text().len()).sum::<usize>(),
        );
    }
}

pub fn container_log(bytes: &[u8]) {
    for form in [LogForm::Kept, LogForm::Served] {
        let (mut decoder, mut out) = (LogDecoder::new(form), Vec::new());
        // As it comes: in pieces.
        for piece in bytes.chunks(97) {
            decoder.push(piece, &mut out);
        }
        decoder.end_pieces(&mut out);
        decoder.end(&mut out);
    }
    _ = decode::first_complete_line(bytes);
    for cut in [true, false] {
        _ = decode::cri_log(bytes, cut, 20);
    }
}

pub fn prometheus(bytes: &[u8]) {
    _ = decode::scrape(&lossy(bytes));
}

pub fn spans(bytes: &[u8]) {
    _ = decode::spans(&lossy(bytes));
}

pub fn kube_objects(bytes: &[u8]) {
    let text = lossy(bytes);
    _ = (decode::objects(&text), decode::watch_event(&text));
}

pub fn crictl(bytes: &[u8]) {
    let text = lossy(bytes);
    _ = (decode::containers(&text), decode::sandboxes(&text), decode::images(&text), decode::image_fs(&text));
    _ = (decode::container_details(&text), decode::sandbox_details(&text));
    _ = (decode::runtime_status(Some(&text), None), decode::runtime_status(None, Some(&text)));
}

pub fn ctr_active(bytes: &[u8]) {
    _ = decode::active_ingests(&lossy(bytes), reference());
}

pub fn configz(bytes: &[u8]) {
    _ = decode::kubelet_config(&lossy(bytes));
}

pub fn manifest(bytes: &[u8]) {
    _ = decode::manifest(&lossy(bytes));
}

pub fn kernel(bytes: &[u8]) {
    for line in lossy(bytes).lines() {
        _ = decode::kernel_record(line, reference());
    }
}

pub fn runtime_log(bytes: &[u8]) {
    for line in lossy(bytes).lines() {
        _ = decode::LogfmtRecord::read(line).map(|record| record.line());
    }
}

pub fn plain_line(bytes: &[u8]) {
    for line in lossy(bytes).lines() {
        _ = decode::plain_line(line, reference());
    }
}

pub fn go(bytes: &[u8]) {
    for line in lossy(bytes).lines() {
        _ = (kpodtrace::time::parse_duration_seconds(line), decode::go_unquote(line));
    }
}

pub fn answer(bytes: &[u8]) {
    let text = lossy(bytes);
    _ = (decode::failure("GET /pods", &text), decode::failure_kind(&text));
    _ = (decode::health_answer(&text), decode::health_response(&text));
}

pub fn proc_files(bytes: &[u8]) {
    let text = lossy(bytes);
    _ = (decode::memory_info(&text), decode::cpu_ticks(&text), decode::pressure(&text), decode::threads(&text));
    _ = (decode::counter(&text, "oom_kill"), decode::counter(&text, ""));
    kpodtrace::observe::fuzzing::machine::stat(&text);
}

pub fn quantity(bytes: &[u8]) {
    let all: Vec<_> = lossy(bytes).lines().filter_map(kpodtrace::objects::Quantity::parse).collect();
    for (i, one) in all.iter().enumerate() {
        _ = (one.ceil(), one.as_milli(), one.as_f64(), one.is_zero(), format!("{one:?}"));
        _ = one.share_of(all[(i + 1) % all.len()]);
    }
}

pub fn text(bytes: &[u8]) {
    let raw = lossy(bytes);
    let safe = Text::new(&raw);
    assert_eq!(Text::new(&safe), safe, "read back from a recording it is the same");
    assert_eq!(Text::name(&Text::name(&raw)), Text::name(&raw));
    assert!(!Text::name(&raw).contains('\n'), "a name is one line");
    assert!(!safe.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "no control character");
    assert!(!Text::new(&raw).one_line().contains('\n'), "one line");
}

pub fn scheduler(bytes: &[u8]) {
    _ = kpodtrace::diagnose::split_schedule(&lossy(bytes));
}
