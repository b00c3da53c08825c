//! The extra cost of a request that has not run for a while, compared with usual ones. Usual are small requests that
//! end with their own handler. Input and cursors run through much more of a server (devices, grabs, focus, the sprite,
//! and their work in block handlers), all of it cold. A stream of requests hides the cost, so each is measured alone
//! after sleeps.

mod requests;

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Micros, Point, RequestCosts, ServerParameters};
use x11prof_session::Operation;

use self::requests::FirstUseRequests;
use super::mixed_requests::MixedRequests;
use super::wakeups::HANDLING;
use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::fit::entries;
use crate::plan::Plan;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::rounding::rounded;
use crate::sampling::statistics::midmean;
use crate::sampling::streamed::Streamed;
use crate::server::client::Client;
use crate::server::tracker::Tracker;
use crate::server::wire::{input_focus, no_operation};

/// The sleep before each measurement. In the wait before that, a viewer gets its updates, which have prices of their
/// own.
const SLEEP: Duration = Duration::from_millis(10);
const SHOWN: Duration = Duration::from_millis(30);
/// The number of measurements of each request, and in a quick calibration.
const TIMES: usize = 10;
const QUICK: usize = 3;
/// The number of pairs of a kind in a stream, which gives the price of cheap requests.
const STREAMED: usize = 64;

/// These requests, and the usual ones.
pub(crate) struct FirstUses {
    nothing: Timed,
    /// A question, for the cost of a reply.
    question: Timed,
    usual: Timed,
    /// Requests with answers, and pairs of requests without.
    questions: Vec<Timed>,
    pairs: Vec<Timed>,
    /// The first batch, and the batch that restores everything.
    before: Option<Batch>,
    after: Option<Batch>,
    /// The number of measurements of each request.
    times: usize,
}

/// Requests after sleeps, each alone, and their time in a stream of them all, in microseconds.
struct Timed {
    each: Vec<Batch>,
    all: Streamed,
    cold: Vec<f64>,
    streamed: Vec<f64>,
}

impl Timed {
    fn new(each: Vec<Batch>, all: Streamed) -> Timed {
        Timed {
            each,
            all,
            cold: Vec::new(),
            streamed: Vec::new(),
        }
    }

    /// One batch.
    fn together(batch: Batch) -> Timed {
        Timed::new(vec![batch.clone()], Streamed::new(batch))
    }

    /// Requests that undo each other, each after its own sleep.
    fn apart([there, back]: [Vec<u8>; 2]) -> Timed {
        let each = [there, back].map(|bytes| Batch::single(bytes, false));
        let [there, back] = &each;
        let both = there.then(back);
        Timed::new(each.into(), Streamed::repeated(both, STREAMED))
    }

    /// Reads the times once more: all requests in a stream, and then after a pause.
    fn read(&mut self, server: &mut dyn Executor) -> io::Result<()> {
        self.streamed.extend(self.all.streamed(server)?);
        for one in &self.each {
            server.pause(&[Pause::Sleep(SHOWN)]);
            let pause = [Pause::Work(HANDLING), Pause::Sleep(SLEEP)];
            self.cold.extend(server.after(&pause, one)?);
        }
        server.pause(&[Pause::Sleep(SHOWN)]);
        Ok(())
    }

    /// The time of one batch in a stream.
    fn price(&self) -> Option<f64> {
        let streamed = midmean(self.streamed.iter().copied())?;
        Some(streamed / self.each.len() as f64)
    }

    /// The extra time of one request after a sleep.
    fn colder(&self) -> Option<f64> {
        Some(midmean(self.cold.iter().copied())? - self.price()?)
    }
}

impl FirstUses {
    /// All of them, the known ones first.
    fn all_mut(&mut self) -> impl Iterator<Item = &mut Timed> {
        let known = [&mut self.nothing, &mut self.question, &mut self.usual];
        let all = known.into_iter().chain(&mut self.questions);
        all.chain(&mut self.pairs)
    }
}

impl Probe for FirstUses {
    fn prepare(client: &mut Client, plan: &Plan) -> Result<FirstUses, MeasureError> {
        let property = client.atom("X11PROF_TRANSPORT")?;
        let unseen = client.like_the_screen()?;
        let mixed = MixedRequests::new(client, unseen, property)?;
        let FirstUseRequests {
            before,
            questions,
            pairs,
            after,
        } = FirstUseRequests::new(client, plan)?;
        let question = |bytes| Timed::together(Batch::single(bytes, true));
        let silent = |bytes| Batch::single(bytes, false);
        Ok(FirstUses {
            nothing: Timed::together(silent(no_operation(1))),
            question: question(input_focus()),
            usual: Timed::together(mixed.together()),
            questions: questions.into_iter().map(question).collect(),
            pairs: pairs.into_iter().map(Timed::apart).collect(),
            before: before.map(silent),
            after: after.map(silent),
            times: if plan.quick { QUICK } else { TIMES },
        })
    }

