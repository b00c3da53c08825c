//! The actions of a session, and their text form.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use x11prof_protocol::{Chord, is_unsafe, keysym_name, keysym_of};

/// A position in pixels, from the upper left corner of the action's window, or of the screen after [`Action::Window`]
/// with `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The distance to the right, in pixels.
    pub x: i16,
    /// The distance down, in pixels.
    pub y: i16,
}

/// The name by which a session identifies a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowName {
    /// The window's class: the second string of WM_CLASS.
    pub class: String,
    /// The window's title; `None` for any title. A window with this title is preferred to other windows of the class.
    pub title: Option<String>,
}

/// An action of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The window to which the following actions apply; `None` for the whole screen.
    Window(Option<WindowName>),
    /// Types this character.
    Type(char),
    /// Presses and releases this key with its modifiers.
    Key(Chord),
    /// Presses and releases a mouse button.
    Click {
        /// The number of the mouse button.
        button: u8,
        /// The modifiers that are held during the click, as bits like in [`Chord`].
        modifiers: u16,
        /// The position of the click; `None` for the pointer's position.
        at: Option<Place>,
    },
    /// Presses a mouse button at the first position of the path, and releases it at the last.
    Drag {
        /// The number of the mouse button.
        button: u8,
        /// The positions of the pointer in order, at least two.
        path: Vec<Place>,
    },
    /// Moves the pointer to this position.
    Move(Place),
    /// Turns the mouse wheel.
    Scroll {
        /// The number of steps down (or to the right); negative for up (or to the left).
        steps: i32,
        /// True for the horizontal wheel (right and left), false for the vertical wheel (down and up).
        sideways: bool,
        /// The position of the pointer; `None` to leave the pointer where it is.
        at: Option<Place>,
    },
    /// Waits for this duration.
    Wait(Duration),
}

impl Action {
    /// True if the action sends input to the program and therefore has a latency.
    pub fn is_input(&self) -> bool {
        !matches!(self, Action::Window(_) | Action::Wait(_))
    }

    /// The number of the button that X.Org's servers use for a turn of the mouse wheel: `steps` < 0 is up or left.
    pub(crate) fn wheel(steps: i32, sideways: bool) -> u8 {
        match (sideways, steps < 0) {
            (false, true) => 4,
            (false, false) => 5,
            (true, true) => 6,
            (true, false) => 7,
        }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.x, self.y)
    }
}

/// Prints a space and the position; prints nothing for `None`.
struct At(Option<Place>);

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(place) => write!(f, " {place}"),
            None => Ok(()),
        }
    }
}

impl Display for WindowName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.class))?;
        match &self.title {
            Some(title) => write!(f, " {}", quoted(title)),
            None => Ok(()),
        }
    }
}

/// The action as a line of a session's text.
impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Action::Window(Some(name)) => write!(f, "window {name}"),
            Action::Window(None) => f.write_str("screen"),
            Action::Type(character) => write!(f, "type {}", quoted(&character.to_string())),
            Action::Key(chord) => write!(f, "key {chord}"),
            Action::Click {
                button,
                modifiers,
                at,
            } => {
                write!(f, "click {}{button}{}", Chord::prefix(*modifiers), At(*at))
            }
            Action::Drag { button, path } => {
                write!(f, "drag {button}")?;
                path.iter().try_for_each(|place| write!(f, " {place}"))
            }
            Action::Move(place) => write!(f, "move {place}"),
            Action::Scroll {
                steps,
                sideways,
                at,
            } => {
                let word = if *sideways {
                    "scroll-sideways"
                } else {
                    "scroll"
                };
                write!(f, "{word} {steps}{}", At(*at))
            }
            Action::Wait(time) => write!(f, "wait {}ms", time.as_millis()),
        }
    }
}

/// The text in quotes, on one line, with special characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_unsafe(character) => quoted.extend(character.escape_unicode()),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// The character by which a `type` action can write the key with this name. `None` if there is no such key, if the
/// key types no character, or if the character's usual key has another keysym.
pub(crate) fn typed(name: &str) -> Option<char> {
    let keysym = x11prof_protocol::keysym_named(name)?;
    let character = match keysym {
        0x20..=0x7E | 0xA1..=0xFF => char::from_u32(keysym)?,
        0xFF0D => '\n',
        0x0100_0100..=0x0110_FFFF => char::from_u32(keysym - 0x0100_0000)?,
        _ => return None,
    };
    // A key that is not the usual key of its character must be written by its name.
    (keysym_of(character) == Some(keysym) && keysym_name(keysym).is_some()).then_some(character)
}
