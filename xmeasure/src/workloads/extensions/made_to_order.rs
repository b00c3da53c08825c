//! RENDER's loads made to order: pictures of the formats, transforms and repetitions that a recording has.

use std::sync::Arc;

use x11prof_session::{Operation, PICTURE_OPERATORS};
use x11rb_protocol::protocol::render::{
    CreatePictureAux, FreeGlyphsRequest, Glyphinfo, PictOp, QueryPictFormatsRequest, Repeat,
    TrapezoidsRequest,
};
use x11rb_protocol::protocol::xproto::Rectangle;

use super::super::made_to_order::{LARGE, area, drawn, name, series};
use super::super::scattered;
use super::composite::Layers;
use super::edges::{STEPS, bar};
use super::glyphs::{Width, glyphs as composited};
use super::render::{ONE, OPAQUE, Render, TRANSLUCENT, glyph_info};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::extension;
use crate::workloads::loads::{Loads, Series};
use crate::workloads::workload::{Phase, Sync, Workload};

/// Items of a request of several.
const ITEMS: usize = 16;
/// The side of repeating sources.
const TILE: u16 = 16;

/// Adds loads of the RENDER operations that `plan` wants, as far as they can be made.
pub(crate) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let mut needed = plan.needed.iter();
    if !needed.any(|needed| needed.request.as_str().starts_with("RENDER:")) {
        return Ok(());
    }
    let Some(major) = client.extension("RENDER")? else {
        return Ok(());
    };
    let known = client.ask_extension(QueryPictFormatsRequest, major)?;
    let Some(render) = known.and_then(|known| Render::new(client, major, &known)) else {
        return Ok(());
    };
    for needed in &plan.needed {
        let made = match needed.request.as_str() {
            "RENDER:Composite" => composite(client, render, needed)?,
            "RENDER:FillRectangles" => fill(client, render, needed)?,
            "RENDER:Trapezoids" => trapezoids(client, render, needed)?,
            "RENDER:CompositeGlyphs8" => glyphs(client, render, needed, Width::One)?,
            "RENDER:CompositeGlyphs16" => glyphs(client, render, needed, Width::Two)?,
            "RENDER:CompositeGlyphs32" => glyphs(client, render, needed, Width::Four)?,
            "RENDER:AddGlyphs" => add_glyphs(client, render, needed)?,
            _ => None,
        };
        if let Some(made) = made {
            loads.series.push(made.series);
            loads.single.extend(made.several);
        }
    }
    Ok(())
}

/// Loads of one operation.
struct RenderLoads {
    /// Of one item of each size.
    series: Series,
    /// Loads of one and of several items of a medium size, for the request's cost without its items.
    several: Vec<Workload>,
}

impl RenderLoads {
    /// Made with a function that makes a load of N items of a size, which is a lower or an upper limit.
    fn new(
        needed: &Operation,
        load: impl Fn(f64, bool, usize) -> Workload + Clone + 'static,
    ) -> Option<RenderLoads> {
        let between = needed.items.get(needed.items.len() / 2).copied()?;
        let several = [1, ITEMS].map(|count| load(between, false, count));
        let one = move |size, at_least| load(size, at_least, 1);
        Some(RenderLoads {
            series: series(needed, one)?,
            several: several.into(),
        })
    }

    /// Of a request that has one item.
    fn single(
        needed: &Operation,
        load: impl Fn(f64, bool) -> Workload + 'static,
    ) -> Option<RenderLoads> {
        Some(RenderLoads {
            series: series(needed, load)?,
            several: Vec::new(),
        })
    }
}

fn operator(needed: &Operation) -> Option<PictOp> {
    let operator = name(needed, "op")?;
    let at = PICTURE_OPERATORS
        .iter()
        .position(|known| *known == operator)?;
    Some(PictOp::from(at as u8))
}

/// Depth and id of a format.
fn format(render: Render, name: &str) -> Option<(u8, u32)> {
    match name {
        "a8r8g8b8" => Some((32, render.argb32)),
        "x8r8g8b8" => Some((24, render.rgb24)),
        "a8" => Some((8, render.a8)),
        "a1" => Some((1, render.a1)),
        _ => None,
    }
}

/// The picture that is drawn on.
fn destination(
    client: &mut Client,
    render: Render,
    needed: &Operation,
) -> Result<Option<u32>, MeasureError> {
    let found = name(needed, "dstformat").and_then(|name| format(render, name));
    let plain = CreatePictureAux::new();
    found
        .map(|format| render.filled(client, format, LARGE, &plain))
        .transpose()
}

