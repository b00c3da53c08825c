//! Measures a server's costs after a sleep and the costs of separate writes, with loads of a few requests and pauses
//! between them. (Request costs are measured in long streams.)
//!
//! A stream of requests with replies soon fills the client's socket, and the server then batches its writes. If a
//! program reads its replies promptly, the server sends each reply in a separate write.

mod area;
mod passes;
mod points;

use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;
use x11rb_protocol::protocol::xproto::{AtomEnum, ChangePropertyRequest, PropMode};

use self::area::area;
use self::passes::{Pass, Woken};
use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::statistics::LEAST;
use crate::sampling::streamed::Streamed;
use crate::server::client::Client;
use crate::server::tracker::Tracker;
use crate::server::wire;
use crate::workloads::workload::Sync;

/// If the server sleeps for at least this time, the client works before it sends the next request.
const LONG: Duration = Duration::from_millis(3);
/// The time for which the client works before it sends the next request.
pub(super) const HANDLING: Duration = Duration::from_micros(800);
/// The shortest pause between requests, in which the caches stay warm.
const SHORT: Duration = Duration::from_micros(200);
/// The lengths of the server's sleeps, and the number of measurements of each length in a pass. An idle processor loses
/// its caches within 3 to 10 ms.
const SLEEPS: [(Duration, usize); 7] = [
    (SHORT, 10),
    (Duration::from_millis(1), 5),
    (Duration::from_millis(3), 5),
    (Duration::from_millis(5), 4),
    (Duration::from_millis(10), 4),
    (Duration::from_millis(30), 2),
    (Duration::from_millis(100), 1),
];
/// The number of requests that each immediately follow the previous reply. After this number of requests, the rate at
/// which the server sleeps between requests is steady.
const VOLLEY: u64 = 512;
/// The number of requests in the batches that measure the costs of replies and events.
const COUNTED: usize = 16;
/// The approximate duration of a pass.
const PASS: Duration = Duration::from_millis(1800);

/// The probe for the costs after a sleep: its batches, and the measured times.
pub(crate) struct Wakeups {
    nothing: Batch,
    /// A batch that fills a large area.
    area: Streamed,
    question: Batch,
    questions: Batch,
    /// Changes of a property whose events no client receives.
    unwatched: Batch,
    /// Changes of a property whose events this client receives.
    notified: Batch,
    passes: Vec<Pass>,
    /// The number of passes that `begin` runs, and that `measure` runs.
    half: usize,
}

impl Wakeups {
    /// Runs passes until `self.passes` contains `count` passes. Runs none if the server's CPU time cannot be read.
    fn passes(&mut self, server: &mut dyn Executor, count: usize) -> io::Result<()> {
        while self.passes.len() < count
            && let Some(pass) = self.pass(server)?
        {
            self.passes.push(pass);
        }
        Ok(())
    }

    fn pass(&self, server: &mut dyn Executor) -> io::Result<Option<Pass>> {
        let mut pass = Pass::default();
        let (sleep, count) = SLEEPS[0];
        for _ in 0..count {
            let mut of = |batch: &Batch| server.after(&[Pause::Sleep(sleep)], batch);
            let (Some(question), Some(questions), Some(unwatched), Some(notified)) = (
                of(&self.question)?,
                of(&self.questions)?,
                of(&self.unwatched)?,
                of(&self.notified)?,
            ) else {
                return Ok(None);
            };
            pass.replies
                .push((questions - question) / (COUNTED - 1) as f64);
            pass.events.push((notified - unwatched) / COUNTED as f64);
            let turns = server.synchronise(Sync::Turns, VOLLEY)?;
            if let Some(time) = turns.cpu {
                pass.quicker.push(question - time / VOLLEY as f64);
                pass.turns
                    .push((turns.wall - time).max(0.0) / VOLLEY as f64);
            }
        }
        pass.sleeps = self.pass_of_sleeps(server)?;
        Ok(Some(pass))
    }

    fn pass_of_sleeps(&self, server: &mut dyn Executor) -> io::Result<Vec<Woken>> {
        let mut sleeps = Vec::new();
        for (sleep, count) in SLEEPS {
            let mut woken = Woken::default();
            for _ in 0..count {
                self.woken(server, sleep, &mut woken)?;
            }
            sleeps.push(woken);
        }
        Ok(sleeps)
    }

