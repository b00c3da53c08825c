//! Converts recorded inputs to a session: presses and releases become keys, clicks and drags.

use std::time::Duration;

use x11prof_protocol::{Chord, keysym_named};

use crate::action::{Action, Place, WindowName, typed};
use crate::session::{Session, Step};

/// If the pointer moves at least this far (in pixels) between press and release, the action is a drag, otherwise a click.
const STILL: i32 = 4;
/// A pointer that has not moved for this long has reached its target.
const RESTS: Duration = Duration::from_millis(100);
/// The minimum interval between two stored positions of a drag.
const PATH_STEP: Duration = Duration::from_millis(20);

/// The kind of a recorded input, with its key or button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputKind {
    /// A key was pressed or released.
    Key {
        /// True if the key was pressed, false if it was released.
        down: bool,
        /// The name of the key without modifiers, and its name with Shift; `None` for an unknown name.
        names: [Option<String>; 2],
    },
    /// A mouse button was pressed or released.
    Button {
        /// True if the button was pressed, false if it was released.
        down: bool,
        /// The number of the mouse button.
        button: u8,
    },
    /// The pointer moved.
    Motion,
}

/// An input event of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedInput {
    /// The time since the recording began.
    pub time: Duration,
    /// The kind of the input.
    pub kind: InputKind,
    /// The window that received the input; `None` for the whole screen.
    pub window: Option<WindowName>,
    /// The position of the pointer in this window, or on the screen.
    pub at: Place,
    /// The modifiers just before the input, as a key mask of the X protocol.
    pub modifiers: u16,
}

/// Shift and Control, the modifiers whose bits in a key mask are fixed.
const FIXED: u16 = 1 | 4;

/// A pressed button.
struct Held {
    button: u8,
    since: Duration,
    last: Duration,
    path: Vec<Place>,
}

/// A session under construction.
#[derive(Default)]
struct Making {
    steps: Vec<Step>,
    /// The time of the last action; `None` before the first.
    last: Option<Duration>,
    window: Option<Option<WindowName>>,
    modifiers: u16,
    /// The bit and the keysym of a modifier that is pressed, as long as no other key or button has been pressed with it.
    alone: Option<(u16, u32)>,
    held: Option<Held>,
    /// The time and position of the pointer's last motion, if no action contains it yet.
    moved: Option<(Duration, Place)>,
    unnamed: u64,
}

impl Session {
    /// Converts recorded inputs to a session. Also returns the number of key presses that were omitted because the key
    /// has no known name.
    pub fn of_inputs(inputs: impl IntoIterator<Item = RecordedInput>) -> (Session, u64) {
        let mut making = Making::default();
        for input in inputs {
            making.take(input);
        }
        making.arrive();
        let steps = making.steps;
        (Session { steps }, making.unnamed)
    }
}

impl Making {
    fn take(&mut self, input: RecordedInput) {
        let RecordedInput {
            time,
            kind,
            window,
            at,
            modifiers,
        } = input;
        // A modifier that the event does not report has been released: programs receive no key releases unless they select them.
        self.modifiers &= modifiers | !FIXED;
        if kind == InputKind::Motion {
            self.motion(time, window, at);
            return;
        }
        // A button's event contains the pointer's position. A key needs a move action before it.
        match kind {
            InputKind::Key { .. } => self.arrive(),
            _ => self.moved = None,
        }
        match kind {
            InputKind::Key { down, names } => self.key(time, window, down, &names),
            InputKind::Button { down: true, button } => {
                self.alone = None;
                match button {
                    4..=7 => self.push(
                        time,
                        window,
                        Action::Scroll {
                            steps: if matches!(button, 4 | 6) { -1 } else { 1 },
                            sideways: button > 5,
                            at: Some(at),
                        },
                    ),
                    _ if self.held.is_none() => {
                        self.enter(window);
                        self.held = Some(Held {
                            button,
                            since: time,
                            last: time,
                            path: vec![at],
                        });
                    }
                    _ => {}
                }
            }
            InputKind::Button {
                down: false,
                button,
            } => {
                if let Some(held) = self.held.take_if(|held| held.button == button) {
                    self.released(held, window.as_ref(), at);
                }
            }
            InputKind::Motion => {}
        }
    }

    fn motion(&mut self, time: Duration, window: Option<WindowName>, at: Place) {
        if let Some(held) = &mut self.held {
            // A grab reports positions in the window of the press; positions in other windows are ignored.
            let is_same = self.window.as_ref() == Some(&window);
            if is_same && time.saturating_sub(held.last) >= PATH_STEP {
                held.path.push(at);
                held.last = time;
            }
            return;
        }
        let rested = self
            .moved
            .is_some_and(|(last, _)| time.saturating_sub(last) >= RESTS);
        if rested || self.window.as_ref() != Some(&window) {
            self.arrive();
        }
        self.enter(window);
        self.moved = Some((time, at));
    }

    /// Adds a move, because the pointer has reached its target.
    fn arrive(&mut self) {
        if let Some((time, at)) = self.moved.take() {
            self.add(time, Action::Move(at));
        }
    }

    fn released(&mut self, mut held: Held, window: Option<&WindowName>, at: Place) {
        let is_same = self.window.as_ref().map(Option::as_ref) == Some(window);
        if is_same {
            held.path.push(at);
        }
        let first = held.path[0];
        let far = |place: &Place| {
            let off = |a: i16, b: i16| (i32::from(a) - i32::from(b)).abs();
            off(place.x, first.x).max(off(place.y, first.y)) >= STILL
        };
        let action = match held.path.iter().any(far) {
            true => Action::Drag {
                button: held.button,
                path: held.path,
            },
            false => Action::Click {
                button: held.button,
                modifiers: self.modifiers,
                at: Some(first),
            },
        };
        self.add(held.since, action);
    }

