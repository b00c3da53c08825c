//! Windows: making, mapping, moving, grabbing, and what is asked about them.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    ButtonIndex, ChangeWindowAttributesAux, ChangeWindowAttributesRequest, ConfigureWindowAux,
    ConfigureWindowRequest, CreateWindowAux, CreateWindowRequest, DestroySubwindowsRequest,
    DestroyWindowRequest, EventMask, GetGeometryRequest, GetWindowAttributesRequest,
    GrabButtonRequest, GrabKeyRequest, GrabMode, MapSubwindowsRequest, MapWindowRequest, ModMask,
    QueryPointerRequest, QueryTreeRequest, ReparentWindowRequest, SendEventRequest,
    TranslateCoordinatesRequest, UngrabButtonRequest, UngrabKeyRequest, UnmapSubwindowsRequest,
    UnmapWindowRequest, WindowClass,
};

use super::{RESOURCES, cycle, plain};
use crate::error::MeasureError;
use crate::loads::Loads;
use crate::stage::Stage;
use crate::wire::core;
use crate::workload::{Phase, Sync, Workload};

/// Side of a small child window, in pixels.
const CHILD: u16 = 20;
/// Children that are mapped with one request.
const CHILDREN: usize = 8;
/// Grabs on one window, each of another button or key with other modifiers: as many as an xterm
/// makes.
const GRABS: u16 = 48;
/// Windows that have so many children.
const FAMILIES: usize = 32;

/// Adds the loads.
pub(super) fn add(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let parent = stage.arena;
    let ids = stage.ids(RESOURCES / 4);
    let first = ids.first().copied().unwrap_or_default();
    let create = |wid: u32| create(wid, parent, wid.wrapping_sub(first));
    cycle(
        loads,
        &ids,
        &[
            &create,
            &|window| core(MapWindowRequest { window }),
            &|window| core(UnmapWindowRequest { window }),
            &|window| core(DestroyWindowRequest { window }),
        ],
    );
    let ids = stage.ids(RESOURCES / 4);
    let silent = stage.silent;
    cycle(
        loads,
        &ids,
        &[
            &create,
            &|window| {
                core(ReparentWindowRequest {
                    window,
                    parent: silent,
                    x: 1,
                    y: 1,
                })
            },
            &|window| core(DestroyWindowRequest { window }),
        ],
    );
    changes(stage, loads)?;
    children(stage, loads)?;
    questions(stage, loads);
    grabs(stage, loads);
    Ok(())
}

/// Attributes and places of a window that is mapped.
fn changes(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let window = stage.id();
    stage.send_bytes(&create(window, stage.arena, 0))?;
    stage.send(MapWindowRequest { window })?;
    let attributes = ChangeWindowAttributesAux::new().event_mask(EventMask::NO_EVENT);
    let value_list = Cow::Borrowed(&attributes);
    plain(loads, ChangeWindowAttributesRequest { window, value_list });
    // Back and forth, so that each request changes something; away from the other children.
    loads.push(Workload::varied(Sync::RoundTrip, 2000, |index| {
        let (there, size) = if index % 2 == 0 { (150, 30) } else { (160, 35) };
        let value_list = ConfigureWindowAux::new()
            .x(there)
            .y(there)
            .width(size)
            .height(size);
        core(ConfigureWindowRequest {
            window,
            value_list: Cow::Owned(value_list),
        })
    }));
    Ok(())
}

/// A request for a child of `parent`; the first hundred lie beside each other.
fn create(wid: u32, parent: u32, index: u32) -> Vec<u8> {
    let cell = |number: u32| i16::try_from(number % 10).unwrap_or(0) * CHILD.cast_signed();
    let (x, y) = (cell(index), cell(index / 10));
    core(CreateWindowRequest {
        depth: 0,
        wid,
        parent,
        x,
        y,
        width: CHILD,
        height: CHILD,
        border_width: 0,
        class: WindowClass::INPUT_OUTPUT,
        visual: 0,
        value_list: Cow::Owned(CreateWindowAux::new().background_pixel(0)),
    })
}

/// Windows with children, which are mapped, unmapped and destroyed by one request each.
fn children(stage: &mut Stage, loads: &mut Loads) -> Result<(), MeasureError> {
    let families = stage.ids(FAMILIES);
    for (index, family) in (0..).zip(&families) {
        stage.send_bytes(&create(*family, stage.arena, index))?;
        stage.send(MapWindowRequest { window: *family })?;
    }
    let ids = stage.ids(FAMILIES * CHILDREN);
    let born = (0..).zip(ids.iter().zip(families.iter().cycle()));
    let born = born.map(|(index, (id, family))| create(*id, *family, index));
    let each = |request: &dyn Fn(u32) -> Vec<u8>| {
        Phase::new(
            families.iter().map(|family| request(*family)),
            Sync::RoundTrip,
        )
    };
    loads.push(Workload::cycle([
        Phase::new(born, Sync::RoundTrip),
        each(&|window| core(MapSubwindowsRequest { window })),
        each(&|window| core(UnmapSubwindowsRequest { window })),
        each(&|window| core(DestroySubwindowsRequest { window })),
    ]));
    Ok(())
}

fn questions(stage: &Stage, loads: &mut Loads) {
    let (window, root) = (stage.window, stage.screen.root);
    plain(loads, GetWindowAttributesRequest { window });
    plain(loads, GetGeometryRequest { drawable: window });
    plain(loads, QueryTreeRequest { window });
    plain(loads, QueryPointerRequest { window });
    plain(
        loads,
        TranslateCoordinatesRequest {
            src_window: window,
            dst_window: root,
            src_x: 5,
            src_y: 5,
        },
    );
    // A ClientMessage to a window of ours; nobody has asked for it, so none is delivered.
    let mut event = [0; 32];
    event[..2].copy_from_slice(&[33, 32]);
    plain(
        loads,
        SendEventRequest {
            propagate: false,
            destination: stage.silent,
            event_mask: EventMask::PROPERTY_CHANGE,
            event: Cow::Owned(event),
        },
    );
}

/// Passive grabs on a window of ours: nobody's input is taken away.
fn grabs(stage: &Stage, loads: &mut Loads) {
    let grab_window = stage.silent;
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
