//! The signals that end a recording, each with its origin.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{self, Handle, SignalsInfo};
use signal_hook::low_level::emulate_default_handler;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::process_info::leads_session;

/// The last signal that asked for the end, or 0. Set once a recording or a calibration handles the signals.
static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// The signals that ask for the end.
pub(crate) const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Notes that the caller handles the signals that ask for the end from now on: they no longer end the process. Returns
/// the numbers of these signals, without those that the process ignores, as it ignores SIGHUP under nohup.
pub fn note_handled_signals() -> Vec<i32> {
    let signals = not_ignored();
    RECEIVED.get_or_init(|| {
        let received = Arc::default();
        for number in &signals {
            // If this fails, the signal ends the process.
            let _ = flag::register_usize(*number, Arc::clone(&received), *number as usize);
        }
        received
    });
    signals
}

/// Returns the number of the last signal that asked for the end since [`note_handled_signals`]; `None` if none came.
pub fn received_signal() -> Option<i32> {
    let number = RECEIVED.get()?.load(Ordering::Acquire);
    i32::try_from(number).ok().filter(|number| *number != 0)
}

/// Calls `clean_up` before one of the signals `wanted` ends this process that no recording handles yet. Fails if no thread
/// can be started.
pub fn before_default(wanted: &[i32], clean_up: impl Fn() + Send + 'static) -> io::Result<()> {
    let handled = not_ignored().into_iter();
    let mut signals = iterator::Signals::new(handled.filter(|one| wanted.contains(one)))?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            if RECEIVED.get().is_none() {
                clean_up();
                let _ = emulate_default_handler(signal);
            }
        }
    })?;
    Ok(())
}

/// A signal that the recorder received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) number: i32,
    /// If true, the kernel sent the signal to all processes in the terminal's foreground, among them the recorded
    /// command, as for Ctrl-C. If false, only the recorder received it.
    pub(crate) by_all: bool,
}

/// Receives SIGINT, SIGTERM, SIGHUP and SIGQUIT until it is dropped.
#[derive(Debug)]
pub(crate) struct Signals {
    arriving: UnboundedReceiver<Received>,
    handle: Handle,
    /// The signals that the process ignored before, as under nohup.
    pub(crate) ignored: Vec<i32>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Signals> {
        let ignored = ignored();
        let mut signals = SignalsInfo::<WithOrigin>::new(ENDING)?;
        note_handled_signals();
        let handle = signals.handle();
        let (send, arriving) = unbounded_channel();
        // The thread ends when the handle is closed.
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for origin in signals.forever() {
                    let number = origin.signal;
                    // When a terminal closes, the kernel sends SIGHUP to the session's leader only.
                    let for_leader = number == SIGHUP && leads_session(std::process::id());
                    let by_all = origin.process.is_none() && !for_leader;
                    // Nothing receives signals after the end of the recording.
                    let _ = send.send(Received { number, by_all });
                }
            })?;
        Ok(Signals {
            arriving,
            handle,
            ignored,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Option<Received> {
        self.arriving.recv().await
    }
}

/// The signals among [`ENDING`] that the process does not ignore.
pub(crate) fn not_ignored() -> Vec<i32> {
    let ignored = ignored();
    let signals = ENDING.into_iter();
    signals.filter(|one| !ignored.contains(one)).collect()
}

/// True unless the process ignores SIGINT.
pub fn takes_interrupts() -> bool {
    !ignored().contains(&SIGINT)
}

/// The signals among [`ENDING`] that the process ignores; none without /proc.
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let is_ignored = |number: &i32| mask.unwrap_or(0) >> (number - 1) & 1 == 1;
    ENDING.into_iter().filter(is_ignored).collect()
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}
