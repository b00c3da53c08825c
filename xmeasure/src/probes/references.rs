//! A few loads measured at the beginning and at the end of a calibration: whether the measurements
//! between them have a lasting effect on the server.
//!
//! Half of the loads draw and half do not, so that an effect on one half does not look like the drift of the machine,
//! which moves most of them.

use std::borrow::Cow;
use std::io;

use x11prof_cost_model::{Clock, Reference, ServerParameters};
use x11rb_protocol::protocol::xproto::{
    ChangeGCAux, ChangeGCRequest, CoordMode, CreateGCAux, GetInputFocusRequest, Point,
    PolyFillRectangleRequest, PolyPointRequest, Rectangle,
};

use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::sampling::executor::Executor;
use crate::sampling::rounding::{micros, rounded};
use crate::sampling::sampler::repetitions;
use crate::sampling::statistics::{Estimate, LEAST, estimate};
use crate::server::client::Client;
use crate::server::tracker::Tracker;
use crate::server::wire;
use crate::workloads::workload::{Sync, Workload};
use crate::workloads::{copy, place};

/// Rounds over all of them, at either end: as many as two medians with narrow intervals need.
const ROUNDS: usize = 2 * LEAST;
/// The side of the drawn squares, in pixels.
const SIDE: u16 = 10;

/// The loads, and their readings.
pub(crate) struct References {
    loads: Vec<(&'static str, Workload)>,
    start: Vec<Option<Estimate>>,
    end: Vec<Option<Estimate>>,
}

impl References {
    /// References of which none is read yet.
    pub(crate) fn of(loads: Vec<(&'static str, Workload)>) -> References {
        References {
            loads,
            start: Vec::new(),
            end: Vec::new(),
        }
    }

    /// The present time of each load, in microseconds a request, alternated with the sender if the processor's clock
    /// counts; `None` if the server refuses the load.
    fn look(&self, executor: &mut dyn Executor, plan: &Plan) -> io::Result<Vec<Option<Estimate>>> {
        let mut ready = Vec::new();
        for (_, load) in &self.loads {
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
                    let cpu: Option<f64> = readings
                        .iter()
                        .map(|reading| reading.time(Clock::Cpu))
                        .sum();
                    let wall: f64 = readings.iter().map(|reading| reading.wall).sum();
                    let requests: u64 = readings.iter().map(|reading| reading.requests).sum();
                    taken.push(cpu.unwrap_or(wall) / requests.max(1) as f64);
                }
            }
        }
        let estimates = ready.iter().map(|(.., taken)| estimate(taken));
        Ok(estimates.collect())
    }

    /// The references with both ends compared.
    pub(crate) fn compared(&self) -> Vec<Reference> {
        let both = self.loads.iter().zip(self.start.iter().zip(&self.end));
        let both = both.filter_map(|((name, _), (start, end))| {
            let (start, end) = ((*start)?, (*end)?);
            let time = |estimate: Estimate| micros(estimate.centre.max(0.0), 5);
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

impl Probe for References {
    fn prepare(client: &mut Client, _: &Plan) -> Result<References, MeasureError> {
        let (window, black) = (client.window, client.screen.black_pixel);
        let gc = client.gc(window, CreateGCAux::new().foreground(black))?;
        let other = client.gc(window, CreateGCAux::new())?;
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
        Ok(References::of(vec![
            ("PolyFillRectangle 10x10", rectangle),
            ("NoOperation", nothing),
            ("CopyArea 10x10", copy),
            ("GetInputFocus", question),
            ("PolyPoint", point),
            ("ChangeGC", change),
        ]))
    }

    fn name(&self) -> &'static str {
        "references"
    }

    /// Part of the passes.
    fn lasts(&self) -> ProbeDuration {
        ProbeDuration::default()
    }

    fn begin(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        self.start = self.look(run.server, &run.plan)?;
        Ok(())
    }

    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        self.end = self.look(run.server, &run.plan)?;
        Ok(())
    }

    fn fit(&self, _: &Plan, _: &mut Tracker, parameters: &mut ServerParameters) {
        parameters.method.references = self.compared();
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::left_behind;

    use super::References;
    use crate::plan::Plan;
    use crate::probes::Probe;
    use crate::simulated::{Quirks, Simulated, connected, truth};

    /// PolyFillRectangle (protocol, Encoding).
    const RECTANGLE: u8 = 70;

    /// The notes of the references if a rectangle costs `more` from the middle of the calibration on.
    fn left_behind_by(more: f64) -> Vec<String> {
        let plan = Plan::default();
        let prepare = |client: &mut _| References::prepare(client, &plan).unwrap();
        let (client, tracker, mut references) = connected(prepare);
        let mut server = Simulated::new(&truth(), &client, tracker);
        references.start = references.look(&mut server, &plan).unwrap();
        server.quirks = Quirks {
            spoilt: Some((server.batches, RECTANGLE, more)),
            ..Quirks::default()
        };
        references.end = references.look(&mut server, &plan).unwrap();
        left_behind(&references.compared())
    }

    #[test]
    fn effects_of_a_calibration_show_at_its_end() {
        assert!(left_behind_by(0.0).is_empty());
        let remarks = left_behind_by(0.2);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        // Of 0.4 microseconds.
        let expected = "PolyFillRectangle 10x10 took 1.50 times";
        assert!(remarks[0].starts_with(expected), "{remarks:?}");
    }
}
