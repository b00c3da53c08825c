//! Runs x11prof and real clients. Every wait is for a condition and has a time limit.

mod awake;
pub(crate) mod browser;
mod disturbance;
pub(crate) mod examples;
mod place;
mod programs;
pub(crate) mod raw;
mod recording;
mod server;
mod shared_files;
pub(crate) mod slow_relay;
pub(crate) mod terminal;
mod turns;

use std::time::{Duration, Instant};

pub(crate) use disturbance::{Disturbance, kept_waiting_ms};
pub(crate) use place::{Place, keep};
use programs::LIMIT;
pub(crate) use programs::{Finished, needs, wait};
pub(crate) use recording::Recording;
pub(crate) use server::{Server, is_key_down};
pub(crate) use shared_files::{xterm_trace, xvfb_parameters};
pub(crate) use turns::{quiet, side_by_side};

/// Waits until `happened` returns `Some`, within the time limit.
pub(crate) fn until<T>(what: &str, mut happened: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = happened() {
            return value;
        }
        assert!(
            start.elapsed() < LIMIT,
            "{what} did not happen within {LIMIT:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
