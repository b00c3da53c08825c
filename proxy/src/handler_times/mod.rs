//! Times of a server's handlers, request by request, from a library that is preloaded into a server of ours.
//!
//! The library (server_timer.c) is compiled into this program. It is written to the server's private folder, and
//! taken away once the server has it. Server and recorder share one file, a ring of entries.

mod ring;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ring::{Ring, State};
use x11prof_trace::HandlerTime;

/// The library as the build made it; empty where it is not for this processor.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/server_timer.so"));
/// The kernel's clock as which the processor's counter is trusted.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The timer of one server.
#[derive(Debug)]
pub(crate) struct HandlerTimes {
    ring: Ring,
    /// Files that go once the server has them.
    files: [PathBuf; 2],
}

impl HandlerTimes {
    /// Prepares the timer of the server that `command` starts, with files in `dir`.
    ///
    /// # Errors
    /// Fails, with a reason for people, where handlers cannot be timed here.
    pub(crate) fn prepare(command: &mut Command, dir: &Path) -> Result<HandlerTimes, String> {
        if LIBRARY.is_empty() {
            return Err("x11prof times handlers on x86_64 only".to_owned());
        }
        let clock = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
        if !matches!(
            clock.trim(),
            "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page"
        ) {
            return Err(format!(
                "the processor's counter does not tell the time here (the kernel uses {})",
                clock.trim()
            ));
        }
        let files = [dir.join("timer.so"), dir.join("times")];
        let [library, times] = &files;
        let ring = fs::write(library, LIBRARY)
            .and_then(|()| Ring::create(times))
            .map_err(|error| format!("{}: {error}", dir.display()))?;
        // What the user preloads into servers stays.
        let mut preload = library.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        command
            .env("LD_PRELOAD", preload)
            .env("X11PROF_TIMES", times);
        Ok(HandlerTimes { ring, files })
    }

    /// Says whether the server times its handlers, once it has answered some requests; from then on all are timed.
    ///
    /// # Errors
    /// Fails, with a reason for people, where the server does not.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        for file in &self.files {
            // The server has opened both, or never will.
            let _ = fs::remove_file(file);
        }
        match self.ring.state().map_err(|error| error.to_string())? {
            State::Timing => Ok(()),
            State::Starting => Err(
                "the server loads no library, or does not export its table of handlers".to_owned(),
            ),
            State::Learning => Err("the server has told too little of itself".to_owned()),
            State::GaveUp => Err("the server's record of a client is an unknown one".to_owned()),
        }
    }

    /// Adds the times since the last call to `times`. Returns the number of requests lost since, which had no room.
    pub(crate) fn drain(&mut self, times: &mut Vec<HandlerTime>) -> io::Result<u64> {
        self.ring.drain(times)
    }
}
