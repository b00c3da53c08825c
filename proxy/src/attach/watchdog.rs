//! A separate process that disconnects a recorder which no longer reads.
//!
//! X.Org's server keeps all reports in memory that the recorder has not read, and copies that memory at each write. A
//! recorder that was stopped for three seconds left a server of 1.8 GB. For minutes, its clients waited 0.4 to 1.7 s
//! for a reply. A stopped process cannot close its connection. The watchdog shares the connection's socket and shuts
//! the socket down; the server then frees the memory at once.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::net::{Shutdown, shutdown};
use x11prof_trace::Timestamp;

use crate::clock;
use crate::sockets::socket::Socket;

/// The first argument that makes the program run as the watchdog.
pub const WATCHDOG: &str = "attach-watchdog";
/// The maximum time for which bytes may wait while the recorder is stopped.
const SILENCE: Duration = Duration::from_millis(250);
/// The maximum time for which bytes may wait while the recorder is not stopped, but other processes use the
/// processors. Until then only the growth of the server's memory counts.
const STARVED: Duration = Duration::from_secs(1);
/// The maximum growth of the server's memory in bytes while data waits for a running recorder, and for a stopped one.
/// The server grows by a megabyte or more per millisecond until the watchdog checks, and does not free memory that it
/// has allocated.
const GROWTH: u64 = 16 << 20;
const GROWTH_STOPPED: u64 = 4 << 20;
/// The interval between two checks, and the shorter interval while bytes wait for the recorder.
const BEAT: Duration = Duration::from_millis(5);
const BEAT_WAITING: Duration = Duration::from_millis(2);
/// A recorder that has not read for this long counts as stopped and not as slow.
const SLOW: Duration = Duration::from_millis(100);
/// The shortest interval between two heartbeats of the recorder.
const PULSE: Duration = Duration::from_millis(20);

/// Codes of messages to the recorder. A message is a code, and the time since which messages may be missing, in eight
/// bytes.
const SILENT: u8 = 0;
const GROWN: u8 = 1;

/// The reason why the watchdog disconnected a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The recorder stopped reading.
    Silent,
    /// The server's memory grew too much.
    Grown,
}

impl Reason {
    /// The reason why the recorder was disconnected, as text.
    pub(super) fn text(self) -> &'static str {
        match self {
            Reason::Silent => "the recorder was stopped, or had no processor",
            Reason::Grown => "the recorder was slower than the server",
        }
    }
}

/// The running watchdog of one connection.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    line: UnixStream,
    verdict: Option<(Timestamp, Reason)>,
}

/// The recorder's connection to its watchdog.
#[derive(Debug)]
pub(super) struct Heartbeat {
    line: UnixStream,
    last: Timestamp,
}

impl Heartbeat {
    /// Reports to the watchdog that the recorder has read at `now`.
    pub(super) fn beat(&mut self, now: Timestamp) {
        if now.since(self.last) >= PULSE {
            self.last = now;
            // A full socket already holds heartbeats. If the watchdog is gone, no heartbeat is needed.
            let _ = self.line.write(&[0]);
        }
    }
}

impl Watchdog {
    /// Starts a watchdog for `socket`, the recorder's connection to the server. `server` is the server's process id, if
    /// known.
    pub(super) fn start(
        socket: &Socket,
        server: Option<u32>,
    ) -> std::io::Result<(Watchdog, Heartbeat)> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let line = ours.try_clone()?;
        let socket = socket.as_fd().try_clone_to_owned()?;
        let child = Command::new("/proc/self/exe")
            .arg(WATCHDOG)
            .args(server.map(|pid| pid.to_string()))
            // The terminal sends the signals of Ctrl-Z and Ctrl-C to a process group, so the watchdog gets a separate
            // group.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::from(socket))
            .stderr(Stdio::null())
            .spawn()?;
        let last = Timestamp::from_nanos(0);
        Ok((
            Watchdog {
                child,
                line: ours,
                verdict: None,
            },
            Heartbeat { line, last },
        ))
    }

    /// The verdict after the watchdog has disconnected the recorder: the time since which messages may be missing,
    /// and the reason. `None` while the recorder is connected.
    pub(super) fn verdict(&mut self) -> Option<(Timestamp, Reason)> {
        let mut message = [0; 9];
        while self.line.read_exact(&mut message).is_ok() {
            let [kind, since @ ..] = message;
            let reason = match kind {
                SILENT => Reason::Silent,
                _ => Reason::Grown,
            };
            let since = Timestamp::from_nanos(u64::from_ne_bytes(since));
            self.verdict = Some((since, reason));
        }
        self.verdict
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The watchdog may be stopped, so that it would not find its socket closed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs as the watchdog. Standard input is the socket to the recorder, standard output the recorder's connection to the
/// server. Returns when the recorder ends or was disconnected. `server` is the server's process id, if known.
pub fn attach_watchdog(server: Option<u32>) {
    let (line, socket) = (std::io::stdin(), std::io::stdout());
    let Ok(mut line) = line.as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return;
    };
    come_first();
    // A recorder that has not read yet counts as having read just now.
    let mut look = WatchState {
        last_read: clock::now(),
        ..WatchState::default()
    };
    let mut pulses = [0; 64];
    let mut beat = BEAT;
    loop {
        std::thread::sleep(beat);
        if line.set_nonblocking(true).is_err() {
            return;
        }
        let has_read = match line.read(&mut pulses) {
            Ok(0) => return,
            Ok(_) => true,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => false,
            Err(_) => return,
        };
        let Ok(waiting) = ioctl_fionread(&socket) else {
            return;
        };
        beat = if waiting > 0 { BEAT_WAITING } else { BEAT };
        let held = server.and_then(resident);
        look.stopped = is_stopped();
        if let Some(reason) = look.at(clock::now(), has_read, waiting, held) {
            let kind = match reason {
                Reason::Silent => SILENT,
                Reason::Grown => GROWN,
            };
            // The verdict is written before the shutdown, so that the recorder finds it when the connection ends.
            tell(&mut line, kind, look.last_read.as_nanos());
            let _ = shutdown(&socket, Shutdown::Both);
            return;
        }
    }
}

