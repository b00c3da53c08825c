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

use super::{RESOURCES, cycle, major};
use crate::error::MeasureError;
use crate::server::client::Client;
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
    loads.plain(major.bytes(version));
    let rectangles = [0, 20, 40, 60].map(|at| Rectangle {
        x: at,
        y: at,
        width: 10,
        height: 10,
    });
    let create = |region, count: usize| {
        let rectangles = rectangles.iter().copied().take(count).collect();
        major.bytes(CreateRegionRequest { region, rectangles })
    };
    let destroy = |region| major.bytes(DestroyRegionRequest { region });
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
        major.bytes(CreateRegionFromWindowRequest {
            region,
            window,
            kind,
        })
    };
    cycle(client, loads, RESOURCES, &[&of_window, &destroy]);
    let bitmap = client.pixmap(1, 32)?;
    let of_bitmap = |region| major.bytes(CreateRegionFromBitmapRequest { region, bitmap });
    cycle(client, loads, RESOURCES / 8, &[&of_bitmap, &destroy]);

    let (one, other, third) = (client.id(), client.id(), client.id());
    for (region, count) in [(one, 1), (other, 4), (third, 1)] {
        client.send_bytes(&create(region, count))?;
    }
    let (source1, source2, destination) = (one, other, third);
    loads.plain(major.bytes(UnionRegionRequest {
        source1,
        source2,
        destination,
    }));
    loads.plain(major.bytes(IntersectRegionRequest {
        source1,
        source2,
        destination,
    }));
    loads.plain(major.bytes(SubtractRegionRequest {
        source1,
        source2,
        destination,
    }));
    let source = other;
    loads.plain(major.bytes(InvertRegionRequest {
        source,
        bounds: rectangles[0],
        destination,
    }));
    loads.plain(major.bytes(ExpandRegionRequest {
        source,
        destination,
        left: 1,
        right: 1,
        top: 1,
        bottom: 1,
    }));
    loads.plain(major.bytes(CopyRegionRequest {
        source,
        destination,
    }));
    loads.plain(major.bytes(RegionExtentsRequest {
        source,
        destination,
    }));
    loads.plain(major.bytes(TranslateRegionRequest {
        region: one,
        dx: 0,
        dy: 0,
    }));
    loads.plain(major.bytes(FetchRegionRequest { region: other }));
    loads.plain(major.bytes(SetRegionRequest {
        region: third,
        rectangles: (&rectangles[..1]).into(),
    }));
    let gc = client.gc(window, CreateGCAux::new())?;
    loads.plain(major.bytes(SetGCClipRegionRequest {
        gc,
        region: one,
        x_origin: 0,
        y_origin: 0,
    }));
    loads.plain(major.bytes(SetWindowShapeRegionRequest {
        dest: client.unwatched,
        dest_kind: SK::INPUT,
        x_offset: 0,
        y_offset: 0,
        region: one,
    }));
    loads.plain(major.bytes(SelectSelectionInputRequest {
        window: client.unwatched,
        selection: AtomEnum::PRIMARY.into(),
        event_mask: SelectionEventMask::SET_SELECTION_OWNER,
    }));
    loads.plain(major.bytes(SelectCursorInputRequest {
        window: client.unwatched,
        event_mask: CursorNotifyMask::from(0_u32),
    }));
    loads.costly(major.bytes(GetCursorImageRequest));
    let window = client.unwatched;
    let hide = major.bytes(HideCursorRequest { window });
    loads.pair(hide, major.bytes(ShowCursorRequest { window }));
    Ok(())
}
