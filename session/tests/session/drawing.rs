//! The paper's eight graphics requests.

use x11prof_protocol::ByteOrder;
use x11prof_session::{Effect, Operation};

use crate::harness::{Bytes, Display, GC, PIXMAP, STRANGER, WINDOW};

fn on_window(bytes: Bytes) -> Bytes {
    bytes.u32(WINDOW).u32(GC)
}

/// Asserts every property of an operation.
#[track_caller]
fn assert_is(operation: &Operation, name: &str, attributes: &str, items: &[f64]) {
    assert_eq!(operation.request.as_str(), name);
    assert_eq!(operation.attributes.to_string(), attributes);
    assert_eq!(operation.items, items);
    assert_eq!(operation.op_size, items.iter().sum::<f64>());
    assert_eq!(operation.effect, Effect::Full);
}

const STROKE: &str = "fillstyle=FillSolid gxmode=GXcopy linestyle=LineSolid linewidth=0";
const FILL: &str = "fillstyle=FillSolid gxmode=GXcopy";

#[test]
fn line_items_have_segment_lengths_in_both_byte_orders() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut display = Display::ready_in(order);
        let sloped = format!("direction=sloped {STROKE}");
        let line = display.request(0, 65, 0, |b| on_window(b).i16s(&[0, 0, 30, 40, 30, 10]));
        assert_is(&line, "PolyLine", &sloped, &[50.0, 30.0]);
        let relative = display.request(0, 65, 1, |b| on_window(b).i16s(&[10, 10, 3, 4, -3, -4]));
        assert_is(&relative, "PolyLine", &sloped, &[5.0, 5.0]);
        let segments = display.request(0, 66, 0, |b| {
            on_window(b).i16s(&[0, 0, 10, 0, 50, 10, 50, 20])
        });
        assert_is(&segments, "PolySegment", &sloped, &[10.0, 10.0]);
        let vertical = display.request(0, 66, 0, |b| on_window(b).i16s(&[20, 0, 20, 10]));
        let attributes = format!("direction=vertical {STROKE}");
        assert_is(&vertical, "PolySegment", &attributes, &[10.0]);
    }
}

#[test]
fn each_visible_point_counts_one() {
    let mut display = Display::ready();
    let points = display.request(0, 64, 0, |b| on_window(b).i16s(&[0, 0, 99, 49, 100, 50]));
    assert_is(&points, "PolyPoint", "gxmode=GXcopy", &[1.0, 1.0, 0.0]);
    let relative = display.request(0, 64, 1, |b| on_window(b).i16s(&[98, 0, 1, 0, 1, 0]));
    assert_is(&relative, "PolyPoint", "gxmode=GXcopy", &[1.0, 1.0, 0.0]);
}

#[test]
fn outline_size_is_its_visible_length() {
    let mut display = Display::ready();
    let outlines = display.request(0, 67, 0, |b| {
        on_window(b)
            .i16s(&[10, 10])
            .u16(20)
            .u16(5)
            .i16s(&[90, 10])
            .u16(20)
            .u16(5)
    });
    assert_is(&outlines, "PolyRectangle", STROKE, &[50.0, 25.0]);
    let arc = display.request(0, 68, 0, |b| {
        on_window(b)
            .i16s(&[10, 10])
            .u16(20)
            .u16(20)
            .i16s(&[0, 180 * 64])
    });
    assert_is(&arc, "PolyArc", STROKE, &[10.0 * std::f64::consts::PI]);
}

#[test]
fn fill_size_is_its_visible_area() {
    let mut display = Display::ready();
    let rectangles = display.request(0, 70, 0, |b| {
        on_window(b)
            .i16s(&[0, 0])
            .u16(10)
            .u16(10)
            .i16s(&[-5, 45])
            .u16(10)
            .u16(10)
    });
    assert_is(&rectangles, "PolyFillRectangle", FILL, &[100.0, 25.0]);
    let triangle = display.request(0, 69, 0, |b| {
        on_window(b).u8(2).u8(0).u16(0).i16s(&[0, 0, 20, 0, 0, 10])
    });
    assert_is(&triangle, "FillPoly", FILL, &[100.0]);
    let relative = display.request(0, 69, 0, |b| {
        on_window(b)
            .u8(2)
            .u8(1)
            .u16(0)
            .i16s(&[90, 0, 20, 0, 0, 10, -20, 0])
    });
    assert_is(&relative, "FillPoly", FILL, &[100.0]);
    let disc = display.request(0, 71, 0, |b| {
        on_window(b)
            .i16s(&[10, 10])
            .u16(20)
            .u16(20)
            .i16s(&[0, 360 * 64])
    });
    assert_is(&disc, "PolyFillArc", FILL, &[100.0 * std::f64::consts::PI]);
}