/// Raises the watchdog's priority if the user may do so, because the watchdog must also run if no processor is free.
/// The watchdog sleeps nearly always.
fn come_first() {
    #[expect(unsafe_code, reason = "rustix has no scheduling policies")]
    // SAFETY: all fields are integers (musl has more than glibc), and the call only reads them.
    let failed = unsafe {
        let mut first: libc::sched_param = std::mem::zeroed();
        first.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_RR, &raw const first)
    } != 0;
    if failed {
        let _ = rustix::process::nice(-20);
    }
}

/// Sends a message to the recorder. The message is dropped if the recorder has ended or does not read.
fn tell(line: &mut UnixStream, kind: u8, number: u64) {
    let [a, b, c, d, e, f, g, h] = number.to_ne_bytes();
    let _ = line.write(&[kind, a, b, c, d, e, f, g, h]);
}

/// True if the recorder, this process's parent, is stopped by a signal or a debugger (proc(5), `stat`).
fn is_stopped() -> bool {
    let recorder = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let stat = std::fs::read_to_string(format!("/proc/{recorder}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with(['T', 't']))
}

/// The bytes of a process that are in memory (proc(5), `statm`).
fn resident(pid: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// The watchdog's state between two checks.
#[derive(Debug, Default)]
struct WatchState {
    /// True while the recorder is stopped.
    stopped: bool,
    last_read: Timestamp,
    /// The server's memory in bytes when no data waited for the recorder.
    base: Option<u64>,
}

impl WatchState {
    /// Updates the state. `has_read` is true if the recorder has read since the last check, `waiting` is the number of
    /// bytes that wait for the recorder, `held` is the server's memory in bytes. Returns the reason to disconnect the
    /// recorder, if there is one.
    fn at(
        &mut self,
        now: Timestamp,
        has_read: bool,
        waiting: u64,
        held: Option<u64>,
    ) -> Option<Reason> {
        if has_read || waiting == 0 {
            self.last_read = now;
        }
        if waiting == 0 {
            self.base = held;
            return None;
        }
        self.base = self.base.or(held);
        let grown = held.zip(self.base);
        let grown = grown.map_or(0, |(held, base)| held.saturating_sub(base));
        let silent = now.since(self.last_read);
        if silent > if self.stopped { SILENCE } else { STARVED } {
            return Some(Reason::Silent);
        }
        // The server grows within milliseconds, so growth alone does not show that the recorder is slow.
        let reason = match self.stopped || silent > SLOW {
            true => Reason::Silent,
            false => Reason::Grown,
        };
        let most = if self.stopped { GROWTH_STOPPED } else { GROWTH };
        (grown > most).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::Timestamp;

    use super::{GROWTH, Reason, WatchState};

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn watched() -> WatchState {
        WatchState {
            stopped: true,
            ..WatchState::default()
        }
    }

    #[test]
    fn recorder_that_stops_reading_is_disconnected() {
        let mut look = watched();
        assert_eq!(look.at(at(1000), false, 0, None), None);
        assert_eq!(look.at(at(1250), false, 9, None), None);
        assert_eq!(look.at(at(1251), false, 9, None), Some(Reason::Silent));
        assert_eq!(look.last_read, at(1000));
    }

    #[test]
    fn recorder_that_reads_or_has_no_data_stays_connected() {
        let mut look = watched();
        for millis in (0..5000).step_by(200) {
            assert_eq!(look.at(at(millis), true, 9, Some(1)), None);
        }
        for millis in (5000..9000).step_by(500) {
            assert_eq!(look.at(at(millis), false, 0, Some(1)), None);
        }
    }

    #[test]
    fn server_growth_with_unread_bytes_disconnects_recorder() {
        let mut look = watched();
        assert_eq!(look.at(at(0), true, 0, Some(1 << 20)), None);
        // A client creates pixmaps while no bytes wait for the recorder.
        let base = 1 << 30;
        assert_eq!(look.at(at(25), true, 0, Some(base)), None);
        look.stopped = false;
        assert_eq!(look.at(at(50), true, 9, Some(base + GROWTH)), None);
        assert_eq!(
            look.at(at(75), true, 9, Some(base + GROWTH + 1)),
            Some(Reason::Grown)
        );
    }
}