/// A picture to composite from, or through, as the attributes with that beginning say.
fn paint(
    client: &mut Client,
    render: Render,
    needed: &Operation,
    (format_name, transform): (&str, &str),
) -> Result<Option<u32>, MeasureError> {
    let is_source = format_name == "srcformat";
    let Some(kind) = name(needed, format_name) else {
        return Ok(None);
    };
    let id = client.id();
    let made = match kind {
        "solid" => Some(render.solid(id, if is_source { OPAQUE } else { TRANSLUCENT })),
        "linear" => Some(render.linear(id)),
        "radial" => Some(render.radial(id)),
        _ => None,
    };
    if let Some(made) = made {
        client.send_bytes(&made)?;
        return Ok(Some(id));
    }
    let Some(format) = format(render, kind) else {
        return Ok(None);
    };
    let plain = CreatePictureAux::new();
    let repeat = name(needed, "repeat").filter(|_| is_source);
    let (side, values) = match repeat {
        Some("normal") => (TILE, plain.repeat(Repeat::NORMAL)),
        Some("pad") => (TILE, plain.repeat(Repeat::PAD)),
        Some("reflect") => (TILE, plain.repeat(Repeat::REFLECT)),
        _ => (LARGE, plain),
    };
    let alpha = name(needed, "componentalpha").filter(|_| !is_source) == Some("yes");
    let values = match alpha {
        true => values.componentalpha(1),
        false => values,
    };
    let picture = render.filled(client, format, side, &values)?;
    match name(needed, transform) {
        None | Some("none") => {}
        Some("scale") => client.send_bytes(&render.transform(picture, ONE * 3 / 5))?,
        Some("affine") => client.send_bytes(&render.turn(picture))?,
        _ => return Ok(None),
    }
    if is_source {
        match name(needed, "filter") {
            None => {}
            Some("nearest") => client.send_bytes(&render.filter(picture, b"nearest"))?,
            Some("bilinear") => client.send_bytes(&render.filter(picture, b"bilinear"))?,
            _ => return Ok(None),
        }
    }
    Ok(Some(picture))
}

const SOURCE: (&str, &str) = ("srcformat", "transform");
const MASK: (&str, &str) = ("maskformat", "masktransform");

fn composite(
    client: &mut Client,
    render: Render,
    needed: &Operation,
) -> Result<Option<RenderLoads>, MeasureError> {
    let (Some(op), Some(dst)) = (operator(needed), destination(client, render, needed)?) else {
        return Ok(None);
    };
    let Some(src) = paint(client, render, needed, SOURCE)? else {
        return Ok(None);
    };
    let mask = match name(needed, MASK.0) {
        None | Some("none") => 0,
        Some(_) => match paint(client, render, needed, MASK)? {
            Some(mask) => mask,
            None => return Ok(None),
        },
    };
    let layers = Layers { op, src, mask, dst };
    Ok(RenderLoads::single(needed, move |pixels, at_least| {
        let size = area(pixels, at_least);
        drawn(pixels * 4.0, || layers.request(render.major, (0, 0), size))
    }))
}

fn fill(
    client: &mut Client,
    render: Render,
    needed: &Operation,
) -> Result<Option<RenderLoads>, MeasureError> {
    let (Some(op), Some(dst)) = (operator(needed), destination(client, render, needed)?) else {
        return Ok(None);
    };
    Ok(RenderLoads::new(needed, move |pixels, at_least, count| {
        let (width, height) = area(pixels, at_least);
        drawn(pixels * 2.0 * count as f64, || {
            let rectangle = Rectangle {
                x: 0,
                y: 0,
                width,
                height,
            };
            render.fill(op, dst, &vec![rectangle; count])
        })
    }))
}

/// The mask that shapes or glyphs are put together in: 0 for none.
fn made_mask(render: Render, needed: &Operation) -> Option<u32> {
    match name(needed, "maskformat") {
        None | Some("none") => Some(0),
        Some(name) => format(render, name).map(|(_, id)| id),
    }
}

