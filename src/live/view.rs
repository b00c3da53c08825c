//! The thread of the live view. The thread receives records, checks signals and keys, and draws.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::SIGCONT;
use x11prof_analyzer::{LiveProfile, NowOptions};
use x11prof_cost_model::{Network, Substitutions};
use x11prof_proxy::{WatchEvent, received_signal};
use x11prof_trace::Timestamp;
use x11prof_views as views;

use super::captured_output::CapturedOutput;
use super::choice::{Choice, KeyAction};
use super::cost_source::CostSource;
use super::keys::Keys;
use super::screen::{Screen, Shown};
use super::source::Source;
use crate::say::{message, say_all};

/// The shortest time between two frames.
const REFRESH: Duration = Duration::from_millis(250);
/// The minimum ratio of all time to drawing time: drawing uses at most a fifth of the time.
const DRAWING: u32 = 5;
/// The longest wait for a record between two checks of signals and keys.
const PATIENCE: Duration = Duration::from_millis(50);
/// After this time without a stop, Ctrl-Z has no effect: the system ignores it if no shell waits for the program.
const UNSTOPPED: Duration = Duration::from_secs(1);

/// The state of a live view.
pub(super) struct View {
    /// The name of the watched display or trace, for the first line.
    pub(super) what: String,
    pub(super) source: Source,
    pub(super) reported: Receiver<String>,
    pub(super) over: Arc<AtomicBool>,
    pub(super) print: Arc<AtomicBool>,
    pub(super) afresh: Arc<AtomicBool>,
    pub(super) costs: CostSource,
    pub(super) options: NowOptions,
    pub(super) choice: Choice,
    /// True if there is a terminal to draw on.
    pub(super) draws: bool,
    pub(super) captured: Option<CapturedOutput>,
}

impl View {
    /// Runs until the recording ends, or until the user quits the view. Returns the recorded program's captured output.
    pub(super) fn run(mut self) -> Option<CapturedOutput> {
        let over = Arc::clone(&self.over);
        // A signal ends a recording, and its end ends the view.
        let is_trace = !self.source.is_now();
        let interrupted = || is_trace && received_signal().is_some();
        let begun = self.costs.begin(&self.source, &self.options, PATIENCE, || {
            over.load(Ordering::Relaxed) || interrupted()
        });
        let mut profile = match begun {
            Ok(Some(profile)) => profile,
            Ok(None) => return self.captured,
            Err(error) => {
                say!("no live view: {}", error.message());
                return self.captured;
            }
        };
        let mut screen = self.draws.then(Screen::open).and_then(Result::ok);
        // Without a keyboard the view only displays.
        let mut keys = screen.as_ref().and_then(|_| Keys::open().ok());
        let (mut next_draw, mut looked) = (Instant::now(), None);
        let mut report = None;
        let (mut ended, mut left) = (false, false);
        loop {
            match self.next(ended) {
                _ if interrupted() => break,
                WatchEvent::Record(record) => profile.feed(record),
                WatchEvent::Nothing if self.over.load(Ordering::Relaxed) => break,
                WatchEvent::Nothing => {}
                // At the end of a trace file, the view stays open until the user quits.
                WatchEvent::End if !self.source.is_now() && keys.is_some() && !ended => {
                    profile.end();
                    (ended, next_draw) = (true, Instant::now());
                }
                WatchEvent::End => break,
            }
            self.notices(screen.as_mut());
            self.signals(&mut profile, screen.as_mut());
            if looked.is_none_or(|looked: Instant| looked.elapsed() >= PATIENCE) {
                looked = Some(Instant::now());
                if let Some(captured) = &mut self.captured {
                    captured.bound();
                }
                let typed = keys.as_mut().map(Keys::typed).unwrap_or_default();
                match self.choice.take(&typed) {
                    KeyAction::Nothing => {}
                    KeyAction::Draw => next_draw = Instant::now(),
                    KeyAction::Suspend => self.suspend(screen.as_mut(), &mut keys),
                    // `top` has only its view, so it ends. A recording continues without its view.
                    KeyAction::Quit if self.source.is_now() && self.captured.is_none() => {
                        let _ = kill_process(getpid(), Signal::TERM);
                    }
                    KeyAction::Quit => {
                        left = self.source.is_now();
                        break;
                    }
                }
            }
            if let Some(screen) = &mut screen
                && Instant::now() >= next_draw
            {
                let began = Instant::now();
                if self.source.is_now() {
                    profile.until(now());
                }
                if !self.choice.frozen || report.is_none() {
                    report = Some(profile.now(self.choice.wanted()));
                }
                if let Some(report) = &report {
                    screen.draw(&Shown {
                        what: &self.what,
                        report,
                        choice: &self.choice,
                        missed: self.source.missed(),
                        output: self.captured.as_ref().and_then(CapturedOutput::last_line),
                        keys: keys.is_some(),
                    });
                }
                next_draw = began + REFRESH.max(began.elapsed() * DRAWING);
            }
        }
        drop(keys);
        if let Some(screen) = screen {
            screen.close();
        }
        self.notices(None);
        if left {
            say!("the recording continues. Ctrl-C stops it and the program");
        }
        self.captured
    }