    fn name(&self) -> &'static str {
        "first uses"
    }

    fn lasts(&self) -> ProbeDuration {
        let known = [&self.nothing, &self.question, &self.usual];
        let all = known.into_iter().chain(&self.questions).chain(&self.pairs);
        let pauses: usize = all.map(|timed| timed.each.len() + 1).sum();
        let pauses = u32::try_from(pauses * self.times).unwrap_or(u32::MAX);
        ProbeDuration::once((SHOWN + SLEEP) * pauses)
    }

    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        if self.questions.is_empty() && self.pairs.is_empty() {
            return Ok(());
        }
        if let Some(before) = &self.before {
            run.server.after(&[], before)?;
        }
        for _ in 0..self.times {
            for timed in self.all_mut() {
                timed.read(run.server)?;
            }
        }
        if let Some(after) = &self.after {
            run.server.after(&[], after)?;
        }
        Ok(())
    }

    /// Writes into each entry the number of usual first uses that its own costs; requests without an entry get one.
    /// Writes nothing if the server's processor time cannot be read.
    fn fit(&self, _: &Plan, tracker: &mut Tracker, parameters: &mut ServerParameters) {
        let each = self.usual.all.once.requests as f64;
        let (Some(nothing), Some(question), Some(usual)) = (
            self.nothing.colder(),
            self.question.colder(),
            self.usual.colder(),
        ) else {
            return;
        };
        let usual = (usual - nothing) / each;
        // The question itself is a first use.
        let questions = self.questions.iter().map(|kind| (kind, question - usual));
        let all = questions.chain(self.pairs.iter().map(|kind| (kind, nothing)));
        for (kind, without) in all.filter(|_| usual > 0.0) {
            let operations = tracker.sent(&kind.all.once.bytes);
            let (Some(operation), Some(colder), Some(price)) =
                (operations.first(), kind.colder(), kind.price())
            else {
                continue;
            };
            let entry = entry_of(&mut parameters.requests, operation, price);
            entry.first_uses = Some(rounded(((colder - without) / usual).max(0.0), 3));
        }
    }
}

/// The entry of an operation, made where there is none.
fn entry_of<'a>(
    entries: &'a mut Vec<RequestCosts>,
    operation: &Operation,
    price: f64,
) -> &'a mut RequestCosts {
    let (name, attributes) = (operation.request.as_str(), entries::attributes(operation));
    let known = |entry: &RequestCosts| entry.name == name && entry.attributes == attributes;
    let at = entries.iter().position(known).unwrap_or_else(|| {
        let point = Point {
            size: operation.op_size,
            cpu_us: Some(Micros(rounded(price.max(0.0), 4))),
            ..Point::default()
        };
        entries.push(RequestCosts {
            name: name.to_owned(),
            attributes,
            points: vec![point],
            ..RequestCosts::default()
        });
        entries.len() - 1
    });
    &mut entries[at]
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::FirstUses;
    use crate::plan::Plan;
    use crate::simulated::{calibrated, truth};

    #[test]
    fn first_uses_are_found_again() {
        let mut truth = truth();
        // The write of answers counts as a part of a usual first use.
        if let Some(flush) = truth
            .transport
            .as_mut()
            .and_then(|transport| transport.flush.as_mut())
        {
            flush.cpu_us = Some(Micros::ZERO);
        }
        let names = ["GetModifierMapping", "WarpPointer"];
        let plan = Plan {
            intrusive: true,
            only: names.map(str::to_owned).into(),
            ..Plan::default()
        };
        let found = calibrated::<FirstUses>(&truth, &plan);
        assert_eq!(found.requests.len(), names.len());
        for name in names {
            let of = |all: &[x11prof_cost_model::RequestCosts]| {
                let entry = all.iter().find(|entry| entry.name == name).unwrap();
                (entry.first_uses.unwrap(), entry.points[0].cpu_us.unwrap().0)
            };
            let (found, truth) = (of(&found.requests), of(&truth.requests));
            assert!((found.0 - truth.0).abs() < 0.1, "{name}: {found:?}");
            // The price includes transport, for the request has no entry from the passes.
            assert!((found.1 - truth.1).abs() < 0.2, "{name}: {found:?}");
        }
    }
}
