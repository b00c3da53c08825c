//! The effects of window changes on the screen, and the stacking order.

use x11prof_session::{Effect, Operation};

use crate::harness::{Display, WINDOW};

const FIRST: u32 = WINDOW + 0x100;
const CHANGE_ATTRIBUTES: u8 = 2;
const MAP: u8 = 8;
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
