//! Measures the visible response: sends input by XTEST directly to the server, and records the last DAMAGE report
//! of the response. Shares no code with x11prof.
//!
//!     damage_watch STEP…
//!
//! A step is `key:CODE` or `button:NUMBER` (pressed and, after the observation time, released), `move:X,Y`,
//! `settle` (waits until something has been drawn and then nothing for a while), or `leave-out` (observes for some
//! seconds which areas are animated; from then on, drawing only in these areas is no response). Standard output has
//! a JSON object for each event: `event`, `sent_ns` (CLOCK_MONOTONIC), and `bursts`: the damage reports after it, a
//! list of [first, last] nanoseconds after sending, with a new burst after each pause of 8 ms.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for tests"
)]

use std::error::Error;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use x11rb::CURRENT_TIME;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::damage::{ConnectionExt as _, ReportLevel};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, Rectangle, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// How long the response to an event is observed.
const LOOK: Duration = Duration::from_millis(350);
/// A key or button is released this long after its last effect, at the latest after the observation time.
const HOLD: Duration = Duration::from_millis(120);
/// A screen without changes for this long has settled.
const SETTLED: Duration = Duration::from_millis(400);
/// Maximum wait for the screen to settle.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a started program is observed for animated areas.
const STARTED: Duration = Duration::from_secs(2);
const MOVES: Duration = Duration::from_secs(4);
/// A pause in the reports that ends a burst: half a frame of 60 Hz.
const PAUSE_NS: u64 = 8_000_000;

fn main() -> ExitCode {
    let steps: Vec<String> = std::env::args().skip(1).collect();
    match watch(&steps) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("damage_watch: {error}");
            ExitCode::FAILURE
        }
    }
}

fn watch(steps: &[String]) -> Result<(), Box<dyn Error>> {
    let (x, screen) = x11rb::connect(None)?;
    let root = x.setup().roots.get(screen).ok_or("no such screen")?.root;
    x.damage_query_version(1, 1)?.reply()?;
    let damage = x.generate_id()?;
    x.damage_create(damage, root, ReportLevel::RAW_RECTANGLES)?;
    x.get_input_focus()?.reply()?;
    let mut watcher = Watcher {
        x,
        root,
        moving: Vec::new(),
        started: false,
    };
    for step in steps {
        let (what, argument) = step.split_once(':').unwrap_or((step, ""));
        match what {
            "settle" => watcher.settle()?,
            "leave-out" => watcher.leave_out()?,
            "key" => {
                let code = argument.parse()?;
                watcher.send(step, KEY_PRESS_EVENT, code, (0, 0), HOLD)?;
                watcher.send("key release", KEY_RELEASE_EVENT, code, (0, 0), LOOK)?;
            }
            "button" => {
                let button = argument.parse()?;
                watcher.send(step, BUTTON_PRESS_EVENT, button, (0, 0), HOLD)?;
                watcher.send("button release", BUTTON_RELEASE_EVENT, button, (0, 0), LOOK)?;
            }
            "move" => {
                let (x, y) = argument.split_once(',').ok_or("move:X,Y")?;
                let to = (x.parse()?, y.parse()?);
                watcher.send(step, MOTION_NOTIFY_EVENT, 0, to, LOOK)?;
            }
            _ => return Err(format!("no such step: {step}").into()),
        }
    }
    Ok(())
}

struct Watcher {
    x: RustConnection,
    root: Window,
    /// The animated areas.
    moving: Vec<Rectangle>,
    /// The program has drawn something.
    started: bool,
}

/// True if `inner` lies within `outer`.
fn within(inner: Rectangle, outer: Rectangle) -> bool {
    let ends = |at: i16, size: u16| i32::from(at) + i32::from(size);
    inner.x >= outer.x
        && inner.y >= outer.y
        && ends(inner.x, inner.width) <= ends(outer.x, outer.width)
        && ends(inner.y, inner.height) <= ends(outer.y, outer.height)
}

impl Watcher {
    /// Sends an event and prints the damage until `look` has passed.
    fn send(
        &self,
        name: &str,
        kind: u8,
        detail: u8,
        to: (i16, i16),
        look: Duration,
    ) -> Result<(), Box<dyn Error>> {
        // Earlier damage is not part of the response.
        while self.x.poll_for_event()?.is_some() {}
        let sent = now();
        self.x
            .xtest_fake_input(kind, detail, CURRENT_TIME, self.root, to.0, to.1, 0)?;
        self.x.flush()?;
        let (look, longest) = (
            u64::try_from(look.as_nanos())?,
            sent + u64::try_from(LOOK.as_nanos())?,
        );
        let mut end = sent + look;
        let mut bursts: Vec<(u64, u64)> = Vec::new();
        while let Some(time) = self.damaged(end)? {
            end = (time + look).min(longest);
            match bursts.last_mut() {
                Some(burst) if time - sent <= burst.1 + PAUSE_NS => burst.1 = time - sent,
                _ => bursts.push((time - sent, time - sent)),
            }
        }
        let bursts: Vec<String> = bursts
            .iter()
            .map(|(first, last)| format!("[{first},{last}]"))
            .collect();
        println!(
            "{{\"event\":\"{name}\",\"sent_ns\":{sent},\"bursts\":[{}]}}",
            bursts.join(",")
        );
        Ok(())
    }

    /// Waits until the program has drawn something for the first time, and then nothing for a while.
    fn settle(&mut self) -> Result<(), Box<dyn Error>> {
        let end = now() + u64::try_from(PATIENCE.as_nanos())?;
        let mut last = if self.started {
            now()
        } else {
            self.damaged(end)?.ok_or("nothing was drawn")?
        };
        self.started = true;
        let quiet = u64::try_from(SETTLED.as_nanos())?;
        while let Some(time) = self.damaged((last + quiet).min(end))? {
            last = time;
        }
        Ok(())
    }

    /// Finds the animated areas.
    fn leave_out(&mut self) -> Result<(), Box<dyn Error>> {
        let end = now() + u64::try_from(PATIENCE.as_nanos())?;
        self.damaged(end)?.ok_or("nothing was drawn")?;
        std::thread::sleep(STARTED);
        while self.x.poll_for_event()?.is_some() {}
        std::thread::sleep(MOVES);
        while let Some(event) = self.x.poll_for_event()? {
            if let Event::DamageNotify(damage) = event
                && !self.moving.contains(&damage.area)
            {
                self.moving.push(damage.area);
            }
        }
        Ok(())
    }

    /// The time of the next damage report; `None` if there is none before `end`.
    fn damaged(&self, end: u64) -> Result<Option<u64>, Box<dyn Error>> {
        loop {
            while let Some(event) = self.x.poll_for_event()? {
                match event {
                    Event::DamageNotify(damage) => {
                        let mut moving = self.moving.iter();
                        if !moving.any(|known| within(damage.area, *known)) {
                            return Ok(Some(now()));
                        }
                    }
                    Event::Error(error) => return Err(format!("{error:?}").into()),
                    _ => {}
                }
            }
            let left = Duration::from_nanos(end.saturating_sub(now()));
            if left.is_zero() {
                return Ok(None);
            }
            let mut fds = [PollFd::from_borrowed_fd(
                self.x.stream().as_fd(),
                PollFlags::IN,
            )];
            match poll(&mut fds, Some(&Timespec::try_from(left)?)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// CLOCK_MONOTONIC, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
