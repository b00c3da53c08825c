//! Windows: mapped and viewable, sized and moved, by requests and by events.

use x11prof_session::{ClientId, Effect};

use crate::harness::{Display, GC, ROOT, STRANGER, Seen, WINDOW, value_list};

const CHILD: u32 = WINDOW + 0x100;
const DESTROY_NOTIFY: u8 = 17;
const UNMAP_NOTIFY: u8 = 18;
const MAP_NOTIFY: u8 = 19;
const REPARENT_NOTIFY: u8 = 21;
const CONFIGURE_NOTIFY: u8 = 22;

/// A child of 20 by 20, mapped.
fn with_child() -> Display {
    let mut display = Display::ready();
    display.create_window(0, CHILD, WINDOW, (5, 5, 20, 20));
    display.request(0, 8, 0, |b| b.u32(CHILD));
    display
}

/// Draws on a window: the area left of 1000 by 1000, and the effect.
fn drawn(display: &mut Display, window: u32) -> (f64, Effect) {
    let fill = display.request(0, 70, 0, |b| {
        b.u32(window).u32(GC).i16s(&[0, 0]).u16(1000).u16(1000)
    });
    (fill.op_size, fill.effect)
}

#[test]
fn drawing_is_visible_only_if_all_ancestors_are_mapped() {
    let mut display = with_child();
    assert_eq!(drawn(&mut display, CHILD), (400.0, Effect::Full));
    display.request(0, 10, 0, |b| b.u32(WINDOW));
    assert_eq!(drawn(&mut display, CHILD), (400.0, Effect::Nothing));
    display.request(0, 8, 0, |b| b.u32(WINDOW));
    display.request(0, 11, 0, |b| b.u32(WINDOW));
    assert_eq!(drawn(&mut display, CHILD), (400.0, Effect::Nothing));
    assert_eq!(drawn(&mut display, WINDOW), (5000.0, Effect::Full));
    display.request(0, 9, 0, |b| b.u32(WINDOW));
    assert_eq!(drawn(&mut display, CHILD), (400.0, Effect::Full));
}

#[test]
fn windows_are_resized_and_reparented() {
    let mut display = with_child();
    let mask = |b: crate::harness::Bytes| b.u16(1 << 0 | 1 << 2 | 1 << 3).u16(0);
    display.request(0, 12, 0, |b| {
        mask(b.u32(CHILD))
            .u32(u32::MAX)
            .u32(30)
            .u32(0xFFFF_0000 | 10)
    });
    let child = display.session.drawable(CHILD).unwrap();
    assert_eq!((child.geometry.x, child.geometry.y), (-1, 5));
    assert_eq!(drawn(&mut display, CHILD), (300.0, Effect::Full));
    display.request(0, 7, 0, |b| b.u32(CHILD).u32(ROOT).i16s(&[7, 8]));
    display.request(0, 10, 0, |b| b.u32(WINDOW));
    assert_eq!(drawn(&mut display, CHILD), (300.0, Effect::Full));
    let child = display.session.drawable(CHILD).unwrap();
    assert_eq!(
        (child.parent, child.geometry.x, child.geometry.y),
        (Some(ROOT), 7, 8)
    );
}

#[test]
fn destroyed_windows_remove_their_inferiors() {
    let mut display = with_child();
    display.request(0, 5, 0, |b| b.u32(WINDOW));
    assert!(display.session.drawable(CHILD).is_none());
    display.create_window(0, CHILD, WINDOW, (0, 0, 5, 5));
    assert_eq!(
        drawn(&mut display, CHILD),
        (25.0, Effect::Nothing),
        "made again, not mapped"
    );
    display.request(0, 4, 0, |b| b.u32(WINDOW));
    assert!(display.session.drawable(CHILD).is_none());
    assert!(display.session.drawable(WINDOW).is_none());
    assert_eq!(drawn(&mut display, WINDOW), (1_000_000.0, Effect::Unknown));
}

