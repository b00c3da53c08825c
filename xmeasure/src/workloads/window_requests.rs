//! Questions about windows, their attributes, and passive grabs on them.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    ButtonIndex, ChangeWindowAttributesAux, ChangeWindowAttributesRequest, EventMask,
    GetGeometryRequest, GetWindowAttributesRequest, GrabButtonRequest, GrabKeyRequest, GrabMode,
    ModMask, QueryPointerRequest, QueryTreeRequest, SendEventRequest, TranslateCoordinatesRequest,
    UngrabButtonRequest, UngrabKeyRequest,
};

use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

/// Grabs on one window, each of another button or key with other modifiers: as many as an xterm
/// makes.
const GRABS: u16 = 48;

/// Adds the loads.
pub(super) fn add(client: &Client, loads: &mut Loads) {
    questions(client, loads);
    grabs(client, loads);
}

fn questions(client: &Client, loads: &mut Loads) {
    let (window, root) = (client.window, client.screen.root);
    let attributes = ChangeWindowAttributesAux::new().event_mask(EventMask::NO_EVENT);
    let value_list = Cow::Borrowed(&attributes);
    loads.plain(core(ChangeWindowAttributesRequest { window, value_list }));
    loads.plain(core(GetWindowAttributesRequest { window }));
    loads.plain(core(GetGeometryRequest { drawable: window }));
    loads.plain(core(QueryTreeRequest { window }));
    loads.plain(core(QueryPointerRequest { window }));
    loads.plain(core(TranslateCoordinatesRequest {
        src_window: window,
        dst_window: root,
        src_x: 5,
        src_y: 5,
    }));
    // A ClientMessage to our window; no client has selected it, so none is delivered.
    let mut event = [0; 32];
    event[..2].copy_from_slice(&[33, 32]);
    loads.plain(core(SendEventRequest {
        propagate: false,
        destination: client.unwatched,
        event_mask: EventMask::PROPERTY_CHANGE,
        event: Cow::Owned(event),
    }));
}

/// Passive grabs on a window of ours: nobody's input is taken away.
fn grabs(client: &Client, loads: &mut Loads) {
    let grab_window = client.unwatched;
    let buttons = || (0..GRABS).map(|index| (ButtonIndex::from((index % 3 + 1) as u8), index / 3));
    let grab_button = |(button, modifiers): (ButtonIndex, u16)| {
        core(GrabButtonRequest {
            owner_events: true,
            grab_window,
            event_mask: EventMask::BUTTON_PRESS,
            pointer_mode: GrabMode::ASYNC,
            keyboard_mode: GrabMode::ASYNC,
            confine_to: 0,
            cursor: 0,
            button,
            modifiers: ModMask::from(modifiers),
        })
    };
    let ungrab_button = |(button, modifiers): (ButtonIndex, u16)| {
        let modifiers = ModMask::from(modifiers);
        core(UngrabButtonRequest {
            button,
            grab_window,
            modifiers,
        })
    };
    loads.push(Workload::cycle([
        Phase::new(buttons().map(grab_button), Sync::RoundTrip),
        Phase::new(buttons().map(ungrab_button), Sync::RoundTrip),
    ]));
    let keys = || (0..GRABS).map(|index| (24 + (index % 3) as u8, index / 3));
    let grab_key = |(key, modifiers): (u8, u16)| {
        core(GrabKeyRequest {
            owner_events: true,
            grab_window,
            modifiers: ModMask::from(modifiers),
            key,
            pointer_mode: GrabMode::ASYNC,
            keyboard_mode: GrabMode::ASYNC,
        })
    };
    let ungrab_key = |(key, modifiers): (u8, u16)| {
        core(UngrabKeyRequest {
            key,
            grab_window,
            modifiers: ModMask::from(modifiers),
        })
    };
    loads.push(Workload::cycle([
        Phase::new(keys().map(grab_key), Sync::RoundTrip),
        Phase::new(keys().map(ungrab_key), Sync::RoundTrip),
    ]));
}
