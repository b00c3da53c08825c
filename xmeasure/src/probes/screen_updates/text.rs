//! Pictures of text, the most common screen content.

use x11rb_protocol::protocol::xproto::{
    CreateGCAux, PolyFillRectangleRequest, PolyText8Request, Rectangle,
};

use crate::error::MeasureError;
use crate::server::client::{Client, SIDE};

/// Grey levels next to the strokes of smooth letters, and their horizontal offset in pixels.
const EDGES: [(u32, i16); 2] = [(0xd0d0d0, -1), (0x808080, 1)];

/// Lines of words.
const TEXT: &[u8] = b"The quick brown fox jumps over the lazy dog; 0123456789. \
    Pack my box with five dozen liquor jugs! ";

/// A pixmap full of text in that foreground and background.
pub(super) fn picture(
    client: &mut Client,
    depth: u8,
    colours: [u32; 2],
) -> Result<u32, MeasureError> {
    let pixmap = client.pixmap(depth, SIDE)?;
    let ground = CreateGCAux::new().foreground(colours[1]);
    let ground = client.gc(pixmap, ground)?;
    let all = Rectangle {
        x: 0,
        y: 0,
        width: SIDE,
        height: SIDE,
    };
    client.send(PolyFillRectangleRequest {
        drawable: pixmap,
        gc: ground,
        rectangles: [all].as_slice().into(),
    })?;
    letters(client, pixmap, colours[0], 0)?;
    Ok(pixmap)
}

/// A picture of text in black on white with grey edges, as toolkits draw letters.
pub(super) fn smooth(client: &mut Client, depth: u8) -> Result<u32, MeasureError> {
    let pixmap = picture(client, depth, [u32::MAX, u32::MAX])?;
    for (colour, shift) in EDGES {
        letters(client, pixmap, colour, shift)?;
    }
    letters(client, pixmap, 0, 0)?;
    Ok(pixmap)
}

/// Draws lines of letters over the whole drawable, shifted to the right by `right` pixels.
fn letters(client: &mut Client, pixmap: u32, colour: u32, right: i16) -> Result<(), MeasureError> {
    let Some(font) = client.font("fixed")? else {
        return Ok(());
    };
    let values = CreateGCAux::new().foreground(colour).font(font);
    let gc = client.gc(pixmap, values)?;
    // A text item: its length, no shift, its characters (protocol, PolyText8).
    let item: Vec<u8> = [TEXT.len() as u8, 0].iter().chain(TEXT).copied().collect();
    for y in (13..SIDE.cast_signed()).step_by(13) {
        for x in [-y, 6 * TEXT.len() as i16 - y] {
            client.send(PolyText8Request {
                drawable: pixmap,
                gc,
                x: x + right,
                y,
                items: item.as_slice().into(),
            })?;
        }
    }
    Ok(())
}
