//! Loads made for a recording's operations, with its own attributes and sizes, if the loads of a whole calibration have
//! neither. They come first, so that the others of their kind are left out.

use x11prof_session::{Operation, RASTER_OPERATIONS, Value};
use x11rb_protocol::protocol::shm;
use x11rb_protocol::protocol::xproto::{
    ChangePropertyRequest, ClipOrdering, CopyAreaRequest, CreateGCAux, GX, GetImageRequest,
    ImageFormat, InternAtomRequest, PropMode, PutImageRequest, Rectangle, SetClipRectanglesRequest,
};

use super::extensions::share;
use super::images::{Image, longest_request};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::{core, extension};
use crate::workloads::loads::{Loads, Series};
use crate::workloads::workload::{Phase, Sync, Workload};

/// The side of the pixmaps that are drawn on: as large as a screen.
pub(super) const LARGE: u16 = 1280;
/// Bytes of a property, and letters of a name, at most.
const LONGEST: f64 = 60_000.0;

/// Adds loads of the operations that `plan` wants, as far as they can be made.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    for needed in &plan.needed {
        let series = match needed.request.as_str() {
            "PutImage" | "GetImage" | "MIT-SHM:PutImage" => image(client, needed)?,
            "CopyArea" => copy(client, needed)?,
            "InternAtom" | "ChangeProperty" | "SetClipRectangles" => plain(client, needed)?,
            _ => None,
        };
        loads.series.extend(series);
    }
    Ok(())
}

/// A load of each of the needed sizes.
pub(super) fn series(
    needed: &Operation,
    load: impl Fn(f64, bool) -> Workload + 'static,
) -> Option<Series> {
    let sizes = needed.items.clone();
    let count = u16::try_from(sizes.len()).ok().filter(|count| *count > 0)?;
    let series = Series::new(0..count, move |at| {
        let at = usize::from(at);
        let size = sizes.get(at).copied().unwrap_or_default();
        // The largest is measured at least as large, all others at most.
        load(size, at + 1 == sizes.len())
    });
    Some(series.halved_to(0))
}

/// The width and height of an area of N pixels, as near to a square as possible.
pub(super) fn area(pixels: f64, at_least: bool) -> (u16, u16) {
    let largest = u64::from(LARGE);
    let pixels = (pixels as u64).clamp(1, largest * largest);
    let side = (pixels as f64).sqrt().ceil() as u64;
    let exact = (side..=largest).find(|width| pixels % width == 0);
    let width = exact.unwrap_or(side).min(largest);
    let height = match at_least {
        true => pixels.div_ceil(width),
        false => pixels / width,
    };
    (width as u16, height.clamp(1, largest) as u16)
}

/// The value of an attribute.
pub(super) fn attribute(needed: &Operation, name: &str) -> Option<Value> {
    needed.attributes.get(name.into())
}

/// The name that is the value of an attribute.
pub(super) fn name(needed: &Operation, attribute_name: &str) -> Option<&'static str> {
    match attribute(needed, attribute_name)? {
        Value::Name(name) => Some(name.as_str()),
        Value::Number(_) => None,
    }
}

fn depth(needed: &Operation) -> Option<u8> {
    match attribute(needed, "depth")? {
        Value::Number(depth) => u8::try_from(depth).ok(),
        Value::Name(_) => None,
    }
}

/// A GC of the function that the operation has, or of the usual one.
fn gc(client: &mut Client, needed: &Operation, drawable: u32) -> Result<u32, MeasureError> {
    let function = name(needed, "gxmode");
    let at = RASTER_OPERATIONS
        .iter()
        .position(|known| Some(*known) == function);
    let function = at.map_or(GX::COPY, |at| GX::from(at as u8));
    let values = CreateGCAux::new().function(function).graphics_exposures(0);
    client.gc(drawable, values)
}

/// A large pixmap of this depth; `None` if the screen lacks the depth.
fn pixmap(client: &mut Client, depth: u8) -> Result<Option<u32>, MeasureError> {
    let screen = &client.screen;
    let allowed = screen.allowed_depths.iter();
    let known =
        depth == screen.root_depth || allowed.into_iter().any(|allowed| allowed.depth == depth);
    known.then(|| client.pixmap(depth, LARGE)).transpose()
}

