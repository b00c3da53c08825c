//! Images and copies.

use x11prof_protocol::ByteOrder;
use x11prof_session::Effect;

use crate::harness::{Bytes, Display, GC, PIXMAP, ROOT, STRANGER, WINDOW, value_list};

fn image(bytes: Bytes, drawable: u32, width: u16, height: u16, x: i16, y: i16) -> Bytes {
    let bytes = bytes
        .u32(drawable)
        .u32(GC)
        .u16(width)
        .u16(height)
        .i16s(&[x, y])
        .u8(0)
        .u8(24);
    bytes
        .u16(0)
        .zeros(usize::from(width) * usize::from(height) * 4)
}

/// A display whose window has a background, so that clearing it paints.
fn with_background() -> Display {
    let mut display = Display::ready();
    display.request(0, 2, 0, |b| value_list(b.u32(WINDOW), &[(1, 0x00FF_FFFF)]));
    display
}

#[test]
fn put_image_size_is_its_visible_area() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut display = Display::ready_in(order);
        let put = display.request(0, 72, 2, |b| image(b, WINDOW, 10, 10, 0, 0));
        assert_eq!(put.request.as_str(), "PutImage");
        assert_eq!(
            put.attributes.to_string(),
            "depth=24 format=ZPixmap gxmode=GXcopy"
        );
        assert_eq!(
            (put.items.as_slice(), put.op_size),
            ([100.0].as_slice(), 100.0)
        );
        assert_eq!(put.effect, Effect::Full);
        let edge = display.request(0, 72, 1, |b| image(b, WINDOW, 10, 10, 95, -5));
        assert_eq!(
            edge.attributes.to_string(),
            "depth=24 format=XYPixmap gxmode=GXcopy"
        );
        assert_eq!(edge.op_size, 25.0);
    }
}

#[test]
fn put_image_needs_only_its_fixed_fields_and_may_be_big() {
    let mut display = Display::ready();
    let cut = display.cut_request(72, 2, 24, |b| image(b, WINDOW, 30, 30, 0, 0));
    assert_eq!((cut.op_size, cut.effect), (900.0, Effect::Full));
    let big = display.big_request(72, 2, |b| image(b, WINDOW, 20, 20, 0, 0));
    assert_eq!((big.op_size, big.effect), (400.0, Effect::Full));
    assert_eq!(
        big.attributes.to_string(),
        "depth=24 format=ZPixmap gxmode=GXcopy"
    );
    let shorter = display.cut_request(72, 2, 12, |b| image(b, WINDOW, 30, 30, 0, 0));
    assert_eq!((shorter.op_size, shorter.effect), (0.0, Effect::Unknown));
}

#[test]
fn get_image_size_is_its_visible_area() {
    let mut display = Display::ready();
    let get = display.request(0, 73, 2, |b| {
        b.u32(ROOT).i16s(&[990, 0]).u16(20).u16(10).u32(u32::MAX)
    });
    assert_eq!(get.attributes.to_string(), "depth=24 format=ZPixmap");
    assert_eq!((get.op_size, get.effect), (100.0, Effect::Full));
}

#[test]
fn clear_area_of_zero_size_extends_to_the_edge() {
    let mut display = with_background();
    let mut clear = |x, y, width, height| {
        display.request(0, 61, 0, |b| {
            b.u32(WINDOW).i16s(&[x, y]).u16(width).u16(height)
        })
    };
    let some = clear(10, 10, 10, 10);
    assert_eq!(some.request.as_str(), "ClearArea");
    assert_eq!(some.attributes.to_string(), "depth=24");
    assert_eq!(
        (some.items.as_slice(), some.effect),
        ([100.0].as_slice(), Effect::Full)
    );
    assert_eq!(clear(0, 0, 0, 0).op_size, 5000.0);
    assert_eq!(clear(90, 40, 0, 5).op_size, 50.0);
    assert_eq!(clear(90, 40, 5, 0).op_size, 50.0);
    assert_eq!(clear(-10, -10, 20, 20).op_size, 100.0);
    assert_eq!(clear(200, 0, 0, 0).effect, Effect::Nothing);
}

#[test]
fn clearing_without_a_background_paints_nothing() {
    let mut display = Display::ready();
    let clear = |b: Bytes| b.u32(WINDOW).i16s(&[0, 0]).u16(10).u16(10);
    assert_eq!(display.request(0, 61, 0, clear).effect, Effect::Nothing);
    // ParentRelative: the root has one.
    display.request(0, 2, 0, |b| value_list(b.u32(WINDOW), &[(0, 1)]));
    assert_eq!(display.request(0, 61, 0, clear).effect, Effect::Full);
    let stray = display.request(0, 61, 0, |b| b.u32(STRANGER).i16s(&[0, 0]).u16(7).u16(7));
    assert_eq!((stray.op_size, stray.effect), (49.0, Effect::Unknown));
}

#[test]
fn copies_are_clipped_to_source_and_destination() {
    let mut display = Display::ready();
    let second = PIXMAP + 0x100;
    display.request(0, 53, 24, |b| b.u32(second).u32(ROOT).u16(64).u16(64));
    let mut copy = |from, to, x, y| {
        display.request(0, 62, 0, |b| {
            b.u32(from)
                .u32(to)
                .u32(GC)
                .i16s(&[x, 0, 0, y])
                .u16(20)
                .u16(10)
        })
    };
    let whole = copy(second, WINDOW, 0, 0);
    assert_eq!(whole.request.as_str(), "CopyArea");
    assert_eq!(whole.attributes.to_string(), "depth=24 gxmode=GXcopy");
    assert_eq!(
        (whole.items.as_slice(), whole.effect),
        ([200.0].as_slice(), Effect::Full)
    );
    assert_eq!(
        copy(second, WINDOW, 54, 0).op_size,
        100.0,
        "the source ends"
    );
    assert_eq!(
        copy(second, WINDOW, 0, 45).op_size,
        100.0,
        "the destination ends"
    );
    assert_eq!(copy(second, WINDOW, 64, 0).effect, Effect::Nothing);
    let unknown = copy(STRANGER, WINDOW, 54, 0);
    assert_eq!((unknown.op_size, unknown.effect), (200.0, Effect::Unknown));
    let to_unknown = copy(second, STRANGER, 54, 0);
    assert_eq!(
        (to_unknown.op_size, to_unknown.effect),
        (100.0, Effect::Unknown)
    );
    assert_eq!(to_unknown.attributes.to_string(), "depth=24 gxmode=GXcopy");
    let plane = display.request(0, 63, 0, |b| {
        b.u32(PIXMAP)
            .u32(WINDOW)
            .u32(GC)
            .i16s(&[0, 0, 0, 0])
            .u16(5)
            .u16(5)
            .u32(1)
    });
    assert_eq!((plane.request.as_str(), plane.op_size), ("CopyPlane", 25.0));
    assert_eq!(plane.attributes.to_string(), "depth=24 gxmode=GXcopy");
}
