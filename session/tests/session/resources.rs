//! GCs, pixmaps and fonts over their lives: changed, copied, freed, given again, and gone with
//! their client.

use x11prof_protocol::SequenceNumber;
use x11prof_session::{ClientId, Component, DrawableKind, Effect};

use crate::harness::{Display, GC, PIXMAP, ROOT, STRANGER, Seen, WINDOW};

const SECOND_GC: u32 = GC + 0x100;

fn component(display: &Display, gc: u32, component: Component) -> Option<u32> {
    display.session.gc(gc)?.get(component)
}

#[test]
fn change_gc_changes_only_the_masked_components() {
    let mut display = Display::ready();
    display.change_gc(GC, &[(2, 0x00AB_CDEF), (4, 0xFFFF_0007), (22, 0)]);
    assert_eq!(
        component(&display, GC, Component::Foreground),
        Some(0x00AB_CDEF)
    );
    assert_eq!(
        component(&display, GC, Component::LineWidth),
        Some(7),
        "16 bits of its unit"
    );
    assert_eq!(component(&display, GC, Component::ArcMode), Some(0));
    assert_eq!(component(&display, GC, Component::Function), Some(3));
    display.change_gc(STRANGER, &[(4, 7)]);
    assert!(display.session.gc(STRANGER).is_none());
}

#[test]
fn copy_gc_copies_only_the_masked_components() {
    let mut display = Display::ready();
    display.open_font(0x20_0010, "fixed");
    display.create_gc(0, SECOND_GC, &[(0, 6), (4, 5), (14, 0x20_0010)]);
    let copy = |display: &mut Display, from: u32, mask: u32| {
        display.request(0, 57, 0, |b| b.u32(from).u32(GC).u32(mask));
    };
    copy(&mut display, SECOND_GC, 1 << 4 | 1 << 14);
    assert_eq!(component(&display, GC, Component::LineWidth), Some(5));
    assert_eq!(component(&display, GC, Component::Function), Some(3));
    assert_eq!(
        display.session.gc(GC).unwrap().font_name(),
        Some("fixed".into())
    );
    copy(&mut display, STRANGER, 1 << 4);
    assert_eq!(component(&display, GC, Component::LineWidth), None);
    assert_eq!(component(&display, GC, Component::Function), Some(3));
}

#[test]
fn dashes_and_clip_rectangles_are_lists() {
    let mut display = Display::ready();
    display.request(0, 58, 0, |b| b.u32(GC).u16(3).u16(2).raw(&[5, 1]));
    assert_eq!(component(&display, GC, Component::DashOffset), Some(3));
    assert_eq!(component(&display, GC, Component::Dashes), None);
    display.request(0, 59, 0, |b| {
        b.u32(GC).i16s(&[2, -1]).i16s(&[0, 0]).u16(5).u16(5)
    });
    assert_eq!(component(&display, GC, Component::ClipXOrigin), Some(2));
    assert_eq!(
        component(&display, GC, Component::ClipYOrigin),
        Some(0xFFFF)
    );
    assert_eq!(component(&display, GC, Component::ClipMask), None);
    display.change_gc(GC, &[(19, 0), (21, 9)]);
    assert_eq!(component(&display, GC, Component::ClipMask), Some(0));
    assert_eq!(component(&display, GC, Component::Dashes), Some(9));
}

#[test]
fn freed_ids_are_unknown_until_reused() {
    let mut display = Display::ready();
    display.request(0, 60, 0, |b| b.u32(GC));
    display.request(0, 54, 0, |b| b.u32(PIXMAP));
    assert!(display.session.gc(GC).is_none());
    assert!(display.session.drawable(PIXMAP).is_none());
    display.create_gc(0, GC, &[(0, 1)]);
    assert_eq!(component(&display, GC, Component::Function), Some(1));
    // An id may come back as another kind of resource.
    display.create_window(0, PIXMAP, ROOT, (0, 0, 10, 10));
    let window = display.session.drawable(PIXMAP).unwrap();
    assert_eq!(
        (window.kind, window.depth),
        (DrawableKind::Window, Some(24))
    );
}

#[test]
fn clients_share_resources_until_their_owner_closes() {
    let mut display = Display::ready();
    let other = display.connect();
    let fill = |display: &mut Display| {
        display.request(other, 70, 0, |b| {
            b.u32(WINDOW).u32(GC).i16s(&[0, 0]).u16(5).u16(5)
        })
    };
    let operation = fill(&mut display);
    assert_eq!(
        operation.attributes.to_string(),
        "fillstyle=FillSolid gxmode=GXcopy"
    );
    assert_eq!(operation.effect, Effect::Full);
    display.session.closed(ClientId(0));
    let operation = fill(&mut display);
    assert_eq!(operation.attributes.to_string(), "");
    assert_eq!(operation.effect, Effect::Unknown);
    assert!(display.session.drawable(PIXMAP).is_none());
    assert!(display.session.drawable(ROOT).is_some());
}

#[test]
fn retained_resources_stay_until_killed() {
    let mut display = Display::ready();
    let other = display.connect();
    display.request(0, 112, 1, |b| b);
    display.session.closed(ClientId(0));
    assert!(display.session.gc(GC).is_some());
    display.request(other, 113, 0, |b| b.u32(PIXMAP));
    assert!(display.session.gc(GC).is_none());
    assert!(display.session.drawable(WINDOW).is_none());
}

#[test]
fn failed_requests_create_nothing() {
    let mut display = Display::ready();
    display.open_font(0x20_0010, "no-such-font");
    let failed = display.last(0);
    display.create_gc(0, SECOND_GC, &[]);
    assert!(display.session.font_name(0x20_0010).is_some());
    // BadName (15) of OpenFont (45).
    let seen = display.answer(0, 0, 15, failed, |b| b.u32(0).u16(0).u8(45));
    assert_eq!(seen, Seen::Failed(SequenceNumber(u64::from(failed))));
    assert!(display.session.font_name(0x20_0010).is_none());
    assert!(display.session.gc(SECOND_GC).is_some());
    // A later owner of the id is not undone.
    display.create_gc(0, STRANGER, &[]);
    let failed = display.last(0);
    display.create_gc(0, STRANGER, &[]);
    display.answer(0, 0, 11, failed, |b| b.u32(0).u16(0).u8(55));
    assert!(display.session.gc(STRANGER).is_some());
}
