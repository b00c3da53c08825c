//! Requests that do not draw, and messages that are no requests.

use x11prof_session::{Effect, Operation};

use crate::harness::{Display, ROOT, WINDOW};

#[test]
fn every_opcode_yields_an_operation_at_any_length() {
    let mut display = Display::ready();
    for major in 1..=255 {
        // QueryExtension's answer would be missed.
        let operation = display.request(0, major, 0, |b| b);
        assert_ne!(operation.request.as_str(), "", "{major}");
        let junk = display.request(0, major, 255, |b| b.raw(&[0xFF; 64]));
        assert!(junk.op_size.is_finite() && junk.op_size >= 0.0, "{junk:?}");
        let cut = display.cut_request(major, 1, 7, |b| b.raw(&[0xA5; 64]));
        assert!(cut.op_size.is_finite() && cut.op_size >= 0.0, "{cut:?}");
    }
}

#[test]
fn plain_requests_have_one_sizeless_item() {
    let mut display = Display::ready();
    let plain = display.request(0, 127, 0, |b| b);
    assert_eq!(plain, Operation::new("NoOperation".into()));
    let focus = display.request(0, 43, 0, |b| b);
    assert_eq!(focus, Operation::new("GetInputFocus".into()));
    let bell = display.request(0, 104, 0, |b| b);
    assert_eq!(bell, Operation::new("Bell".into()));
}

#[test]
fn property_and_atom_sizes_are_in_bytes() {
    let mut display = Display::ready();
    let mut change = |format: u8, values: u32| {
        display.request(0, 18, 0, |b| {
            let b = b
                .u32(WINDOW)
                .u32(39)
                .u32(31)
                .u8(format)
                .zeros(3)
                .u32(values);
            b.zeros(values as usize * usize::from(format / 8))
        })
    };
    let text = change(8, 5);
    assert_eq!(text.request.as_str(), "ChangeProperty");
    assert_eq!(
        (text.items.as_slice(), text.op_size),
        ([5.0].as_slice(), 5.0)
    );
    assert_eq!(change(32, 3).op_size, 12.0);
    assert_eq!(change(16, 0).effect, Effect::Full);
    let atom = display.request(0, 16, 0, |b| b.u16(8).u16(0).raw(b"WM_STATE"));
    assert_eq!((atom.op_size, atom.effect), (8.0, Effect::Full));
}

#[test]
fn roots_come_from_the_setup() {
    let mut display = Display::ready();
    display.connect();
    assert_eq!(display.session.roots(), [ROOT, crate::harness::SECOND_ROOT]);
    let second = display
        .session
        .drawable(crate::harness::SECOND_ROOT)
        .unwrap();
    assert_eq!((second.geometry.width, second.geometry.height), (640, 480));
    assert_eq!(
        (second.depth, second.viewable, second.parent),
        (Some(8), Some(true), None)
    );
}

#[test]
fn cursor_and_fake_event_kind_are_attributes() {
    /// Bits of ChangeWindowAttributes' value mask.
    const EVENT_MASK: u32 = 1 << 11;
    const CURSOR: u32 = 1 << 14;
    const XTEST: u8 = 140;
    let mut display = Display::ready();
    let mut change = |mask: u32| {
        let values = mask.count_ones() as usize * 4;
        let operation = display.request(0, 2, 0, |b| b.u32(WINDOW).u32(mask).zeros(values));
        operation.attributes.to_string()
    };
    assert_eq!(change(EVENT_MASK), "cursor=no");
    assert_eq!(change(CURSOR), "cursor=yes");
    assert_eq!(change(EVENT_MASK | CURSOR), "cursor=yes");
    // Its mask is missing.
    let cut = display.cut_request(2, 0, 8, |b| b.u32(WINDOW).u32(CURSOR).zeros(4));
    assert_eq!(cut.effect, Effect::Unknown);
    display.has("XTEST", XTEST);
    let mut fake = |kind: u8| {
        let operation = display.request(0, XTEST, 2, |b| b.u8(kind).zeros(31));
        operation.attributes.to_string()
    };
    assert_eq!(fake(2), "event=key");
    assert_eq!(fake(3), "event=key");
    assert_eq!(fake(5), "event=button");
    assert_eq!(fake(6), "event=motion");
    // A request of XInput.
    assert_eq!(fake(70), "");
}
