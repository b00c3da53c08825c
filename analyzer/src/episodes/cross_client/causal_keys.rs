//! Keys that connect a request with the event that it causes in another client: the kind of effect, the window, and a
//! detail such as an atom.
//!
//! Offsets follow the encodings of the protocol and the extensions. Event offsets start at the first byte of the event,
//! request offsets at the first byte after the header.

use std::collections::{HashMap, HashSet};

use x11prof_protocol::{Body, Event, Request, SequenceNumber, Symbol};
use x11prof_session::Session;

use crate::episodes::windows;
use crate::pipeline::MessageContext;

/// Maximum number of ancestors of a window that are searched. An event on a more distant ancestor has no known cause.
const MAX_ANCESTORS: usize = 8;
/// Maximum number of tracked alarms, and of windows with damage reports. Events of further ones have no known cause.
const MAX_WATCHED: usize = 4096;

/// The effect of a request, or the kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EffectKind {
    /// A window is mapped.
    Map,
    /// All children of a window are mapped.
    MapChildren,
    Unmap,
    Configure,
    Reparent,
    Circulate,
    Create,
    Destroy,
    /// A window is cleared.
    Clear,
    Shape,
    /// A property changes; the key's detail is the property's atom.
    Property,
    /// A property of a window is deleted.
    Deleted,
    /// A client requests a selection; the key's detail is the selection and the target, its window is the requestor.
    Convert,
    /// The owner of a selection changes.
    Own,
    /// A client sends an event with this code.
    Send(u8),
    /// A window receives the focus. For window 0, another window loses the focus.
    Focus,
    /// A window is drawn on.
    Draw,
    /// A counter of SYNC changes.
    Counter,
}

/// A key that is equal for a request and the event that the request causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CausalKey {
    pub(crate) kind: EffectKind,
    pub(crate) window: u32,
    /// One or two atoms, or another number, that the request and its event share.
    pub(crate) detail: u64,
}

fn causal_key(kind: EffectKind, window: u32, detail: u64) -> CausalKey {
    CausalKey {
        kind,
        window,
        detail,
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// A request that may cause an event in another client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CausalRequest {
    pub(crate) sequence: SequenceNumber,
    pub(crate) request: Symbol,
    pub(crate) causal_key: CausalKey,
}

/// The server objects that some events depend on: the counters of alarms, and the windows with damage reports.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    alarms: HashMap<u32, u32>,
    damaged: HashSet<u32>,
}

/// The bit of a counter in the values of SYNC's CreateAlarm.
const ALARM_COUNTER: u32 = 1;

impl Watched {
    /// Adds the causal keys of a request to `causal_requests`.
    pub(crate) fn request(
        &mut self,
        seen: &MessageContext<'_>,
        request: &Request<'_>,
        causal_requests: &mut Vec<CausalRequest>,
    ) {
        let mut add = |causal_key: CausalKey| {
            // Repeated requests in a block have the same effect.
            let known = causal_requests
                .iter()
                .rev()
                .take(4)
                .any(|act| act.causal_key == causal_key);
            if !known {
                causal_requests.push(CausalRequest {
                    sequence: request.sequence,
                    request: request.name,
                    causal_key,
                });
            }
        };
        let body = Body::of(request);
        if let Some(causal_key) = self.of_request(request, &body) {
            if causal_key.kind == EffectKind::Focus {
                add(CausalKey {
                    window: 0,
                    ..causal_key
                });
            }
            add(causal_key);
        }
        if !self.damaged.is_empty()
            && windows::shows(seen, request)
            && let Some(target) = windows::target(seen)
        {
            let ancestry = seen.session.ancestry(target).take(MAX_ANCESTORS);
            for window in ancestry.filter(|window| self.damaged.contains(window)) {
                add(causal_key(EffectKind::Draw, window, 0));
            }
        }
    }

    fn of_request(&mut self, request: &Request<'_>, body: &Body<'_>) -> Option<CausalKey> {
        use EffectKind::*;
        let first = body.u32(0);
        Some(match request.name.as_str() {
            "MapWindow" => causal_key(Map, first?, 0),
            "MapSubwindows" => causal_key(MapChildren, first?, 0),
            "UnmapWindow" => causal_key(Unmap, first?, 0),
            "ConfigureWindow" => causal_key(Configure, first?, 0),
            "ReparentWindow" => causal_key(Reparent, first?, 0),
            "CirculateWindow" => causal_key(Circulate, first?, 0),
            "CreateWindow" => causal_key(Create, first?, 0),
            "DestroyWindow" => causal_key(Destroy, first?, 0),
            "ClearArea" if request.minor != 0 => causal_key(Clear, first?, 0),
            "ChangeProperty" => causal_key(Property, first?, body.u32(4)?.into()),
            "DeleteProperty" => causal_key(Deleted, first?, body.u32(4)?.into()),
            // GetProperty deletes a property that it has read to the end.
            "GetProperty" if request.minor != 0 => causal_key(Deleted, first?, body.u32(4)?.into()),
            "ConvertSelection" => causal_key(Convert, first?, pair(body.u32(4)?, body.u32(8)?)),
            "SetSelectionOwner" => causal_key(Own, 0, body.u32(4)?.into()),
            // The event follows the destination and the mask.
            "SendEvent" => sent(body.u8(8)?, |at| body.u32(8 + at))?,
            "SetInputFocus" => causal_key(Focus, first?, 0),
            "SYNC:SetCounter" | "SYNC:ChangeCounter" => causal_key(Counter, first?, 0),
            "SHAPE:Rectangles" | "SHAPE:Mask" | "SHAPE:Combine" => {
                causal_key(Shape, body.u32(4)?, 0)
            }
            "SYNC:CreateAlarm" => {
                let (alarm, mask) = (first?, body.u32(4)?);
                let counter = body.value(8, mask, ALARM_COUNTER)?;
                if self.alarms.len() < MAX_WATCHED {
                    self.alarms.insert(alarm, counter);
                }
                return None;
            }
            "SYNC:DestroyAlarm" => {
                self.alarms.remove(&first?);
                return None;
            }
            "DAMAGE:Create" => {
                if self.damaged.len() < MAX_WATCHED {
                    self.damaged.insert(body.u32(4)?);
                }
                return None;
            }
            _ => return None,
        })
    }

