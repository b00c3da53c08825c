//! Handler times of a server for each request, from a library that is preloaded into servers that x11prof starts.
//!
//! The library (server_timer.c) is compiled into this program. For a private server, x11prof writes the library to
//! the server's private folder, and removes it once the server has loaded it. For a server that the user starts with
//! `x11prof server`, the library is in a memory file. The server and its recorders share another file, a ring of
//! entries. Recorders find this file among the server's open files.

mod ring;

use std::fs;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ring::{Ring, State};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use x11prof_trace::HandlerTime;

use crate::capture::preload::preloaded;

/// The library as compiled at build time; empty if the processor is not supported.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/server_timer.so"));
/// The kernel clock source that must be in use, so that the processor's counter can be trusted.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The handler times of one server, as the library in the server writes them.
#[derive(Debug)]
pub struct HandlerTimes {
    ring: Ring,
    /// Files to remove once the server has opened them.
    files: Vec<PathBuf>,
}

/// The lowest descriptor number for files that a server inherits, above bash's numbers (below 256) and below the usual
/// limits.
const HIGH: i32 = 400;
/// The name of the ring's memory file, by which recorders find it.
const RING: &str = "x11prof-times";

/// Replaces this process by the server that `command` starts, with a library that times the server's handlers for every
/// recorder of this user. Calls `untimed` with the reason if handlers cannot be timed. Returns only if the command
/// cannot be run.
pub fn become_timed(command: &mut Command, untimed: impl FnOnce(&str)) -> io::Error {
    let kept = shared_in_memory(command);
    if let Err(why) = &kept {
        untimed(why);
    }
    command.exec()
}

/// Prepares `command` with files in memory. A program that replaces this one inherits them.
fn shared_in_memory(command: &mut Command) -> Result<[File; 2], String> {
    possible()?;
    let made = |name| {
        let file = memfd_create(name, MemfdFlags::ALLOW_SEALING)?;
        // A shell that starts the server uses low descriptor numbers for other files.
        let file = File::from(fcntl_dupfd_cloexec(&file, HIGH)?);
        fcntl_setfd(&file, FdFlags::empty())?;
        io::Result::Ok(file)
    };
    let make = || {
        let (mut library, times) = (made("x11prof-timer")?, made(RING)?);
        library.write_all(LIBRARY)?;
        Ring::empty(times.try_clone()?)?;
        // The server recognizes the memory by its seals.
        fcntl_add_seals(&times, SealFlags::SHRINK | SealFlags::GROW)?;
        Ok([library, times])
    };
    let files: [File; 2] = make().map_err(|error: io::Error| error.to_string())?;
    let [library, times] = files.each_ref().map(|file| {
        let number = file.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{number}"))
    });
    preload(command, &library, &times);
    Ok(files)
}

/// Checks that handlers can be timed on this machine. Otherwise returns the reason in text form.
fn possible() -> Result<(), String> {
    if LIBRARY.is_empty() {
        return Err("handlers can be timed on x86_64 only".to_owned());
    }
    let clock = fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
    match clock.trim() {
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" => Ok(()),
        other => Err(format!(
            "the processor's time stamp counter is not usable as a clock here (the kernel uses {other})"
        )),
    }
}

/// Makes the server that `command` starts load the library and write to `times`.
fn preload(command: &mut Command, library: &Path, times: &Path) {
    command
        .env("LD_PRELOAD", preloaded(library))
        .env("X11PROF_TIMES", times);
}

impl HandlerTimes {
    /// Prepares the handler times of the server that `command` starts, with files in `dir`.
    ///
    /// # Errors
    /// Fails with a reason in text form if handlers cannot be timed here.
    pub(crate) fn prepare(command: &mut Command, dir: &Path) -> Result<HandlerTimes, String> {
        possible()?;
        let files = vec![dir.join("timer.so"), dir.join("times")];
        let (library, times) = (&files[0], &files[1]);
        let ring = fs::write(library, LIBRARY)
            .and_then(|()| Ring::create(times))
            .map_err(|error| format!("{}: {error}", dir.display()))?;
        preload(command, library, times);
        Ok(HandlerTimes { ring, files })
    }

    /// The handler times of a running server of this user that `x11prof server` started; `None` if the server does not
    /// time its handlers.
    pub fn of_server(pid: u32) -> Option<Result<HandlerTimes, String>> {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let name = format!("/memfd:{RING} (deleted)");
        let mut rings = open.filter(|one| {
            fs::read_link(one.path()).is_ok_and(|link| link.as_os_str() == name.as_str())
        });
        let path = rings.next()?.path();
        let file = File::options().read(true).write(true).open(&path);
        let ring = file.and_then(Ring::read);
        let ring = ring.map_err(|error| format!("{}: {error}", path.display()));
        Some(ring.and_then(|ring| {
            let mut timer = HandlerTimes {
                ring,
                files: Vec::new(),
            };
            timer.begin().map(|()| timer)
        }))
    }

    /// Checks that the server times its handlers. Call this after the server has replied to some requests; from then on
    /// all requests are timed.
    ///
    /// # Errors
    /// Fails with a reason in text form if the server does not time its handlers.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        for file in &self.files {
            // The server has either opened both files by now, or will never open them.
            let _ = fs::remove_file(file);
        }
        // A calibration that was killed may have left the timer paused.
        self.pause(false).map_err(|error| error.to_string())?;
        match self.ring.state().map_err(|error| error.to_string())? {
            State::Timing => Ok(()),
            State::Paused => Err("another program has paused the timer".to_owned()),
            State::Starting => Err(
                "the server loads no library, or does not export its table of handlers".to_owned(),
            ),
            State::Learning => Err("the server has handled too few requests".to_owned()),
            State::GaveUp => Err("the server's record of a client is an unknown one".to_owned()),
        }
    }

    /// Adds the handler times since the last call to `times`. Returns the number of requests since then whose times
    /// were lost because the ring was full.
    ///
    /// # Errors
    /// Fails if the shared memory cannot be read.
    pub fn drain(&mut self, times: &mut Vec<HandlerTime>) -> io::Result<u64> {
        self.ring.drain(times)
    }

    /// Pauses the timing of handlers (`paused` is true), or resumes it.
    ///
    /// # Errors
    /// Fails if the shared memory cannot be written.
    pub fn pause(&mut self, paused: bool) -> io::Result<()> {
        self.ring.pause(paused)
    }
}
