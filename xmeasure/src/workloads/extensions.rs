//! Requests of extensions, as far as common programs send them; what a server lacks is left out.

use x11rb_protocol::protocol::render::{
    ChangePictureAux, ChangePictureRequest, Color, CompositeRequest, CreatePictureAux,
    CreatePictureRequest, CreateSolidFillRequest, FillRectanglesRequest, FreePictureRequest,
    PictOp, PictType, QueryPictFormatsReply, QueryPictFormatsRequest, QueryVersionRequest, Repeat,
    SetPictureClipRectanglesRequest, SetPictureFilterRequest, SetPictureTransformRequest,
    Transform,
};
use x11rb_protocol::protocol::xkb::{GetControlsRequest, GetStateRequest, ID, UseExtensionRequest};
use x11rb_protocol::protocol::xproto::Rectangle;
use x11rb_protocol::protocol::{bigreq, ge, shape, sync, xfixes};
use x11rb_protocol::x11_utils::Request;

use super::{RESOURCES, cycle, place};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::stage::{SIDE, Stage};
use crate::wire::extension;
use crate::workload::{Sync, Workload};

/// Sides of composited squares, in pixels; the common one first.
const SIDES: [u16; 5] = [50, 1, 10, 100, 500];

/// Adds the loads.
pub(super) fn add(
    stage: &mut Stage,
    plan: &Plan,
    loads: &mut Vec<Workload>,
) -> Result<(), MeasureError> {
    if let Some(major) = stage.extension("BIG-REQUESTS")? {
        plain(loads, bigreq::EnableRequest, major);
    }
    if let Some(major) = stage.extension("XKEYBOARD")? {
        stage.ask_extension(
            UseExtensionRequest {
                wanted_major: 1,
                wanted_minor: 0,
            },
            major,
        )?;
        let device_spec = u16::from(ID::USE_CORE_KBD);
        plain(
            loads,
            UseExtensionRequest {
                wanted_major: 1,
                wanted_minor: 0,
            },
            major,
        );
        plain(loads, GetStateRequest { device_spec }, major);
        plain(loads, GetControlsRequest { device_spec }, major);
    }
    if let Some(major) = stage.extension("Generic Event Extension")? {
        let version = ge::QueryVersionRequest {
            client_major_version: 1,
            client_minor_version: 0,
        };
        plain(loads, version, major);
    }
    if let Some(major) = stage.extension("SHAPE")? {
        plain(loads, shape::QueryVersionRequest, major);
        plain(
            loads,
            shape::QueryExtentsRequest {
                destination_window: stage.silent,
            },
            major,
        );
    }
    fixes(stage, loads)?;
    counters(stage, loads)?;
    render(stage, plan, loads)
}

fn plain(loads: &mut Vec<Workload>, request: impl Request, major: u8) {
    loads.push(Workload::repeated(
        &extension(request, major),
        Sync::RoundTrip,
    ));
}

fn fixes(stage: &mut Stage, loads: &mut Vec<Workload>) -> Result<(), MeasureError> {
    let Some(major) = stage.extension("XFIXES")? else {
        return Ok(());
    };
    let version = xfixes::QueryVersionRequest {
        client_major_version: 5,
        client_minor_version: 0,
    };
    stage.ask_extension(version, major)?;
    plain(loads, version, major);
    let ids = stage.ids(RESOURCES);
    let rectangles = [Rectangle {
        x: 0,
        y: 0,
        width: 10,
        height: 10,
    }];
    cycle(
        loads,
        &ids,
        &[
            &|region| {
                let rectangles = (&rectangles).into();
                extension(xfixes::CreateRegionRequest { region, rectangles }, major)
            },
            &|region| extension(xfixes::DestroyRegionRequest { region }, major),
        ],
    );
    Ok(())
}

fn counters(stage: &mut Stage, loads: &mut Vec<Workload>) -> Result<(), MeasureError> {
    let Some(major) = stage.extension("SYNC")? else {
        return Ok(());
    };
    let version = sync::InitializeRequest {
        desired_major_version: 3,
        desired_minor_version: 1,
    };
    stage.ask_extension(version, major)?;
    plain(loads, version, major);
    let value = sync::Int64 { hi: 0, lo: 1 };
    let ids = stage.ids(RESOURCES);
    cycle(
        loads,
        &ids,
        &[
            &|id| {
                extension(
                    sync::CreateCounterRequest {
                        id,
                        initial_value: value,
                    },
                    major,
                )
            },
            &|counter| extension(sync::SetCounterRequest { counter, value }, major),
            &|counter| extension(sync::DestroyCounterRequest { counter }, major),
        ],
    );
    Ok(())
}

