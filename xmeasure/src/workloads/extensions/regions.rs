//! XFIXES: regions, selections, cursors.

use x11rb_protocol::protocol::shape::SK;
use x11rb_protocol::protocol::xfixes::{
    CopyRegionRequest, CreateRegionFromBitmapRequest, CreateRegionFromWindowRequest,
    CreateRegionRequest, CursorNotifyMask, DestroyRegionRequest, ExpandRegionRequest,
    FetchRegionRequest, GetCursorImageRequest, HideCursorRequest, IntersectRegionRequest,
    InvertRegionRequest, QueryVersionRequest, RegionExtentsRequest, SelectCursorInputRequest,
    SelectSelectionInputRequest, SelectionEventMask, SetGCClipRegionRequest, SetRegionRequest,
    SetWindowShapeRegionRequest, ShowCursorRequest, SubtractRegionRequest, TranslateRegionRequest,
    UnionRegionRequest,
};
use x11rb_protocol::protocol::xproto::{AtomEnum, CreateGCAux, Rectangle};

use super::{RESOURCES, costly, cycle, major, pair, plain};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::extension;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "XFIXES")? else {
        return Ok(());
    };
    let version = QueryVersionRequest {
        client_major_version: 5,
        client_minor_version: 0,
    };
    client.ask_extension(version, major)?;
    plain(loads, version, major);
    let rectangles = [0, 20, 40, 60].map(|at| Rectangle {
        x: at,
        y: at,
        width: 10,
        height: 10,
    });
    let create = |region, count: usize| {
        let rectangles = rectangles.iter().copied().take(count).collect();
        extension(CreateRegionRequest { region, rectangles }, major)
    };
    let destroy = |region| extension(DestroyRegionRequest { region }, major);
    for count in [1, 4] {
        cycle(
            client,
            loads,
            RESOURCES,
            &[&|region| create(region, count), &destroy],
        );
    }
    let window = client.window;
    let of_window = |region| {
        let kind = SK::BOUNDING;
        extension(
            CreateRegionFromWindowRequest {
                region,
                window,
                kind,
            },
            major,
        )
    };
    cycle(client, loads, RESOURCES, &[&of_window, &destroy]);
    let bitmap = client.pixmap(1, 32)?;
    let of_bitmap = |region| extension(CreateRegionFromBitmapRequest { region, bitmap }, major);
    cycle(client, loads, RESOURCES / 8, &[&of_bitmap, &destroy]);

    let (one, other, third) = (client.id(), client.id(), client.id());
    for (region, count) in [(one, 1), (other, 4), (third, 1)] {
        client.send_bytes(&create(region, count))?;
    }
    let (source1, source2, destination) = (one, other, third);
    plain(
        loads,
        UnionRegionRequest {
            source1,
            source2,
            destination,
        },
        major,
    );
    plain(
        loads,
        IntersectRegionRequest {
            source1,
            source2,
            destination,
        },
        major,
    );
    plain(
        loads,
        SubtractRegionRequest {
            source1,
            source2,
            destination,
        },
        major,
    );
    let source = other;
    plain(
        loads,
        InvertRegionRequest {
            source,
            bounds: rectangles[0],
            destination,
        },
        major,
    );
    plain(
        loads,
        ExpandRegionRequest {
            source,
            destination,
            left: 1,
            right: 1,
            top: 1,
            bottom: 1,
        },
        major,
    );
    plain(
        loads,
        CopyRegionRequest {
            source,
            destination,
        },
        major,
    );
    plain(
        loads,
        RegionExtentsRequest {
            source,
            destination,
        },
        major,
    );
    plain(
        loads,
        TranslateRegionRequest {
            region: one,
            dx: 0,
            dy: 0,
        },
        major,
    );
    plain(loads, FetchRegionRequest { region: other }, major);
    let set = SetRegionRequest {
        region: third,
        rectangles: (&rectangles[..1]).into(),
    };
    plain(loads, set, major);
    let gc = client.gc(window, CreateGCAux::new())?;
    let clip = SetGCClipRegionRequest {
        gc,
        region: one,
        x_origin: 0,
        y_origin: 0,
    };
    plain(loads, clip, major);
    let shape = SetWindowShapeRegionRequest {
        dest: client.unwatched,
        dest_kind: SK::INPUT,
        x_offset: 0,
        y_offset: 0,
        region: one,
    };
    plain(loads, shape, major);
    let selection = SelectSelectionInputRequest {
        window: client.unwatched,
        selection: AtomEnum::PRIMARY.into(),
        event_mask: SelectionEventMask::SET_SELECTION_OWNER,
    };
    plain(loads, selection, major);
    let cursor = SelectCursorInputRequest {
        window: client.unwatched,
        event_mask: CursorNotifyMask::from(0_u32),
    };
    plain(loads, cursor, major);
    costly(loads, GetCursorImageRequest, major);
    let window = client.unwatched;
    let hide = extension(HideCursorRequest { window }, major);
    pair(loads, hide, extension(ShowCursorRequest { window }, major));
    Ok(())
}
