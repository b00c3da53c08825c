//! Performs one action: finds the window, checks the focus, sends the input, and waits until the program is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use x11prof_protocol::{Chord, keysym_name, keysym_of};

use super::config::DriveConfig;
use super::display::{ClientWindow, Display};
use super::processes::Program;
use super::subject::Subject;
use crate::DriveError;
use crate::action::{Action, Place, WindowName};

/// Time limit for the program's first window.
const FIRST_WINDOW: Duration = Duration::from_secs(60);
/// Time limit for a window, and for its keyboard focus, after the program has shown its first window.
const WINDOW: Duration = Duration::from_secs(15);
/// The program is idle if none of its threads has run for this long: two frames at 60 Hz. Later requests do not
/// belong to the response to the input (docs/CONCEPTS.md).
const REST: Duration = Duration::from_millis(34);
/// Maximum wait for the program to become idle. Then the next action follows anyway.
const RESTLESS: Duration = Duration::from_secs(5);
/// The maximum time for which a key or button is pressed. A longer press of a key may start its auto-repeat.
const HELD: Duration = Duration::from_millis(80);
/// The interval between two reads of the program's state (windows, focus, CPU time).
const BEAT: Duration = Duration::from_millis(3);
/// Codes of the core events for presses and releases (X11 protocol, appendix B).
const KEY: [u8; 2] = [2, 3];
const BUTTON: [u8; 2] = [4, 5];

/// The reason why a session stops before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The display cannot be used any more, for this reason.
    Display(DriveError),
    /// Another reason, as text.
    Because(String),
}

impl From<DriveError> for Stop {
    fn from(error: DriveError) -> Stop {
        Stop::Display(error)
    }
}

/// Finds the window with this class and title. If no title matches, returns the topmost window with this class;
/// without a name, the topmost window. For keys, a popup is chosen only if there is no other window.
fn matching<'a>(
    windows: &'a [ClientWindow],
    name: Option<&WindowName>,
    for_keys: bool,
) -> Option<&'a ClientWindow> {
    let (popups, others) = windows
        .iter()
        .rev()
        .partition::<Vec<_>, _>(|one| for_keys && one.is_popup);
    let all = || others.iter().chain(&popups).copied();
    let Some(name) = name else {
        return all().next();
    };
    let of_class = || all().filter(|one| one.name.class == name.class);
    let exact = of_class().find(|one| name.title.is_some() && one.name.title == name.title);
    exact.or_else(|| of_class().next())
}

/// The positions on the screen at which an action takes place.
#[derive(Debug, Default)]
pub(super) struct Target {
    places: Vec<Place>,
}

/// Performs the actions of a session on the display.
pub(super) struct InputInjector {
    display: Display,
    program: Program,
    /// The window for all actions; `None` if the session's actions select windows.
    fixed: Option<u32>,
    /// The session's last window selection. `None` if no window has been selected yet; the topmost window is used.
    /// `Some(None)` for the whole screen.
    window: Option<Option<WindowName>>,
    has_begun: bool,
    stop: Arc<AtomicBool>,
}

