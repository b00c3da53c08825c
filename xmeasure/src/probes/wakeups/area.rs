//! A large area that is filled after a sleep, to see what cold pixels cost: its rows lie far apart
//! in memory, as those of most windows do.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::sampling::streamed::Streamed;
use crate::server::client::Client;
use crate::server::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// Millions of pixels of it.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;

/// It is filled on a drawable as wide as the screen that nobody sees: what a server does for its screen falls
/// into some of the measurements and not into others.
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