    /// The causal keys of the requests that may have caused an event.
    pub(crate) fn event(&self, session: &Session, event: &Event<'_>) -> Vec<CausalKey> {
        let word = |at: usize| event.order.u32(event.bytes, at);
        let causal_keys = if event.sent {
            sent(event.code, word).map(|causal_key| vec![causal_key])
        } else {
            self.of_event(session, event, word)
        };
        causal_keys.unwrap_or_default()
    }

    fn of_event(
        &self,
        session: &Session,
        event: &Event<'_>,
        word: impl Fn(usize) -> Option<u32>,
    ) -> Option<Vec<CausalKey>> {
        use EffectKind::*;
        let of = |kinds: &[EffectKind], window: Option<u32>| {
            let window = window?;
            Some(
                kinds
                    .iter()
                    .map(|kind| causal_key(*kind, window, 0))
                    .collect(),
            )
        };
        match event.name.as_str() {
            "MapRequest" => Some(vec![
                causal_key(Map, word(8)?, 0),
                causal_key(MapChildren, word(4)?, 0),
            ]),
            "ConfigureRequest" => of(&[Configure], word(8)),
            "ResizeRequest" => of(&[Configure], word(4)),
            "CirculateRequest" => of(&[Circulate], word(4)),
            "CreateNotify" => of(&[Create], word(8)),
            "DestroyNotify" => of(&[Destroy], word(8)),
            "UnmapNotify" => of(&[Unmap, Destroy, Reparent], word(8)),
            "MapNotify" => of(&[Map, Reparent], word(8)),
            "ReparentNotify" => of(&[Reparent], word(8)),
            "ConfigureNotify" => of(&[Configure], word(8)),
            "Expose" | "VisibilityNotify" => {
                let window = word(4)?;
                let ancestry = session.ancestry(window).take(MAX_ANCESTORS);
                let shown = ancestry.flat_map(|one| {
                    [Map, Configure, Reparent].map(|kind| causal_key(kind, one, 0))
                });
                Some(shown.chain([causal_key(Clear, window, 0)]).collect())
            }
            "FocusIn" => of(&[Focus], word(4)),
            "FocusOut" => of(&[Focus], Some(0)),
            "SelectionClear" | "XFIXES:SelectionNotify" => {
                Some(vec![causal_key(Own, 0, word(12)?.into())])
            }
            "SelectionRequest" => {
                let of = pair(word(16)?, word(20)?);
                Some(vec![causal_key(Convert, word(12)?, of)])
            }
            "PropertyNotify" => {
                let deleted = event.bytes.get(16).is_some_and(|state| *state != 0);
                let kind = if deleted { Deleted } else { Property };
                Some(vec![causal_key(kind, word(4)?, word(8)?.into())])
            }
            "SHAPE:Notify" => of(&[Shape], word(4)),
            "DAMAGE:Notify" => of(&[Draw], word(4)),
            "SYNC:AlarmNotify" => {
                let counter = self.alarms.get(&word(4)?)?;
                Some(vec![causal_key(Counter, *counter, 0)])
            }
            _ => None,
        }
    }
}

/// The causal key of an event that a client sends: its window and a detail that distinguishes events.
fn sent(code: u8, word: impl Fn(usize) -> Option<u32>) -> Option<CausalKey> {
    /// The protocol's codes. The highest bit marks a sent event.
    const SELECTION_NOTIFY: u8 = 31;
    const CLIENT_MESSAGE: u8 = 33;
    let code = code & 0x7F;
    let (window, detail) = match code {
        2..=8 => (word(12)?, 0),
        // Selection and target.
        SELECTION_NOTIFY => (word(8)?, pair(word(12)?, word(16)?)),
        // The type and the first word of the data: for WM_PROTOCOLS, the protocol.
        CLIENT_MESSAGE => (word(4)?, pair(word(8)?, word(12)?)),
        28 => (word(4)?, word(8)?.into()),
        _ => (word(4)?, 0),
    };
    Some(causal_key(EffectKind::Send(code), window, detail))
}

/// The server time of an event in milliseconds, if it is a PropertyNotify from the server; otherwise `None`.
pub(crate) fn server_time(event: &Event<'_>) -> Option<u32> {
    let reported = event.name.as_str() == "PropertyNotify" && !event.sent;
    reported.then(|| event.order.u32(event.bytes, 12)).flatten()
}
