//! What a server costs after it slept, and what it writes by itself: loads of a few requests with
//! pauses between them, beside the long streams that requests are priced by.
//!
//! A stream of requests with replies soon finds the client's socket full, and from there on the
//! server gathers what it writes; a program that reads its replies sees each written by itself.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{AfterSleep, Measured, Micros, TransportCosts};
use x11rb_protocol::protocol::xproto::{
    Arc, AtomEnum, ChangeGCAux, ChangeGCRequest, ChangePropertyRequest, ClearAreaRequest,
    CoordMode, CopyAreaRequest, CreateGCAux, GetGeometryRequest, GetImageRequest,
    GetInputFocusRequest, GetPropertyRequest, ImageFormat, InternAtomRequest, Point,
    PolyFillArcRequest, PolyFillRectangleRequest, PolyLineRequest, PolySegmentRequest, PropMode,
    QueryPointerRequest, QueryTreeRequest, Rectangle, Segment,
};

use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::raw_connection::RawConnection;
use crate::stage::Stage;
use crate::statistics::{Estimate, estimate};
use crate::target::Target;
use crate::wire;

/// Between these the caches stay warm.
const SHORT: Duration = Duration::from_micros(200);
/// Sleeps, and how often each.
const SLEEPS: [(Duration, usize); 4] = [
    (SHORT, 60),
    (Duration::from_millis(1), 30),
    (Duration::from_millis(10), 12),
    (Duration::from_millis(100), 6),
];
/// Requests of the batches whose replies and events are counted.
const BATCH: usize = 16;

/// Requests that are sent together.
struct Batch {
    bytes: Vec<u8>,
    requests: usize,
    answers: u64,
}

impl Batch {
    fn repeated(bytes: &[u8], answered: bool) -> Batch {
        Batch {
            bytes: bytes.repeat(BATCH),
            requests: BATCH,
            answers: if answered { BATCH as u64 } else { 0 },
        }
    }
}

/// The loads.
pub(crate) struct Rest {
    nothing: Batch,
    /// One request of each of many names.
    motley: Batch,
    question: Batch,
    questions: Batch,
    silent: Batch,
    told: Batch,
}

impl Rest {
    /// Prepares them on `stage`.
    pub(crate) fn new(stage: &mut Stage) -> Result<Rest, MeasureError> {
        let property = stage.atom("X11PROF_TRANSPORT")?;
        let change = |window| {
            wire::core(ChangePropertyRequest {
                mode: PropMode::REPLACE,
                window,
                property,
                type_: AtomEnum::STRING.into(),
                format: 8,
                data_len: 4,
                data: b"abcd".as_slice().into(),
            })
        };
        let one = |bytes: Vec<u8>, answers| Batch {
            bytes,
            requests: 1,
            answers,
        };
        let focus = wire::core(GetInputFocusRequest);
        let (silent, told) = (change(stage.silent), change(stage.told));
        Ok(Rest {
            nothing: one(wire::no_operation(1), 0),
            motley: motley(stage, property)?,
            question: one(focus.clone(), 1),
            questions: Batch::repeated(&focus, true),
            silent: Batch::repeated(&silent, false),
            told: Batch::repeated(&told, false),
        })
    }

    /// Measures them, and fills in what they tell; where the server's processor time cannot be
    /// read, that is nothing.
    pub(crate) fn measure(
        &self,
        server: &mut LiveServer,
        target: &Target,
        transport: &mut TransportCosts,
    ) -> Result<(), MeasureError> {
        self.writes(server, transport)?;
        let mut points: Vec<AfterSleep> = Vec::new();
        let mut warm = None;
        for (pause, count) in SLEEPS {
            let mut connections = Vec::new();
            for _ in 0..count {
                let open = || RawConnection::open(target).map(drop);
                connections.extend(server.during(pause, open)?);
            }
            let (Some(nothing), Some(motley), Some(connection)) = (
                batches(server, &self.nothing, pause, count)?,
                batches(server, &self.motley, pause, count)?,
                estimate(&connections),
            ) else {
                return Ok(());
            };
            let (least, all) = *warm.get_or_insert((nothing.median, motley.median));
            let slower = (motley.median - all) - (nothing.median - least);
            points.push(AfterSleep {
                asleep_us: micros(pause.as_secs_f64() * 1e6),
                wakeup_us: micros(nothing.median),
                first_us: micros(slower.max(0.0) / self.motley.requests as f64),
                connection_us: micros((connection.median - nothing.median).max(0.0)),
                spread: nothing
                    .spread()
                    .map(|spread| (spread * 100.0).round() / 100.0),
            });
        }
        transport.after_sleep = points;
        Ok(())
    }

