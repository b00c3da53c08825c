//! The user's input events, as the recorded clients received them.

use rustc_hash::FxHashSet;
use x11prof_protocol::{ByteOrder, Event};

/// The codes of core events (protocol, appendix B).
const KEY_PRESS: u8 = 2;
const MOTION_NOTIFY: u8 = 6;
const ENTER_NOTIFY: u8 = 7;
const LEAVE_NOTIFY: u8 = 8;
const GENERIC_EVENT: u8 = 35;
/// The number of event times that are stored to recognize repeated events. The events that one user input causes arrive
/// close to each other.
const REMEMBERED: usize = 64;

/// A key, button or motion event of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The code of the core event: 2 (KeyPress) to 6 (MotionNotify).
    pub kind: u8,
    /// The code of the key or the number of the button; 0 for a motion.
    pub detail: u8,
    /// The window that received the event.
    pub window: u32,
    /// The pointer's position on the screen, in pixels.
    pub at: (i16, i16),
    /// The pointer's position in the window, in pixels.
    pub within: (i16, i16),
    /// The modifiers just before the event, as a key mask (protocol, "KeyPress").
    pub modifiers: u16,
}

/// Finds the user's input in events, and reports each input once although several clients receive an event for it.
#[derive(Debug, Default)]
pub struct Inputs {
    seen: FxHashSet<(u32, u8, u8)>,
    order: std::collections::VecDeque<(u32, u8, u8)>,
    at: Option<(i16, i16)>,
}

impl Inputs {
    /// Returns the user input that an event reports. `None` if the event reports no user input, or if an earlier event
    /// reported the same input. `xinput` is the major opcode of the XInput extension.
    pub fn of(&mut self, event: &Event<'_>, xinput: Option<u8>) -> Option<Input> {
        if event.sent {
            return None;
        }
        let (bytes, order) = (event.bytes, event.order);
        let (mut input, time) = match event.code {
            KEY_PRESS..=MOTION_NOTIFY => core(bytes, order, event.code)?,
            ENTER_NOTIFY..=LEAVE_NOTIFY => {
                const NORMAL: u8 = 0;
                let moved = *bytes.get(30)? == NORMAL;
                core(bytes, order, MOTION_NOTIFY).filter(|_| moved)?
            }
            GENERIC_EVENT if bytes.get(1).copied() == xinput => xinput2(bytes, order)?,
            _ => return None,
        };
        if input.kind == MOTION_NOTIFY {
            input.detail = 0;
            if self.at == Some(input.at) {
                return None;
            }
        }
        self.at = Some(input.at);
        let known = (time, input.kind, input.detail);
        if !self.seen.insert(known) {
            return None;
        }
        self.order.push_back(known);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        Some(input)
    }
}

/// Parses a core event of the code `kind`. Returns the user input and the server's time of the event, in milliseconds.
fn core(bytes: &[u8], order: ByteOrder, kind: u8) -> Option<(Input, u32)> {
    let input = Input {
        kind,
        detail: *bytes.get(1)?,
        window: order.u32(bytes, 12)?,
        at: (order.i16(bytes, 20)?, order.i16(bytes, 22)?),
        within: (order.i16(bytes, 24)?, order.i16(bytes, 26)?),
        modifiers: order.u16(bytes, 28)?,
    };
    Some((input, order.u32(bytes, 4)?))
}

/// Parses an XInput 2 "DeviceEvent". Types from KeyPress to Motion have the numbers of core events; positions are in
/// 65536ths of a pixel. Returns the user input and the server's time, in milliseconds.
fn xinput2(bytes: &[u8], order: ByteOrder) -> Option<(Input, u32)> {
    let kind = u8::try_from(order.u16(bytes, 8)?).ok()?;
    if !(KEY_PRESS..=MOTION_NOTIFY).contains(&kind) {
        return None;
    }
    // A position is a 16.16 fixed-point number in the client's byte order. The upper 16 bits are the integer part.
    let place = |at| order.u32(bytes, at).map(|fixed| (fixed >> 16) as i16);
    let input = Input {
        kind,
        detail: u8::try_from(order.u32(bytes, 16)?).ok()?,
        window: order.u32(bytes, 24)?,
        at: (place(32)?, place(36)?),
        within: (place(40)?, place(44)?),
        // The effective modifiers.
        modifiers: u16::try_from(order.u32(bytes, 72)?).ok()?,
    };
    Some((input, order.u32(bytes, 12)?))
}