#[test]
fn events_correct_the_window_state() {
    let mut display = with_child();
    let now = display.last(0);
    display.answer(0, UNMAP_NOTIFY, 0, now, |b| b.u32(WINDOW).u32(WINDOW));
    assert_eq!(drawn(&mut display, WINDOW).1, Effect::Nothing);
    let seen = display.answer(0, MAP_NOTIFY, 0, now, |b| b.u32(WINDOW).u32(WINDOW));
    assert_eq!(seen, Seen::Nothing);
    assert_eq!(drawn(&mut display, WINDOW).1, Effect::Full);
    display.answer(0, CONFIGURE_NOTIFY, 0, now, |b| {
        b.u32(WINDOW)
            .u32(WINDOW)
            .u32(0)
            .i16s(&[3, 4])
            .u16(200)
            .u16(10)
            .u16(2)
    });
    let window = display.session.drawable(WINDOW).unwrap();
    assert_eq!((window.geometry.x, window.geometry.border_width), (3, 2));
    assert_eq!(drawn(&mut display, WINDOW), (2000.0, Effect::Full));
    // A window manager outside the recording puts a frame round it.
    display.answer(0, REPARENT_NOTIFY, 0, now, |b| {
        b.u32(WINDOW).u32(WINDOW).u32(STRANGER).i16s(&[1, 1])
    });
    assert_eq!(drawn(&mut display, WINDOW), (2000.0, Effect::Unknown));
    display.answer(0, DESTROY_NOTIFY, 0, now, |b| b.u32(WINDOW).u32(WINDOW));
    assert!(display.session.drawable(WINDOW).is_none());
    assert!(display.session.drawable(CHILD).is_none());
}

#[test]
fn events_preceding_a_request_are_stale() {
    let mut display = Display::ready();
    let mapped = display.last(0);
    display.request(0, 10, 0, |b| b.u32(WINDOW));
    let unmapped = display.last(0);
    display.request(0, 8, 0, |b| b.u32(WINDOW));
    display.answer(0, MAP_NOTIFY, 0, mapped, |b| b.u32(WINDOW).u32(WINDOW));
    display.answer(0, UNMAP_NOTIFY, 0, unmapped, |b| b.u32(WINDOW).u32(WINDOW));
    assert_eq!(drawn(&mut display, WINDOW).1, Effect::Full);
    // A late event on a window whose id is in use again is ignored too.
    display.request(0, 4, 0, |b| b.u32(WINDOW));
    let destroyed = display.last(0);
    display.create_window(0, WINDOW, ROOT, (0, 0, 10, 10));
    display.answer(0, DESTROY_NOTIFY, 0, destroyed, |b| {
        b.u32(WINDOW).u32(WINDOW)
    });
    assert!(display.session.drawable(WINDOW).is_some());
}

#[test]
fn sent_events_change_only_the_size() {
    let mut display = Display::ready();
    let now = display.last(0);
    display.answer(0, UNMAP_NOTIFY | 0x80, 0, now, |b| {
        b.u32(WINDOW).u32(WINDOW)
    });
    display.answer(0, CONFIGURE_NOTIFY | 0x80, 0, now, |b| {
        b.u32(WINDOW)
            .u32(WINDOW)
            .u32(0)
            .i16s(&[300, 400])
            .u16(60)
            .u16(10)
            .u16(0)
    });
    assert_eq!(drawn(&mut display, WINDOW), (600.0, Effect::Full));
    assert_eq!(display.session.drawable(WINDOW).unwrap().geometry.x, 0);
}

#[test]
fn window_manager_receives_redirected_requests() {
    let mut display = Display::new(x11prof_protocol::ByteOrder::Little);
    display.create_gc(0, GC, &[]);
    let manager = display.connect();
    // SubstructureRedirect in the root's event mask.
    display.request(manager, 2, 0, |b| value_list(b.u32(ROOT), &[(11, 1 << 20)]));
    display.create_window(0, WINDOW, ROOT, (0, 0, 100, 50));
    display.request(0, 8, 0, |b| b.u32(WINDOW));
    assert_eq!(
        drawn(&mut display, WINDOW).1,
        Effect::Nothing,
        "MapWindow only asks"
    );
    display.request(manager, 8, 0, |b| b.u32(WINDOW));
    assert_eq!(drawn(&mut display, WINDOW).1, Effect::Full);
    // A menu is not managed.
    display.create_window(0, CHILD, ROOT, (0, 0, 10, 10));
    display.request(0, 2, 0, |b| value_list(b.u32(CHILD), &[(9, 1)]));
    display.request(0, 8, 0, |b| b.u32(CHILD));
    assert_eq!(drawn(&mut display, CHILD).1, Effect::Full);
    display.session.closed(ClientId(manager));
    display.create_window(0, CHILD, ROOT, (0, 0, 10, 10));
    display.request(0, 8, 0, |b| b.u32(CHILD));
    assert_eq!(drawn(&mut display, CHILD).1, Effect::Full);
}
