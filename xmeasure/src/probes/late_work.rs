//! A drawing load that shows whether the server continues to work after its reply.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::server::client::{Client, SIDE};
use crate::server::wire;

/// The number of requests; they take some milliseconds to draw.
const DRAWINGS: usize = 200;

/// Large rectangles on the window.
pub(crate) fn drawing(client: &mut Client) -> Result<Batch, MeasureError> {
    let drawable = client.window;
    let gc = client.gc(drawable, CreateGCAux::new())?;
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
    Ok(Batch::single(request, false).repeated(DRAWINGS))
}
