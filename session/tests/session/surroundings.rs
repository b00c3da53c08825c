//! What windows that change stand among, and their stacking order.

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

/// Three mapped windows of 10 by 10 pixels beside each other, and a wider one over the first two,
/// which is not mapped; all in a window with a background.
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

/// Siblings, windows covered or uncovered, pixels.
fn among(operation: &Operation) -> (f64, f64, f64) {
    let surroundings = operation.surroundings.unwrap_or_default();
    (
        surroundings.siblings,
        surroundings.overlapped,
        surroundings.pixels,
    )
}

#[test]
fn what_appears_and_goes_covers_what_is_below_it() {
    let mut display = row();
    // It has no background itself; what it hides is painted again.
    let map = display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    assert_eq!(among(&map), (3.0, 2.0, 0.0));
    let unmap = display.request(0, UNMAP, 0, |b| b.u32(FIRST + 3));
    assert_eq!(among(&unmap), (3.0, 2.0, 120.0));
    let again = display.request(0, UNMAP, 0, |b| b.u32(FIRST + 3));
    assert_eq!(again.surroundings, None);
    // Inferiors count; what is above does not.
    display.create_window(0, FIRST + 8, FIRST, (6, 0, 4, 4));
    display.request(0, MAP, 0, |b| b.u32(FIRST + 8));
    let map = display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    assert_eq!(among(&map), (3.0, 3.0, 0.0));
    let unmap = display.request(0, UNMAP, 0, |b| b.u32(FIRST));
    assert_eq!(among(&unmap), (3.0, 0.0, 100.0));
}

#[test]
fn what_moves_is_copied_and_what_it_leaves_is_painted() {
    let mut display = row();
    display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    let to_the_right = configure(&mut display, FIRST + 3, &[(0, 12)]);
    assert_eq!(among(&to_the_right), (3.0, 3.0, 120.0 + 70.0));
    let higher = configure(&mut display, FIRST + 3, &[(3, 20)]);
    assert_eq!(among(&higher), (3.0, 2.0, 0.0), "it has no background");
    display.request(0, CHANGE_ATTRIBUTES, 0, |b| b.u32(FIRST + 3).u32(2).u32(0));
    let higher = configure(&mut display, FIRST + 3, &[(3, 30)]);
    assert_eq!(among(&higher), (3.0, 2.0, 360.0));
    // Bit gravity NorthWest: what it showed stays.
    display.request(0, CHANGE_ATTRIBUTES, 0, |b| b.u32(FIRST + 3).u32(16).u32(1));
    let higher = configure(&mut display, FIRST + 3, &[(3, 40)]);
    assert_eq!(among(&higher), (3.0, 2.0, 120.0));
}

#[test]
fn what_is_raised_or_lowered_passes_others() {
    let mut display = row();
    display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    let lowered = configure(&mut display, FIRST + 3, &[(6, BELOW)]);
    assert_eq!(among(&lowered), (3.0, 2.0, 100.0 - 10.0 + 30.0));
    let again = configure(&mut display, FIRST + 3, &[(6, BELOW)]);
    assert_eq!((again.effect, again.surroundings), (Effect::Nothing, None));
    let between = configure(&mut display, FIRST + 3, &[(5, FIRST), (6, ABOVE)]);
    assert_eq!(among(&between), (3.0, 1.0, 50.0));
    let raised = configure(&mut display, FIRST + 3, &[(6, OPPOSITE)]);
    assert_eq!(among(&raised).1, 1.0);
    let lowered = configure(&mut display, FIRST + 3, &[(6, OPPOSITE)]);
    assert_eq!(among(&lowered).1, 2.0);
    assert_eq!(
        configure(&mut display, FIRST + 2, &[(5, FIRST), (6, OPPOSITE)]).effect,
        Effect::Nothing,
        "it is beside that one"
    );
}

#[test]
fn circulating_moves_what_is_hidden_or_hides() {
    let mut display = row();
    let mut circulate = |direction| display.request(0, CIRCULATE, direction, |b| b.u32(WINDOW));
    assert_eq!(circulate(0).effect, Effect::Nothing);
    display.request(0, MAP, 0, |b| b.u32(FIRST + 3));
    let mut circulate = |direction| display.request(0, CIRCULATE, direction, |b| b.u32(WINDOW));
    // The first window, which comes to lie over the wide one.
    assert_eq!(among(&circulate(0)), (3.0, 1.0, 50.0));
    // It again, and then the wide one goes down from the second.
    assert_eq!(among(&circulate(1)), (3.0, 1.0, 50.0));
    assert_eq!(among(&circulate(1)).1, 2.0);
    assert_eq!(circulate(0).effect, Effect::Full);
}

#[test]
fn what_comes_goes_and_moves_changes_the_screen() {
    const DESTROY: u8 = 4;
    let mut display = row();
    let changes = |display: &mut Display, major| display.changes(0, major, |b| b.u32(FIRST + 3));
    // Without a background it shows nothing where it comes, but what it hid when it goes.
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
fn what_is_drawn_through_a_clip_changes_each_of_its_rectangles() {
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
        // The second is cut, the third is beside what is filled.
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

#[test]
fn windows_that_move_are_copies_and_those_that_shrink_two_parts() {
    let mut display = row();
    let id = FIRST + 3;
    display.request(0, CHANGE_ATTRIBUTES, 0, |b| b.u32(id).u32(2).u32(0));
    display.request(0, MAP, 0, |b| b.u32(id));
    let mut configured = |what: u16, to: u32| {
        let change = display.change(0, CONFIGURE, |b| b.u32(id).u16(what).u16(0).u32(to));
        change.map(|change| (change.parts, change.copied))
    };
    assert_eq!(configured(1, 8), Some((2, true)));
    let (wider, narrower) = (configured(4, 30), configured(4, 5));
    assert_eq!(wider, Some((1, false)));
    assert_eq!(narrower, Some((2, false)));
    // What it copies of itself is on the screen; what it would from a pixmap is not.
    let mut copied = |from: u32| {
        let change = display.change(0, 62, |b| {
            let (b, zero) = (b.u32(from).u32(id).u32(0), 0_u32);
            b.u32(zero).u32(zero).u16(3).u16(3)
        });
        change.map(|change| (change.parts, change.copied))
    };
    assert_eq!(copied(id), Some((1, true)));
    assert_eq!(copied(0xdead), Some((1, false)));
}

#[test]
fn siblings_out_of_line_leave_more_rectangles_of_their_parent() {
    let mut display = row();
    // Three beside each other in the corner: what is beside them, and what is below.
    let lower = configure(&mut display, FIRST + 2, &[(1, 20)]);
    let rectangles = |operation: &Operation| operation.surroundings.unwrap_or_default().rectangles;
    assert_eq!(rectangles(&lower), 2.0);
    // Now beside the two, below them, on both sides of the third, and below that.
    let again = configure(&mut display, FIRST + 2, &[(1, 21)]);
    assert_eq!(rectangles(&again), 5.0);
    let raised = configure(&mut display, FIRST, &[(6, BELOW)]);
    assert_eq!(rectangles(&raised), 0.0);
}
