//! Events as stimuli, with the properties that decide whether a user perceives two of them as one.

use x11prof_protocol::{Event, SequenceNumber, Symbol};
use x11prof_session::event_window;

use super::episode::Trigger;

/// The key, button, finger or atom of an event, which distinguishes events of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Detail {
    /// The event has no detail.
    None,
    /// A key, given by its keycode.
    Key(u32),
    /// A button of a pointer, given by its number.
    Button(u32),
    /// A finger on a touchscreen, given by its number.
    Touch(u32),
    /// An atom: the name of a property or selection, or the type of a message.
    Atom(u32),
}

/// The part that an event has in a user's action, such as the press or the release of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A key or button was pressed.
    Press,
    /// A key or button was released.
    Release,
    /// The pointer or a finger moved.
    Motion,
    /// A picture has appeared on the screen, so the client may draw the next one.
    Frame,
    /// The event has none of the other shapes.
    Other,
}

/// An event that a client may have to respond to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stimulus {
    pub(crate) trigger: Trigger,
    /// The name of the event. An XI2 event has the name of its core event's kind, without the extension.
    pub(crate) name: Symbol,
    pub(crate) shape: Shape,
    pub(crate) detail: Detail,
    /// The window that the event was sent to; `None` for an event without a window.
    pub(crate) window: Option<u32>,
    /// The server's time in the event, in milliseconds; `None` for an event without a time.
    pub(crate) server_time: Option<u32>,
    /// The sequence number in the event: the last request of the client that the server had handled.
    pub(crate) sequence: Option<SequenceNumber>,
    /// The held buttons, or modifiers with XI2, as a bit mask. They distinguish a drag from a movement.
    pub(crate) held: u16,
    /// The held modifiers (protocol, SETofKEYMASK): bit 0 is Shift, bit 2 is Control.
    pub(crate) modifiers: u8,
    /// True if the event is of a modifier key.
    pub(crate) modifier: bool,
    /// True if the keyboard's auto-repeat sent the event.
    pub(crate) repeated: bool,
}

/// The flag of an XI2 key event that auto-repeat sent (XI2 protocol, `KeyRepeat`).
const XI2_KEY_REPEAT: u32 = 1 << 16;
/// The event that reports each change of the held modifiers and buttons, with the time of the device event that caused it
/// (XKB protocol, XkbStateNotify).
const KEYBOARD_STATE: &str = "XKEYBOARD:StateNotify";
/// The bits for buttons in the state of a core event (protocol, SETofKEYBUTMASK).
const BUTTONS: u16 = 0x1F00;

impl Stimulus {
    /// Converts an event to a stimulus.
    pub(crate) fn of(event: &Event<'_>) -> Stimulus {
        let (extension, name) = match event.name.as_str().split_once(':') {
            Some((extension, name)) => (Some(extension), name),
            None => (None, event.name.as_str()),
        };
        let word = |at: usize| event.order.u32(event.bytes, at);
        let mut stimulus = Stimulus {
            trigger: Trigger::Asynchronous,
            name: match extension {
                None | Some("XInputExtension") => Symbol::new(name),
                Some(_) => event.name,
            },
            shape: Shape::Other,
            detail: Detail::None,
            window: event_window(event),
            server_time: None,
            sequence: event.sequence,
            held: 0,
            modifiers: 0,
            modifier: false,
            repeated: false,
        };
        match extension {
            None => stimulus.core(event),
            Some("XInputExtension") if event.code == GENERIC => {
                stimulus.device(name, word(16));
                stimulus.server_time = word(12);
                stimulus.window = word(24);
                stimulus.crosses(event.bytes.get(18));
                stimulus.modifiers = word(72).unwrap_or(0) as u8;
                let flags = word(56).unwrap_or(0);
                stimulus.repeated =
                    matches!(stimulus.detail, Detail::Key(_)) && flags & XI2_KEY_REPEAT != 0;
                if stimulus.shape == Shape::Motion {
                    // The mask of buttons follows the fixed part.
                    stimulus.held = event.order.u16(event.bytes, 80).unwrap_or(0);
                }
            }
            Some("Present") => {
                stimulus.trigger = Trigger::Output;
                stimulus.window = word(16);
                stimulus.shape = Shape::Frame;
            }
            Some("DAMAGE" | "MIT-SHM" | "GLX" | "DRI2" | "SHAPE") => {
                stimulus.trigger = Trigger::Output;
                stimulus.window = word(4);
            }
            Some(_) => {}
        }
        if stimulus.shape == Shape::Other {
            // A crossing contains the time of the last device event, which may be much earlier.
            stimulus.server_time = None;
        }
        if stimulus.name.as_str() == KEYBOARD_STATE {
            stimulus.server_time = word(4);
        }
        if event.sent && stimulus.trigger != Trigger::Input {
            stimulus.trigger = Trigger::Asynchronous;
        }
        stimulus
    }

