//! The user's input, as the recorded clients heard of it.

use rustc_hash::FxHashSet;
use x11prof_protocol::{ByteOrder, Event};

/// Codes of core events (protocol, appendix B).
const KEY_PRESS: u8 = 2;
const MOTION_NOTIFY: u8 = 6;
const ENTER_NOTIFY: u8 = 7;
const LEAVE_NOTIFY: u8 = 8;
const GENERIC_EVENT: u8 = 35;
/// Times of the last events; events of one input come together.
const REMEMBERED: usize = 64;

/// An input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Input {
    /// The code of the core event: 2 to 6.
    pub(crate) kind: u8,
    /// The key or button; 0 for a motion.
    pub(crate) detail: u8,
    /// The pointer's place on the screen.
    pub(crate) at: (i16, i16),
}

/// Finds each input once, though several clients hear of it.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    seen: FxHashSet<(u32, u8, u8)>,
    order: std::collections::VecDeque<(u32, u8, u8)>,
    at: Option<(i16, i16)>,
}

impl Inputs {
    /// The input that the event tells of first.
    pub(super) fn of(&mut self, event: &Event<'_>, xinput: Option<u8>) -> Option<Input> {
        if event.sent {
            return None;
        }
        let (bytes, order) = (event.bytes, event.order);
        let (kind, detail, time, at) = match event.code {
            KEY_PRESS..=MOTION_NOTIFY => core(bytes, order, event.code)?,
            ENTER_NOTIFY..=LEAVE_NOTIFY => {
                const NORMAL: u8 = 0;
                let moved = *bytes.get(30)? == NORMAL;
                core(bytes, order, MOTION_NOTIFY).filter(|_| moved)?
            }
            GENERIC_EVENT if bytes.get(1).copied() == xinput => xinput2(bytes, order)?,
            _ => return None,
        };
        let detail = if kind == MOTION_NOTIFY { 0 } else { detail };
        if kind == MOTION_NOTIFY && self.at == Some(at) {
            return None;
        }
        self.at = Some(at);
        let input = (time, kind, detail);
        if !self.seen.insert(input) {
            return None;
        }
        self.order.push_back(input);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        Some(Input { kind, detail, at })
    }
}

type Seen = (u8, u8, u32, (i16, i16));

fn core(bytes: &[u8], order: ByteOrder, kind: u8) -> Option<Seen> {
    let at = (order.i16(bytes, 20)?, order.i16(bytes, 22)?);
    Some((kind, *bytes.get(1)?, order.u32(bytes, 4)?, at))
}

/// XInput 2, "DeviceEvent": the types from KeyPress to Motion have the core events' numbers; places are in 65536ths.
fn xinput2(bytes: &[u8], order: ByteOrder) -> Option<Seen> {
    let kind = u8::try_from(order.u16(bytes, 8)?).ok()?;
    let detail = u8::try_from(order.u32(bytes, 16)?).ok()?;
    // The whole part of a place comes first where the most significant byte does.
    let place = |at| order.u32(bytes, at).map(|fixed| (fixed >> 16) as i16);
    let at = (place(32)?, place(36)?);
    (KEY_PRESS..=MOTION_NOTIFY)
        .contains(&kind)
        .then_some((kind, detail, order.u32(bytes, 12)?, at))
}
