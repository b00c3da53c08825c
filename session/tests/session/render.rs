//! RENDER: pictures, glyph sets, and the operations of compositing with them.

use x11prof_protocol::ByteOrder;
use x11prof_session::{Effect, Operation};

use crate::harness::{Bytes, Display, PIXMAP, ROOT, STRANGER, WINDOW};

const RENDER: u8 = 139;
/// Ids of formats.
const RGB: u32 = 0x21;
const ARGB: u32 = 0x22;
const ALPHA: u32 = 0x23;
/// A picture of the window, one of a pixmap of 40 by 40 with alpha, one of that of 1 by 1, one
/// colour, and a set of glyphs.
const ON_WINDOW: u32 = 0x20_0100;
const ON_PIXMAP: u32 = 0x20_0101;
const DOT: u32 = 0x20_0102;
const COLOUR: u32 = 0x20_0103;
const GLYPHS: u32 = 0x20_0104;
const ARGB_PIXMAP: u32 = 0x20_0110;
const ONE_PIXEL: u32 = 0x20_0111;

fn format(bytes: Bytes, id: u32, depth: u8, channels: [(u16, u16); 4]) -> Bytes {
    let bytes = bytes.u32(id).u8(1).u8(depth).u16(0);
    let bytes = channels
        .iter()
        .fold(bytes, |bytes, (shift, mask)| bytes.u16(*shift).u16(*mask));
    bytes.u32(0)
}

fn ready_in(order: ByteOrder) -> Display {
    let mut display = Display::ready_in(order);
    display.has("RENDER", RENDER);
    display.request(0, RENDER, 1, |b| b);
    display.reply(0, |b| {
        let b = b.u32(3).zeros(20);
        let b = format(b, RGB, 24, [(16, 255), (8, 255), (0, 255), (0, 0)]);
        let b = format(b, ARGB, 32, [(16, 255), (8, 255), (0, 255), (24, 255)]);
        format(b, ALPHA, 8, [(0, 0), (0, 0), (0, 0), (0, 255)])
    });
    for (id, side) in [(ARGB_PIXMAP, 40), (ONE_PIXEL, 1)] {
        display.request(0, 53, 32, |b| b.u32(id).u32(ROOT).u16(side).u16(side));
    }
    let picture = |display: &mut Display, id: u32, drawable: u32, format: u32, mask: u32| {
        display.request(0, RENDER, 4, |b| {
            b.u32(id).u32(drawable).u32(format).u32(mask).u32(1)
        });
    };
    picture(&mut display, ON_WINDOW, WINDOW, RGB, 0);
    picture(&mut display, ON_PIXMAP, ARGB_PIXMAP, ARGB, 0);
    picture(&mut display, DOT, ONE_PIXEL, ARGB, 1);
    display.request(0, RENDER, 33, |b| b.u32(COLOUR).zeros(8));
    display.request(0, RENDER, 17, |b| b.u32(GLYPHS).u32(ALPHA));
    display
}

fn ready() -> Display {
    ready_in(ByteOrder::Little)
}

/// Composite with Over onto the window: the source and its origin, the mask, the destination, and the size.
fn composite(
    display: &mut Display,
    source: (u32, i16, i16),
    mask: u32,
    to: (i16, i16),
    size: (u16, u16),
) -> Operation {
    display.request(0, RENDER, 8, |b| {
        let b = b.u8(3).zeros(3).u32(source.0).u32(mask).u32(ON_WINDOW);
        let b = b.i16s(&[source.1, source.2, 0, 0, to.0, to.1]);
        b.u16(size.0).u16(size.1)
    })
}

#[track_caller]
fn assert_is(operation: &Operation, attributes: &str, items: &[f64]) {
    assert_eq!(operation.attributes.to_string(), attributes);
    assert_eq!(operation.items, items);
    assert_eq!(operation.op_size, items.iter().sum::<f64>());
    assert_eq!(operation.effect, Effect::Full);
}

#[test]
fn composite_size_is_its_visible_area_in_both_byte_orders() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut display = ready_in(order);
        let whole = composite(&mut display, (ON_PIXMAP, 0, 0), 0, (0, 0), (20, 10));
        let plain = "dstformat=x8r8g8b8 maskformat=none op=Over repeat=none srcformat=a8r8g8b8 \
                     transform=none";
        assert_is(&whole, plain, &[200.0]);
        let edge = composite(&mut display, (ON_PIXMAP, 0, 0), 0, (90, 45), (20, 10));
        assert_is(&edge, plain, &[50.0]);
        let outside = composite(&mut display, (ON_PIXMAP, 0, 0), 0, (100, 0), (20, 10));
        assert_eq!((outside.op_size, outside.effect), (0.0, Effect::Nothing));
    }
}