/// The format of pictures on the root's visual, and the 32-bit one with alpha.
fn formats(stage: &Stage, formats: &QueryPictFormatsReply) -> Option<(u32, u32)> {
    let visual = stage.screen.root_visual;
    let mut visuals = formats
        .screens
        .iter()
        .flat_map(|s| &s.depths)
        .flat_map(|d| &d.visuals);
    let root = visuals.find(|known| known.visual == visual)?.format;
    let argb = formats.formats.iter().find(|format| {
        format.type_ == PictType::DIRECT && format.depth == 32 && format.direct.alpha_mask == 0xFF
    })?;
    Some((root, argb.id))
}

fn render(stage: &mut Stage, plan: &Plan, loads: &mut Vec<Workload>) -> Result<(), MeasureError> {
    let Some(major) = stage.extension("RENDER")? else {
        return Ok(());
    };
    let version = QueryVersionRequest {
        client_major_version: 0,
        client_minor_version: 11,
    };
    stage.ask_extension(version, major)?;
    plain(loads, version, major);
    let Some(known) = stage.ask_extension(QueryPictFormatsRequest, major)? else {
        return Ok(());
    };
    loads.push(Workload::costly(&extension(QueryPictFormatsRequest, major)));
    let Some((root, argb)) = formats(stage, &known) else {
        return Ok(());
    };
    let drawable = stage.window;
    let no_values = CreatePictureAux::new();
    let picture = |pid, drawable, format| {
        let value_list = std::borrow::Cow::Borrowed(&no_values);
        extension(
            CreatePictureRequest {
                pid,
                drawable,
                format,
                value_list,
            },
            major,
        )
    };
    let ids = stage.ids(RESOURCES);
    let free = |picture| extension(FreePictureRequest { picture }, major);
    cycle(loads, &ids, &[&|pid| picture(pid, drawable, root), &free]);
    let color = Color {
        red: 0x8000,
        green: 0x4000,
        blue: 0,
        alpha: 0x8000,
    };
    let ids = stage.ids(RESOURCES);
    let fill = |picture| extension(CreateSolidFillRequest { picture, color }, major);
    cycle(loads, &ids, &[&fill, &free]);

    let (dst, src, solid) = (stage.id(), stage.id(), stage.id());
    let pixmap = stage.pixmap(32, SIDE)?;
    stage.send_bytes(&picture(dst, drawable, root))?;
    stage.send_bytes(&picture(src, pixmap, argb))?;
    stage.send_bytes(&fill(solid))?;
    let whole = [Rectangle {
        x: 0,
        y: 0,
        width: SIDE,
        height: SIDE,
    }];
    let translucent = FillRectanglesRequest {
        op: PictOp::SRC,
        dst: src,
        color,
        rects: (&whole).into(),
    };
    stage.send_bytes(&extension(translucent, major))?;
    for op in [PictOp::OVER, PictOp::SRC] {
        for &side in plan.sizes(&SIDES) {
            let pixels = usize::from(side) * usize::from(side) * 2;
            loads.push(Workload::varied(Sync::ReadBack, pixels, |index| {
                let (x, y) = place(index, side, side);
                let rects = vec![Rectangle {
                    x,
                    y,
                    width: side,
                    height: side,
                }]
                .into();
                extension(
                    FillRectanglesRequest {
                        op,
                        dst,
                        color,
                        rects,
                    },
                    major,
                )
            }));
            for source in [src, solid] {
                loads.push(Workload::varied(Sync::ReadBack, pixels, |index| {
                    let (dst_x, dst_y) = place(index, side, side);
                    let request = CompositeRequest {
                        op,
                        src: source,
                        mask: 0,
                        dst,
                        src_x: 0,
                        src_y: 0,
                        mask_x: 0,
                        mask_y: 0,
                        dst_x,
                        dst_y,
                        width: side,
                        height: side,
                    };
                    extension(request, major)
                }));
            }
        }
    }
    // Settings, on a picture that nothing is drawn with.
    let spare = stage.id();
    stage.send_bytes(&picture(spare, pixmap, argb))?;
    let repeat = ChangePictureAux::new().repeat(Repeat::NONE);
    plain(
        loads,
        ChangePictureRequest {
            picture: spare,
            value_list: std::borrow::Cow::Borrowed(&repeat),
        },
        major,
    );
    let clip = SetPictureClipRectanglesRequest {
        picture: spare,
        clip_x_origin: 0,
        clip_y_origin: 0,
        rectangles: (&whole).into(),
    };
    plain(loads, clip, major);
    let filter = SetPictureFilterRequest {
        picture: spare,
        filter: b"good".into(),
        values: (&[]).into(),
    };
    plain(loads, filter, major);
    let one = 1 << 16;
    let transform = Transform {
        matrix11: one,
        matrix12: 0,
        matrix13: 0,
        matrix21: 0,
        matrix22: one,
        matrix23: 0,
        matrix31: 0,
        matrix32: 0,
        matrix33: one,
    };
    plain(
        loads,
        SetPictureTransformRequest {
            picture: spare,
            transform,
        },
        major,
    );
    Ok(())
}
