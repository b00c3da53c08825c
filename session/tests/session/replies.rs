//! A session learns from replies.

use x11prof_session::{DrawableKind, Effect};

use crate::harness::{Display, GC, ROOT, STRANGER, WINDOW};

/// The pixels left of 1000 by 1000.
fn drawn(display: &mut Display, drawable: u32) -> (f64, Effect) {
    let fill = display.request(0, 70, 0, |b| {
        b.u32(drawable).u32(GC).i16s(&[0, 0]).u16(1000).u16(1000)
    });
    (fill.op_size, fill.effect)
}

fn geometry(display: &mut Display, drawable: u32, width: u16, height: u16) {
    display.request(0, 14, 0, |b| b.u32(drawable));
    display.reply(24, |b| {
        b.u32(ROOT)
            .i16s(&[3, 4])
            .u16(width)
            .u16(height)
            .u16(0)
            .u16(0)
    });
}

fn attributes(display: &mut Display, window: u32, map_state: u8) {
    display.request(0, 3, 0, |b| b.u32(window));
    display.reply(0, |b| b.zeros(18).u8(map_state).zeros(17));
}

#[test]
fn existing_drawable_is_known_only_from_replies() {
    let mut display = Display::ready();
    assert_eq!(
        drawn(&mut display, STRANGER),
        (1_000_000.0, Effect::Unknown)
    );
    geometry(&mut display, STRANGER, 20, 10);
    assert_eq!(
        drawn(&mut display, STRANGER),
        (200.0, Effect::Unknown),
        "a pixmap, or a window that may not show"
    );
    let known = display.session.drawable(STRANGER).unwrap();
    assert_eq!((known.kind, known.depth), (DrawableKind::Unknown, Some(24)));
    attributes(&mut display, STRANGER, 2);
    assert_eq!(drawn(&mut display, STRANGER), (200.0, Effect::Full));
    // Unmapped, configured and mapped again: the window's viewability is unknown now.
    display.request(0, 10, 0, |b| b.u32(STRANGER));
    assert_eq!(drawn(&mut display, STRANGER), (200.0, Effect::Nothing));
    display.request(0, 12, 0, |b| b.u32(STRANGER).u16(1 << 2).u16(0).u32(30));
    display.request(0, 8, 0, |b| b.u32(STRANGER));
    assert_eq!(drawn(&mut display, STRANGER), (300.0, Effect::Unknown));
    display.request(0, 4, 0, |b| b.u32(STRANGER));
    assert_eq!(
        drawn(&mut display, STRANGER),
        (1_000_000.0, Effect::Unknown)
    );
}

#[test]
fn reply_corrects_a_window_unless_stale() {
    let mut display = Display::ready();
    geometry(&mut display, WINDOW, 50, 50);
    assert_eq!(drawn(&mut display, WINDOW), (2500.0, Effect::Full));
    attributes(&mut display, WINDOW, 0);
    assert_eq!(drawn(&mut display, WINDOW), (2500.0, Effect::Nothing));
    // The request precedes the second mapping of the window, the reply follows it.
    display.request(0, 3, 0, |b| b.u32(WINDOW));
    let asked = display.last(0);
    display.request(0, 8, 0, |b| b.u32(WINDOW));
    display.reply_to(asked, 0, |b| b.zeros(36));
    assert_eq!(drawn(&mut display, WINDOW).1, Effect::Full);
}

#[test]
fn windows_of_other_clients_are_known_from_events() {
    let mut display = Display::ready();
    let now = display.last(0);
    // CreateNotify: 30 by 30 under the root; MapNotify.
    display.answer(0, 16, 0, now, |b| {
        let b = b.u32(ROOT).u32(STRANGER).i16s(&[0, 0]);
        b.u16(30).u16(30).u16(0).u8(0)
    });
    assert_eq!(drawn(&mut display, STRANGER), (900.0, Effect::Nothing));
    display.answer(0, 19, 0, now, |b| b.u32(ROOT).u32(STRANGER));
    assert_eq!(drawn(&mut display, STRANGER), (900.0, Effect::Full));
    let window = display.session.drawable(STRANGER).unwrap();
    assert_eq!(window.kind, DrawableKind::Window);
    let size = (window.geometry.width, window.geometry.height);
    assert_eq!(size, (30, 30));
    assert_eq!(display.session.resource(STRANGER), None, "nobody made it");
}

#[test]
fn atom_names_are_learned_from_replies() {
    let mut display = Display::ready();
    display.request(0, 16, 0, |b| b.u16(8).u16(0).raw(b"WM_STATE"));
    display.reply(0, |b| b.u32(400));
    display.request(0, 17, 0, |b| b.u32(401));
    display.reply(0, |b| b.u16(5).zeros(22).raw(b"UTF8!"));
    // only_if_exists, and the atom does not exist.
    display.request(0, 16, 1, |b| b.u16(4).u16(0).raw(b"NONE"));
    display.reply(0, |b| b.u32(0));
    let name = |atom| display.session.atom_name(atom);
    assert_eq!(name(400), Some("WM_STATE"));
    assert_eq!(name(401), Some("UTF8!"));
    assert_eq!(
        (name(39), name(0), name(402)),
        (Some("WM_NAME"), None, None)
    );
}
