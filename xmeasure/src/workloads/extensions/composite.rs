//! The loads of RENDER's drawing: areas that are composited by operator, source, mask, transform and filter, and filled
//! rectangles. Trapezoids and triangles are in `edges`, text is in `glyphs`.

use x11rb_protocol::protocol::render::{CompositeRequest, CreatePictureAux, PictOp, Repeat};
use x11rb_protocol::protocol::xproto::Rectangle;

use super::super::place;
use super::super::shapes::boxes;
use super::render::{ONE, OPAQUE, Render, TRANSLUCENT};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// The initial sides of squares, in pixels.
const SIDES: [u16; 4] = [1, 10, 100, 500];
/// The side in pixels of the areas in loads with several areas per request.
pub(super) const ITEM: u16 = 10;
/// The number of areas in loads with several areas per request.
pub(super) const ITEMS: usize = 16;
/// The number of compositions that a quick plan measures. The list begins with the most common compositions.
const QUICK: usize = 8;
/// Operators that programs use in addition to Over and Src.
const OTHERS: [PictOp; 6] = [
    PictOp::CLEAR,
    PictOp::DST,
    PictOp::IN,
    PictOp::OUT_REVERSE,
    PictOp::ADD,
    PictOp::ATOP,
];

/// The operator, source, mask and destination of a composition, by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layers {
    pub(super) op: PictOp,
    pub(super) src: u32,
    /// The id of the mask; 0 for none.
    pub(super) mask: u32,
    pub(super) dst: u32,
}

impl Layers {
    /// The bytes of a request that composites an area of `width` by `height` pixels to the position (`dst_x`, `dst_y`).
    pub(super) fn request(
        self,
        major: Major,
        (dst_x, dst_y): (i16, i16),
        (width, height): (u16, u16),
    ) -> Vec<u8> {
        let Layers { op, src, mask, dst } = self;
        major.bytes(CompositeRequest {
            op,
            src,
            mask,
            dst,
            dst_x,
            dst_y,
            width,
            height,
            ..CompositeRequest::default()
        })
    }
}

/// The pictures that the loads composite from and to.
pub(super) struct Pictures {
    pub(super) window: u32,
    pub(super) argb: u32,
    rgb: u32,
    solid: u32,
    pub(super) opaque: u32,
    pub(super) linear: u32,
    radial: u32,
    mask8: u32,
    mask1: u32,
    repeated: u32,
    /// Scaled pictures: one with the filter nearest, and one with the filter bilinear.
    scaled: [u32; 2],
    /// A slightly rotated picture with the filter bilinear.
    turned: u32,
    /// The id of a RENDER picture with 32 bits per pixel to draw on.
    pub(super) target32: u32,
    target8: u32,
}