    /// What replies and events cost when the client's socket takes each.
    fn writes(
        &self,
        server: &mut LiveServer,
        transport: &mut TransportCosts,
    ) -> Result<(), MeasureError> {
        let (pause, count) = SLEEPS[0];
        let mut of = |batch: &Batch| batches(server, batch, pause, count);
        let (Some(question), Some(questions), Some(silent), Some(told)) = (
            of(&self.question)?,
            of(&self.questions)?,
            of(&self.silent)?,
            of(&self.told)?,
        ) else {
            return Ok(());
        };
        let reply = (questions.median - question.median) / (BATCH - 1) as f64;
        let event = (told.median - silent.median) / BATCH as f64;
        // The write of the first is not written off: what one reply alone costs stays as it was.
        let lone = |costs: &TransportCosts| {
            let flush = costs.flush.and_then(|flush| flush.cpu_us);
            Some(costs.reply.cpu_us?.0 + flush.unwrap_or_default().0)
        };
        let Some(alone) = lone(transport) else {
            return Ok(());
        };
        put(&mut transport.reply, reply.max(0.0), &questions);
        put(&mut transport.event, event.max(0.0), &told);
        if let Some(flush) = &mut transport.flush {
            flush.cpu_us = Some(micros((alone - reply).max(0.0)));
        }
        Ok(())
    }
}

fn put(into: &mut Measured, cpu: f64, of: &Estimate) {
    into.cpu_us = Some(micros(cpu));
    into.spread = of.spread().map(|spread| (spread * 100.0).round() / 100.0);
}

/// The processor time of `batch` after such a pause; `None` where it cannot be read.
fn batches(
    server: &mut LiveServer,
    batch: &Batch,
    pause: Duration,
    count: usize,
) -> io::Result<Option<Estimate>> {
    let mut times = Vec::new();
    for _ in 0..count {
        times.extend(server.after_pause(
            &batch.bytes,
            batch.requests as u64,
            batch.answers,
            pause,
        )?);
    }
    Ok(estimate(&times))
}

/// One request of each of many names: small ones, so that what is cold in them weighs.
fn motley(stage: &mut Stage, property: u32) -> Result<Batch, MeasureError> {
    let window = stage.window;
    let gc = stage.gc(window, CreateGCAux::new())?;
    let pixmap = stage.pixmap(stage.screen.root_depth, 16)?;
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
    let silent = [
        wire::core(ChangeGCRequest {
            gc,
            value_list: std::borrow::Cow::Owned(ChangeGCAux::new().foreground(1)),
        }),
        wire::core(PolyFillRectangleRequest {
            drawable: window,
            gc,
            rectangles: [rectangle].as_slice().into(),
        }),
        wire::core(PolyLineRequest {
            coordinate_mode: CoordMode::ORIGIN,
            drawable: window,
            gc,
            points: points.into(),
        }),
        wire::core(PolySegmentRequest {
            drawable: window,
            gc,
            segments: [segment].as_slice().into(),
        }),
        wire::core(PolyFillArcRequest {
            drawable: window,
            gc,
            arcs: [arc].as_slice().into(),
        }),
        wire::core(CopyAreaRequest {
            src_drawable: pixmap,
            dst_drawable: window,
            gc,
            src_x: 0,
            src_y: 0,
            dst_x: x,
            dst_y: y,
            width,
            height,
        }),
        wire::core(ClearAreaRequest {
            exposures: false,
            window,
            x,
            y,
            width,
            height,
        }),
        wire::core(ChangePropertyRequest {
            mode: PropMode::REPLACE,
            window: stage.silent,
            property,
            type_: AtomEnum::STRING.into(),
            format: 8,
            data_len: 4,
            data: b"abcd".as_slice().into(),
        }),
    ];
    let answered = [
        wire::core(GetPropertyRequest {
            delete: false,
            window: stage.silent,
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
            drawable: window,
            x,
            y,
            width: 1,
            height: 1,
            plane_mask: !0,
        }),
    ];
    Ok(Batch {
        requests: silent.len() + answered.len(),
        answers: answered.len() as u64,
        bytes: silent.into_iter().chain(answered).flatten().collect(),
    })
}

/// To a hundredth of a microsecond: the rest is noise.
fn micros(time: f64) -> Micros {
    Micros((time * 100.0).round() / 100.0)
}
