//! Sizes and combinations chosen for a server of known costs.

use std::time::Duration;

use x11prof_session::Operation;
use x11rb_protocol::protocol::xproto::{
    CreateGCAux, FillStyle, GX, PolyFillRectangleRequest, Rectangle,
};

use super::Explorer;
use crate::server::client::Client;
use crate::server::wire;
use crate::simulated::{Quirks, Simulated, connected, truth};
use crate::workloads::loads::{Candidate, Loads, Series};
use crate::workloads::workload::{Sync, Workload};

/// GXxor, and tiled rectangles; both together where both bits are set.
const XOR: u8 = 1;
const TILED: u8 = 2;

/// The window, and a GC of each style.
#[derive(Clone, Copy)]
struct Scene {
    drawable: u32,
    gcs: [u32; 4],
}

impl Scene {
    fn new(client: &mut Client) -> Scene {
        let drawable = client.window;
        let tile = client.pixmap(24, 16).unwrap();
        let gc = |style: u8| {
            let values = CreateGCAux::new().tile(tile);
            let values = match style & XOR {
                0 => values.function(GX::COPY),
                _ => values.function(GX::XOR),
            };
            let values = match style & TILED {
                0 => values.fill_style(FillStyle::SOLID),
                _ => values.fill_style(FillStyle::TILED),
            };
            client.gc(drawable, values).unwrap()
        };
        Scene {
            drawable,
            gcs: [0, XOR, TILED, XOR | TILED].map(gc),
        }
    }

    /// Rectangles of one row and N pixels.
    fn load(&self, style: u8, size: u16) -> Workload {
        let rectangle = Rectangle {
            x: 0,
            y: 0,
            width: size,
            height: 1,
        };
        let request = wire::core(PolyFillRectangleRequest {
            drawable: self.drawable,
            gc: self.gcs[usize::from(style)],
            rectangles: [rectangle].as_slice().into(),
        });
        Workload::repeated(&request, Sync::RoundTrip)
    }

    fn series(self, style: u8) -> Series {
        Series::new([1, 100, 400], move |size| self.load(style, size))
    }
}

fn style(operation: &Operation) -> u8 {
    let has = |name: &str, value: &str| {
        let mut attributes = operation.attributes.iter();
        attributes.any(|(known, is)| known.as_str() == name && is.to_string() == value)
    };
    let xor = if has("gxmode", "GXxor") { XOR } else { 0 };
    let tiled = if has("fillstyle", "FillTiled") {
        TILED
    } else {
        0
    };
    xor | tiled
}

/// The styles and sizes chosen on a server of these costs, by style and size, if exploring is allowed or not.
fn chosen_if(
    may_look: bool,
    loads: impl FnOnce(Scene) -> Loads,
    costs: fn(&Operation) -> f64,
) -> Vec<(u8, f64)> {
    let (mut client, tracker, scene) = connected(Scene::new);
    let mut server = Simulated::new(&truth(), &client, tracker);
    server.quirks = Quirks {
        costs: Some(costs),
        ..Quirks::default()
    };
    let tracker = &mut client.tracker;
    let mut explorer = Explorer {
        executor: &mut server,
        describe: &mut |load| tracker.describe(load).into_iter().flatten().next(),
        until: Duration::MAX,
        step: &mut |_, _| may_look,
    };
    let chosen = explorer.choose(loads(scene)).unwrap();
    let chosen = chosen.iter().map(|load| {
        let described = tracker.describe(load);
        (style(&described[0][0]), described[0][0].op_size)
    });
    chosen.collect()
}

fn chosen(loads: impl FnOnce(Scene) -> Loads, costs: fn(&Operation) -> f64) -> Vec<(u8, f64)> {
    chosen_if(true, loads, costs)
}

fn one_series(scene: Scene) -> Loads {
    Loads {
        series: vec![scene.series(0)],
        ..Loads::default()
    }
}

#[test]
fn a_straight_line_needs_no_more_points() {
    let found = chosen(one_series, |operation| 2.0 + 0.01 * operation.op_size);
    assert_eq!(found, [(0, 1.0), (0, 100.0), (0, 400.0)]);
}

#[test]
fn a_bend_is_found() {
    let found = chosen(one_series, |operation| {
        2.0 + (operation.op_size - 150.0).max(0.0)
    });
    let sizes: Vec<f64> = found.iter().map(|(_, size)| *size).collect();
    assert!(
        sizes.is_sorted() && sizes.contains(&200.0) && !sizes.contains(&10.0),
        "{sizes:?}"
    );
}

#[test]
fn a_combination_counts_only_where_it_surprises() {
    let loads = |scene: Scene| Loads {
        series: [0, XOR, TILED].map(|style| scene.series(style)).into(),
        candidates: vec![Candidate {
            probe: scene.load(XOR | TILED, 100),
            series: scene.series(XOR | TILED),
            single: vec![scene.load(XOR | TILED, 7)],
        }],
        ..Loads::default()
    };
    let both = |found: Vec<(u8, f64)>| {
        let both = found.iter().filter(|(style, _)| *style == XOR | TILED);
        both.count()
    };
    assert_eq!(both(chosen(loads, |operation| 1.0 + operation.op_size)), 0);
    let unlike = chosen(loads, |operation| {
        let style = f64::from(style(operation));
        operation.op_size * (style * style + 1.0)
    });
    assert_eq!(both(unlike), 4);
}

#[test]
fn when_the_time_is_over_the_sizes_are_those_to_start_with() {
    let square = |operation: &Operation| operation.op_size * operation.op_size;
    assert_eq!(chosen_if(false, one_series, square).len(), 3);
}