/// Adds the loads of compositing to `loads`. Returns the pictures that were created for them.
pub(super) fn add(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    render: Render,
) -> Result<Pictures, MeasureError> {
    let pictures = pictures(client, render)?;
    let major = render.major;
    let Pictures {
        window,
        argb,
        rgb,
        solid,
        linear,
        radial,
        mask8,
        mask1,
        repeated,
        scaled: [nearest, bilinear],
        turned,
        target32,
        target8,
        ..
    } = pictures;
    let base = Layers {
        op: PictOp::OVER,
        src: argb,
        mask: 0,
        dst: window,
    };
    let all = [
        (PictOp::OVER, argb, 0, window),
        (PictOp::SRC, argb, 0, window),
        (PictOp::OVER, rgb, 0, window),
        (PictOp::SRC, rgb, 0, window),
        (PictOp::OVER, solid, 0, window),
        (PictOp::OVER, solid, mask8, window),
        (PictOp::OVER, argb, mask8, window),
        (PictOp::OVER, solid, mask1, window),
        (PictOp::OVER, linear, 0, window),
        (PictOp::OVER, radial, 0, window),
        (PictOp::OVER, repeated, 0, window),
        (PictOp::OVER, nearest, 0, window),
        (PictOp::OVER, bilinear, 0, window),
        (PictOp::OVER, argb, 0, target32),
        (PictOp::SRC, argb, 0, target32),
        (PictOp::OVER, solid, mask8, target32),
        (PictOp::ADD, mask8, 0, target8),
        (PictOp::SRC, solid, 0, window),
        (PictOp::OVER, turned, 0, window),
        (PictOp::SRC, turned, 0, target32),
        // The solid mask makes the source translucent.
        (PictOp::OVER, argb, solid, window),
        (PictOp::OUT_REVERSE, mask8, 0, target32),
        (PictOp::ADD, argb, mask8, target32),
    ];
    let all = all.map(|(op, src, mask, dst)| Layers { op, src, mask, dst });
    let mut all = all.to_vec();
    all.extend(OTHERS.map(|op| Layers { op, ..base }));
    if plan.quick {
        all.truncate(QUICK);
    }
    for layers in all {
        let sides = plan.sizes(&SIDES);
        loads.series(sides, |side| composite(major, layers, side));
    }
    let fills = [
        (PictOp::OVER, pictures.window),
        (PictOp::SRC, pictures.window),
        (PictOp::SRC, pictures.target32),
        (PictOp::CLEAR, pictures.target32),
        (PictOp::CLEAR, pictures.window),
        (PictOp::CLEAR, pictures.target8),
    ];
    for (op, dst) in fills {
        let fill = move |side: u16, count: usize| {
            let work = usize::from(side) * usize::from(side) * count;
            Workload::varied(Sync::ReadBack, work * 2, |index| {
                let rectangles: Vec<Rectangle> = boxes(side, count, index).collect();
                render.fill(op, dst, &rectangles)
            })
        };
        loads.series(plan.sizes(&SIDES), move |side| fill(side, 1));
        loads.push(fill(ITEM, 1));
        loads.push(fill(ITEM, ITEMS));
    }
    Ok(pictures)
}

fn pictures(client: &mut Client, render: Render) -> Result<Pictures, MeasureError> {
    let mut of = |depth, format, side, values: CreatePictureAux| {
        render.filled(client, (depth, format), side, &values)
    };
    let plain = CreatePictureAux::new;
    let argb = of(32, render.argb32, SIDE, plain())?;
    let rgb = of(24, render.rgb24, SIDE, plain())?;
    let mask8 = of(8, render.a8, SIDE, plain())?;
    let mask1 = of(1, render.a1, SIDE, plain())?;
    let repeated = of(32, render.argb32, 16, plain().repeat(Repeat::NORMAL))?;
    let scaled = [
        of(32, render.argb32, SIDE, plain())?,
        of(32, render.argb32, SIDE, plain())?,
    ];
    let turned = of(32, render.argb32, SIDE, plain())?;
    let target32 = of(32, render.argb32, SIDE, plain())?;
    let target8 = of(8, render.a8, SIDE, plain())?;
    for (picture, filter) in scaled.into_iter().zip([&b"nearest"[..], b"bilinear"]) {
        client.send_bytes(&render.filter(picture, filter))?;
        client.send_bytes(&render.transform(picture, ONE * 3 / 5))?;
    }
    client.send_bytes(&render.filter(turned, b"bilinear"))?;
    client.send_bytes(&render.turn(turned))?;
    let window = client.id();
    client.send_bytes(&render.picture(window, client.window, render.root))?;
    let (solid, opaque, linear, radial) = (client.id(), client.id(), client.id(), client.id());
    client.send_bytes(&render.solid(solid, TRANSLUCENT))?;
    client.send_bytes(&render.solid(opaque, OPAQUE))?;
    client.send_bytes(&render.linear(linear))?;
    client.send_bytes(&render.radial(radial))?;
    Ok(Pictures {
        window,
        argb,
        rgb,
        solid,
        opaque,
        linear,
        radial,
        mask8,
        mask1,
        repeated,
        scaled,
        turned,
        target32,
        target8,
    })
}

fn composite(major: Major, layers: Layers, side: u16) -> Workload {
    let work = usize::from(side) * usize::from(side) * 4;
    Workload::varied(Sync::ReadBack, work, |index| {
        layers.request(major, place(index, side, side), (side, side))
    })
}
