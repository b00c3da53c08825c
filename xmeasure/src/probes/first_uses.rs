//! How much dearer than usual a request is that has not run for a while. What is usual are small
//! requests that end with their own handler. Input and cursors run through much more of a server
//! (devices, grabs, focus, the sprite, and what its block handlers do for them), all of it cold, and a
//! stream of them shows none of that: so each is measured behind sleeps by itself.

mod requests;

use std::io;
use std::thread;
use std::time::Duration;

use x11prof_cost_model::{Micros, Point, RequestCosts};
use x11prof_session::Operation;
use x11rb_protocol::protocol::xproto::GetInputFocusRequest;

use crate::error::MeasureError;
use crate::fit;
use crate::plan::Plan;
use crate::probes::mixed_requests::{Motley, motley};
use crate::probes::transport::rounded;
use crate::sampling::busy_client::Bustle;
use crate::sampling::live::LiveServer;
use crate::sampling::statistics::midmean;
use crate::server::client::Stage;
use crate::server::tracker::Mirror;
use crate::server::wire::{core, no_operation};

use self::requests::Requests;
use super::batch::{Batch, Repeated};
use super::wakeups::HANDLING;

/// The sleep behind which they are measured, and what is waited before that: a viewer is sent what it is to see,
/// which has prices of its own.
const SLEEP: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(30);
/// How often each is measured, and in a quick calibration.
const TIMES: usize = 10;
const QUICK: usize = 3;
/// So often the two of a kind in a stream: what is quick there gets its price from this.
const ON_END: usize = 64;

/// These requests, and what is usual.
pub(crate) struct FirstUses {
    nothing: Timed,
    /// What a reply costs beside, of a request that is as usual.
    question: Timed,
    usual: Timed,
    /// Those that are answered, and those that are not.
    questions: Vec<Timed>,
    kinds: Vec<Timed>,
    /// What sets the scene, and what puts everything back.
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    bustle: Bustle,
}

/// Requests behind sleeps, each by itself, and what they take in a stream of them all, in microseconds.
struct Timed {
    each: Vec<Batch>,
    all: Repeated,
    cold: Vec<f64>,
    warm: Vec<f64>,
}

impl Timed {
    fn new(each: Vec<Batch>, all: Repeated) -> Timed {
        Timed {
            each,
            all,
            cold: Vec::new(),
            warm: Vec::new(),
        }
    }

    /// One batch of these requests.
    fn together(requests: &[Vec<u8>], answers: u64) -> Timed {
        let batch = || Batch::once(requests.concat(), requests.len(), answers);
        Timed::new(vec![batch()], Repeated::new(batch()))
    }

    /// Requests that undo each other, each behind a sleep of its own.
    fn apart(requests: &[Vec<u8>]) -> Timed {
        let one = |bytes: &Vec<u8>| Batch::once(bytes.clone(), 1, 0);
        let all = Batch::once(requests.concat(), requests.len(), 0);
        let each = requests.iter().map(one).collect();
        Timed::new(each, Repeated::on_end(all, ON_END))
    }

    /// Reads it once more: all of it in a stream, and then behind a `pause`.
    fn read(&mut self, server: &mut LiveServer, mut pause: impl FnMut()) -> io::Result<()> {
        self.warm.extend(self.all.streamed(server)?);
        for one in &self.each {
            thread::sleep(LATER);
            self.cold.extend(one.after(server, &mut pause)?);
        }
        thread::sleep(LATER);
        Ok(())
    }

    /// What one batch takes in a stream.
    fn price(&self) -> Option<f64> {
        let warm = midmean(self.warm.iter().copied())?;
        Some(warm / self.each.len() as f64)
    }

    /// What one costs behind a sleep beyond that.
    fn colder(&self) -> Option<f64> {
        Some(midmean(self.cold.iter().copied())? - self.price()?)
    }
}