#[test]
fn source_pictures_are_classified() {
    let mut display = ready();
    let colour = composite(&mut display, (COLOUR, 0, 0), 0, (0, 0), (1, 1));
    let solid = "dstformat=x8r8g8b8 maskformat=none op=Over repeat=none srcformat=solid \
                 transform=none";
    assert_is(&colour, solid, &[1.0]);
    let dot = composite(&mut display, (DOT, 0, 0), 0, (0, 0), (10, 10));
    assert_is(&dot, solid, &[100.0]);
    for (minor, at, name) in [(34, 20, "linear"), (35, 28, "radial"), (36, 16, "conical")] {
        let gradient = display.request(0, RENDER, minor, |b| {
            b.u32(STRANGER).zeros(at - 4).u32(3).zeros(36)
        });
        assert_eq!((gradient.op_size, gradient.items.len()), (3.0, 1), "{name}");
        let drawn = composite(&mut display, (STRANGER, 0, 0), 0, (0, 0), (1, 1));
        assert!(
            drawn
                .attributes
                .to_string()
                .contains(&format!("srcformat={name} "))
        );
        display.request(0, RENDER, 7, |b| b.u32(STRANGER));
    }
    let unknown = composite(&mut display, (STRANGER, 0, 0), 0, (0, 0), (1, 1));
    assert_is(
        &unknown,
        "dstformat=x8r8g8b8 maskformat=none op=Over",
        &[1.0],
    );
}

#[test]
fn picture_keeps_its_pixmap_after_the_id_is_freed() {
    let mut display = ready();
    display.request(0, 54, 0, |b| b.u32(ONE_PIXEL));
    display.request(0, 54, 0, |b| b.u32(ARGB_PIXMAP));
    let dot = composite(&mut display, (DOT, 0, 0), 0, (0, 0), (10, 10));
    assert!(dot.attributes.to_string().contains("srcformat=solid "));
    let fill = display.request(0, RENDER, 26, |b| {
        let b = b.u8(1).zeros(3).u32(ON_PIXMAP).zeros(8);
        b.i16s(&[35, 0]).u16(10).u16(10)
    });
    assert_is(&fill, "dstformat=a8r8g8b8 op=Src", &[50.0]);
}

#[test]
fn repeat_transform_and_filter_count_only_if_effective() {
    let mut display = ready();
    // Repeat: normal; but all that is used lies inside.
    display.request(0, RENDER, 5, |b| b.u32(ON_PIXMAP).u32(1).u32(1));
    let inside = composite(&mut display, (ON_PIXMAP, 20, 20), 0, (0, 0), (20, 20));
    assert!(inside.attributes.to_string().contains(" repeat=none "));
    let beyond = composite(&mut display, (ON_PIXMAP, 21, 20), 0, (0, 0), (20, 20));
    assert!(beyond.attributes.to_string().contains(" repeat=normal "));
    // A filter alone has no effect.
    display.request(0, RENDER, 30, |b| {
        b.u32(ON_PIXMAP).u16(4).u16(0).raw(b"good")
    });
    let filtered = composite(&mut display, (ON_PIXMAP, 0, 0), 0, (0, 0), (20, 20));
    assert_eq!(filtered.attributes, inside.attributes);
    let one = 1 << 16;
    display.request(0, RENDER, 28, |b| {
        let rows = [2 * one, 0, 0, 0, 2 * one, 0, 0, 0, one];
        rows.iter()
            .fold(b.u32(ON_PIXMAP), |b, number| b.u32(*number))
    });
    let scaled = composite(&mut display, (ON_PIXMAP, 0, 0), 0, (0, 0), (20, 20));
    assert_is(
        &scaled,
        "dstformat=x8r8g8b8 filter=bilinear maskformat=none op=Over repeat=normal \
         srcformat=a8r8g8b8 transform=scale",
        &[400.0],
    );
}

