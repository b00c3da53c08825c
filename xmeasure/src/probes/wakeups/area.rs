//! A large area that is filled after a sleep, for the cost of cold pixels: its rows lie far apart in memory, as those
//! of most windows do.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::sampling::streamed::Streamed;
use crate::server::client::Client;
use crate::server::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// The area in millions of pixels.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;

/// The area lies on an invisible drawable as wide as the screen: the server's work for its screen would fall into some
/// of the measurements only.
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