impl FirstUses {
    /// About how long measuring them takes.
    pub(crate) fn lasts(&self, plan: &Plan) -> Duration {
        let known = [&self.nothing, &self.question, &self.usual];
        let all = known.into_iter().chain(&self.questions).chain(&self.kinds);
        let pauses: usize = all.map(|timed| timed.each.len() + 1).sum();
        (LATER + SLEEP) * u32::try_from(pauses * times(plan)).unwrap_or(u32::MAX)
    }

    /// Prepares those that `plan` wants.
    pub(crate) fn new(stage: &mut Stage, plan: &Plan) -> Result<FirstUses, MeasureError> {
        let property = stage.atom("X11PROF_TRANSPORT")?;
        let unseen = stage.like_the_screen()?;
        let Motley { silent, answered } = motley(stage, unseen, property)?;
        let answers = answered.len() as u64;
        let usual: Vec<_> = silent.into_iter().chain(answered).collect();
        let Requests {
            before,
            questions,
            pairs,
            after,
        } = Requests::new(stage, plan)?;
        let questions = questions.into_iter();
        Ok(FirstUses {
            nothing: Timed::together(&[no_operation(1)], 0),
            question: Timed::together(&[core(GetInputFocusRequest)], 1),
            usual: Timed::together(&usual, answers),
            questions: questions.map(|it| Timed::together(&[it], 1)).collect(),
            kinds: pairs.iter().map(|both| Timed::apart(both)).collect(),
            before,
            after,
            bustle: Bustle::new(),
        })
    }

    /// Measures them, and writes to the `entries` of a file how many usual first uses theirs are; what has
    /// no entry yet gets one. Nothing where the server's processor time cannot be read.
    pub(crate) fn measure(
        mut self,
        server: &mut LiveServer,
        mirror: &mut Mirror,
        plan: &Plan,
        entries: &mut Vec<RequestCosts>,
    ) -> io::Result<()> {
        let FirstUses {
            nothing,
            question,
            usual,
            questions,
            kinds,
            before,
            after,
            bustle,
        } = &mut self;
        if questions.is_empty() && kinds.is_empty() {
            return Ok(());
        }
        if let Some(before) = before {
            server.behind(|| {}, before, 1, 0)?;
        }
        for _ in 0..times(plan) {
            let mut pause = || {
                bustle.work(HANDLING);
                thread::sleep(SLEEP);
            };
            let known = [&mut *nothing, question, usual];
            let all = known.into_iter().chain(&mut *questions);
            for timed in all.chain(&mut *kinds) {
                timed.read(server, &mut pause)?;
            }
        }
        if let Some(after) = after {
            server.behind(|| {}, after, 1, 0)?;
        }
        let each = usual.all.once.requests as f64;
        let (Some(nothing), Some(question), Some(usual)) =
            (nothing.colder(), question.colder(), usual.colder())
        else {
            return Ok(());
        };
        let usual = (usual - nothing) / each;
        // The question is a first use of its own.
        let questions = questions.iter().map(|kind| (kind, question - usual));
        let all = questions.chain(kinds.iter().map(|kind| (kind, nothing)));
        for (kind, without) in all.filter(|_| usual > 0.0) {
            let operations = mirror.client(&kind.all.once.bytes);
            let (Some(operation), Some(colder), Some(price)) =
                (operations.first(), kind.colder(), kind.price())
            else {
                continue;
            };
            let entry = entry_of(entries, operation, price);
            entry.first_uses = Some(rounded(((colder - without) / usual).max(0.0), 3));
        }
        Ok(())
    }
}

/// How often each is measured.
fn times(plan: &Plan) -> usize {
    if plan.quick { QUICK } else { TIMES }
}

/// The entry of an operation, made where there is none.
fn entry_of<'a>(
    entries: &'a mut Vec<RequestCosts>,
    operation: &Operation,
    price: f64,
) -> &'a mut RequestCosts {
    let (name, attributes) = (operation.request.as_str(), fit::attributes(operation));
    let known = |it: &RequestCosts| it.name == name && it.attributes == attributes;
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
