//! The user's own operations, as the documentation shows them.

use x11prof_session::{Definitions, Effect, Operation, Session};

use crate::harness::{Bytes, Display, GC, WINDOW};

const VENDOR: u8 = 200;

/// The definitions of docs/examples/operations.toml.
#[allow(clippy::unwrap_used, reason = "the shipped example is valid")]
fn example() -> Definitions {
    Definitions::parse(include_str!("../../../docs/examples/operations.toml")).unwrap()
}

fn with(definitions: Definitions) -> Display {
    let mut display = Display::ready();
    display.session = Session::with_definitions(definitions);
    display.has("VENDOR-BLIT", VENDOR);
    display
}

fn blit(b: Bytes) -> Bytes {
    // From byte 4 on: two words, then width and height at 12 and 14, depth and mode.
    b.u32(WINDOW).u32(0).u16(30).u16(20).u8(24).u8(2).u16(0)
}

#[track_caller]
fn assert_is(operation: &Operation, attributes: &str, items: &[f64], op_size: f64) {
    assert_eq!(operation.attributes.to_string(), attributes);
    assert_eq!(
        (operation.items.as_slice(), operation.op_size),
        (items, op_size)
    );
    assert_eq!(operation.effect, Effect::Full);
}

#[test]
fn documented_example_works() {
    let mut display = with(example());
    let one = display.request(0, VENDOR, 3, blit);
    assert_eq!(one.request.as_str(), "VENDOR-BLIT:3");
    assert_is(&one, "depth=24 mode=Xor", &[600.0], 600.0);
    let list = display.request(0, VENDOR, 4, |b| {
        let b = b.u32(WINDOW).i16s(&[0, 0]).u16(4).u16(5);
        b.i16s(&[0, 0]).u16(2).u16(3)
    });
    assert_is(&list, "", &[20.0, 6.0], 26.0);
    let other = display.request(0, VENDOR, 5, blit);
    assert_is(&other, "", &[0.0], 0.0);
    let put = display.request(0, 72, 2, |b| {
        let b = b.u32(WINDOW).u32(GC).u16(4).u16(4).i16s(&[0, 0]);
        b.u8(0).u8(24).u16(0).zeros(64)
    });
    assert_is(&put, "depth=24 format=ZPixmap", &[64.0], 64.0);
}

#[test]
fn absent_fields_are_unknown() {
    let mut display = with(example());
    let short = display.request(0, VENDOR, 3, |b| b.u32(WINDOW));
    assert_eq!((short.op_size, short.effect), (0.0, Effect::Unknown));
    assert_eq!(short.attributes.to_string(), "");
    let unnamed = display.request(0, VENDOR, 3, |b| b.zeros(13).u8(9));
    assert_eq!(unnamed.attributes.to_string(), "depth=0");
    let cut = display.cut_request(VENDOR, 4, 16, |b| {
        let b = b.u32(WINDOW).i16s(&[0, 0]).u16(4).u16(5);
        b.i16s(&[0, 0]).u16(2).u16(3)
    });
    assert_eq!((cut.op_size, cut.effect), (20.0, Effect::Unknown));
}

#[test]
fn redefined_requests_still_update_the_state() {
    let text = "format = 1\n[[operation]]\nrequest = \"CreatePixmap\"\n\
                op_size = \"u16@12 * u16@14\"\n\
                attributes.depth = { value = \"u8@1\", names = { 8 = \"eight\" } }";
    let mut display = with(Definitions::parse(text).unwrap());
    let pixmap = 0x20_0700;
    let made = display.request(0, 53, 8, |b| b.u32(pixmap).u32(WINDOW).u16(7).u16(9));
    assert_is(&made, "depth=eight", &[63.0], 63.0);
    let known = display.session.drawable(pixmap).unwrap();
    assert_eq!((known.geometry.width, known.depth), (7, Some(8)));
}
