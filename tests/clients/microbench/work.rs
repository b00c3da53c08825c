//! The work of a handler.

use std::error::Error;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use crate::screen::Screen;
use crate::truth::{Handling, now, processor};

/// A way to spend a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Work {
    /// Sleeps.
    Sleep,
    /// Takes that much processor time.
    Compute,
    /// Makes the server draw for that long, and does not wait for it.
    Draw,
    /// Makes the server draw for that long, and waits for a pixel of it.
    ReadBack,
    /// Asks and waits for the answer, again and again.
    RoundTrips,
    /// A third each of sleeping, computing and round trips.
    Mixed,
}

impl Work {
    /// The work of that name.
    pub(crate) fn named(name: &str) -> Result<Work, String> {
        Ok(match name {
            "sleep" => Work::Sleep,
            "compute" => Work::Compute,
            "draw" => Work::Draw,
            "read-back" => Work::ReadBack,
            "round-trips" => Work::RoundTrips,
            "mixed" => Work::Mixed,
            _ => return Err(format!("no work is called {name}")),
        })
    }
}

/// Nanoseconds that the server takes for one request of `Screen::fill`, measured before anything
/// else: the least of a few, for the first ones find the server asleep.
pub(crate) fn calibrate(screen: &Screen, window: Window) -> Result<u64, Box<dyn Error>> {
    const REQUESTS: u64 = 50;
    let mut least = u64::MAX;
    for _ in 0..5 {
        let begin = now();
        screen.fill(window, REQUESTS)?;
        screen.read_back(window)?;
        least = least.min((now() - begin) / REQUESTS);
    }
    Ok(least.max(1))
}

/// Spends `time` on `work`, and writes into `handling` what it was spent on.
pub(crate) fn spend(
    work: Work,
    time: Duration,
    handling: &mut Handling,
    screen: &Screen,
    window: Window,
    fill_ns: u64,
) -> Result<(), Box<dyn Error>> {
    let nanoseconds = u64::try_from(time.as_nanos())?;
    match work {
        Work::Sleep => {
            let begin = now();
            std::thread::sleep(time);
            handling.slept += now() - begin;
        }
        Work::Compute => {
            let begin = processor();
            while processor() - begin < nanoseconds {
                std::hint::spin_loop();
            }
        }
        Work::Draw => screen.fill(window, nanoseconds / fill_ns)?,
        Work::ReadBack => {
            // A server that cannot take more lets the writer wait: that is a wait for it as well.
            waiting(handling, || {
                screen.fill(window, nanoseconds / fill_ns)?;
                screen.read_back(window)
            })?;
        }
        Work::RoundTrips => {
            let begin = now();
            while now() - begin < nanoseconds {
                let cookie = screen.x.get_input_focus()?;
                // Who takes the processor from it while it sends, it does not wait for.
                screen.x.flush()?;
                waiting(handling, || {
                    cookie.reply()?;
                    Ok(())
                })?;
            }
        }
        Work::Mixed => {
            for work in [Work::Sleep, Work::Compute, Work::RoundTrips] {
                spend(work, time / 3, handling, screen, window, fill_ns)?;
            }
        }
    }
    Ok(())
}

/// Counts what `ask` takes off the processor as waiting for the server.
fn waiting(
    handling: &mut Handling,
    ask: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (begin, computed) = (now(), processor());
    ask()?;
    // Sending and receiving take processor time, which is no waiting.
    let computed = processor() - computed;
    handling.waited += (now() - begin).saturating_sub(computed);
    handling.round_trips += 1;
    Ok(())
}
