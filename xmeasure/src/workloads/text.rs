//! Text of the core protocol.

use x11rb_protocol::protocol::xproto::{
    Char2b, CreateGCAux, GX, ImageText8Request, ImageText16Request, PolyText8Request,
    PolyText16Request,
};

use super::place;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::stage::{SIDE, Stage};
use crate::wire::core;
use crate::workload::{Sync, Workload};

/// Fonts that most servers have, with the width of their characters; those that are not there are
/// left out.
const FONTS: [(&str, u16); 2] = [("fixed", 6), ("9x15", 9)];
/// Characters in a string; fewer where the window is too narrow for them, so that nothing is
/// clipped.
const LENGTHS: [usize; 5] = [1, 10, 20, 40, 80];
/// The length at which the number of items is varied, and that number.
const ITEM: usize = 20;
const ITEMS: usize = 4;

/// A request that draws a text at a place.
type Drawn<'a> = dyn Fn(&[u8], i16, i16) -> Vec<u8> + 'a;

/// Adds the loads.
pub(super) fn add(
    stage: &mut Stage,
    plan: &Plan,
    loads: &mut Vec<Workload>,
) -> Result<(), MeasureError> {
    let (drawable, silent) = (stage.window, stage.silent);
    let (black, white) = (stage.screen.black_pixel, stage.screen.white_pixel);
    for (name, width) in FONTS {
        let Some(font) = stage.font(name)? else {
            continue;
        };
        let common = CreateGCAux::new()
            .font(font)
            .foreground(black)
            .background(white);
        let copy = stage.gc(drawable, common)?;
        let xor = stage.gc(drawable, common.function(GX::XOR).foreground(black ^ white))?;
        for &length in plan.sizes(&LENGTHS) {
            let length = length.min(usize::from(SIDE / width));
            let mut draw = |request: &Drawn<'_>| {
                loads.push(Workload::varied(Sync::ReadBack, length * 100, |index| {
                    let (x, y) = place(index, SIDE, 15);
                    request(&text(index * length, length), x, y + 12)
                }));
            };
            for gc in [copy, xor] {
                let mut poly = |count| {
                    draw(&|text, x, y| {
                        let items = items(text, 1, count).into();
                        core(PolyText8Request {
                            drawable,
                            gc,
                            x,
                            y,
                            items,
                        })
                    });
                };
                poly(1);
                if length == ITEM {
                    poly(ITEMS);
                }
            }
            draw(&|text, x, y| {
                core(ImageText8Request {
                    drawable,
                    gc: copy,
                    x,
                    y,
                    string: text.into(),
                })
            });
            draw(&|text, x, y| {
                let string: Vec<Char2b> = text
                    .iter()
                    .map(|&byte2| Char2b { byte1: 0, byte2 })
                    .collect();
                core(ImageText16Request {
                    drawable,
                    gc: copy,
                    x,
                    y,
                    string: string.into(),
                })
            });
            draw(&|text, x, y| {
                let bytes: Vec<u8> = text.iter().flat_map(|&byte| [0, byte]).collect();
                let items = items(&bytes, 2, 1).into();
                core(PolyText16Request {
                    drawable,
                    gc: copy,
                    x,
                    y,
                    items,
                })
            });
            // On the window that is not mapped: the fixed part.
            if length == 1 {
                draw(&|text, x, y| {
                    let string = text.into();
                    core(ImageText8Request {
                        drawable: silent,
                        gc: copy,
                        x,
                        y,
                        string,
                    })
                });
            }
        }
    }
    Ok(())
}

/// Text as x11perf has it: the printable characters in turn, on from line to line. A string that
/// is always the same would be learnt by the server's processor.
fn text(start: usize, length: usize) -> Vec<u8> {
    (b' '..=b'~')
        .cycle()
        .skip(start % 95)
        .take(length)
        .collect()
}

/// `count` times the same text item of PolyText: its length in characters of `width` bytes, a
/// delta of 0, the characters; and the padding of the request behind the last.
fn items(characters: &[u8], width: usize, count: usize) -> Vec<u8> {
    let length = u8::try_from(characters.len() / width)
        .unwrap_or(254)
        .min(254);
    let mut items = Vec::new();
    for _ in 0..count {
        items.extend([length, 0]);
        items.extend(characters.iter().take(usize::from(length) * width));
    }
    items.resize(items.len().next_multiple_of(4), 0);
    items
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn items_are_padded_with_no_further_item() {
        assert_eq!(items(b"abc", 1, 1), [3, 0, b'a', b'b', b'c', 0, 0, 0]);
        assert_eq!(items(&[0, b'a'], 2, 1), [1, 0, 0, b'a']);
        assert_eq!(items(b"ab", 1, 2), [2, 0, b'a', b'b', 2, 0, b'a', b'b']);
    }
}