fn image(client: &mut Client, needed: &Operation) -> Result<Option<Series>, MeasureError> {
    let format = match name(needed, "format") {
        Some("ZPixmap") => ImageFormat::Z_PIXMAP,
        Some("XYPixmap") => ImageFormat::XY_PIXMAP,
        Some("XYBitmap") => ImageFormat::XY_BITMAP,
        _ => return Ok(None),
    };
    let Some(depth) = depth(needed) else {
        return Ok(None);
    };
    let (Some(image), Some(drawable)) = (Image::new(client, format, depth), pixmap(client, depth)?)
    else {
        return Ok(None);
    };
    let gc = gc(client, needed, drawable)?;
    if needed.request.as_str() == "GetImage" {
        return Ok(series(needed, move |pixels, at_least| {
            let (width, height) = area(pixels, at_least);
            let (x, y, plane_mask) = (0, 0, !0);
            Workload::answered(&core(GetImageRequest {
                format,
                drawable,
                x,
                y,
                width,
                height,
                plane_mask,
            }))
        }));
    }
    if needed.request.as_str() == "MIT-SHM:PutImage" {
        let pixels = usize::from(LARGE) * usize::from(LARGE);
        let Some(shared) = share(client, depth, pixels)? else {
            return Ok(None);
        };
        let (major, shmseg) = (shared.major, shared.segment);
        return Ok(series(needed, move |pixels, at_least| {
            let (width, height) = area(pixels, at_least);
            drawn(pixels, || {
                let request = shm::PutImageRequest {
                    drawable,
                    gc,
                    total_width: width,
                    total_height: height,
                    src_x: 0,
                    src_y: 0,
                    src_width: width,
                    src_height: height,
                    dst_x: 0,
                    dst_y: 0,
                    depth,
                    format: format.into(),
                    send_event: false,
                    shmseg,
                    offset: 0,
                };
                extension(request, major)
            })
        }));
    }
    let longest = longest_request(client);
    let pixels = needed.items.last().copied().unwrap_or_default();
    let (width, height) = area(pixels, true);
    if image.bytes(width, height) + 28 > longest {
        return Ok(None);
    }
    Ok(series(needed, move |pixels, at_least| {
        let (width, height) = area(pixels, at_least);
        let data: Vec<u8> = (0..image.bytes(width, height)).map(|at| at as u8).collect();
        drawn(pixels * 4.0, || {
            core(PutImageRequest {
                format: image.format,
                drawable,
                gc,
                width,
                height,
                dst_x: 0,
                dst_y: 0,
                left_pad: 0,
                depth: image.depth,
                data: (&data).into(),
            })
        })
    }))
}

fn copy(client: &mut Client, needed: &Operation) -> Result<Option<Series>, MeasureError> {
    let Some(depth) = depth(needed) else {
        return Ok(None);
    };
    let (Some(src_drawable), Some(dst_drawable)) = (pixmap(client, depth)?, pixmap(client, depth)?)
    else {
        return Ok(None);
    };
    let gc = gc(client, needed, dst_drawable)?;
    Ok(series(needed, move |pixels, at_least| {
        let (width, height) = area(pixels, at_least);
        drawn(pixels, || {
            core(CopyAreaRequest {
                src_drawable,
                dst_drawable,
                gc,
                src_x: 0,
                src_y: 0,
                dst_x: 0,
                dst_y: 0,
                width,
                height,
            })
        })
    }))
}

/// Requests that draw nothing, by their bytes, letters or rectangles.
fn plain(client: &mut Client, needed: &Operation) -> Result<Option<Series>, MeasureError> {
    let largest = needed.items.last().copied().unwrap_or_default();
    if largest > LONGEST {
        return Ok(None);
    }
    let again = |bytes: Vec<u8>| Workload::repeated(&bytes, Sync::RoundTrip);
    Ok(match needed.request.as_str() {
        // Names of atoms stay for the server's life: there is one of each length, in every run.
        "InternAtom" => series(needed, move |letters, _| {
            let mut letter = b"X11PROF_NAME_OF_SO_MANY_LETTERS_".iter().cycle();
            let name: Vec<u8> = letter.by_ref().take(letters as usize).copied().collect();
            again(core(InternAtomRequest {
                only_if_exists: false,
                name: name.into(),
            }))
        }),
        "ChangeProperty" => {
            let (window, property) = (client.unwatched, client.atom("X11PROF_ORDERED")?);
            let type_ = u32::from(x11rb_protocol::protocol::xproto::AtomEnum::STRING);
            series(needed, move |bytes, _| {
                again(core(ChangePropertyRequest {
                    mode: PropMode::REPLACE,
                    window,
                    property,
                    type_,
                    format: 8,
                    data_len: bytes as u32,
                    data: vec![b'x'; bytes as usize].into(),
                }))
            })
        }
        _ => {
            let window = client.window;
            let gc = client.gc(window, CreateGCAux::new())?;
            series(needed, move |count, _| {
                let count = count as usize;
                again(core(SetClipRectanglesRequest {
                    ordering: ClipOrdering::UNSORTED,
                    gc,
                    clip_x_origin: 0,
                    clip_y_origin: 0,
                    rectangles: clips(count).into(),
                }))
            })
        }
    })
}

/// This many small rectangles, in rows.
pub(super) fn clips(count: usize) -> Vec<Rectangle> {
    let at = |index: usize| Rectangle {
        x: (index % 32 * 16) as i16,
        y: (index / 32 * 16 % 512) as i16,
        width: 9,
        height: 9,
    };
    (0..count).map(at).collect()
}

/// Requests that draw N pixels, to a server that may draw later.
pub(super) fn drawn(pixels: f64, request: impl Fn() -> Vec<u8>) -> Workload {
    let phase = Workload::varied(Sync::ReadBack, pixels.max(1.0) as usize, |_| request());
    Workload::cycle(phase.phases.into_iter().collect::<Vec<Phase>>())
}

#[cfg(test)]
mod tests {
    use super::area;

    #[test]
    fn areas_are_exact_where_they_can_be() {
        assert_eq!(area(1_012_206.0, true), (1007, 1006));
        assert_eq!(area(80.0, false), (10, 8));
        for pixels in 1..2000_u32 {
            let size = |(width, height): (u16, u16)| u32::from(width) * u32::from(height);
            let needed = f64::from(pixels);
            assert!(size(area(needed, true)) >= pixels && size(area(needed, false)) <= pixels);
        }
        assert_eq!(area(0.0, false), (1, 1));
        assert_eq!(area(1e12, true), (1280, 1280));
    }
}
