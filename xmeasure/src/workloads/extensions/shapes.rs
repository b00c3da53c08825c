//! SHAPE: windows that are no rectangles.

use x11rb_protocol::protocol::shape::{
    CombineRequest, GetRectanglesRequest, InputSelectedRequest, MaskRequest, OffsetRequest,
    QueryExtentsRequest, QueryVersionRequest, RectanglesRequest, SK, SO, SelectInputRequest,
};
use x11rb_protocol::protocol::xproto::{ClipOrdering, Rectangle};

use super::{major, plain};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads. The window is unmapped, so the windows beneath are not redrawn.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "SHAPE")? else {
        return Ok(());
    };
    let window = client.unwatched;
    plain(loads, QueryVersionRequest, major);
    plain(
        loads,
        QueryExtentsRequest {
            destination_window: window,
        },
        major,
    );
    for destination_kind in [SK::BOUNDING, SK::INPUT] {
        let rectangles = vec![Rectangle {
            x: 0,
            y: 0,
            width: 9,
            height: 9,
        }];
        let request = RectanglesRequest {
            operation: SO::SET,
            destination_kind,
            ordering: ClipOrdering::UNSORTED,
            destination_window: window,
            x_offset: 0,
            y_offset: 0,
            rectangles: rectangles.into(),
        };
        plain(loads, request, major);
    }
    let mask = MaskRequest {
        operation: SO::SET,
        destination_kind: SK::BOUNDING,
        destination_window: window,
        x_offset: 0,
        y_offset: 0,
        source_bitmap: 0,
    };
    plain(loads, mask, major);
    let combine = CombineRequest {
        operation: SO::SET,
        destination_kind: SK::BOUNDING,
        source_kind: SK::BOUNDING,
        destination_window: window,
        x_offset: 0,
        y_offset: 0,
        source_window: client.notified,
    };
    plain(loads, combine, major);
    let offset = OffsetRequest {
        destination_kind: SK::BOUNDING,
        destination_window: window,
        x_offset: 0,
        y_offset: 0,
    };
    plain(loads, offset, major);
    let select = SelectInputRequest {
        destination_window: window,
        enable: false,
    };
    plain(loads, select, major);
    plain(
        loads,
        InputSelectedRequest {
            destination_window: window,
        },
        major,
    );
    let source_kind = SK::BOUNDING;
    plain(
        loads,
        GetRectanglesRequest {
            window,
            source_kind,
        },
        major,
    );
    Ok(())
}
