//! Runs one target: its corpus unchanged, then mutated inputs, up to a number or a time.
//!
//! `KPODTRACE_FUZZ_SECONDS` is the time for all targets together, on all processors; without it each target has [`CASES`]
//! changed inputs from a seed that never changes. `KPODTRACE_FUZZ_SEED` is another seed; with a time and no seed, the clock
//! gives one. `KPODTRACE_FUZZ_TRACE=1` writes each input before it runs, for what ends the process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::mutate::{Form, Seeds};
use crate::rng::Rng;

/// Changed inputs of each target where no time is set.
const CASES: u64 = 40;
/// Longest run: what takes longer on such inputs takes minutes on large ones.
const LONGEST: Duration = Duration::from_secs(5);
/// Maximum number of distinct faults reported per target.
const FAULTS: usize = 20;
const SEED: u64 = 0x6b70_6f64;
/// Longest part of a fault's words that is shown, in characters.
const WORDS: usize = 300;

pub struct Target {
    pub name: &'static str,
    pub form: Form,
    pub run: fn(&[u8]),
    /// Its part of the time, and of the cases, beside those of others.
    pub weight: usize,
    /// Files, or folders of files, whose content is taken for inputs too.
    pub also: &'static [&'static str],
}

/// Fails with what was found; each fault's input is in a file.
///
/// `targets` is how many there are, and `weights` what they weigh together.
pub fn check(target: &Target, targets: usize, weights: usize) {
    install_hook();
    let seeds = Seeds::new(target.form, seeds(target));
    assert!(!seeds.raw.is_empty(), "{} has no corpus", target.name);
    let mut found = Found::default();
    for input in &seeds.raw {
        found.run(target, input);
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let seconds = number("KPODTRACE_FUZZ_SECONDS");
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(SEED, |d| d.as_nanos() as u64);
    let seed = number("KPODTRACE_FUZZ_SEED").unwrap_or_else(|| seconds.map_or(SEED, |_| clock()));
    let mut rng = Rng::new(seed ^ u64::from(crc32fast::hash(target.name.as_bytes())));
    let begin = Instant::now();
    // The tests run in parallel, one per CPU.
    let side_by_side = std::thread::available_parallelism().map_or(1, usize::from).min(targets);
    let share = seconds.map(|s| Duration::from_secs(s).mul_f64((side_by_side * target.weight) as f64 / weights as f64));
    while share.map_or(found.runs < seeds.raw.len() as u64 + CASES, |share| begin.elapsed() < share) {
        found.run(target, &seeds.input(&mut rng));
    }
    if seconds.is_some() {
        static ALL: AtomicU64 = AtomicU64::new(0);
        let all = ALL.fetch_add(found.runs, Ordering::Relaxed) + found.runs;
        let (name, runs, faults) = (target.name, found.runs, found.faults.len());
        let longest = found.longest.as_millis();
        // Past the capture of the test's output.
        _ = writeln!(
            std::io::stderr(),
            "fuzz {name}: {runs} runs, longest {longest} ms, {faults} faults, seed {seed}; {all} runs so far",
        );
    }
    let told: Vec<String> =
        found.faults.iter().map(|(what, path)| format!("{what}\n  input: {}", path.display())).collect();
    assert!(told.is_empty(), "{} with seed {seed}:\n{}", target.name, told.join("\n"));
}

#[derive(Default)]
struct Found {
    runs: u64,
    longest: Duration,
    /// The input of each fault that was found, by what it is.
    faults: BTreeMap<String, PathBuf>,
}

impl Found {
    fn run(&mut self, target: &Target, input: &[u8]) {
        if std::env::var_os("KPODTRACE_FUZZ_TRACE").is_some() {
            write(target, "last", input);
        }
        PANIC.with_borrow_mut(|panic| *panic = Some(None));
        let begin = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        let took = begin.elapsed();
        let panic = PANIC.take().flatten();
        self.runs += 1;
        self.longest = self.longest.max(took);
        let fault = match ended {
            Err(_) => panic.unwrap_or_else(|| "a panic".into()),
            Ok(()) if took > LONGEST => format!("a run of more than {} s", LONGEST.as_secs()),
            Ok(()) => return,
        };
        if self.faults.len() < FAULTS && !self.faults.contains_key(&fault) {
            let path = write(target, &format!("{:08x}", crc32fast::hash(input)), input);
            self.faults.insert(fault, path);
        }
    }
}

/// Writes an input below the target directory.
fn write(target: &Target, name: &str, input: &[u8]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(target.name);
    let path = dir.join(name);
    std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&path, input)).expect("an input is kept");
    path
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("tests/fuzz/corpus").join(target.name);
    let mut files = Vec::new();
    for path in std::iter::once(own).chain(target.also.iter().map(|path| root.join(path))) {
        match std::fs::read_dir(&path) {
            Ok(entries) => files.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) if path.is_file() => files.push(path),
            Err(_) => {}
        }
    }
    files.sort();
    files.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

thread_local! {
    /// Message of the panic of the current run on this thread.
    static PANIC: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Keeps a panic's words and place instead of printing them, on threads that run an input.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let kept = PANIC.with_borrow_mut(|panic| {
                let Some(panic) = panic else { return false };
                let payload = info.payload();
                let words = payload.downcast_ref::<&str>().copied();
                let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                let words: String = words.unwrap_or("a panic").chars().take(WORDS).collect();
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                // For a panic in a library the caller is more useful than the location.
                let caller = if place.starts_with("src/") { String::new() } else { caller() };
                *panic = Some(format!("{words} at {place}{caller}"));
                true
            });
            if !kept {
                before(info);
            }
        }));
    });
}

/// The first function of the program in the backtrace.
fn caller() -> String {
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    let lines: Vec<&str> = trace.lines().map(str::trim).collect();
    let at = lines.iter().find(|line| line.starts_with("at ./src/")).map(|line| format!(", called {line}"));
    at.unwrap_or_default()
}
