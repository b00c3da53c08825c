//! The user's input in a recording: each key, button and motion with its window, so that `drive` can repeat it
//! elsewhere.

use x11prof_protocol::{Event, Message, Symbol};
use x11prof_session::{DrawableKind, Input, Inputs, Session};
use x11prof_trace::{Control, Timestamp};

use crate::episodes::Keyboard;
use crate::pipeline::Observation;

/// Maximum number of kept inputs; further inputs are only counted.
const LIMIT: usize = 1_000_000;

/// A key, button or motion event of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserInput {
    /// The time at which the first client received the input.
    pub time: Timestamp,
    /// The input. Its position is relative to the client's window.
    pub input: Input,
    /// The names of the key, without and with Shift; `None` if the input is not a key, or if the recording has no
    /// keyboard map.
    pub key: [Option<Symbol>; 2],
    /// The index of the window in [`UserInputs::windows`]; `None` for the root window.
    pub window: Option<usize>,
}

/// A window that received input, identified by properties that are equal in other recordings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InputWindow {
    /// The class of the window in WM_CLASS; empty if the window only has a title.
    pub class: String,
    /// The latest title of the window.
    pub title: String,
}

/// Collects the user's inputs in a recording.
#[derive(Debug, Default)]
pub struct UserInputs {
    seen: Inputs,
    keyboard: Keyboard,
    /// The inputs in time order, up to a limit.
    pub list: Vec<UserInput>,
    /// The windows that received input.
    pub windows: Vec<InputWindow>,
    /// The number of inputs over the limit, which are not in the list.
    pub omitted: u64,
    /// The number of touches from XInput 2. The list of inputs does not contain them, because XTEST cannot send them.
    pub touches: u64,
    /// True if clients connected before the recording began. The names of keys and windows may then be unknown.
    pub from_the_middle: bool,
}

impl UserInputs {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                self.keyboard.observe(seen);
                let Message::Event(event) = seen.message else {
                    return;
                };
                let xinput = seen.extensions.by_name("XInputExtension");
                if let Some(input) = self.seen.of(event, xinput.map(|one| one.major)) {
                    self.add(seen.time, input, seen.session);
                } else if xinput.is_some_and(|one| is_touch(event, one.major)) {
                    self.touches += 1;
                }
            }
            Observation::Control(_, Control::Attached {}) => self.from_the_middle = true,
            _ => {}
        }
    }

    fn add(&mut self, time: Timestamp, mut input: Input, session: &Session) {
        if self.list.len() >= LIMIT {
            self.omitted += 1;
            return;
        }
        let key = match input.kind {
            2 | 3 => [false, true].map(|shifted| self.keyboard.key(input.detail.into(), shifted)),
            _ => [None; 2],
        };
        let (window, within) = self.window(&input, session);
        input.within = within;
        self.list.push(UserInput {
            time,
            input,
            key,
            window,
        });
    }

    /// The named window among the event's window and its ancestors, with the pointer's position in it; otherwise the
    /// position on the screen.
    fn window(&mut self, input: &Input, session: &Session) -> (Option<usize>, (i16, i16)) {
        let (mut x, mut y) = input.within;
        for id in session.ancestry(input.window) {
            let Some(drawable) = session.drawable(id) else {
                break;
            };
            if drawable.kind == DrawableKind::Root {
                break;
            }
            let names = session.window_names(id);
            if let Some(names) =
                names.filter(|names| names.class.is_some() || names.title.is_some())
            {
                let text = |name: &Option<Box<str>>| name.as_deref().unwrap_or_default().to_owned();
                let window = InputWindow {
                    class: text(&names.class),
                    title: text(&names.title),
                };
                let known = self.windows.iter().position(|known| *known == window);
                let number = known.unwrap_or_else(|| {
                    self.windows.push(window);
                    self.windows.len() - 1
                });
                return (Some(number), (x, y));
            }
            let of = drawable.geometry;
            let border = of.border_width.cast_signed();
            x = x.saturating_add(of.x).saturating_add(border);
            y = y.saturating_add(of.y).saturating_add(border);
        }
        (None, input.at)
    }
}

/// Returns true if the event is the beginning of a touch (XInput 2, "DeviceEvent").
fn is_touch(event: &Event<'_>, xinput: u8) -> bool {
    const GENERIC_EVENT: u8 = 35;
    const TOUCH_BEGIN: u16 = 18;
    event.code == GENERIC_EVENT
        && event.bytes.get(1) == Some(&xinput)
        && event.order.u16(event.bytes, 8) == Some(TOUCH_BEGIN)
}
