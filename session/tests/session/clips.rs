//! The clips of GCs, from requests and from the regions of XFIXES.

use x11prof_session::Effect;

use crate::harness::{Bytes, Display, GC, PIXMAP, STRANGER, WINDOW};

const XFIXES: u8 = 138;
const DAMAGE: u8 = 143;
const REGION: u32 = 0x20_0300;
const OTHER: u32 = 0x20_0301;

fn rectangle(bytes: Bytes, (x, y, width, height): (i16, i16, u16, u16)) -> Bytes {
    bytes.i16s(&[x, y]).u16(width).u16(height)
}

/// The pixels left of 100 by 50 on the window: all of them.
fn left(display: &mut Display) -> (f64, Effect) {
    let fill = display.request(0, 70, 0, |b| {
        rectangle(b.u32(WINDOW).u32(GC), (0, 0, 100, 50))
    });
    (fill.op_size, fill.effect)
}

#[test]
fn rectangles_and_lines_are_clipped() {
    let mut display = Display::ready();
    let clip = display.request(0, 59, 0, |b| {
        let b = rectangle(b.u32(GC).i16s(&[10, 0]), (0, 0, 10, 10));
        rectangle(b, (20, 0, 10, 10))
    });
    assert_eq!(clip.op_size, 2.0);
    assert_eq!(left(&mut display), (200.0, Effect::Full));
    // A line at the bounds: from 10 to 40.
    let line = display.request(0, 65, 0, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 5, 100, 5]));
    assert!((line.op_size - 30.0).abs() < 1e-9);
    // The clip moves with its origin, and None removes it.
    display.change_gc(GC, &[(17, 75)]);
    assert_eq!(left(&mut display), (150.0, Effect::Full));
    display.change_gc(GC, &[(19, 0)]);
    assert_eq!(left(&mut display), (5000.0, Effect::Full));
    display.request(0, 59, 0, |b| b.u32(GC).i16s(&[0, 0]));
    assert_eq!(left(&mut display), (0.0, Effect::Nothing));
    let text = display.request(0, 76, 1, |b| b.u32(WINDOW).u32(GC).i16s(&[0, 9]).raw(b"x"));
    assert_eq!(text.effect, Effect::Nothing);
}

#[test]
fn images_and_copies_are_clipped() {
    let mut display = Display::ready();
    display.request(0, 59, 0, |b| {
        rectangle(b.u32(GC).i16s(&[0, 0]), (0, 0, 4, 4))
    });
    let copy = display.request(0, 62, 0, |b| {
        let b = b.u32(PIXMAP).u32(WINDOW).u32(GC).i16s(&[0, 0, 0, 0]);
        b.u16(20).u16(20)
    });
    assert_eq!((copy.op_size, copy.effect), (16.0, Effect::Full));
    let put = display.request(0, 72, 2, |b| {
        let b = b.u32(WINDOW).u32(GC).u16(8).u16(2).i16s(&[0, 0]);
        b.u8(0).u8(24).u16(0).zeros(64)
    });
    assert_eq!(put.op_size, 8.0);
}

#[test]
fn clip_bitmap_uses_its_bounds_if_known() {
    let mut display = Display::ready();
    display.change_gc(GC, &[(19, PIXMAP)]);
    assert_eq!(left(&mut display), (3200.0, Effect::Full));
    display.change_gc(GC, &[(19, STRANGER)]);
    assert_eq!(left(&mut display), (5000.0, Effect::Unknown));
}

#[test]
fn clip_is_copied_with_its_gc_and_unknown_after_failure() {
    let mut display = Display::ready();
    let second = GC + 1;
    display.create_gc(0, second, &[]);
    display.request(0, 59, 0, |b| {
        rectangle(b.u32(second).i16s(&[0, 0]), (0, 0, 3, 3))
    });
    display.request(0, 57, 0, |b| b.u32(second).u32(GC).u32(1 << 19));
    assert_eq!(left(&mut display), (9.0, Effect::Full));
    // ChangeGC failed: it may have set the clip before it did.
    display.change_gc(GC, &[(0, 99), (19, 0)]);
    let failed = display.last(0);
    display.answer(0, 0, 2, failed, |b| b.u32(99).u16(0).u8(56));
    assert_eq!(left(&mut display), (5000.0, Effect::Unknown));
    assert_eq!(
        display
            .session
            .gc(GC)
            .unwrap()
            .get(x11prof_session::Component::Function),
        None
    );
}

fn with_regions() -> Display {
    let mut display = Display::ready();
    display.has("XFIXES", XFIXES);
    display.has("DAMAGE", DAMAGE);
    let region = |display: &mut Display, id: u32, area| {
        display.request(0, XFIXES, 5, |b| rectangle(b.u32(id), area))
    };
    let made = region(&mut display, REGION, (0, 0, 10, 10));
    assert_eq!((made.op_size, made.items.len()), (1.0, 1));
    region(&mut display, OTHER, (5, 0, 10, 10));
    display
}

/// The pixels left of the window after clipping to `REGION`.
fn clipped_to_region(display: &mut Display) -> (f64, Effect) {
    display.request(0, XFIXES, 20, |b| b.u32(GC).u32(REGION).i16s(&[0, 0]));
    left(display)
}

#[test]
fn xfixes_region_operations_are_computed() {
    let two = |minor: u8| {
        let mut display = with_regions();
        display.request(0, XFIXES, minor, |b| b.u32(REGION).u32(OTHER).u32(REGION));
        clipped_to_region(&mut display)
    };
    assert_eq!(two(13), (150.0, Effect::Full), "union");
    assert_eq!(two(14), (50.0, Effect::Full), "intersection");
    assert_eq!(two(15), (50.0, Effect::Full), "subtraction");
    let mut display = with_regions();
    assert_eq!(clipped_to_region(&mut display), (100.0, Effect::Full));
    display.request(0, XFIXES, 17, |b| b.u32(REGION).i16s(&[95, 0]));
    assert_eq!(clipped_to_region(&mut display), (50.0, Effect::Full));
    display.request(0, XFIXES, 12, |b| b.u32(OTHER).u32(REGION));
    assert_eq!(clipped_to_region(&mut display), (100.0, Effect::Full));
    display.request(0, XFIXES, 16, |b| {
        rectangle(b.u32(OTHER), (0, 0, 100, 50)).u32(REGION)
    });
    assert_eq!(clipped_to_region(&mut display), (4900.0, Effect::Full));
    display.request(0, XFIXES, 28, |b| {
        b.u32(OTHER).u32(REGION).u16(1).u16(1).u16(0).u16(2)
    });
    assert_eq!(clipped_to_region(&mut display), (144.0, Effect::Full));
    display.request(0, XFIXES, 20, |b| b.u32(GC).u32(0).i16s(&[0, 0]));
    assert_eq!(left(&mut display), (5000.0, Effect::Full));
}

#[test]
fn server_filled_regions_are_known_only_from_replies() {
    let mut display = with_regions();
    // DAMAGE Subtract: the damage goes into the region.
    display.request(0, DAMAGE, 3, |b| b.u32(STRANGER).u32(0).u32(REGION));
    assert_eq!(clipped_to_region(&mut display), (5000.0, Effect::Unknown));
    display.request(0, XFIXES, 19, |b| b.u32(REGION));
    display.reply(0, |b| {
        let b = rectangle(b, (0, 0, 7, 7)).zeros(16);
        rectangle(b, (0, 0, 7, 7))
    });
    assert_eq!(clipped_to_region(&mut display), (49.0, Effect::Full));
}
