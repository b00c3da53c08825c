//! The loads of the core protocol's text, in the fonts that programs of the core protocol use.

use x11rb_protocol::protocol::xproto::{
    Char2b, CreateGCAux, GX, ImageText8Request, ImageText16Request, PolyText8Request,
    PolyText16Request, QueryFontRequest,
};

use super::place;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// Fonts that most servers have: the fonts of xterm and of the paper, and a proportional font. Missing fonts are
/// skipped.
const FONTS: [&str; 6] = [
    "fixed",
    "6x13",
    "-misc-fixed-medium-r-semicondensed--13-120-75-75-c-60-iso10646-1",
    "9x15",
    "10x20",
    "-adobe-helvetica-medium-r-normal--12-120-75-75-p-67-iso8859-1",
];
/// The initial numbers of characters in a string. In a wide font the strings are shorter, so that no character is
/// clipped.
const LENGTHS: [u16; 4] = [1, 8, 32, 80];
/// The number of characters in each string of a request with several strings.
const ITEM: u16 = 20;
/// The number of strings in a request with several strings.
const ITEMS: usize = 4;

/// A text request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Poly8,
    Poly16,
    Image8,
    Image16,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Poly8, Kind::Image8, Kind::Image16, Kind::Poly16];

    fn name(self) -> &'static str {
        match self {
            Kind::Poly8 => "PolyText8",
            Kind::Poly16 => "PolyText16",
            Kind::Image8 => "ImageText8",
            Kind::Image16 => "ImageText16",
        }
    }
}

/// An open font: the GCs that use the font, and its metrics.
#[derive(Debug, Clone, Copy)]
struct OpenedFont {
    copy: u32,
    /// The id of the GC with the function GXxor.
    xor: u32,
    /// The advance of the widest character, in pixels.
    width: u16,
    ascent: i16,
    height: u16,
}

/// Adds the loads of text to `loads`.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let (window, silent) = (client.window, client.unwatched);
    // A quick run measures only the common fonts.
    let count = if plan.quick { 4 } else { FONTS.len() };
    for name in FONTS.into_iter().take(count) {
        let Some(face) = face(client, name)? else {
            loads.lacks(format!("font {name}"));
            continue;
        };
        let longest = (SIDE / face.width.max(1)).clamp(2, LENGTHS[3]);
        let lengths = plan.sizes(&LENGTHS).into_iter();
        let mut lengths: Vec<u16> = lengths.map(|length| length.min(longest)).collect();
        lengths.dedup();
        for kind in Kind::ALL {
            if !plan.wants(kind.name()) {
                continue;
            }
            let of = lengths.iter().copied();
            let draw = move |length| load(kind, window, face.copy, face, length, 1);
            loads.series(of, draw);
            let item = ITEM.min(longest);
            loads.push(load(kind, window, face.copy, face, longest, 1));
            loads.push(load(kind, window, face.copy, face, item, 1));
            match kind {
                Kind::Poly8 | Kind::Poly16 => {
                    loads.push(load(kind, window, face.copy, face, item, ITEMS));
                }
                // These requests draw one string, so the fixed part is measured on a window that is not mapped.
                Kind::Image8 | Kind::Image16 => {
                    loads.push(load(kind, silent, face.copy, face, 1, 1));
                }
            }
        }
        if !plan.quick && plan.wants(Kind::Poly8.name()) {
            loads.push(load(
                Kind::Poly8,
                window,
                face.xor,
                face,
                ITEM.min(longest),
                1,
            ));
        }
    }
    Ok(())
}

/// Opens a font; `None` if the server lacks it.
fn face(client: &mut Client, name: &str) -> Result<Option<OpenedFont>, MeasureError> {
    let Some(font) = client.font(name)? else {
        return Ok(None);
    };
    let Some(metrics) = client.ask(QueryFontRequest { font })? else {
        return Ok(None);
    };
    let (black, white) = (client.screen.black_pixel, client.screen.white_pixel);
    let common = CreateGCAux::new()
        .font(font)
        .foreground(black)
        .background(white);
    let drawable = client.window;
    let height = metrics.font_ascent + metrics.font_descent;
    Ok(Some(OpenedFont {
        copy: client.gc(drawable, common)?,
        xor: client.gc(drawable, common.function(GX::XOR).foreground(black ^ white))?,
        width: metrics.max_bounds.character_width.max(1).unsigned_abs(),
        ascent: metrics.font_ascent,
        height: height.max(1).unsigned_abs(),
    }))
}

/// The drawable, GC and font of a load.
#[derive(Debug, Clone, Copy)]
struct TextPlace {
    drawable: u32,
    gc: u32,
    face: OpenedFont,
}

fn load(
    kind: Kind,
    drawable: u32,
    gc: u32,
    face: OpenedFont,
    length: u16,
    count: usize,
) -> Workload {
    let at = TextPlace { drawable, gc, face };
    written(kind, at, length, count, words)
}

/// Creates a load of requests that draw `count` strings of `length` characters each. `text` returns the characters of a
/// string, given the index of the first character and the number of characters.
fn written(
    kind: Kind,
    at: TextPlace,
    length: u16,
    count: usize,
    text: fn(usize, usize) -> Vec<u8>,
) -> Workload {
    let TextPlace { drawable, gc, face } = at;
    let length = usize::from(length);
    Workload::varied(Sync::ReadBack, length * count * 20, |index| {
        let (_, top) = place(index, SIDE, face.height);
        let y = top + face.ascent;
        let characters = text(index * length, length);
        let wide = || characters.iter().map(|&byte2| Char2b { byte1: 0, byte2 });
        match kind {
            Kind::Poly8 => {
                let items = items(&characters, 1, count).into();
                core(PolyText8Request {
                    drawable,
                    gc,
                    x: 0,
                    y,
                    items,
                })
            }
            Kind::Poly16 => {
                let bytes: Vec<u8> = characters.iter().flat_map(|&byte| [0, byte]).collect();
                let items = items(&bytes, 2, count).into();
                core(PolyText16Request {
                    drawable,
                    gc,
                    x: 0,
                    y,
                    items,
                })
            }
            Kind::Image8 => {
                let string = characters.into();
                core(ImageText8Request {
                    drawable,
                    gc,
                    x: 0,
                    y,
                    string,
                })
            }
            Kind::Image16 => {
                let string = wide().collect();
                core(ImageText16Request {
                    drawable,
                    gc,
                    x: 0,
                    y,
                    string,
                })
            }
        }
    })
}

/// Returns characters of natural text without blanks. Natural text matters, because the cost of a letter depends on the
/// processor's branch prediction.
fn words(start: usize, length: usize) -> Vec<u8> {
    const WORDS: &[u8] = include_bytes!("../../LICENSE-APACHE");
    let inked = || WORDS.iter().copied().filter(u8::is_ascii_graphic);
    let all = inked().count().max(1);
    inked().cycle().skip(start % all).take(length).collect()
}

/// Returns `count` equal text items of PolyText, and the padding at the end of the request. An item consists of its
/// number of characters, a delta of 0, and the characters of `width` bytes each.
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
    fn text_item_padding_adds_no_item() {
        assert_eq!(items(b"abc", 1, 1), [3, 0, b'a', b'b', b'c', 0, 0, 0]);
        assert_eq!(items(&[0, b'a'], 2, 1), [1, 0, 0, b'a']);
        assert_eq!(items(b"ab", 1, 2), [2, 0, b'a', b'b', 2, 0, b'a', b'b']);
    }
}
