//! Text requests.

use x11prof_session::Effect;

use crate::harness::{Display, GC, PIXMAP, STRANGER, WINDOW};

const FONT: u32 = 0x20_0010;
const OTHER_FONT: u32 = 0x20_0011;
/// The bit of a GC's font.
const FONT_BIT: u32 = 14;

fn with_font() -> Display {
    let mut display = Display::ready();
    display.open_font(FONT, "6x13");
    display.open_font(OTHER_FONT, "9x15bold");
    display.change_gc(GC, &[(FONT_BIT, FONT)]);
    display
}

#[test]
fn image_text_counts_characters() {
    let mut display = with_font();
    let text = display.request(0, 76, 5, |b| {
        b.u32(WINDOW).u32(GC).i16s(&[0, 9]).raw(b"hello")
    });
    assert_eq!(text.request.as_str(), "ImageText8");
    assert_eq!(text.attributes.to_string(), "fontname=6x13");
    assert_eq!(
        (text.items.as_slice(), text.op_size),
        ([5.0].as_slice(), 5.0)
    );
    assert_eq!(text.effect, Effect::Full);
    let wide = display.request(0, 77, 2, |b| {
        b.u32(PIXMAP).u32(GC).i16s(&[0, 9]).raw(&[0, b'a', 0, b'b'])
    });
    assert_eq!(wide.request.as_str(), "ImageText16");
    assert_eq!((wide.op_size, wide.effect), (2.0, Effect::Full));
}

#[test]
fn each_poly_text_string_is_an_item() {
    let mut display = with_font();
    let text = display.request(0, 74, 0, |b| {
        b.u32(WINDOW)
            .u32(GC)
            .i16s(&[0, 9])
            .raw(&[3, 0])
            .raw(b"abc")
            .raw(&[2, 7])
            .raw(b"de")
    });
    assert_eq!(text.request.as_str(), "PolyText8");
    assert_eq!(
        text.attributes.to_string(),
        "fillstyle=FillSolid fontname=6x13 gxmode=GXcopy"
    );
    assert_eq!(
        (text.items.as_slice(), text.op_size),
        ([3.0, 2.0].as_slice(), 5.0)
    );
    let wide = display.request(0, 75, 0, |b| {
        b.u32(WINDOW)
            .u32(GC)
            .i16s(&[0, 9])
            .raw(&[2, 0, 0, b'a', 0, b'b', 0, 0])
    });
    assert_eq!((wide.request.as_str(), wide.op_size), ("PolyText16", 2.0));
}

#[test]
fn font_item_changes_the_gc_font() {
    let mut display = with_font();
    let text = display.request(0, 74, 0, |b| {
        // The font's id comes most significant byte first.
        let b = b
            .u32(WINDOW)
            .u32(GC)
            .i16s(&[0, 9])
            .raw(&[255, 0x00, 0x20, 0x00, 0x11]);
        b.raw(&[3, 0]).raw(b"abc")
    });
    assert_eq!(
        text.attributes.to_string(),
        "fillstyle=FillSolid fontname=9x15bold gxmode=GXcopy"
    );
    let next = display.request(0, 76, 1, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]).raw(b"x"));
    assert_eq!(next.attributes.to_string(), "fontname=9x15bold");
}

#[test]
fn gc_keeps_its_font_after_the_id_is_closed() {
    let mut display = with_font();
    display.request(0, 46, 0, |b| b.u32(FONT));
    display.open_font(FONT, "cursor");
    let text = display.request(0, 76, 1, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]).raw(b"x"));
    assert_eq!(text.attributes.to_string(), "fontname=6x13");
}

#[test]
fn unknown_font_is_omitted() {
    let mut display = Display::ready();
    let text = display.request(0, 76, 1, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]).raw(b"x"));
    assert_eq!(text.attributes.to_string(), "");
    let stray = display.request(0, 76, 1, |b| {
        b.u32(STRANGER).u32(GC).i16s(&[0, 9]).raw(b"x")
    });
    assert_eq!((stray.op_size, stray.effect), (1.0, Effect::Unknown));
}

#[test]
fn empty_text_has_no_effect() {
    let mut display = with_font();
    let none = display.request(0, 74, 0, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]));
    assert_eq!((none.items.len(), none.effect), (0, Effect::Nothing));
    let empty = display.request(0, 76, 0, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]));
    assert_eq!((empty.op_size, empty.effect), (0.0, Effect::Nothing));
}