#[test]
fn mask_attributes_include_format_and_component_alpha() {
    let mut display = ready();
    let masked = |display: &mut Display| {
        let drawn = composite(display, (COLOUR, 0, 0), ON_PIXMAP, (0, 0), (5, 5));
        drawn.attributes.to_string()
    };
    assert_eq!(
        masked(&mut display),
        "componentalpha=no dstformat=x8r8g8b8 maskformat=a8r8g8b8 masktransform=none op=Over \
         repeat=none srcformat=solid transform=none"
    );
    display.request(0, RENDER, 5, |b| b.u32(ON_PIXMAP).u32(1 << 12).u32(1));
    assert!(masked(&mut display).starts_with("componentalpha=yes "));
}

#[test]
fn rectangles_are_clipped_to_the_picture_clip() {
    let mut display = ready();
    let fill = |display: &mut Display| {
        display.request(0, RENDER, 26, |b| {
            let b = b.u8(1).zeros(3).u32(ON_WINDOW).zeros(8);
            let b = b.i16s(&[0, 0]).u16(10).u16(10);
            b.i16s(&[95, 0]).u16(10).u16(10)
        })
    };
    let attributes = "dstformat=x8r8g8b8 op=Src";
    assert_is(&fill(&mut display), attributes, &[100.0, 50.0]);
    // Two rectangles that overlap, moved by (2, 0): columns 2 to 9 of rows 0 to 4, and the
    // first two of the other rectangle.
    let clip = display.request(0, RENDER, 6, |b| {
        let b = b.u32(ON_WINDOW).i16s(&[2, 0]);
        b.i16s(&[0, 0]).u16(8).u16(5).i16s(&[0, 0]).u16(2).u16(50)
    });
    assert_eq!((clip.op_size, clip.items.len()), (2.0, 1));
    assert_is(&fill(&mut display), attributes, &[50.0, 0.0]);
    // No clip again.
    display.request(0, RENDER, 5, |b| b.u32(ON_WINDOW).u32(1 << 6).u32(0));
    assert_is(&fill(&mut display), attributes, &[100.0, 50.0]);
    // A bitmap counts as its rectangle; the clip's origin has stayed.
    display.request(0, RENDER, 5, |b| b.u32(ON_WINDOW).u32(1 << 6).u32(PIXMAP));
    assert_is(&fill(&mut display), attributes, &[80.0, 0.0]);
}

/// 16.16 fixed point.
fn fixed(bytes: Bytes, numbers: &[i32]) -> Bytes {
    numbers
        .iter()
        .fold(bytes, |b, n| b.u32((n << 16).cast_unsigned()))
}

fn begin(bytes: Bytes) -> Bytes {
    let bytes = bytes.u8(3).zeros(3).u32(COLOUR).u32(ON_WINDOW).u32(ALPHA);
    bytes.i16s(&[0, 0])
}

#[test]
fn shape_size_is_its_area() {
    let mut display = ready();
    let attributes = "dstformat=x8r8g8b8 maskformat=a8 op=Over repeat=none srcformat=solid \
                      transform=none";
    let trapezoids = display.request(0, RENDER, 10, |b| {
        // From row 0 to 10: between x = 0 and a line from (10, 0) to (20, 10), 150 pixels;
        // and between x = 90 and x = 120, of which 10 columns are on the window, but all in the mask.
        let b = fixed(begin(b), &[0, 10, 0, 0, 0, 10, 10, 0, 20, 10]);
        fixed(b, &[0, 10, 90, 0, 90, 10, 120, 0, 120, 10])
    });
    assert_is(&trapezoids, attributes, &[150.0, 300.0]);
    let triangles = display.request(0, RENDER, 11, |b| fixed(begin(b), &[0, 0, 10, 0, 0, 10]));
    assert_is(&triangles, attributes, &[50.0]);
    let square = [0, 0, 10, 0, 0, 10, 10, 10];
    let strip = display.request(0, RENDER, 12, |b| fixed(begin(b), &square));
    assert_is(&strip, attributes, &[50.0, 50.0]);
    let fan = display.request(0, RENDER, 13, |b| {
        fixed(begin(b), &[0, 0, 10, 0, 10, 10, 0, 10])
    });
    assert_is(&fan, attributes, &[50.0, 50.0]);
    let traps = display.request(0, RENDER, 32, |b| {
        fixed(b.u32(ON_PIXMAP).i16s(&[5, 5]), &[0, 10, 0, 0, 10, 10])
    });
    assert_is(&traps, "dstformat=a8r8g8b8", &[100.0]);
}