impl InputInjector {
    pub(super) fn new(config: &DriveConfig) -> Result<InputInjector, DriveError> {
        let (subject, stop) = (&config.subject, Arc::clone(&config.stop));
        // This connection must be the process's first, because the recorder excludes the first connection.
        let mut display = Display::open(Arc::clone(&stop))?;
        let fixed = match subject {
            Subject::Command(_) => None,
            Subject::Window(window) => Some(display.client_window(*window)?),
            Subject::Clicked => Some(display.clicked(&stop)?),
        };
        let program = match (subject, fixed) {
            (Subject::Command(command), _) => {
                display.leave_out_other_programs(config.clients)?;
                Program::start(command)?
            }
            (_, window) => {
                let window = window.unwrap_or_default();
                let pid = display.process(window);
                Program::There(pid.ok_or_else(|| {
                    DriveError::Display(format!("has window {window:#x} from another machine"))
                })?)
            }
        };
        Ok(InputInjector {
            program,
            display,
            fixed,
            window: None,
            has_begun: false,
            stop,
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits until the time `until`, or until the session must stop.
    pub(super) fn rest(&self, until: Instant) {
        while Instant::now() < until && !self.is_stopped() {
            std::thread::sleep(BEAT.min(until.saturating_duration_since(Instant::now())));
        }
    }

    pub(super) fn ended(&mut self) -> Option<String> {
        self.program.ended()
    }

    /// Waits until the window of the action is visible and can receive it. Returns the positions of the action on the
    /// screen.
    pub(super) fn prepare(&mut self, action: &Action) -> Result<Target, Stop> {
        if self.is_stopped() {
            return Err(Stop::Because("interrupted".to_owned()));
        }
        if let Action::Window(name) = action {
            self.window = Some(name.clone());
            return Ok(Target::default());
        }
        if !action.is_input() {
            return Ok(Target::default());
        }
        let for_keys = matches!(action, Action::Type(_) | Action::Key(_));
        let window = self.find(for_keys)?;
        if !self.has_begun {
            self.has_begun = true;
            self.until_quiet(Instant::now() + RESTLESS)?;
        }
        if let Some(dialog) = self.display.modal_dialog(window)? {
            return Err(Stop::Because(format!("the dialog {dialog} is open")));
        }
        // Positions are relative to the window, or to the screen.
        let of_places = Some(window).filter(|_| self.window != Some(None));
        let at: &[Place] = match action {
            Action::Type(_) | Action::Key(_) => {
                self.keys_of(action)?;
                self.focus(window)?;
                &[]
            }
            Action::Click { at, .. } | Action::Scroll { at, .. } => at.as_slice(),
            Action::Drag { path, .. } => path,
            Action::Move(at) => std::slice::from_ref(at),
            Action::Window(_) | Action::Wait(_) => &[],
        };
        let mut places = Vec::with_capacity(at.len());
        for place in at {
            if self.is_stopped() {
                return Err(Stop::Because("interrupted".to_owned()));
            }
            let on_screen = self.display.on_screen(of_places, *place)?;
            places.push(on_screen.ok_or_else(|| Stop::Because("its window has gone".to_owned()))?);
        }
        if places.is_empty() && matches!(action, Action::Click { .. } | Action::Scroll { .. }) {
            places.push(self.display.pointer()?);
        }
        if let Some(first) = places.first()
            && let Some(other) = self.display.covered(window, *first, of_places.is_none())?
        {
            return Err(Stop::Because(format!("{other} is there")));
        }
        Ok(Target { places })
    }

    /// The window for the next actions, once it is visible; the topmost one if the session names none.
    fn find(&mut self, for_keys: bool) -> Result<u32, Stop> {
        if let Some(fixed) = self.fixed {
            // Another program gets the ids of a client that has ended.
            return match self.program.ended() {
                Some(why) => Err(Stop::Because(why)),
                None if self.program.is(self.display.process(fixed)) => Ok(fixed),
                None => Err(Stop::Because("its window has gone".to_owned())),
            };
        }
        let begun = Instant::now();
        // The shorter time limit applies from the program's first window, even if it is not the window that the action needs.
        let mut shown = self.has_begun.then_some(begun);
        loop {
            let windows = self.display.windows()?;
            if !windows.is_empty() {
                shown.get_or_insert_with(Instant::now);
            }
            let name = self.window.as_ref().and_then(Option::as_ref);
            if let Some(found) = matching(&windows, name, for_keys) {
                return Ok(found.id);
            }
            if let Some(why) = self.program.ended() {
                return Err(Stop::Because(why));
            }
            if self.is_stopped() {
                return Err(Stop::Because("interrupted".to_owned()));
            }
            let (since, patience) = shown.map_or((begun, FIRST_WINDOW), |shown| (shown, WINDOW));
            if since.elapsed() > patience {
                let seconds = patience.as_secs();
                let name = match &self.window {
                    Some(Some(name)) => format!("a window {name}"),
                    _ => "a window".to_owned(),
                };
                return Err(Stop::Because(format!("waited {seconds} s for {name}")));
            }
            std::thread::sleep(BEAT);
        }
    }

    /// Gives the window the focus. Before a window's first key, waits until the program is idle.
    fn focus(&mut self, window: u32) -> Result<(), Stop> {
        let mut is_new = !self.display.was_focused(window);
        loop {
            let until = Instant::now() + WINDOW;
            while let Some(other) = self.display.focus(window)? {
                if let Some(why) = self.program.ended() {
                    return Err(Stop::Because(why));
                }
                if Instant::now() > until {
                    return Err(Stop::Because(self.display.lacks_focus(window, &other)?));
                }
                std::thread::sleep(BEAT);
            }
            if !is_new {
                return Ok(());
            }
            self.until_quiet(Instant::now() + RESTLESS)?;
            // Another program may have taken the focus meanwhile.
            is_new = false;
        }
    }

    /// The keycodes of an action: modifiers first, the key last. Fails if the keyboard has no such key.
    fn keys_of(&self, action: &Action) -> Result<Vec<u8>, Stop> {
        let (keysym, modifiers) = match action {
            Action::Type(character) => (keysym_of(*character).unwrap_or(0), 0),
            Action::Key(Chord { keysym, modifiers }) => (*keysym, *modifiers),
            Action::Click { modifiers, .. } => (0, *modifiers),
            _ => (0, 0),
        };
        let mut modifiers = modifiers;
        let code = |keysym| {
            let name = || keysym_name(keysym).unwrap_or_else(|| format!("{keysym:#x}"));
            let key = self.display.keyboard.key(keysym);
            key.ok_or_else(|| Stop::Because(format!("the keyboard has no key {}", name())))
        };
        let key = (keysym != 0).then(|| code(keysym)).transpose()?;
        if let Some((_, true)) = key {
            modifiers |= 1;
        }
        let mut keys = Vec::new();
        for (_, bit, keysym) in Chord::MODIFIERS {
            if modifiers & bit != 0 {
                keys.push(code(keysym)?.0);
            }
        }
        keys.extend(key.map(|(code, _)| code));
        Ok(keys)
    }

    /// Performs an action at the positions that `prepare` returned, and waits until the program is idle. Returns false
    /// if the program did not become idle in time.
    pub(super) fn perform(&mut self, action: &Action, target: Target) -> Result<bool, Stop> {
        let places = target.places;
        let first = places.first().copied();
        match action {
            Action::Window(_) => return Ok(true),
            Action::Wait(time) => {
                self.rest(Instant::now() + *time);
                return Ok(true);
            }
            Action::Type(_) | Action::Key(_) => {
                let keys = self.keys_of(action)?;
                self.press(&keys)?;
                self.until_quiet(Instant::now() + HELD)?;
                self.release(&keys)?;
            }
            Action::Click { button, .. } => {
                let keys = self.keys_of(action)?;
                self.point(first)?;
                self.press(&keys)?;
                self.display.input(BUTTON[0], *button)?;
                self.until_quiet(Instant::now() + HELD)?;
                self.display.input(BUTTON[1], *button)?;
                self.release(&keys)?;
            }
            Action::Drag { button, .. } => {
                self.point(first)?;
                self.display.input(BUTTON[0], *button)?;
                // The button is released also after a signal.
                for place in places.iter().skip(1) {
                    if self.is_stopped() {
                        break;
                    }
                    self.until_quiet(Instant::now() + HELD)?;
                    self.point(Some(*place))?;
                }
                self.until_quiet(Instant::now() + HELD)?;
                self.display.input(BUTTON[1], *button)?;
            }
            Action::Move(_) => self.point(first)?,
            Action::Scroll {
                steps, sideways, ..
            } => {
                self.point(first)?;
                let button = Action::wheel(*steps, *sideways);
                for _ in 0..steps.unsigned_abs() {
                    self.display.input(BUTTON[0], button)?;
                    self.display.input(BUTTON[1], button)?;
                }
            }
        }
        self.until_quiet(Instant::now() + RESTLESS)
    }

    fn press(&mut self, keys: &[u8]) -> Result<(), Stop> {
        let mut keys = keys.iter();
        Ok(keys.try_for_each(|key| self.display.input(KEY[0], *key))?)
    }

    fn release(&mut self, keys: &[u8]) -> Result<(), Stop> {
        let mut keys = keys.iter().rev();
        Ok(keys.try_for_each(|key| self.display.input(KEY[1], *key))?)
    }

    fn point(&mut self, at: Option<Place>) -> Result<(), Stop> {
        Ok(at.map_or(Ok(()), |at| self.display.move_to(at))?)
    }

    /// Waits until no thread of the program has run for `REST`. Returns false if this did not happen before `until`.
    fn until_quiet(&mut self, until: Instant) -> Result<bool, Stop> {
        self.display.sync()?;
        let mut last = self.program.activity();
        let mut since = Instant::now();
        loop {
            std::thread::sleep(BEAT);
            let now = self.program.activity();
            if now != last || now.is_busy {
                // The server must have sent the effects of earlier requests before the idle time starts.
                self.display.sync()?;
                since = Instant::now();
                last = now;
            } else if since.elapsed() >= REST {
                return Ok(true);
            }
            if Instant::now() >= until || self.is_stopped() {
                return Ok(false);
            }
        }
    }
}
