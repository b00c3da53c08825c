//! The benchmarks: the stimulus of each, and the handler that takes the time.

use std::collections::VecDeque;
use std::error::Error;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{EventMask, Window};

use crate::screen::{FRAME, SECOND, Screen};
use crate::truth::{Handling, Truth, now};
use crate::work::{Work, calibrate, spend};

/// The program stays idle for this long after its last action, so that the action's episode ends.
const STAY: Duration = Duration::from_millis(200);
/// The time between the end of a timer's handling and its next firing.
const PERIOD: Duration = Duration::from_millis(150);

/// LiLa's Table 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Benchmark {
    Keyboard,
    Motion,
    Button,
    Painting,
    Timer,
    Menu,
    ComboBox,
    TwoFrames,
    NonModalDialog,
    ModalDialog,
    BuiltInDialog,
}

use Benchmark as B;

/// The benchmarks by name.
const NAMES: [(&str, Benchmark); 11] = [
    ("keyboard", B::Keyboard),
    ("motion", B::Motion),
    ("button", B::Button),
    ("painting", B::Painting),
    ("timer", B::Timer),
    ("menu", B::Menu),
    ("combo-box", B::ComboBox),
    ("two-frames", B::TwoFrames),
    ("non-modal-dialog", B::NonModalDialog),
    ("modal-dialog", B::ModalDialog),
    ("built-in-dialog", B::BuiltInDialog),
];

impl Benchmark {
    /// The benchmark of that name.
    pub(crate) fn named(name: &str) -> Result<Benchmark, String> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, benchmark)| *benchmark).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "no benchmark is called {name}; there are {}",
                names.join(", ")
            )
        })
    }

    fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, benchmark)| *benchmark == self);
        found.map_or("", |(name, _)| name)
    }

    /// The event mask of its main window.
    fn wants(self) -> EventMask {
        let more = match self {
            B::Keyboard => EventMask::KEY_PRESS,
            B::Motion => EventMask::POINTER_MOTION,
            B::Painting | B::Timer => EventMask::NO_EVENT,
            _ => EventMask::BUTTON_PRESS,
        };
        more | EventMask::EXPOSURE
    }
}

/// A running benchmark.
pub(crate) struct Bench {
    pub(crate) screen: Screen,
    pub(crate) frame: Window,
    benchmark: Benchmark,
    work: Work,
    times: VecDeque<Duration>,
    truth: Truth,
    fill_ns: u64,
}

impl Bench {
    /// A benchmark with its window painted and the server's speed calibrated.
    pub(crate) fn new(
        benchmark: Benchmark,
        work: Work,
        truth: &str,
        times: Vec<Duration>,
    ) -> Result<Bench, Box<dyn Error>> {
        let screen = Screen::connect()?;
        let frame = screen.window(None, FRAME, false, benchmark.wants())?;
        while !matches!(screen.next(None)?, Some(Event::Expose(expose)) if expose.count == 0) {}
        screen.item(frame, 1)?;
        let fill_ns = calibrate(&screen, frame)?;
        let truth = Truth::create(truth, benchmark.name())?;
        Ok(Bench {
            screen,
            frame,
            benchmark,
            work,
            times: times.into(),
            truth,
            fill_ns,
        })
    }

    /// Handles input until all times are used.
    pub(crate) fn run(mut self) -> Result<(), Box<dyn Error>> {
        let second = match self.benchmark {
            B::TwoFrames => Some(self.second_frame()?),
            _ => None,
        };
        self.screen.read_back(self.frame)?;
        println!("ready 0x{:x}", self.frame);
        while !self.is_done() {
            let patience = (self.benchmark == B::Timer).then_some(PERIOD);
            let event = self.screen.next(patience)?;
            let begin = now();
            self.handle(event, begin, second)?;
        }
        while self.screen.next(Some(STAY))?.is_some() {}
        Ok(self.truth.write()?)
    }

    /// True if all times have been used.
    pub(crate) fn is_done(&self) -> bool {
        self.times.is_empty()
    }

    fn second_frame(&self) -> Result<Window, Box<dyn Error>> {
        let wants = EventMask::EXPOSURE | EventMask::BUTTON_PRESS;
        let window = self.screen.window(None, SECOND, false, wants)?;
        while !matches!(self.screen.next(None)?, Some(Event::Expose(_))) {}
        self.screen.item(window, 1)?;
        Ok(window)
    }

    fn handle(
        &mut self,
        event: Option<Event>,
        begin: u64,
        second: Option<Window>,
    ) -> Result<(), Box<dyn Error>> {
        let frame = self.frame;
        match (self.benchmark, event) {
            (B::Keyboard, Some(Event::KeyPress(_))) => self.works("key", begin, &[frame]),
            (B::Motion, Some(Event::MotionNotify(_))) => self.works("motion", begin, &[frame]),
            (B::Button, Some(Event::ButtonPress(_))) => self.works("button", begin, &[frame]),
            (B::Painting, Some(Event::Expose(expose))) if expose.count == 0 => {
                self.works("paint", begin, &[frame])
            }
            (B::Timer, None) => self.works("timer", begin, &[frame]),
            (B::TwoFrames, Some(Event::ButtonPress(press))) => {
                let other = second.unwrap_or(frame);
                let both = if press.event == frame {
                    [frame, other]
                } else {
                    [other, frame]
                };
                self.works("button", begin, &both)
            }
            (B::Menu, Some(Event::ButtonPress(_))) => self.menu(begin),
            (B::ComboBox, Some(Event::ButtonPress(_))) => self.combo_box(begin),
            (B::NonModalDialog, Some(Event::ButtonPress(press))) => {
                self.non_modal(begin, press.event)
            }
            (B::ModalDialog, Some(Event::ButtonPress(_))) => self.modal(begin),
            (B::BuiltInDialog, Some(Event::ButtonPress(_))) => self.built_in(begin),
            (_, Some(Event::Expose(expose))) => self.paints(begin, expose.window),
            _ => Ok(()),
        }
    }

    /// A handler that takes the next time and then updates `windows`.
    pub(crate) fn works(
        &mut self,
        action: &'static str,
        begin: u64,
        windows: &[Window],
    ) -> Result<(), Box<dyn Error>> {
        let mut handling = Handling::of(action, begin);
        self.spends(&mut handling)?;
        for window in windows {
            self.screen.item(*window, 2)?;
        }
        self.ends(&handling)
    }

    /// A short handler, which only draws.
    pub(crate) fn paints(&mut self, begin: u64, window: Window) -> Result<(), Box<dyn Error>> {
        let handling = Handling::of("expose", begin);
        self.screen.item(window, 0)?;
        self.screen.item(window, 1)?;
        self.ends(&handling)
    }

    /// Works for the next of the times.
    pub(crate) fn spends(&mut self, handling: &mut Handling) -> Result<(), Box<dyn Error>> {
        let Some(time) = self.times.pop_front() else {
            return Ok(());
        };
        handling.asked = Some(time);
        let (screen, frame) = (&self.screen, self.frame);
        spend(self.work, time, handling, screen, frame, self.fill_ns)
    }

    /// Flushes the connection and records the end of the handling.
    pub(crate) fn ends(&mut self, handling: &Handling) -> Result<(), Box<dyn Error>> {
        self.screen.x.flush()?;
        self.truth.ended(handling);
        Ok(())
    }
}