/// Adds two glyphs: 7 of 4 by 5 pixels, which moves on by 6, and 300 of 10 by 10.
fn add_glyphs(display: &mut Display) -> Operation {
    display.request(0, RENDER, 20, |b| {
        let b = b.u32(GLYPHS).u32(2).u32(7).u32(300);
        let b = b.u16(4).u16(5).i16s(&[0, 5, 6, 0]);
        b.u16(10).u16(10).i16s(&[0, 0, 11, 0]).zeros(20 + 120)
    })
}

#[test]
fn glyph_item_size_is_its_visible_image_area() {
    let mut display = ready();
    let added = add_glyphs(&mut display);
    assert_is(&added, "glyphformat=a8", &[20.0, 100.0]);
    let attributes = "dstformat=x8r8g8b8 glyphformat=a8 maskformat=a8 op=Over repeat=none \
                      srcformat=solid transform=none";
    let start = |b: Bytes| {
        let b = b.u8(3).zeros(3).u32(COLOUR).u32(ON_WINDOW).u32(ALPHA);
        b.u32(GLYPHS).i16s(&[0, 0])
    };
    // At (10, 20): glyph 7 twice, then 300 four rows further down.
    let wide = display.request(0, RENDER, 24, |b| {
        let b = start(b).u8(2).zeros(3).i16s(&[10, 20]).u16(7).u16(7);
        b.u8(1).zeros(3).i16s(&[0, 4]).u16(300).u16(0)
    });
    assert_is(&wide, attributes, &[20.0, 20.0, 100.0]);
    // At (98, 2): of the 5 rows above the base line two are left, and two columns.
    let narrow = display.request(0, RENDER, 23, |b| {
        start(b).u8(1).zeros(3).i16s(&[98, 2]).u8(7).zeros(3)
    });
    assert_is(&narrow, attributes, &[4.0]);
    let changed = display.request(0, RENDER, 25, |b| {
        let b = start(b).u8(255).zeros(3).i16s(&[0, 0]).u32(STRANGER);
        b.u8(1).zeros(3).i16s(&[0, 9]).u32(7)
    });
    assert_eq!(
        (changed.items.as_slice(), changed.effect),
        ([0.0].as_slice(), Effect::Unknown),
        "of a set that is not known"
    );
}

#[test]
fn glyph_set_lives_until_its_last_id_is_freed() {
    let mut display = ready();
    let other = GLYPHS + 1;
    display.request(0, RENDER, 18, |b| b.u32(other).u32(GLYPHS));
    add_glyphs(&mut display);
    display.request(0, RENDER, 19, |b| b.u32(GLYPHS));
    assert_eq!(display.session.resource(GLYPHS), None);
    let bytes = |display: &Display| display.session.resource(other).map(|set| set.bytes);
    assert_eq!(bytes(&display), Some(0), "they were added by the other id");
    display.request(0, RENDER, 22, |b| b.u32(other).u32(300));
    assert_eq!(bytes(&display), Some(23));
}

#[test]
fn truncated_and_malformed_requests_have_finite_sizes() {
    let mut display = ready();
    let cut = display.cut_request(RENDER, 26, 28, |b| {
        let b = b.u8(1).zeros(3).u32(ON_WINDOW).zeros(8);
        let b = b.i16s(&[0, 0]).u16(10).u16(10);
        b.i16s(&[0, 0]).u16(10).u16(10)
    });
    assert_eq!(
        (cut.items.as_slice(), cut.effect),
        ([100.0].as_slice(), Effect::Unknown)
    );
    // The images of AddGlyphs may be left out.
    let glyphs = display.cut_request(RENDER, 20, 4 + 8 + 4 + 12, |b| {
        let b = b.u32(GLYPHS).u32(1).u32(9);
        b.u16(50).u16(50).i16s(&[0, 0, 50, 0]).zeros(2600)
    });
    assert_is(&glyphs, "glyphformat=a8", &[2500.0]);
    for minor in 0..40 {
        let short = display.request(0, RENDER, minor, |b| b);
        assert!(short.op_size.is_finite());
        let junk = display.request(0, RENDER, minor, |b| b.raw(&[0xFF; 96]));
        assert!(junk.op_size.is_finite() && junk.op_size >= 0.0, "{junk:?}");
    }
}
