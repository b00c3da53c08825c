//! A large area that is filled after a sleep, to measure the cost of pixels that are not in the caches. The rows of the
//! area are far apart in memory, like the rows of most windows.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::sampling::streamed::Streamed;
use crate::server::client::Client;
use crate::server::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// The size of the area in millions of pixels.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;

/// Creates the area on an invisible drawable as wide as the screen. On a visible drawable, work that the server defers
/// would affect only some of the measurements.
pub(super) fn area(client: &mut Client) -> Result<Streamed, MeasureError> {
    let drawable = client.like_the_screen()?;
    let gc = client.gc(drawable, CreateGCAux::new())?;
    let square = [Rectangle {
        x: 0,
        y: 0,
        width: SIDE,
        height: SIDE,
    }];
    let fill = PolyFillRectangleRequest {
        drawable,
        gc,
        rectangles: square.as_slice().into(),
    };
    Ok(Streamed::new(Batch::single(wire::core(fill), false)))
}
