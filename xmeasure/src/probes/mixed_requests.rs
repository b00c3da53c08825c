//! Requests of many names, one of each: the load that shows the cost of code that has not just run.

use std::borrow::Cow;

use x11rb_protocol::protocol::render::{
    ChangePictureAux, ChangePictureRequest, CompositeRequest, CreatePictureAux,
    CreatePictureRequest, CreateSolidFillRequest, FillRectanglesRequest, FreePictureRequest,
    PictOp, QueryPictFormatsRequest, Repeat, SetPictureClipRectanglesRequest,
};
use x11rb_protocol::protocol::xproto::{
    Arc, AtomEnum, ChangeGCAux, ChangeGCRequest, ChangePropertyRequest, CoordMode, CopyAreaRequest,
    CreateGCAux, GetGeometryRequest, GetImageRequest, GetPropertyRequest, ImageFormat,
    InternAtomRequest, Point, PolyFillArcRequest, PolyFillRectangleRequest, PolyLineRequest,
    PolySegmentRequest, PropMode, QueryPointerRequest, QueryTreeRequest, Rectangle, Segment,
};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::server::client::Client;
use crate::server::wire;
use crate::workloads::{TRANSLUCENT, root_format};

/// Requests of many names: small ones, so that cold code weighs. Sent again, they find the same state.
pub(super) struct MixedRequests {
    /// Requests without answers.
    silent: Vec<Vec<u8>>,
    /// Requests with answers.
    answered: Vec<Vec<u8>>,
}

impl MixedRequests {
    /// The requests in one batch.
    pub(super) fn together(&self) -> Batch {
        let requests = self.silent.len() + self.answered.len();
        let bytes = self.silent.iter().chain(&self.answered).flatten();
        let bytes = bytes.copied().collect();
        Batch::new(bytes, requests as u64, self.answered.len() as u64)
    }

    /// Requests that draw on `drawable`.
    pub(super) fn new(
        client: &mut Client,
        drawable: u32,
        property: u32,
    ) -> Result<MixedRequests, MeasureError> {
        let window = client.window;
        let gc = client.gc(window, CreateGCAux::new())?;
        let pixmap = client.pixmap(client.screen.root_depth, 16)?;
        let (x, y, width, height) = (4, 4, 8, 8);
        let points: Vec<Point> = (0..4).map(|at| Point { x: at * 8, y: at }).collect();
        let segment = Segment {
            x1: 1,
            y1: 2,
            x2: 9,
            y2: 7,
        };
        let rectangle = Rectangle {
            x,
            y,
            width,
            height,
        };
        let arc = Arc {
            x,
            y,
            width,
            height,
            angle1: 0,
            angle2: 23040,
        };
        let mut silent = vec![
            wire::core(ChangeGCRequest {
                gc,
                value_list: Cow::Owned(ChangeGCAux::new().foreground(1)),
            }),
            wire::core(PolyFillRectangleRequest {
                drawable,
                gc,
                rectangles: [rectangle].as_slice().into(),
            }),
            wire::core(PolyLineRequest {
                coordinate_mode: CoordMode::ORIGIN,
                drawable,
                gc,
                points: points.into(),
            }),
            wire::core(PolySegmentRequest {
                drawable,
                gc,
                segments: [segment].as_slice().into(),
            }),
            wire::core(PolyFillArcRequest {
                drawable,
                gc,
                arcs: [arc].as_slice().into(),
            }),
            wire::core(CopyAreaRequest {
                src_drawable: pixmap,
                dst_drawable: drawable,
                gc,
                src_x: 0,
                src_y: 0,
                dst_x: x,
                dst_y: y,
                width,
                height,
            }),
            wire::core(ChangePropertyRequest {
                mode: PropMode::REPLACE,
                window: client.unwatched,
                property,
                type_: AtomEnum::STRING.into(),
                format: 8,
                data_len: 4,
                data: b"abcd".as_slice().into(),
            }),
        ];
        let answered = vec![
            wire::core(GetPropertyRequest {
                delete: false,
                window: client.unwatched,
                property,
                type_: AtomEnum::STRING.into(),
                long_offset: 0,
                long_length: 1,
            }),
            wire::core(GetGeometryRequest { drawable: window }),
            wire::core(QueryTreeRequest { window }),
            wire::core(QueryPointerRequest { window }),
            wire::core(InternAtomRequest {
                only_if_exists: false,
                name: b"X11PROF_TRANSPORT".as_slice().into(),
            }),
            wire::core(GetImageRequest {
                format: ImageFormat::Z_PIXMAP,
                drawable,
                x,
                y,
                width: 1,
                height: 1,
                plane_mask: !0,
            }),
        ];
        silent.extend(render(client, drawable)?);
        Ok(MixedRequests { silent, answered })
    }
}

/// RENDER's mixed requests; none if the server lacks RENDER.
fn render(client: &mut Client, drawable: u32) -> Result<Vec<Vec<u8>>, MeasureError> {
    let Some(major) = client.extension("RENDER")? else {
        return Ok(Vec::new());
    };
    let known = client.ask_extension(QueryPictFormatsRequest, major)?;
    let Some(format) = known.and_then(|known| root_format(client, &known)) else {
        return Ok(Vec::new());
    };
    let (pid, source) = (client.id(), client.id());
    let picture = CreatePictureRequest {
        pid,
        drawable,
        format,
        value_list: Cow::Owned(CreatePictureAux::new()),
    };
    client.try_bytes(&wire::extension(picture, major))?;
    let rectangle = Rectangle {
        x: 4,
        y: 4,
        width: 8,
        height: 8,
    };
    Ok(vec![
        wire::extension(
            SetPictureClipRectanglesRequest {
                picture: pid,
                clip_x_origin: 0,
                clip_y_origin: 0,
                rectangles: [rectangle].as_slice().into(),
            },
            major,
        ),
        wire::extension(
            ChangePictureRequest {
                picture: pid,
                value_list: Cow::Owned(ChangePictureAux::new().repeat(Repeat::NONE)),
            },
            major,
        ),
        wire::extension(
            FillRectanglesRequest {
                op: PictOp::OVER,
                dst: pid,
                color: TRANSLUCENT,
                rects: [rectangle].as_slice().into(),
            },
            major,
        ),
        wire::extension(
            CreateSolidFillRequest {
                picture: source,
                color: TRANSLUCENT,
            },
            major,
        ),
        wire::extension(
            CompositeRequest {
                op: PictOp::OVER,
                src: source,
                mask: 0,
                dst: pid,
                src_x: 0,
                src_y: 0,
                mask_x: 0,
                mask_y: 0,
                dst_x: 4,
                dst_y: 4,
                width: 8,
                height: 8,
            },
            major,
        ),
        wire::extension(FreePictureRequest { picture: source }, major),
    ])
}