#[test]
fn attributes_come_from_the_gc() {
    let mut display = Display::ready();
    display.create_gc(0, GC + 1, &[(0, 6), (4, 10), (5, 2), (8, 3)]);
    let line = display.request(0, 65, 0, |b| b.u32(WINDOW).u32(GC + 1).i16s(&[0, 0, 10, 0]));
    let xor = "direction=horizontal fillstyle=FillOpaqueStippled gxmode=GXxor linestyle=LineDoubleDash linewidth=10";
    assert_is(&line, "PolyLine", xor, &[10.0]);
    let fill = display.request(0, 70, 0, |b| {
        b.u32(PIXMAP).u32(GC + 1).i16s(&[60, 60]).u16(10).u16(10)
    });
    assert_is(
        &fill,
        "PolyFillRectangle",
        "fillstyle=FillOpaqueStippled gxmode=GXxor",
        &[16.0],
    );
    let unknown = display.request(0, 65, 0, |b| {
        b.u32(WINDOW).u32(STRANGER).i16s(&[0, 0, 9, 0])
    });
    assert_eq!(unknown.attributes.to_string(), "direction=horizontal");
    // The request may be clipped.
    assert_eq!((unknown.op_size, unknown.effect), (9.0, Effect::Unknown));
}

#[test]
fn modes_and_styles_are_spelled_as_in_the_paper() {
    let spelled = |bit, value| {
        let mut display = Display::ready();
        display.change_gc(GC, &[(bit, value)]);
        let line = display.request(0, 65, 0, |b| on_window(b).i16s(&[0, 0, 1, 0]));
        line.attributes.to_string()
    };
    let modes = [
        "GXclear",
        "GXand",
        "GXandReverse",
        "GXcopy",
        "GXandInverted",
        "GXnoop",
        "GXxor",
        "GXor",
        "GXnor",
        "GXequiv",
        "GXinvert",
        "GXorReverse",
        "GXcopyInverted",
        "GXorInverted",
        "GXnand",
        "GXset",
    ];
    for (value, mode) in (0..).zip(modes) {
        // Only the lowest byte of the unit is the function.
        assert!(
            spelled(0, value | 0xABCD_EF00).contains(&format!("gxmode={mode} ")),
            "{mode}"
        );
    }
    for (value, style) in (0..).zip(["LineSolid", "LineOnOffDash", "LineDoubleDash"]) {
        assert!(
            spelled(5, value).contains(&format!("linestyle={style} ")),
            "{style}"
        );
    }
    let fills = [
        "FillSolid",
        "FillTiled",
        "FillStippled",
        "FillOpaqueStippled",
    ];
    for (value, style) in (0..).zip(fills) {
        assert!(
            spelled(8, value).contains(&format!("fillstyle={style} ")),
            "{style}"
        );
    }
    assert!(
        !spelled(0, 16).contains("gxmode"),
        "there is no such function"
    );
}

#[test]
fn shapes_outside_the_clip_have_no_effect() {
    let mut display = Display::ready();
    let line = display.request(0, 65, 0, |b| on_window(b).i16s(&[0, 60, 100, 60]));
    assert_eq!(
        (line.items.as_slice(), line.effect),
        ([0.0].as_slice(), Effect::Nothing)
    );
    let fill = display.request(0, 70, 0, |b| on_window(b).i16s(&[200, 0]).u16(9).u16(9));
    assert_eq!((fill.op_size, fill.effect), (0.0, Effect::Nothing));
    let none = display.request(0, 66, 0, on_window);
    assert_eq!((none.items.len(), none.effect), (0, Effect::Nothing));
    // A wide line outside the window reaches into it.
    display.change_gc(GC, &[(4, 30)]);
    let wide = display.request(0, 65, 0, |b| on_window(b).i16s(&[0, 60, 100, 60]));
    assert_eq!((wide.op_size, wide.effect), (100.0, Effect::Full));
    // A line of one point still draws that point.
    let point = display.request(0, 65, 0, |b| on_window(b).i16s(&[5, 5]));
    assert_eq!(
        (point.items.as_slice(), point.effect),
        ([0.0].as_slice(), Effect::Full)
    );
}

#[test]
fn unknown_drawables_do_not_clip() {
    let mut display = Display::ready();
    let line = display.request(0, 65, 0, |b| {
        b.u32(STRANGER).u32(GC).i16s(&[-500, 0, 500, 0])
    });
    assert_eq!((line.op_size, line.effect), (1000.0, Effect::Unknown));
    let fill = display.request(0, 70, 0, |b| {
        b.u32(STRANGER).u32(GC).i16s(&[-500, 0]).u16(1000).u16(10)
    });
    assert_eq!((fill.op_size, fill.effect), (10_000.0, Effect::Unknown));
}

#[test]
fn truncated_request_has_the_kept_items() {
    let mut display = Display::ready();
    let rectangles = |b: Bytes| {
        let b = on_window(b).i16s(&[0, 0]).u16(10).u16(10);
        b.i16s(&[0, 0]).u16(20).u16(20)
    };
    let cut = display.cut_request(70, 0, 24, rectangles);
    assert_eq!(
        (cut.items.as_slice(), cut.effect),
        ([100.0].as_slice(), Effect::Unknown)
    );
    let headless = display.cut_request(70, 0, 6, rectangles);
    assert_eq!(
        (headless.items.len(), headless.effect),
        (0, Effect::Unknown)
    );
}
