//! SHAPE: windows that are no rectangles.

use x11rb_protocol::protocol::shape::{
    CombineRequest, GetRectanglesRequest, InputSelectedRequest, MaskRequest, OffsetRequest,
    QueryExtentsRequest, QueryVersionRequest, RectanglesRequest, SK, SO, SelectInputRequest,
};
use x11rb_protocol::protocol::xproto::{ClipOrdering, Rectangle};

use super::major;
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads. The window is unmapped, so the windows beneath are not redrawn.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "SHAPE")? else {
        return Ok(());
    };
    let window = client.unwatched;
    loads.plain(major.bytes(QueryVersionRequest));
    loads.plain(major.bytes(QueryExtentsRequest {
        destination_window: window,
    }));
    for destination_kind in [SK::BOUNDING, SK::INPUT] {
        let rectangles = vec![Rectangle {
            x: 0,
            y: 0,
            width: 9,
            height: 9,
        }];
        loads.plain(major.bytes(RectanglesRequest {
            operation: SO::SET,
            destination_kind,
            ordering: ClipOrdering::UNSORTED,
            destination_window: window,
            x_offset: 0,
            y_offset: 0,
            rectangles: rectangles.into(),
        }));
    }
    loads.plain(major.bytes(MaskRequest {
        operation: SO::SET,
        destination_kind: SK::BOUNDING,
        destination_window: window,
        ..MaskRequest::default()
    }));
    loads.plain(major.bytes(CombineRequest {
        operation: SO::SET,
        destination_kind: SK::BOUNDING,
        source_kind: SK::BOUNDING,
        destination_window: window,
        x_offset: 0,
        y_offset: 0,
        source_window: client.notified,
    }));
    loads.plain(major.bytes(OffsetRequest {
        destination_kind: SK::BOUNDING,
        destination_window: window,
        x_offset: 0,
        y_offset: 0,
    }));
    loads.plain(major.bytes(SelectInputRequest {
        destination_window: window,
        enable: false,
    }));
    loads.plain(major.bytes(InputSelectedRequest {
        destination_window: window,
    }));
    let source_kind = SK::BOUNDING;
    loads.plain(major.bytes(GetRectanglesRequest {
        window,
        source_kind,
    }));
    Ok(())
}
