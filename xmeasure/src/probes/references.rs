//! A few loads measured at the beginning and at the end of a calibration: whether what was measured
//! in between has left something behind that lasts.
//!
//! As many of them draw as do not, so that neither an effect on drawing nor one on all else passes
//! for the drift of the machine, which is what most of them show.

use std::borrow::Cow;
use std::io;

use x11prof_cost_model::{Clock, Micros, Reference};
use x11rb_protocol::protocol::xproto::{
    ChangeGCAux, ChangeGCRequest, CoordMode, CreateGCAux, GetInputFocusRequest, Point,
    PolyFillRectangleRequest, PolyPointRequest, Rectangle,
};

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::probes::transport::rounded;
use crate::sampling::sampler::{Executor, Place, repetitions};
use crate::sampling::statistics::{Estimate, LEAST, estimate};
use crate::server::client::Stage;
use crate::server::wire;
use crate::workloads::workload::{Sync, Workload};
use crate::workloads::{copy, place};

/// Rounds over all of them, at either end: as many as two medians with narrow intervals need.
const ROUNDS: usize = 2 * LEAST;
/// The side of what is drawn, in pixels.
const SIDE: u16 = 10;

/// The loads, each with what it is.
pub(crate) struct References(Vec<(&'static str, Workload)>);

/// What each took at one end, in microseconds a request; `None` where it was refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look(Vec<Option<Estimate>>);

impl References {
    /// Prepares them on `stage`.
    pub(crate) fn new(stage: &mut Stage) -> Result<References, MeasureError> {
        let (window, black) = (stage.window, stage.screen.black_pixel);
        let gc = stage.gc(window, CreateGCAux::new().foreground(black))?;
        let other = stage.gc(window, CreateGCAux::new())?;
        let drawn = |request: &dyn Fn(i16, i16) -> Vec<u8>| {
            Workload::varied(Sync::ReadBack, usize::from(SIDE * SIDE), |index| {
                let (x, y) = place(index, SIDE, SIDE);
                request(x, y)
            })
        };
        let rectangle = drawn(&|x, y| {
            let (width, height) = (SIDE, SIDE);
            let rectangle = Rectangle {
                x,
                y,
                width,
                height,
            };
            wire::core(PolyFillRectangleRequest {
                drawable: window,
                gc,
                rectangles: [rectangle].as_slice().into(),
            })
        });
        let copy = copy(window, window, gc, SIDE);
        let point = drawn(&|x, y| {
            wire::core(PolyPointRequest {
                coordinate_mode: CoordMode::ORIGIN,
                drawable: window,
                gc,
                points: [Point { x, y }].as_slice().into(),
            })
        });
        let change = Workload::varied(Sync::RoundTrip, 0, |index| {
            let values = ChangeGCAux::new().foreground(u32::from(index % 2 == 0));
            wire::core(ChangeGCRequest {
                gc: other,
                value_list: Cow::Borrowed(&values),
            })
        });
        let nothing = Workload::repeated(&wire::no_operation(1), Sync::RoundTrip);
        let focus = wire::core(GetInputFocusRequest);
        let question = Workload::repeated(&focus, Sync::RoundTrip);
        Ok(References(vec![
            ("PolyFillRectangle 10x10", rectangle),
            ("NoOperation", nothing),
            ("CopyArea 10x10", copy),
            ("GetInputFocus", question),
            ("PolyPoint", point),
            ("ChangeGC", change),
        ]))
    }

    /// Measures them, in turns, with the sender where the processor's clock counts.
    pub(crate) fn look(&self, executor: &mut dyn Executor, plan: &Plan) -> io::Result<Look> {
        executor.place(Place::Usual)?;
        let mut ready = Vec::new();
        for (_, load) in &self.0 {
            let answers = executor.rehearse(load)?;
            let refused = answers.iter().any(|answers| answers.errors > 0);
            let times = match refused {
                true => 0,
                false => repetitions(executor, load, &answers, plan.batch())?,
            };
            ready.push((load, answers, times, Vec::new()));
        }
        for _ in 0..ROUNDS {
            for (load, answers, times, taken) in &mut ready {
                if *times > 0 {
                    let readings = executor.run(load, answers, *times)?;
                    let cpu: Option<f64> = readings.iter().map(|it| it.time(Clock::Cpu)).sum();
                    let wall: f64 = readings.iter().map(|it| it.wall).sum();
                    let requests: u64 = readings.iter().map(|it| it.requests).sum();
                    taken.push(cpu.unwrap_or(wall) / requests.max(1) as f64);
                }
            }
        }
        let estimates = ready.iter().map(|(.., taken)| estimate(taken));
        Ok(Look(estimates.collect()))
    }

    /// Both ends beside each other.
    pub(crate) fn compare(&self, start: &Look, end: &Look) -> Vec<Reference> {
        let looks = start.0.iter().zip(&end.0);
        let both = self.0.iter().zip(looks).filter_map(|((name, _), looks)| {
            let (start, end) = ((*looks.0)?, (*looks.1)?);
            let time = |it: Estimate| Micros(rounded(it.centre.max(0.0), 5));
            let spread = start.spread().zip(end.spread());
            Some(Reference {
                load: (*name).to_owned(),
                start_us: time(start),
                end_us: time(end),
                // Independent relative errors of a ratio add in squares.
                spread: spread.map(|(start, end)| rounded(start.hypot(end), 2)),
            })
        });
        both.collect()
    }
}

#[cfg(test)]
impl References {
    /// Of loads that a mock knows.
    pub(crate) fn of(loads: Vec<(&'static str, Workload)>) -> References {
        References(loads)
    }
}
