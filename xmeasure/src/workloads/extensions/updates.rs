//! The requests of compositors and modern toolkits: DAMAGE, COMPOSITE, Present, DOUBLE-BUFFER.

use x11rb_protocol::protocol::xproto::{FreePixmapRequest, Rectangle};
use x11rb_protocol::protocol::{composite, damage, dbe, present, xfixes};

use super::{RESOURCES, cycle, major, pair, plain};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::{core, extension};
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
    plain(loads, version, major);
    // On a window that nothing is drawn on.
    let drawable = client.unwatched;
    let level = damage::ReportLevel::NON_EMPTY;
    let create = |damage| {
        extension(
            damage::CreateRequest {
                damage,
                drawable,
                level,
            },
            major,
        )
    };
    let subtract = |damage| {
        let (repair, parts) = (0, 0);
        extension(
            damage::SubtractRequest {
                damage,
                repair,
                parts,
            },
            major,
        )
    };
    let destroy = |damage| extension(damage::DestroyRequest { damage }, major);
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
        client.send_bytes(&extension(
            xfixes::CreateRegionRequest { region, rectangles },
            fixes,
        ))?;
        plain(loads, damage::AddRequest { drawable, region }, major);
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
    plain(loads, version, major);
    let window = client.unwatched;
    let update = composite::Redirect::AUTOMATIC;
    let redirect = extension(composite::RedirectWindowRequest { window, update }, major);
    let back = extension(composite::UnredirectWindowRequest { window, update }, major);
    pair(loads, redirect, back);
    let redirect = extension(
        composite::RedirectSubwindowsRequest { window, update },
        major,
    );
    let back = extension(
        composite::UnredirectSubwindowsRequest { window, update },
        major,
    );
    pair(loads, redirect, back);
    // A separate window, mapped and redirected: only a redirected window has a pixmap.
    let redirected = client.small_window()?;
    let window = redirected;
    client.send_bytes(&extension(
        composite::RedirectWindowRequest { window, update },
        major,
    ))?;
    let name = |pixmap| extension(composite::NameWindowPixmapRequest { window, pixmap }, major);
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
    plain(loads, version, major);
    let window = client.window;
    plain(
        loads,
        present::QueryCapabilitiesRequest { target: window },
        major,
    );
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
        client.send_bytes(&extension(
            xfixes::CreateRegionRequest { region, rectangles },
            fixes,
        ))?;
        regions.push((*side, region));
    }
    for (side, update) in regions {
        let request = present::PixmapRequest {
            window,
            pixmap,
            serial: 1,
            valid: 0,
            update,
            x_off: 0,
            y_off: 0,
            target_crtc: 0,
            wait_fence: 0,
            idle_fence: 0,
            // The options present at once, and by copying, so that the pixmap is free again.
            options: u32::from(present::Option::ASYNC) | u32::from(present::Option::COPY),
            target_msc: 0,
            divisor: 0,
            remainder: 0,
            notifies: (&[]).into(),
        };
        let bytes = extension(request, major);
        let work = usize::from(side) * usize::from(side);
        loads.push(Workload::varied(Sync::ReadBack, work, |_| bytes.clone()));
    }
    Ok(())
}

/// Asking for Present's events, and for one of them at once: the time asked for is over.
fn notifications(client: &mut Client, loads: &mut Loads, major: u8) -> Result<(), MeasureError> {
    let select = |eid, window, event_mask| {
        let request = present::SelectInputRequest {
            eid,
            window,
            event_mask,
        };
        extension(request, major)
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
    let request = present::NotifyMSCRequest {
        window,
        serial: 1,
        target_msc: 0,
        divisor: 0,
        remainder: 0,
    };
    plain(loads, request, major);
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
    plain(loads, version, major);
    let window = client.small_window()?;
    let swap_action = dbe::SwapAction::UNDEFINED;
    let allocate = |buffer| {
        let swap_action = swap_action.into();
        extension(
            dbe::AllocateBackBufferRequest {
                window,
                buffer,
                swap_action,
            },
            major,
        )
    };
    let swap = |_| {
        let actions = vec![dbe::SwapInfo {
            window,
            swap_action,
        }]
        .into();
        extension(dbe::SwapBuffersRequest { actions }, major)
    };
    let release = |buffer| extension(dbe::DeallocateBackBufferRequest { buffer }, major);
    cycle(client, loads, 1, &[&allocate, &swap, &release]);
    Ok(())
}
