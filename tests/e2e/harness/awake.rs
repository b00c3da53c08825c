//! Keeps the processors awake.

use std::process::Command;
use std::sync::Once;
use std::thread;

/// Keeps all processors busy until the tests end, with processes that run only if nothing else does (SCHED_IDLE). An
/// idle processor of a virtual machine wakes up to a millisecond late, and that time belongs to no program of a test.
pub(super) fn keep_awake() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            // The kernel ends the process with the thread that started it, so the thread waits for it.
            thread::spawn(|| {
                let busy = [
                    "nice",
                    "-n19",
                    "chrt",
                    "--idle",
                    "0",
                    "sh",
                    "-c",
                    "while :; do :; done",
                ];
                let mut command = Command::new("setpriv");
                // Without util-linux the processors sleep.
                let _ = command.args(["--pdeathsig", "KILL"]).args(busy).status();
            });
        }
    });
}
