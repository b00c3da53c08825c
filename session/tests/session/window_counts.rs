//! Requests on windows, by the number of windows that they affect; and the fate of windows in a client's
//! save set.

use x11prof_session::{ClientId, Effect};

use crate::harness::{Display, ROOT, STRANGER, WINDOW};

const FIRST: u32 = WINDOW + 0x100;

/// Four children of the window, of which the first one has a child; the last one is not mapped.
fn family() -> Display {
    let mut display = Display::ready();
    for index in 0..4 {
        display.create_window(0, FIRST + index, WINDOW, (0, 0, 10, 10));
    }
    display.create_window(0, FIRST + 4, FIRST, (0, 0, 5, 5));
    for mapped in [FIRST, FIRST + 1, FIRST + 2, FIRST + 4] {
        display.request(0, 8, 0, |b| b.u32(mapped));
    }
    display
}

/// A request on a window: its op-size and effect.
fn touched(display: &mut Display, major: u8, window: u32) -> (f64, Effect) {
    let operation = display.request(0, major, 0, |b| b.u32(window));
    assert_eq!(operation.items, [operation.op_size]);
    (operation.op_size, operation.effect)
}

#[test]
fn mapping_counts_the_windows_that_appear() {
    let mut display = family();
    assert_eq!(touched(&mut display, 8, FIRST), (1.0, Effect::Nothing));
    assert_eq!(touched(&mut display, 10, WINDOW), (5.0, Effect::Full));
    assert_eq!(touched(&mut display, 10, WINDOW), (1.0, Effect::Nothing));
    // In a window that is not viewable, nothing appears.
    assert_eq!(touched(&mut display, 10, FIRST), (2.0, Effect::Nothing));
    assert_eq!(touched(&mut display, 8, FIRST).1, Effect::Nothing);
    assert_eq!(touched(&mut display, 8, WINDOW), (5.0, Effect::Full));
    assert_eq!(touched(&mut display, 9, WINDOW), (1.0, Effect::Full));
    assert_eq!(touched(&mut display, 9, WINDOW), (0.0, Effect::Nothing));
    assert_eq!(touched(&mut display, 11, WINDOW), (5.0, Effect::Full));
    assert_eq!(touched(&mut display, 8, STRANGER), (1.0, Effect::Unknown));
}

#[test]
fn destroying_counts_all_inferiors() {
    let mut display = family();
    assert_eq!(touched(&mut display, 4, FIRST), (2.0, Effect::Full));
    assert_eq!(touched(&mut display, 5, WINDOW), (3.0, Effect::Full));
    assert_eq!(touched(&mut display, 5, WINDOW), (0.0, Effect::Nothing));
    let moved = display.request(0, 7, 0, |b| b.u32(WINDOW).u32(ROOT).i16s(&[1, 1]));
    assert_eq!((moved.op_size, moved.effect), (1.0, Effect::Full));
}

#[test]
fn configure_is_classified_by_what_changes() {
    let mut display = family();
    let mut configure = |window: u32, values: &[(u16, u32)]| {
        let mask = values.iter().fold(0, |mask, (bit, _)| mask | 1 << bit);
        let operation = display.request(0, 12, 0, |b| {
            let b = b.u32(window).u16(mask).u16(0);
            values.iter().fold(b, |b, (_, value)| b.u32(*value))
        });
        (operation.attributes.to_string(), operation.effect)
    };
    let full = |change: &str| (format!("change={change}"), Effect::Full);
    assert_eq!(configure(WINDOW, &[(0, 5), (1, 0)]), full("move"));
    assert_eq!(
        configure(WINDOW, &[(0, 5), (2, 100)]),
        (String::new(), Effect::Nothing)
    );
    assert_eq!(configure(WINDOW, &[(2, 90), (6, 0)]), full("resize"));
    assert_eq!(configure(WINDOW, &[(0, 0), (3, 40)]), full("move+resize"));
    assert_eq!(configure(WINDOW, &[(4, 2)]), full("border"));
    assert_eq!(configure(FIRST, &[(6, 0)]), full("restack"));
    assert_eq!(
        configure(FIRST, &[(6, 0)]),
        ("change=restack".into(), Effect::Nothing),
        "it is the highest"
    );
    // The window is not mapped.
    assert_eq!(
        configure(FIRST + 3, &[(2, 90)]),
        ("change=resize".into(), Effect::Nothing)
    );
    assert_eq!(
        configure(STRANGER, &[(2, 90)]),
        ("change=resize".into(), Effect::Unknown)
    );
}

#[test]
fn save_set_windows_outlive_the_framing_client() {
    let mut display = Display::ready();
    let manager = display.connect();
    let frame = 0x40_0001;
    display.create_window(manager, frame, ROOT, (0, 0, 120, 70));
    display.request(manager, 6, 0, |b| b.u32(WINDOW));
    display.request(manager, 7, 0, |b| b.u32(WINDOW).u32(frame).i16s(&[10, 10]));
    assert_eq!(
        display.session.drawable(WINDOW).unwrap().viewable,
        Some(false)
    );
    display.session.closed(ClientId(manager));
    let window = display.session.drawable(WINDOW).unwrap();
    assert_eq!((window.parent, window.viewable), (Some(ROOT), Some(true)));
    assert!(display.session.drawable(frame).is_none());
}
