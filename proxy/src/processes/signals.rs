//! The signals that end a recording, each with its origin.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{self, Handle, SignalsInfo};
use signal_hook::low_level::emulate_default_handler;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// True once a recording or a calibration handles the signals.
static ARE_HANDLED: AtomicBool = AtomicBool::new(false);

/// The signals that ask for the end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Notes that the caller handles the signals that ask for the end from now on. Returns those signals that the process
/// does not ignore, as it ignores SIGHUP under nohup.
pub fn note_handled_signals() -> Vec<i32> {
    ARE_HANDLED.store(true, Ordering::Release);
    let ignored = ignored();
    let signals = ENDING.into_iter();
    signals.filter(|one| !ignored.contains(one)).collect()
}

/// Calls `clean_up` before a signal ends this process that no recording handles yet.
pub(crate) fn before_default(clean_up: impl Fn() + Send + 'static) -> io::Result<()> {
    let ignored = ignored();
    let numbers = ENDING.into_iter();
    let mut signals = iterator::Signals::new(numbers.filter(|one| !ignored.contains(one)))?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            if !ARE_HANDLED.load(Ordering::Acquire) {
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
    /// If true, the kernel sent the signal, such as for Ctrl-C in a terminal. All processes in the terminal's foreground
    /// received it, among them the recorded command. If false, a process sent it (kill(2)).
    pub(crate) from_kernel: bool,
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
                    let from_kernel = origin.process.is_none();
                    let number = origin.signal;
                    // Nothing receives signals after the end of the recording.
                    let _ = send.send(Received {
                        number,
                        from_kernel,
                    });
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
