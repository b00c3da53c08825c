//! What a server is watched after before it is measured: some work on after they have answered.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use crate::error::MeasureError;
use crate::server::client::{SIDE, Stage};
use crate::server::wire;

/// How many such requests: some milliseconds of drawing.
pub(crate) const DRAWINGS: u64 = 200;

/// Requests that show whether the server goes on with what it has drawn after it has answered.
pub(crate) fn drawing(stage: &mut Stage) -> Result<Vec<u8>, MeasureError> {
    let drawable = stage.window;
    let gc = stage.gc(drawable, CreateGCAux::new())?;
    let side = SIDE - 100;
    let rectangle = Rectangle {
        x: 0,
        y: 0,
        width: side,
        height: side,
    };
    let request = wire::core(PolyFillRectangleRequest {
        drawable,
        gc,
        rectangles: [rectangle].as_slice().into(),
    });
    Ok(request.repeat(DRAWINGS as usize))
}
