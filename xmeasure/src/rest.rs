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
use crate::sampler::{Executor, Place};
use crate::stage::Stage;
use crate::statistics::{Estimate, LEAST, estimate};
use crate::target::Target;
use crate::transport::rounded;
use crate::wire;
use crate::workload::Sync;

/// Between these the caches stay warm.
const SHORT: Duration = Duration::from_micros(200);
/// Sleeps, and how often each in a pass.
const SLEEPS: [(Duration, usize); 4] = [
    (SHORT, 10),
    (Duration::from_millis(1), 5),
    (Duration::from_millis(10), 2),
    (Duration::from_millis(100), 1),
];
/// Requests that follow each other's answers at once.
const VOLLEY: u64 = 64;
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

    /// Its processor time after such a pause; `None` where it cannot be read.
    fn after(&self, server: &mut LiveServer, pause: Duration) -> io::Result<Option<f64>> {
        server.after_pause(&self.bytes, self.requests as u64, self.answers, pause)
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
    /// About how long measuring them takes.
    pub(crate) const LASTS: Duration = Duration::from_secs(4);

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
    ) -> io::Result<()> {
        // The last pass may have left the sender on another processor.
        server.place(Place::Usual)?;
        let mut passes = Vec::new();
        for _ in 0..LEAST {
            let Some(pass) = self.pass(server, target)? else {
                return Ok(());
            };
            passes.push(pass);
        }
        replies_and_events(&passes, transport);
        transport.after_sleep = self.sleeps(&passes);
        Ok(())
    }

    fn pass(&self, server: &mut LiveServer, target: &Target) -> io::Result<Option<Pass>> {
        let mut pass = Pass::default();
        let (pause, count) = SLEEPS[0];
        for _ in 0..count {
            let mut of = |batch: &Batch| batch.after(server, pause);
            let (Some(question), Some(questions), Some(silent), Some(told)) = (
                of(&self.question)?,
                of(&self.questions)?,
                of(&self.silent)?,
                of(&self.told)?,
            ) else {
                return Ok(None);
            };
            pass.replies
                .push((questions - question) / (BATCH - 1) as f64);
            pass.events.push((told - silent) / BATCH as f64);
            let turns = server.synchronise(Sync::Turns, VOLLEY)?;
            if let Some(time) = turns.cpu {
                pass.quicker.push(question - time / VOLLEY as f64);
                pass.turns
                    .push((turns.wall - time).max(0.0) / VOLLEY as f64);
            }
        }
        for (pause, count) in SLEEPS {
            let mut slept = Slept::default();
            for _ in 0..count {
                slept.nothing.extend(self.nothing.after(server, pause)?);
                slept.motley.extend(self.motley.after(server, pause)?);
                let open = || RawConnection::open(target).map(drop);
                let connection = server.during(pause, open).map_err(gone)?;
                slept.connection.extend(connection);
            }
            pass.sleeps.push(slept);
        }
        Ok(Some(pass))
    }

    fn sleeps(&self, passes: &[Pass]) -> Vec<AfterSleep> {
        let mut points: Vec<AfterSleep> = Vec::new();
        let mut warm = None;
        for (at, (pause, _)) in SLEEPS.into_iter().enumerate() {
            let of = |field: fn(&Slept) -> &Vec<f64>| {
                over_passes(passes, |pass| pass.sleeps.get(at).map(field))
            };
            let (Some(nothing), Some(motley), Some(connection)) = (
                of(|it| &it.nothing),
                of(|it| &it.motley),
                of(|it| &it.connection),
            ) else {
                continue;
            };
            let (least, all) = *warm.get_or_insert((nothing.median, motley.median));
            let slower = (motley.median - all) - (nothing.median - least);
            points.push(AfterSleep {
                asleep_us: micros(pause.as_secs_f64() * 1e6),
                wakeup_us: micros(nothing.median),
                first_us: micros(slower.max(0.0) / self.motley.requests as f64),
                connection_us: micros((connection.median - nothing.median).max(0.0)),
                spread: nothing.spread().map(|spread| rounded(spread, 2)),
            });
        }
        hot(passes, &points).into_iter().chain(points).collect()
    }
}

/// The shortest sleep: that of a server which waits for nothing but a client that answers at once.
/// A question costs as much less there as waking up does.
fn hot(passes: &[Pass], points: &[AfterSleep]) -> Option<AfterSleep> {
    let short = points.first()?;
    let quicker = over_passes(passes, |pass| Some(&pass.quicker))?;
    let turn = over_passes(passes, |pass| Some(&pass.turns))?;
    let wakeup = (short.wakeup_us.0 - quicker.median).max(0.0);
    let asleep_us = micros(turn.median);
    (asleep_us.0 > 0.0 && asleep_us < short.asleep_us).then(|| AfterSleep {
        asleep_us,
        wakeup_us: micros(wakeup),
        first_us: Micros(0.0),
        connection_us: short.connection_us,
        spread: quicker
            .half_width
            .filter(|_| wakeup > 0.0)
            .map(|width| rounded(width / wakeup, 2)),
    })
}

/// What one pass over all of it took, in microseconds of processor time.
#[derive(Default)]
struct Pass {
    /// One reply more; one event more.
    replies: Vec<f64>,
    events: Vec<f64>,
    /// What a question after a short sleep costs more than one that follows an answer at once, and
    /// how long the server slept before such a one.
    quicker: Vec<f64>,
    turns: Vec<f64>,
    /// By sleep.
    sleeps: Vec<Slept>,
}

/// After one length of sleep.
#[derive(Default)]
struct Slept {
    nothing: Vec<f64>,
    motley: Vec<f64>,
    connection: Vec<f64>,
}

/// From the medians of the passes: their spread holds what drifts from pass to pass as well, as
/// that of the requests does.
fn over_passes<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<Estimate> {
    let medians = passes
        .iter()
        .filter_map(|pass| Some(estimate(of(pass)?)?.median));
    estimate(&medians.collect::<Vec<_>>())
}

/// What replies and events cost when the client's socket takes each.
fn replies_and_events(passes: &[Pass], transport: &mut TransportCosts) {
    let (Some(reply), Some(event)) = (
        over_passes(passes, |pass| Some(&pass.replies)),
        over_passes(passes, |pass| Some(&pass.events)),
    ) else {
        return;
    };
    let Some(streamed) = transport.reply.cpu_us else {
        return;
    };
    put(&mut transport.reply, &reply);
    put(&mut transport.event, &event);
    if let Some(flush) = &mut transport.flush
        && let Some(write) = flush.cpu_us
    {
        // The write of the first is not written off: what one reply alone costs stays as it was.
        let cost = (streamed.0 + write.0 - reply.median).max(0.0);
        // As a difference it is at least as unsure, in microseconds, as each of the two.
        let unsure =
            (flush.spread.unwrap_or_default() * write.0).max(reply.half_width.unwrap_or_default());
        flush.cpu_us = Some(micros(cost));
        flush.spread = (cost > 0.0).then(|| rounded(unsure / cost, 2));
    }
}

fn put(into: &mut Measured, cpu: &Estimate) {
    into.cpu_us = Some(micros(cpu.median.max(0.0)));
    into.spread = cpu.spread().map(|spread| rounded(spread, 2));
}

/// A server that takes no new connection has gone, or will not answer any more.
fn gone(error: MeasureError) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, error.to_string())
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

fn micros(time: f64) -> Micros {
    Micros(rounded(time, 5))
}
