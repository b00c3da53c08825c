//! The loads of RENDER's text. The glyphs of a set are identified by one, two or four bytes.

use x11rb_protocol::protocol::render::{self, CompositeGlyphs8Request, PictOp};

use super::super::place;
use super::render::Render;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// The initial numbers of glyphs in a text.
const GLYPHS: [u16; 3] = [1, 8, 32];
/// The sides of the glyphs, in pixels.
const GLYPH_SIDES: [u16; 2] = [8, 16];

/// The number of bytes that identify a glyph, which selects the text request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Width {
    One,
    Two,
    Four,
}

/// Adds the loads of text from the picture `src` to the picture `dst`.
pub(super) fn add(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    render: Render,
    [src, dst]: [u32; 2],
) -> Result<(), MeasureError> {
    for side in GLYPH_SIDES {
        let set = render.glyph_set(client, side, 96)?;
        for width in [Width::One, Width::Two, Width::Four] {
            // With a mask format, the server first composes the whole text in a mask. Without a mask format, the server
            // draws each glyph separately.
            for mask in [0, render.a8] {
                let draw = move |count: u16, strings: usize| {
                    let work = usize::from(count) * strings * usize::from(side) * 40;
                    Workload::varied(Sync::ReadBack, work, |index| {
                        let (x, y) = place(index, SIDE, side);
                        let y = y + side.cast_signed();
                        let commands = commands(width, index, x, y, count, strings);
                        let pictures = (PictOp::OVER, src, dst);
                        glyphs(render.major, width, pictures, mask, set, commands)
                    })
                };
                let counts = plan.sizes(&GLYPHS);
                loads.series(counts, move |count| draw(count, 1));
                loads.push(draw(8, 1));
                loads.push(draw(8, 4));
            }
        }
    }
    Ok(())
}

/// Returns the glyph elements of a text request. Each element has a count, padding, an offset, and the padded glyphs.
fn commands(width: Width, index: usize, x: i16, y: i16, count: u16, strings: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for string in 0..strings {
        let (dx, dy) = if string == 0 { (x, y) } else { (0, 0) };
        bytes.extend([u8::try_from(count).unwrap_or(254), 0, 0, 0]);
        bytes.extend(dx.to_ne_bytes());
        bytes.extend(dy.to_ne_bytes());
        for at in 0..usize::from(count) {
            let glyph = ((index + string + at) % 96) as u32;
            match width {
                Width::One => bytes.push(glyph as u8),
                Width::Two => bytes.extend((glyph as u16).to_ne_bytes()),
                Width::Four => bytes.extend(glyph.to_ne_bytes()),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// The bytes of a text request with the elements `commands`, from the picture `src` to the picture `dst` by the
/// operator `op`.
pub(super) fn glyphs(
    major: Major,
    width: Width,
    (op, src, dst): (PictOp, u32, u32),
    mask_format: u32,
    glyphset: u32,
    commands: Vec<u8>,
) -> Vec<u8> {
    let mut bytes = major.bytes(CompositeGlyphs8Request {
        op,
        src,
        dst,
        mask_format,
        glyphset,
        src_x: 0,
        src_y: 0,
        glyphcmds: commands.into(),
    });
    // The requests of the three widths differ only in their opcodes.
    if let Some(minor) = bytes.get_mut(1) {
        *minor = match width {
            Width::One => render::COMPOSITE_GLYPHS8_REQUEST,
            Width::Two => render::COMPOSITE_GLYPHS16_REQUEST,
            Width::Four => render::COMPOSITE_GLYPHS32_REQUEST,
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Width, commands};

    #[test]
    fn glyph_strings_are_padded_to_four_bytes() {
        assert_eq!(commands(Width::One, 0, 1, 2, 3, 1).len(), 8 + 4);
        assert_eq!(commands(Width::Two, 0, 1, 2, 3, 2).len(), 2 * (8 + 8));
        assert_eq!(
            commands(Width::Four, 5, 1, 2, 1, 1)[8..],
            5_u32.to_ne_bytes()
        );
    }
}