fn trapezoids(
    client: &mut Client,
    render: Render,
    needed: &Operation,
) -> Result<Option<RenderLoads>, MeasureError> {
    let (Some(op), Some(dst)) = (operator(needed), destination(client, render, needed)?) else {
        return Ok(None);
    };
    let (Some(src), Some(mask_format)) = (
        paint(client, render, needed, SOURCE)?,
        made_mask(render, needed),
    ) else {
        return Ok(None);
    };
    Ok(RenderLoads::new(needed, move |pixels, at_least, count| {
        let steps = pixels.sqrt() * f64::from(STEPS);
        let steps = if at_least {
            steps.ceil()
        } else {
            steps.floor()
        };
        let side = (steps as u16).clamp(1, 500 * STEPS);
        let rows = usize::from(side / STEPS + 1);
        let work = (rows * rows).max(rows * 32) * 4 * count;
        Workload::varied(Sync::ReadBack, work, |index| {
            let form = |at| scattered((index % 64 * count + at) % 64);
            let traps = (0..count).map(|at| bar((0, 0), (side, side), form(at)));
            let request = TrapezoidsRequest {
                op,
                src,
                dst,
                mask_format,
                src_x: 0,
                src_y: 0,
                traps: traps.collect(),
            };
            extension(request, render.major)
        })
    }))
}

/// A glyph of N pixels, in shades of grey.
fn glyph(pixels: f64, at_least: bool) -> (Glyphinfo, Vec<u8>) {
    let (width, height) = match pixels < 1.0 {
        true => (0, 0),
        false => area(pixels, at_least),
    };
    let line = usize::from(width).next_multiple_of(4);
    let data = (0..line * usize::from(height)).map(|at| (at * 7) as u8);
    (glyph_info(width, height), data.collect())
}

/// One glyph of each size: a text of one.
fn glyphs(
    client: &mut Client,
    render: Render,
    needed: &Operation,
    width: Width,
) -> Result<Option<RenderLoads>, MeasureError> {
    if name(needed, "glyphformat") != Some("a8") {
        return Ok(None);
    }
    let (Some(op), Some(dst)) = (operator(needed), destination(client, render, needed)?) else {
        return Ok(None);
    };
    let (Some(src), Some(mask_format)) = (
        paint(client, render, needed, SOURCE)?,
        made_mask(render, needed),
    ) else {
        return Ok(None);
    };
    let glyphset = render.empty_glyph_set(client)?;
    let last = needed.items.len().saturating_sub(1);
    for (at, pixels) in needed.items.iter().enumerate() {
        let (info, data) = glyph(*pixels, at == last);
        let one = [(at as u32, info)].into_iter();
        client.send_bytes(&render.add_glyphs_of(glyphset, one, &data))?;
    }
    let sizes: Arc<[f64]> = needed.items.as_slice().into();
    Ok(RenderLoads::new(needed, move |pixels, _, count| {
        let id = sizes.iter().position(|size| *size == pixels).unwrap_or(0) as u32;
        Workload::varied(Sync::ReadBack, pixels as usize * 40 * count, |index| {
            let (x, y) = super::super::place(index, 40, 40);
            let mut commands = vec![count as u8, 0, 0, 0];
            commands.extend(x.to_ne_bytes());
            commands.extend((y + 40).to_ne_bytes());
            for _ in 0..count {
                match width {
                    Width::One => commands.push(id as u8),
                    Width::Two => commands.extend((id as u16).to_ne_bytes()),
                    Width::Four => commands.extend(id.to_ne_bytes()),
                }
            }
            commands.resize(commands.len().next_multiple_of(4), 0);
            let pictures = (op, src, dst);
            composited(
                render.major,
                width,
                pictures,
                mask_format,
                glyphset,
                commands,
            )
        })
    }))
}

/// A glyph at a time, as Xft and cairo add them, and out again.
fn add_glyphs(
    client: &mut Client,
    render: Render,
    needed: &Operation,
) -> Result<Option<RenderLoads>, MeasureError> {
    if name(needed, "glyphformat") != Some("a8") {
        return Ok(None);
    }
    let glyphset = render.empty_glyph_set(client)?;
    Ok(RenderLoads::single(needed, move |pixels, at_least| {
        let one = glyph(pixels, at_least);
        let add = |id: u32| {
            // Each glyph is another picture: the server shares equal ones.
            let (info, mut data) = one.clone();
            data.iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add((id * 31) as u8));
            render.add_glyphs_of(glyphset, [(id, info)].into_iter(), &data)
        };
        let free = |id: u32| {
            let glyphs = vec![id].into();
            extension(FreeGlyphsRequest { glyphset, glyphs }, render.major)
        };
        Workload::cycle([
            Phase::new((1..65).map(add), Sync::RoundTrip),
            Phase::new((1..65).map(free), Sync::RoundTrip),
        ])
    }))
}
