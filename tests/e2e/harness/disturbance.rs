//! How much other load on the machine disturbs a test's programs, from kernel accounting: an upper bound for the
//! error of measured times.

use std::fs;
use std::time::Instant;

/// The share of one processor that other processes may use without a disturbance: the input injector, and background work.
const NOTHING: f64 = 0.5;
/// A step of the kernel's counts, in milliseconds (USER_HZ).
const STEP_MS: f64 = 10.0;

/// The clocks of the kernel since a moment.
pub(crate) struct Disturbance {
    began: Instant,
    busy_ms: f64,
    ours_ms: f64,
    kept_ms: f64,
    stolen_ms: f64,
    /// The largest value seen, for programs that may have ended.
    most_kept_ms: f64,
}

impl Disturbance {
    /// The disturbance of these processes from now on.
    pub(crate) fn begin(pids: &[u32]) -> Disturbance {
        Disturbance {
            began: Instant::now(),
            busy_ms: busy_ms(),
            stolen_ms: stolen_ms(),
            ours_ms: ours_ms(pids),
            kept_ms: kept_waiting_ms(pids),
            most_kept_ms: 0.0,
        }
    }

    /// Updates the maximum for these processes.
    pub(crate) fn look(&mut self, pids: &[u32]) {
        let kept = kept_waiting_ms(pids) - self.kept_ms;
        self.most_kept_ms = self.most_kept_ms.max(kept);
    }

    /// The possible error of times in milliseconds: how long these processes waited for a processor, or the virtual
    /// machine for a real one; 0 if other processes used almost no CPU time.
    pub(crate) fn end_ms(mut self, pids: &[u32]) -> f64 {
        self.look(pids);
        let others: f64 = (busy_ms() - self.busy_ms) - (ours_ms(pids) - self.ours_ms);
        match others > NOTHING * self.began.elapsed().as_secs_f64() * 1e3 {
            true => self.most_kept_ms + stolen_ms() - self.stolen_ms,
            false => 0.0,
        }
    }
}

/// Milliseconds that threads of these processes have spent on the run queue so far.
pub(crate) fn kept_waiting_ms(pids: &[u32]) -> f64 {
    pids.iter().map(|pid| schedstat_ms(*pid)[1]).sum()
}

/// CPU milliseconds and run-queue milliseconds of a process's threads (proc(5), schedstat).
fn schedstat_ms(pid: u32) -> [f64; 2] {
    let mut sums = [0.0; 2];
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        for (sum, nanos) in sums.iter_mut().zip(text.split_whitespace()) {
            *sum += nanos.parse::<f64>().unwrap_or(0.0) / 1e6;
        }
    }
    sums
}

/// CPU milliseconds of these processes.
fn ours_ms(pids: &[u32]) -> f64 {
    pids.iter().map(|pid| schedstat_ms(*pid)[0]).sum()
}

/// Milliseconds in which the processors were busy; steal time counts as busy, and low priorities do not
/// ([`super::awake`]).
fn busy_ms() -> f64 {
    // user, system, interrupts, soft interrupts, stolen (proc(5), `stat`)
    processors_ms(&[0, 2, 5, 6, 7])
}

/// Milliseconds in which other virtual machines had this one's processors.
fn stolen_ms() -> f64 {
    processors_ms(&[7])
}

/// The sum of these counts of all processors.
fn processors_ms(counts: &[usize]) -> f64 {
    let stat = fs::read_to_string("/proc/stat").expect("the kernel's counts");
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    let fields: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    counts.iter().filter_map(|at| fields.get(*at)).sum::<f64>() * STEP_MS
}
