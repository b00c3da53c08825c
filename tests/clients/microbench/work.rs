//! The work of a handler.

use std::error::Error;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use crate::screen::Screen;
use crate::truth::{Handling, now, processor};

/// A kind of work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Work {
    /// Sleeps.
    Sleep,
    /// Uses CPU for the time.
    Compute,
    /// Makes the server draw for the time, without waiting for it.
    Draw,
    /// Makes the server draw for the time, and waits for a pixel of the drawing.
    ReadBack,
    /// Makes round trips repeatedly.
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

/// Nanoseconds that the server takes for one request of `Screen::fill`, measured at the start. The minimum of
/// several runs, because the server is asleep at the first ones.
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

/// Works for `time`, and records in `handling` how the time was spent.
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
            // If the server's socket is full, the write blocks; that is a wait for the server as well.
            waiting(handling, || {
                screen.fill(window, nanoseconds / fill_ns)?;
                screen.read_back(window)
            })?;
        }
        Work::RoundTrips => {
            let begin = now();
            while now() - begin < nanoseconds {
                let cookie = screen.x.get_input_focus()?;
                // Preemption while the client sends is no wait for the server.
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

/// Counts the off-CPU time of `ask` as waiting for the server.
fn waiting(
    handling: &mut Handling,
    ask: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (begin, computed) = (now(), processor());
    ask()?;
    // Sending and receiving use CPU time, which is no waiting.
    let computed = processor() - computed;
    handling.waited += (now() - begin).saturating_sub(computed);
    handling.round_trips += 1;
    Ok(())
}