    fn key(
        &mut self,
        time: Duration,
        window: Option<WindowName>,
        down: bool,
        names: &[Option<String>; 2],
    ) {
        let Some(name) = &names[0] else {
            self.unnamed += u64::from(down);
            return;
        };
        let Some(keysym) = keysym_named(name) else {
            self.unnamed += u64::from(down);
            return;
        };
        if let Some(bit) = modifier(name) {
            if down {
                self.modifiers |= bit;
                self.alone = Some((bit, keysym));
            } else {
                self.modifiers &= !bit;
                if let Some((_, keysym)) = self.alone.take_if(|(alone, _)| *alone == bit) {
                    let modifiers = self.modifiers;
                    self.push(time, window, Action::Key(Chord { keysym, modifiers }));
                }
            }
            return;
        }
        if !down {
            return;
        }
        self.alone = None;
        let is_shift = self.modifiers == 1;
        let written = match self.modifiers {
            0 => typed(name),
            1 => names[1]
                .as_deref()
                .and_then(typed)
                .filter(|letter| !letter.is_control()),
            _ => None,
        };
        let action = match written {
            Some(letter) if !is_shift || names[1] != names[0] => Action::Type(letter),
            _ => Action::Key(Chord {
                keysym,
                modifiers: self.modifiers,
            }),
        };
        self.push(time, window, action);
    }

    fn push(&mut self, time: Duration, window: Option<WindowName>, action: Action) {
        self.enter(window);
        self.add(time, action);
    }

    /// Adds an action that selects the window for the following actions, unless it is already selected.
    fn enter(&mut self, window: Option<WindowName>) {
        if self.window.as_ref() != Some(&window) {
            self.steps.push(Step {
                pause: Duration::ZERO,
                action: Action::Window(window.clone()),
            });
            self.window = Some(window);
        }
    }

    fn add(&mut self, time: Duration, action: Action) {
        let pause = self
            .last
            .map_or(Duration::ZERO, |last| time.saturating_sub(last));
        self.last = Some(time);
        self.steps.push(Step { pause, action });
    }
}

/// The bit of a modifier key. Meta counts as Alt, as on most keyboards.
fn modifier(name: &str) -> Option<u16> {
    match name.strip_suffix("_L").or(name.strip_suffix("_R"))? {
        "Shift" => Some(1),
        "Control" => Some(4),
        "Alt" | "Meta" => Some(8),
        "Super" => Some(64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{InputKind, Place, RecordedInput, Session, WindowName};

    fn at(ms: u64, kind: InputKind, x: i16, y: i16) -> RecordedInput {
        RecordedInput {
            time: Duration::from_millis(ms),
            kind,
            window: Some(WindowName {
                class: "XTerm".to_owned(),
                title: None,
            }),
            at: Place { x, y },
            modifiers: u16::MAX,
        }
    }

    fn key(ms: u64, down: bool, alone: &str, shifted: &str) -> RecordedInput {
        let names = [alone, shifted].map(|name| Some(name.to_owned()));
        at(ms, InputKind::Key { down, names }, 0, 0)
    }

    fn button(ms: u64, down: bool, button: u8, x: i16) -> RecordedInput {
        at(ms, InputKind::Button { down, button }, x, 5)
    }

    #[test]
    fn presses_and_releases_become_actions() {
        let inputs = [
            key(1000, true, "Shift_L", "Shift_L"),
            key(1100, true, "h", "H"),
            key(1150, false, "h", "H"),
            key(1200, false, "Shift_L", "Shift_L"),
            key(1300, true, "Return", "Return"),
            key(1400, true, "Control_L", "Control_L"),
            key(1450, true, "s", "S"),
            key(1500, false, "Control_L", "Control_L"),
            key(2000, true, "Alt_L", "Alt_L"),
            key(2100, false, "Alt_L", "Alt_L"),
            at(2200, InputKind::Motion, 1, 1),
            at(2250, InputKind::Motion, 2, 2),
            at(2500, InputKind::Motion, 9, 9),
            button(2510, true, 1, 10),
            button(2600, false, 1, 11),
            button(3000, true, 5, 10),
            button(3000, false, 5, 10),
            button(4000, true, 1, 10),
            at(4100, InputKind::Motion, 50, 5),
            button(4200, false, 1, 90),
        ];
        let (session, unnamed) = Session::of_inputs(inputs);
        assert_eq!(unnamed, 0);
        // The text form contains the whole session.
        assert_eq!(format!("{session:#}").parse(), Ok(session.clone()));
        assert_eq!(
            session.to_string(),
            "window \"XTerm\"\ntype \"H\\n\" 200ms\npause 150ms\nkey ctrl+s\npause 650ms\nkey Alt_L\npause 150ms\n\
             move 2 2\npause 260ms\nclick 1 10 5\npause 490ms\nscroll 1 10 5\npause 1000ms\n\
             drag 1 10 5 50 5 90 5\n"
        );
    }

    #[test]
    fn shift_is_released_when_later_keys_have_no_shift() {
        let mut second = key(200, true, "3", "numbersign");
        second.modifiers = 0;
        let inputs = [
            key(0, true, "Shift_L", "Shift_L"),
            key(100, true, "equal", "plus"),
            second,
        ];
        let (session, _) = Session::of_inputs(inputs);
        assert!(session.to_string().contains("type \"+3\""), "{session}");
    }

    #[test]
    fn unnamed_keys_are_counted() {
        let names = [None, None];
        let (session, unnamed) =
            Session::of_inputs([at(0, InputKind::Key { down: true, names }, 0, 0)]);
        assert_eq!((session.inputs(), unnamed), (0, 1));
    }
}