    /// Stops the processes of the terminal's foreground, as Ctrl-Z does without a view. The view returns when the shell
    /// gives the terminal back.
    fn suspend(&self, screen: Option<&mut Screen>, keys: &mut Option<Keys>) {
        *keys = None;
        let continued = Arc::new(AtomicBool::new(false));
        let handler = signal_hook::flag::register(SIGCONT, Arc::clone(&continued));
        let stop = || {
            let _ = kill_current_process_group(Signal::TSTP);
            let sent = Instant::now();
            let is_over = || self.over.load(Ordering::Relaxed) || received_signal().is_some();
            while keys.is_none() && !is_over() {
                std::thread::sleep(PATIENCE);
                // Another thread may receive the signal, and this one run for a while before it stops.
                if continued.load(Ordering::Relaxed) || sent.elapsed() >= UNSTOPPED {
                    *keys = Keys::open().ok();
                }
            }
        };
        if let Some(screen) = screen {
            screen.aside(stop);
        }
        let _ = handler.map(signal_hook::low_level::unregister);
    }

    /// Returns the next record. If the recording has `ended`, sleeps for `PATIENCE` and returns `Nothing`.
    fn next(&self, ended: bool) -> WatchEvent {
        if ended {
            std::thread::sleep(PATIENCE);
            return WatchEvent::Nothing;
        }
        self.source.next(PATIENCE)
    }

    fn notices(&self, mut screen: Option<&mut Screen>) {
        for notice in self.reported.try_iter() {
            match &mut screen {
                Some(screen) => screen.notice(notice),
                None => say!("{notice}"),
            }
        }
    }

    fn signals(&self, profile: &mut LiveProfile, screen: Option<&mut Screen>) {
        let print = self.print.swap(false, Ordering::Relaxed);
        let afresh = self.afresh.swap(false, Ordering::Relaxed);
        let mut said = String::new();
        if (print || afresh) && self.source.is_now() {
            profile.until(now());
        }
        if print {
            said = views::profile::text(
                &profile.report(&self.what, &Network::NONE, true),
                &views::Page::default().whole(),
            );
        }
        if afresh {
            match self.costs.read() {
                Ok(parameters) => {
                    profile.afresh(&parameters, &Substitutions::default());
                    said.push_str(&message("the counts start afresh"));
                }
                Err(error) => said.push_str(&message(error.message())),
            }
        }
        match screen {
            _ if said.is_empty() => {}
            Some(screen) => screen.aside(|| say_all(&said)),
            None => say_all(&said),
        }
    }
}

/// Returns the present time on the clock of a recording in this process.
fn now() -> Timestamp {
    let time = clock_gettime(ClockId::Monotonic);
    let nanos = time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_nsec.max(0) as u64;
    Timestamp::from_nanos(nanos)
}
