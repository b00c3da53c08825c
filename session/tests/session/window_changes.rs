//! The effects of window changes on the screen, and the stacking order.

use x11prof_session::{Effect, Operation};

use crate::harness::{Display, WINDOW};

const FIRST: u32 = WINDOW + 0x100;
const CHANGE_ATTRIBUTES: u8 = 2;
const MAP: u8 = 8;
const UNMAP: u8 = 10;
const CONFIGURE: u8 = 12;
const CIRCULATE: u8 = 13;
const ABOVE: u32 = 0;
const BELOW: u32 = 1;
const OPPOSITE: u32 = 4;

/// Three mapped windows of 10 by 10 pixels side by side, and an unmapped wider one over the first two, all in a
/// window with a background.
fn row() -> Display {
    let mut display = Display::ready();
    // The background pixel.
    display.request(0, CHANGE_ATTRIBUTES, 0, |b| b.u32(WINDOW).u32(2).u32(0));
    for index in 0..3 {
        let x = 10 * index as i16;
        display.create_window(0, FIRST + index, WINDOW, (x, 0, 10, 10));
        display.request(0, MAP, 0, |b| b.u32(FIRST + index));
    }
    display.create_window(0, FIRST + 3, WINDOW, (5, 0, 12, 10));
    display
}

fn configure(display: &mut Display, window: u32, values: &[(u16, u32)]) -> Operation {
    let mask = values.iter().fold(0, |mask, (bit, _)| mask | 1 << bit);
    display.request(0, CONFIGURE, 0, |b| {
        let b = b.u32(window).u16(mask).u16(0);
        values.iter().fold(b, |b, (_, value)| b.u32(*value))
    })
}

#[test]
fn restacking_counts_only_if_overlap_order_changes() {
    let mut display = row();
    display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    let mut configured =
        |window: u32, values: &[(u16, u32)]| configure(&mut display, window, values).effect;
    assert_eq!(configured(FIRST + 3, &[(6, BELOW)]), Effect::Full);
    assert_eq!(configured(FIRST + 3, &[(6, BELOW)]), Effect::Nothing);
    assert_eq!(
        configured(FIRST + 3, &[(5, FIRST), (6, ABOVE)]),
        Effect::Full
    );
    assert_eq!(configured(FIRST + 3, &[(6, OPPOSITE)]), Effect::Full);
    assert_eq!(configured(FIRST + 3, &[(6, OPPOSITE)]), Effect::Full);
    assert_eq!(
        configured(FIRST + 2, &[(5, FIRST), (6, OPPOSITE)]),
        Effect::Nothing,
        "it is beside that one"
    );
}

#[test]
fn circulate_affects_only_overlapping_windows() {
    let mut display = row();
    let mut circulate = |direction| display.request(0, CIRCULATE, direction, |b| b.u32(WINDOW));
    assert_eq!(circulate(0).effect, Effect::Nothing);
    display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    let mut circulate = |direction| display.request(0, CIRCULATE, direction, |b| b.u32(WINDOW));
    for direction in [0, 1, 1, 0] {
        assert_eq!(circulate(direction).effect, Effect::Full);
    }
}

#[test]
fn mapped_unmapped_and_moved_windows_change_the_screen() {
    const DESTROY: u8 = 4;
    let mut display = row();
    let changes = |display: &mut Display, major| display.changes(0, major, |b| b.u32(FIRST + 3));
    // A window without a background shows nothing when it is mapped. When it is unmapped, the windows below appear.
    let beside = display.changes(0, MAP, |b| b.u32(FIRST));
    assert_eq!((beside, changes(&mut display, MAP)), (vec![], vec![]));
    let there = changes(&mut display, UNMAP);
    assert!(matches!(there[..], [[left, _, right, _]] if right - left == 12));
    display.request(0, CHANGE_ATTRIBUTES, 0, |b| b.u32(FIRST + 3).u32(2).u32(0));
    assert_eq!(changes(&mut display, MAP), there);
    let mut moved =
        |to: u32| display.changes(0, CONFIGURE, |b| b.u32(FIRST + 3).u16(1).u16(0).u32(to));
    let both = moved(8);
    assert!(matches!(both[..], [[left, _, right, _]] if right - left == 15));
    assert!(moved(8).is_empty());
    assert_eq!(changes(&mut display, DESTROY).len(), 1);
    assert!(changes(&mut display, UNMAP).is_empty());
}

#[test]
fn clipped_drawing_changes_each_clip_rectangle() {
    const CREATE_GC: u8 = 55;
    const SET_CLIP_RECTANGLES: u8 = 59;
    const POLY_FILL_RECTANGLE: u8 = 70;
    const CLIPPED: u32 = FIRST + 9;
    let mut display = row();
    display.request(0, CREATE_GC, 0, |b| b.u32(CLIPPED).u32(WINDOW).u32(0));
    let fill = |display: &mut Display| {
        display.changes(0, POLY_FILL_RECTANGLE, |b| {
            b.u32(WINDOW).u32(CLIPPED).u16(0).u16(0).u16(40).u16(40)
        })
    };
    let whole = fill(&mut display);
    assert!(matches!(whole[..], [[left, _, right, _]] if right - left == 40));
    display.request(0, SET_CLIP_RECTANGLES, 0, |b| {
        let b = b.u32(CLIPPED).u16(10).u16(0);
        let b = b.u16(0).u16(20).u16(5).u16(5);
        // The second rectangle is clipped, the third is next to the filled one.
        b.u16(20)
            .u16(20)
            .u16(50)
            .u16(5)
            .u16(60)
            .u16(20)
            .u16(5)
            .u16(5)
    });
    let pieces = fill(&mut display);
    let wide = pieces.iter().map(|[left, _, right, _]| right - left);
    assert_eq!(wide.collect::<Vec<_>>(), [5, 10]);
}