    fn core(&mut self, event: &Event<'_>) {
        let detail = event.bytes.get(1).copied().map(u32::from);
        match event.code {
            2..=8 => {
                self.device(self.name.as_str(), detail);
                self.server_time = event.order.u32(event.bytes, 4);
                self.crosses(event.bytes.get(30));
                let state = event.order.u16(event.bytes, 28).unwrap_or(0);
                self.modifiers = state as u8;
                if self.shape == Shape::Motion {
                    self.held = state & BUTTONS;
                }
            }
            // Expose to NoExposure, VisibilityNotify to CirculateRequest.
            12..=27 => self.trigger = Trigger::Output,
            // PropertyNotify.
            28 => self.about_atom(event, 8),
            29..=31 => self.about_atom(event, if event.code == 30 { 16 } else { 12 }),
            33 => self.about_atom(event, 8),
            _ => {}
        }
    }

    fn about_atom(&mut self, event: &Event<'_>, at: usize) {
        if let Some(atom) = event.order.u32(event.bytes, at) {
            self.detail = Detail::Atom(atom);
        }
    }

    /// Sets the fields of an event of an input device (a core event or an XI2 event).
    fn device(&mut self, name: &str, detail: Option<u32>) {
        let key = detail.map_or(Detail::None, Detail::Key);
        let button = detail.map_or(Detail::None, Detail::Button);
        let touch = detail.map_or(Detail::None, Detail::Touch);
        let (shape, detail) = match name {
            "KeyPress" | "RawKeyPress" => (Shape::Press, key),
            "KeyRelease" | "RawKeyRelease" => (Shape::Release, key),
            "ButtonPress" | "RawButtonPress" => (Shape::Press, button),
            "ButtonRelease" | "RawButtonRelease" => (Shape::Release, button),
            "MotionNotify" | "Motion" | "RawMotion" => (Shape::Motion, Detail::None),
            "TouchBegin" | "RawTouchBegin" => (Shape::Press, touch),
            "TouchUpdate" | "RawTouchUpdate" => (Shape::Motion, touch),
            "TouchEnd" | "RawTouchEnd" => (Shape::Release, touch),
            "EnterNotify" | "LeaveNotify" | "Enter" | "Leave" => (Shape::Other, Detail::None),
            _ => return,
        };
        (self.trigger, self.shape, self.detail) = (Trigger::Input, shape, detail);
    }

    /// True if this is a second report of the stimulus `earlier`: the raw event of a device in addition to the event of
    /// a window, the same event from another device, or the new state of the keys and buttons.
    pub(crate) fn repeats(&self, earlier: &Stimulus) -> bool {
        if self.name.as_str() == KEYBOARD_STATE {
            let changes = matches!(earlier.shape, Shape::Press | Shape::Release);
            return changes && self.server_time == earlier.server_time;
        }
        let another = self.name != earlier.name || self.window != earlier.window;
        self.trigger == Trigger::Input
            && another
            && (self.shape, self.detail) == (earlier.shape, earlier.detail)
            && self.shape != Shape::Other
            && self.server_time.is_some()
            && self.server_time == earlier.server_time
    }

    /// True if the event is a device's raw event, which is independent of focus and pointer window (XI2 protocol,
    /// "RawEvent").
    pub(crate) fn is_raw(&self) -> bool {
        self.name.as_str().starts_with("Raw")
    }

    /// True if the pointer entered or left a window.
    pub(crate) fn is_crossing(&self) -> bool {
        self.trigger == Trigger::Input && self.shape == Shape::Other
    }

    /// Marks a crossing as input unless its mode (protocol, EnterNotify) shows that a grab caused it. The start or end
    /// of a grab causes crossings without a motion of the user.
    fn crosses(&mut self, mode: Option<&u8>) {
        // NotifyGrab, NotifyUngrab; XINotifyPassiveGrab, XINotifyPassiveUngrab.
        if self.is_crossing() && mode.is_some_and(|mode| matches!(mode, 1 | 2 | 4 | 5)) {
            self.trigger = Trigger::Asynchronous;
        }
    }

    /// True if this is the release of `press`.
    pub(crate) fn releases(&self, press: &Stimulus) -> bool {
        self.shape == Shape::Release && press.shape == Shape::Press && self.detail == press.detail
    }

    /// True if a user perceives this stimulus and the waiting stimulus `earlier` as one: a movement that continues, or
    /// a repeating key.
    pub(crate) fn continues(&self, earlier: &Stimulus) -> bool {
        let same = self.name == earlier.name
            && self.window == earlier.window
            && self.detail == earlier.detail;
        match self.shape {
            Shape::Motion => same && self.held == earlier.held,
            Shape::Press => same && self.repeated,
            Shape::Release => self.releases(earlier),
            Shape::Frame | Shape::Other => same && self.trigger != Trigger::Input,
        }
    }
}

/// GenericEvent (protocol, X Generic Event Extension).
const GENERIC: u8 = 35;
