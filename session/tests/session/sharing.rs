//! Images in shared memory, and pixmaps that extensions make and show.

use x11prof_session::{DrawableKind, Effect, ResourceKind};

use crate::harness::{Display, GC, PIXMAP, ROOT, STRANGER, WINDOW};

const SHM: u8 = 130;
const PRESENT: u8 = 148;
const DRI3: u8 = 149;
const COMPOSITE: u8 = 142;
const XFIXES: u8 = 138;
const SYNC: u8 = 134;
const NEW: u32 = 0x20_0200;

fn ready() -> Display {
    let mut display = Display::ready();
    for (name, major) in [
        ("MIT-SHM", SHM),
        ("Present", PRESENT),
        ("DRI3", DRI3),
        ("Composite", COMPOSITE),
        ("XFIXES", XFIXES),
        ("SYNC", SYNC),
    ] {
        display.has(name, major);
    }
    display
}

#[test]
fn shared_memory_images_are_measured_like_other_images() {
    let mut display = ready();
    // 30 by 20 of an image of 64 by 64, to (80, 0).
    let put = display.request(0, SHM, 3, |b| {
        let b = b.u32(WINDOW).u32(GC).u16(64).u16(64).u16(0).u16(0);
        let b = b.u16(30).u16(20).i16s(&[80, 0]).u8(24).u8(2).u8(0).u8(0);
        b.u32(STRANGER).u32(0)
    });
    assert_eq!(put.request.as_str(), "MIT-SHM:PutImage");
    assert_eq!(
        put.attributes.to_string(),
        "depth=24 format=ZPixmap gxmode=GXcopy"
    );
    assert_eq!((put.op_size, put.effect), (400.0, Effect::Full));
    let get = display.request(0, SHM, 4, |b| {
        let b = b.u32(ROOT).i16s(&[0, 0]).u16(10).u16(10).u32(u32::MAX);
        b.u8(2).zeros(3).u32(STRANGER).u32(0)
    });
    assert_eq!(get.attributes.to_string(), "depth=24 format=ZPixmap");
    assert_eq!((get.op_size, get.effect), (100.0, Effect::Full));
    let attach = display.request(0, SHM, 1, |b| b.u32(STRANGER).u32(5).u32(0));
    assert_eq!((attach.op_size, attach.items.len()), (0.0, 1));
    assert_eq!(
        display.session.resource(STRANGER).map(|one| one.kind),
        Some(ResourceKind::Segment)
    );
    display.request(0, SHM, 2, |b| b.u32(STRANGER));
    assert_eq!(display.session.resource(STRANGER), None);
}

#[test]
fn shared_memory_images_cross_a_network_as_plain_images() {
    let mut display = ready();
    // 30 by 20 of an image of 64 by 64, clipped by the window: the whole image is sent.
    let put = display.across(SHM, 3, |b| {
        let b = b.u32(WINDOW).u32(GC).u16(64).u16(64).u16(0).u16(0);
        let b = b.u16(30).u16(20).i16s(&[80, 0]).u8(24).u8(2).u8(0).u8(0);
        b.u32(STRANGER).u32(0)
    });
    let put = put.unwrap();
    assert_eq!(
        (put.bytes, put.reply_bytes, put.instead),
        (24 + 30 * 20 * 4, 0, true)
    );
    let get = display.across(SHM, 4, |b| {
        let b = b.u32(ROOT).i16s(&[0, 0]).u16(10).u16(10).u32(u32::MAX);
        b.u8(2).zeros(3).u32(STRANGER).u32(0)
    });
    let get = get.unwrap();
    assert_eq!((get.bytes, get.reply_bytes), (20, 400));
    // A copy from a pixmap in shared memory. A copy from another pixmap has no extra cost.
    let copy = |display: &mut Display, from: u32| {
        display.across(62, 0, |b| {
            let b = b.u32(from).u32(WINDOW).u32(GC).i16s(&[0, 0, 0, 0]);
            b.u16(10).u16(5)
        })
    };
    display.request(0, SHM, 5, |b| {
        let b = b.u32(NEW).u32(ROOT).u16(30).u16(40);
        b.u8(24).zeros(3).u32(STRANGER).u32(0)
    });
    let copied = copy(&mut display, NEW).unwrap();
    assert_eq!((copied.bytes, copied.instead), (24 + 10 * 5 * 4, false));
    assert_eq!(copy(&mut display, WINDOW), None);
    // A buffer of the graphics card that is shown.
    display.request(0, DRI3, 2, |b| {
        let b = b.u32(NEW + 1).u32(ROOT).u32(4096).u16(20).u16(10);
        b.u16(128).u8(24).u8(32)
    });
    let shown = display.across(PRESENT, 1, |b| {
        b.u32(WINDOW).u32(NEW + 1).u32(0).u32(0).u32(0).zeros(48)
    });
    let shown = shown.unwrap();
    assert_eq!((shown.bytes, shown.instead), (24 + 20 * 10 * 4, true));
}