    /// Measures each kind of work once after a sleep of the length `sleep`, and adds the times to `woken`.
    fn woken(
        &self,
        server: &mut dyn Executor,
        sleep: Duration,
        woken: &mut Woken,
    ) -> io::Result<()> {
        let pause = [Pause::Sleep(sleep)];
        woken.nothing.extend(server.after(&pause, &self.nothing)?);
        woken.connection.extend(server.connect_after(&pause)?);
        // The area is filled before the pause, right after the pause, and in a stream. A client that lets the server
        // sleep for milliseconds works in the meantime. This work evicts more data from the caches than the sleep does.
        server.after(&[], &self.area.once)?;
        let handling = match sleep >= LONG {
            true => HANDLING,
            false => Duration::ZERO,
        };
        let pause = [Pause::Work(handling), Pause::Sleep(sleep - handling)];
        woken.area.extend(server.after(&pause, &self.area.once)?);
        woken.area_streamed.extend(self.area.streamed(server)?);
        Ok(())
    }
}

fn sleeps() -> impl Iterator<Item = Duration> {
    SLEEPS.into_iter().map(|(sleep, _)| sleep)
}

impl Probe for Wakeups {
    fn is_wanted(plan: &Plan) -> bool {
        !plan.entries_only
    }

    fn prepare(client: &mut Client, plan: &Plan) -> Result<Wakeups, MeasureError> {
        let property = client.atom("X11PROF_TRANSPORT")?;
        let change = |window| {
            let bytes = wire::core(ChangePropertyRequest {
                mode: PropMode::REPLACE,
                window,
                property,
                type_: AtomEnum::STRING.into(),
                format: 8,
                data_len: 4,
                data: b"abcd".as_slice().into(),
            });
            Batch::single(bytes, false).repeated(COUNTED)
        };
        let (unwatched, notified) = (change(client.unwatched), change(client.notified));
        let question = Batch::single(wire::input_focus(), true);
        Ok(Wakeups {
            nothing: Batch::single(wire::no_operation(1), false),
            area: area(client)?,
            questions: question.repeated(COUNTED),
            question,
            unwatched,
            notified,
            passes: Vec::new(),
            half: if plan.quick { 1 } else { LEAST / 2 },
        })
    }

    fn name(&self) -> &'static str {
        "sleeps and wakeups"
    }

    fn lasts(&self) -> ProbeDuration {
        ProbeDuration {
            begin: PASS * self.half as u32,
            measure: PASS * self.half as u32,
        }
    }

    /// Runs half of the passes before all other probes, because the cost after a sleep changes from minute to minute.
    fn begin(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        self.passes(run.server, self.half)
    }

    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        self.passes(run.server, 2 * self.half)
    }

    fn fit(&self, _: &Plan, _: &mut Tracker, parameters: &mut ServerParameters) {
        let Some(transport) = &mut parameters.transport else {
            return;
        };
        if self.passes.is_empty() {
            return;
        }
        points::replies_and_events(&self.passes, transport);
        transport.after_sleep = points::after_sleep(&self.passes, sleeps());
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, TransportCosts};

    use super::Wakeups;
    use crate::plan::Plan;
    use crate::simulated::{calibrated, truth};

    fn close(found: Micros, expected: Micros, tolerance: f64) {
        let off = (found.0 - expected.0).abs();
        assert!(off <= tolerance, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn wakeup_costs_are_recovered() {
        let found = calibrated::<Wakeups>(&truth(), &Plan::default());
        let found = found.transport.unwrap();
        check(&found);
    }

    /// Checks the recovered costs against the simulated server's.
    fn check(found: &TransportCosts) {
        let truth = truth().transport.unwrap();
        assert_eq!(found.after_sleep.len(), truth.after_sleep.len());
        for (found, truth) in found.after_sleep.iter().zip(&truth.after_sleep) {
            close(found.asleep_us, truth.asleep_us, 0.01);
            // A NoOperation is a hundredth of a microsecond.
            close(found.wakeup_us, truth.wakeup_us, 0.02);
            close(found.connection_us, truth.connection_us, 0.1);
            let (found, truth) = (found.megapixel_us.unwrap(), truth.megapixel_us.unwrap());
            close(found, truth, 0.2);
        }
        // The cost of a reply within a batch, including its request.
        close(found.reply.cpu_us.unwrap(), Micros(0.05 + 0.0168), 0.02);
        close(
            found.event.cpu_us.unwrap(),
            truth.event.cpu_us.unwrap(),
            0.2,
        );
    }
}
