//! The requests of compositors and modern toolkits: DAMAGE, COMPOSITE, Present, DOUBLE-BUFFER.

use x11rb_protocol::protocol::xproto::{FreePixmapRequest, Rectangle};
use x11rb_protocol::protocol::{composite, damage, dbe, present, xfixes};

use super::{RESOURCES, cycle, major};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::{Major, core};
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// Sides of the part that Present updates, in pixels.
const SIDES: [u16; 3] = [10, 100, 500];

/// Adds the loads.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    damages(client, loads)?;
    composites(client, loads)?;
    presents(client, plan, loads)?;
    buffers(client, loads)
}

fn damages(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "DAMAGE")? else {
        return Ok(());
    };
    let version = damage::QueryVersionRequest {
        client_major_version: 1,
        client_minor_version: 1,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    // On a window that nothing is drawn on.
    let drawable = client.unwatched;
    let level = damage::ReportLevel::NON_EMPTY;
    let create = |damage| {
        major.bytes(damage::CreateRequest {
            damage,
            drawable,
            level,
        })
    };
    let subtract = |damage| {
        let (repair, parts) = (0, 0);
        major.bytes(damage::SubtractRequest {
            damage,
            repair,
            parts,
        })
    };
    let destroy = |damage| major.bytes(damage::DestroyRequest { damage });
    cycle(
        client,
        loads,
        RESOURCES / 8,
        &[&create, &subtract, &destroy],
    );
    if let Some(fixes) = client.extension("XFIXES")? {
        let region = client.id();
        let rectangles = vec![Rectangle {
            x: 0,
            y: 0,
            width: 5,
            height: 5,
        }];
        let rectangles = rectangles.into();
        client.send_bytes(&fixes.bytes(xfixes::CreateRegionRequest { region, rectangles }))?;
        loads.plain(major.bytes(damage::AddRequest { drawable, region }));
    }
    Ok(())
}

fn composites(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "Composite")? else {
        return Ok(());
    };
    let version = composite::QueryVersionRequest {
        client_major_version: 0,
        client_minor_version: 4,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let window = client.unwatched;
    let update = composite::Redirect::AUTOMATIC;
    let redirect = major.bytes(composite::RedirectWindowRequest { window, update });
    let back = major.bytes(composite::UnredirectWindowRequest { window, update });
    loads.pair(redirect, back);
    let redirect = major.bytes(composite::RedirectSubwindowsRequest { window, update });
    let back = major.bytes(composite::UnredirectSubwindowsRequest { window, update });
    loads.pair(redirect, back);
    // A separate window, mapped and redirected: only a redirected window has a pixmap.
    let redirected = client.small_window()?;
    let window = redirected;
    client.send_bytes(&major.bytes(composite::RedirectWindowRequest { window, update }))?;
    let name = |pixmap| major.bytes(composite::NameWindowPixmapRequest { window, pixmap });
    let free = |pixmap| core(FreePixmapRequest { pixmap });
    cycle(client, loads, RESOURCES / 8, &[&name, &free]);
    Ok(())
}

fn presents(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "Present")? else {
        return Ok(());
    };
    let version = present::QueryVersionRequest {
        major_version: 1,
        minor_version: 2,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let window = client.window;
    loads.plain(major.bytes(present::QueryCapabilitiesRequest { target: window }));
    notifications(client, loads, major)?;
    let pixmap = client.pixmap(client.screen.root_depth, SIDE)?;
    let Some(fixes) = client.extension("XFIXES")? else {
        return Ok(());
    };
    let mut regions = Vec::new();
    for side in plan.sizes(&SIDES) {
        let region = client.id();
        let rectangles = vec![Rectangle {
            x: 0,
            y: 0,
            width: *side,
            height: *side,
        }];
        let rectangles = rectangles.into();
        client.send_bytes(&fixes.bytes(xfixes::CreateRegionRequest { region, rectangles }))?;
        regions.push((*side, region));
    }
    for (side, update) in regions {
        let request = present::PixmapRequest {
            window,
            pixmap,
            serial: 1,
            update,
            // The options present at once, and by copying, so that the pixmap is free again.
            options: u32::from(present::Option::ASYNC) | u32::from(present::Option::COPY),
            ..present::PixmapRequest::default()
        };
        let bytes = major.bytes(request);
        let work = usize::from(side) * usize::from(side);
        loads.push(Workload::varied(Sync::ReadBack, work, |_| bytes.clone()));
    }
    Ok(())
}

/// Asking for Present's events, and for one of them at once: the time asked for is over.
fn notifications(client: &mut Client, loads: &mut Loads, major: Major) -> Result<(), MeasureError> {
    let select = |eid, window, event_mask| {
        major.bytes(present::SelectInputRequest {
            eid,
            window,
            event_mask,
        })
    };
    let silent = client.unwatched;
    let complete = present::EventMask::COMPLETE_NOTIFY;
    let none = present::EventMask::NO_EVENT;
    cycle(
        client,
        loads,
        RESOURCES / 8,
        &[&|eid| select(eid, silent, complete), &|eid| {
            select(eid, silent, none)
        }],
    );
    let window = client.small_window()?;
    let eid = client.id();
    client.send_bytes(&select(eid, window, complete))?;
    loads.plain(major.bytes(present::NotifyMSCRequest {
        window,
        serial: 1,
        ..present::NotifyMSCRequest::default()
    }));
    Ok(())
}

fn buffers(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "DOUBLE-BUFFER")? else {
        return Ok(());
    };
    let version = dbe::QueryVersionRequest {
        major_version: 1,
        minor_version: 0,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let window = client.small_window()?;
    let swap_action = dbe::SwapAction::UNDEFINED;
    let allocate = |buffer| {
        let swap_action = swap_action.into();
        major.bytes(dbe::AllocateBackBufferRequest {
            window,
            buffer,
            swap_action,
        })
    };
    let swap = |_| {
        let actions = vec![dbe::SwapInfo {
            window,
            swap_action,
        }]
        .into();
        major.bytes(dbe::SwapBuffersRequest { actions })
    };
    let release = |buffer| major.bytes(dbe::DeallocateBackBufferRequest { buffer });
    cycle(client, loads, 1, &[&allocate, &swap, &release]);
    Ok(())
}