#[test]
fn extensions_create_pixmaps() {
    let mut display = ready();
    let size = |display: &Display| {
        let pixmap = display.session.drawable(NEW).unwrap();
        assert_eq!(pixmap.kind, DrawableKind::Pixmap);
        (
            pixmap.geometry.width,
            pixmap.geometry.height,
            pixmap.depth.unwrap(),
        )
    };
    display.request(0, SHM, 5, |b| {
        let b = b.u32(NEW).u32(ROOT).u16(30).u16(40);
        b.u8(32).zeros(3).u32(STRANGER).u32(0)
    });
    assert_eq!(size(&display), (30, 40, 32));
    display.request(0, DRI3, 2, |b| {
        let b = b.u32(NEW).u32(ROOT).u32(4096).u16(31).u16(41);
        b.u16(128).u8(24).u8(32)
    });
    assert_eq!(size(&display), (31, 41, 24));
    display.request(0, DRI3, 7, |b| {
        let b = b.u32(NEW).u32(WINDOW).u8(1).zeros(3).u16(32).u16(42);
        b.zeros(32).u8(30).u8(32).zeros(2).zeros(8)
    });
    assert_eq!(size(&display), (32, 42, 30));
    display.request(0, 12, 0, |b| b.u32(WINDOW).u16(1 << 4).u16(0).u32(3));
    display.request(0, COMPOSITE, 6, |b| b.u32(WINDOW).u32(NEW));
    assert_eq!(size(&display), (106, 56, 24));
    display.request(0, COMPOSITE, 6, |b| b.u32(STRANGER).u32(NEW + 1));
    assert!(display.session.drawable(NEW + 1).is_none());
}

#[test]
fn present_size_is_the_visible_pixmap_area() {
    let mut display = ready();
    let present = |display: &mut Display, pixmap: u32, update: u32| {
        display.request(0, PRESENT, 1, |b| {
            let b = b.u32(WINDOW).u32(pixmap).u32(1).u32(0).u32(update);
            b.i16s(&[0, 0]).zeros(48)
        })
    };
    let whole = present(&mut display, PIXMAP, 0);
    assert_eq!(whole.request.as_str(), "Present:Pixmap");
    assert_eq!(whole.attributes.to_string(), "depth=24");
    assert_eq!((whole.op_size, whole.effect), (3200.0, Effect::Full));
    display.request(0, XFIXES, 5, |b| b.u32(NEW).i16s(&[5, 5]).u16(10).u16(10));
    assert_eq!(present(&mut display, PIXMAP, NEW).op_size, 100.0);
    let unknown = present(&mut display, STRANGER, 0);
    assert_eq!((unknown.op_size, unknown.effect), (5000.0, Effect::Unknown));
}

#[test]
fn counters_fences_and_colormaps_live_until_destroyed() {
    let mut display = ready();
    display.request(0, SYNC, 2, |b| b.u32(NEW).u32(0).u32(0));
    display.request(0, SYNC, 14, |b| b.u32(WINDOW).u32(NEW + 1).u32(0));
    display.request(0, 78, 0, |b| b.u32(NEW + 2).u32(ROOT).u32(0x20));
    let kind = |display: &Display, id| display.session.resource(id).map(|one| one.kind);
    assert_eq!(kind(&display, NEW), Some(ResourceKind::Counter));
    assert_eq!(kind(&display, NEW + 1), Some(ResourceKind::Fence));
    assert_eq!(kind(&display, NEW + 2), Some(ResourceKind::Colormap));
    display.request(0, SYNC, 6, |b| b.u32(NEW));
    display.request(0, SYNC, 17, |b| b.u32(NEW + 1));
    display.request(0, 79, 0, |b| b.u32(NEW + 2));
    for id in NEW..NEW + 3 {
        assert_eq!(kind(&display, id), None);
    }
    // The failed request created nothing.
    display.request(0, SYNC, 2, |b| b.u32(NEW).u32(0).u32(0));
    let failed = display.last(0);
    display.answer(0, 0, 14, failed, |b| b.u32(NEW).u16(2).u8(SYNC));
    assert_eq!(kind(&display, NEW), None);
}
