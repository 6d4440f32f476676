//! Decodes text files of the kernel: `/proc/meminfo`, `stat`, `pressure/*`, `vmstat`, `loadavg`, and `memory.stat`. Unknown lines
//! are skipped.

use crate::observation::{CpuTicks, MemoryInfo, Pressure};

/// Decodes `/proc/meminfo`, whose values are in KiB.
pub fn memory_info(text: &str) -> Option<MemoryInfo> {
    let of = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let total = of("MemTotal")?;
    let available = of("MemFree")?.saturating_add(of("Inactive(file)").unwrap_or(0)).min(total);
    Some(MemoryInfo { total, available })
}

/// The line of all CPUs in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user.
pub fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|l| l.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).take(8).collect();
    let all = ticks.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    let idle = ticks.get(3)?.saturating_add(ticks.get(4).copied().unwrap_or(0));
    Some(CpuTicks { busy: all.saturating_sub(idle), all })
}

/// Decodes one file of `/proc/pressure`.
pub fn pressure(text: &str) -> Option<Pressure> {
    let line = |kind: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(kind)?.strip_prefix(' '))?;
        let of = |name: &str| {
            let value = line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
            value.parse::<f64>().ok().filter(|v| v.is_finite())
        };
        Some([of("avg10")?, of("avg60")?, of("avg300")?])
    };
    Some(Pressure { some: line("some")?, full: line("full") })
}

/// The value of `name` in a file of names and numbers: `/proc/vmstat`, `memory.stat`, `memory.events`.
pub fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Number of threads: after the slash in the fourth field of `/proc/loadavg`.
pub fn threads(loadavg: &str) -> Option<u64> {
    loadavg.split(' ').nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_files() {
        let meminfo = "MemTotal:        3894908 kB\nMemFree:          204800 kB\nMemAvailable:    2000000 kB\n\
                       Active(file):     700000 kB\nInactive(file):   102400 kB\n";
        let memory = memory_info(meminfo).unwrap();
        assert_eq!((memory.total, memory.available), (3_894_908 * 1024, 300 << 20));
        let ticks = cpu_ticks("cpu  100 5 45 800 50 1 2 3 40 0\ncpu0 1 2 3 4\n").unwrap();
        assert_eq!((ticks.busy, ticks.all), (156, 1006));
        let psi = pressure(
            "some avg10=1.53 avg60=0.87 avg300=0.73 total=19132\nfull avg10=0.00 avg60=0.10 avg300=0.23 total=9\n",
        );
        assert_eq!(psi, Some(Pressure { some: [1.53, 0.87, 0.73], full: Some([0.0, 0.1, 0.23]) }));
        assert_eq!(pressure("some avg10=1.00 avg60=0.50 avg300=0.25 total=1\n").unwrap().full, None);
        assert_eq!(counter("oom_kill_x 3\noom_kill 7\n", "oom_kill"), Some(7));
        assert_eq!(threads("0.06 0.12 0.12 2/843 12345\n"), Some(843));
    }

    #[test]
    fn invalid_text_gives_none() {
        for text in [
            "",
            "\n\n",
            "cpu ",
            "cpu  1 2",
            "some",
            "some avg10=x avg60=1 avg300=1",
            "MemTotal: 5 MB",
            "oom_kill",
            "1 2 3 4",
        ] {
            assert_eq!(
                (memory_info(text), cpu_ticks(text), pressure(text), counter(text, "oom_kill"), threads(text)),
                (None, None, None, None, None),
                "{text}"
            );
        }
        let most = format!("MemTotal: {} kB\nMemFree: {} kB\n", u64::MAX, u64::MAX);
        assert_eq!(memory_info(&most), None);
    }
}
