//! Computes the cost of a request from the time of its handler. A handler also creates replies and events, which count
//! as transport. The server reads and dispatches a request outside of the handler.

use x11prof_cost_model::Clock;

use crate::fit::transport::Transport;
use crate::sampling::handlers::Handled;
use crate::sampling::job::Job;
use crate::sampling::readings::Readings;
use crate::sampling::statistics::estimate;
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::{Phase, Sync};

/// Length of a reply without data, in bytes.
const HEAD: f64 = 32.0;

/// The cost of transport within handlers, and of work outside of them, in microseconds.
pub(crate) struct HandlerTransport {
    /// The time of the handler of NoOperation, which does no work, in microseconds.
    nothing: f64,
    /// The time for creating a reply of 32 bytes, in microseconds.
    reply: f64,
    /// The time for creating an event, in microseconds.
    event: f64,
    /// Points of the time for writing a reply's data within the handler: the number of bytes, and the time in
    /// microseconds.
    written: Vec<(f64, f64)>,
    /// Points of the time for reading and dispatching a request outside of the handler: the number of bytes of the
    /// request, and the time in microseconds without the cost of these bytes.
    outside: Vec<(f64, f64)>,
}

impl HandlerTransport {
    /// Computes the costs from the readings of the transport loads; `None` if a load has no handler times.
    pub(crate) fn new(readings: &Readings, transport: &Transport) -> Option<HandlerTransport> {
        let loads = &readings.transport;
        let nothing = loads.no_operation.handler_time()?;
        let short = loads.short_reply.handler_time()?;
        let more = |one: f64, other: f64| (one - other).max(0.0);
        let written = loads.long_replies.iter().filter_map(|longer| {
            Some((longer.more_bytes, more(longer.load.handler_time()?, short)))
        });
        let long = loads.long_no_operations.iter().map(|longer| &longer.load);
        let outside = [&loads.no_operation].into_iter().chain(long);
        Some(HandlerTransport {
            nothing,
            reply: more(loads.input_focus.handler_time()?, nothing),
            event: more(
                loads.notified_change.handler_time()?,
                loads.unwatched_change.handler_time()?,
            ),
            written: [(0.0, 0.0)].into_iter().chain(written).collect(),
            outside: outside
                .filter_map(|job| outside_of(job, transport))
                .collect(),
        })
    }

    /// The cost of a request in microseconds, as defined in the crate's documentation: the time of the handler without
    /// its transport, plus the work outside of the handler. `answers` are the replies to one unit of `phase`.
    pub(crate) fn beyond_transport(
        &self,
        handler: f64,
        phase: &Phase,
        answers: &ReceivedMessages,
    ) -> f64 {
        let requests = f64::from(phase.requests.max(1));
        let replies = answers.replies as f64;
        let data = (answers.reply_bytes as f64 - HEAD * replies) / replies.max(1.0);
        let reply = self.reply + between(&self.written, data);
        let events = answers.events as f64 / requests;
        let transport = self.nothing + replies / requests * reply + events * self.event;
        handler - transport + between(&self.outside, phase.bytes_each())
    }
}

/// Returns the length of a NoOperation in bytes, and its CPU time without the cost of its bytes, in microseconds.
fn outside_of(job: &Job, transport: &Transport) -> Option<(f64, f64)> {
    let figures = &transport.centre;
    let each = job.first().iter();
    let each = each.filter_map(|reading| figures.each(reading, Sync::RoundTrip, Clock::Cpu));
    let bytes = job.load.phases.first()?.bytes_each();
    let time = estimate(&each.collect::<Vec<_>>())?.centre;
    Some((bytes, (time - bytes * figures.byte_read).max(0.0)))
}

/// Interpolates an ascending curve at `x`. Outside the curve, returns the value of the nearest point.
fn between(curve: &[(f64, f64)], x: f64) -> f64 {
    let at = curve.partition_point(|(known, _)| *known < x);
    match (
        at.checked_sub(1).and_then(|at| curve.get(at)),
        curve.get(at),
    ) {
        (Some((low, below)), Some((high, above))) => {
            below + (above - below) * (x - low) / (high - low)
        }
        (Some((_, value)), None) | (None, Some((_, value))) => *value,
        (None, None) => 0.0,
    }
}

/// The times of one kind of request in a phase, in microseconds, one for each pass.
pub(crate) fn of_kind(passes: &[Handled], kind: usize) -> Vec<f64> {
    let times = passes.iter();
    times
        .filter_map(|pass| pass.warm.get(kind).copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{HandlerTransport, between};
    use crate::server::exchange::ReceivedMessages;
    use crate::workloads::workload::{Phase, Sync};

    #[test]
    fn handler_transport_is_subtracted_and_dispatch_added() {
        let transport = HandlerTransport {
            nothing: 0.01,
            reply: 0.05,
            event: 0.2,
            written: vec![(0.0, 0.0), (1000.0, 0.5)],
            outside: vec![(4.0, 0.02), (104.0, 0.12)],
        };
        let phase = Phase::new(vec![vec![0; 54]; 10], Sync::RoundTrip);
        let answers = ReceivedMessages {
            replies: 10,
            reply_bytes: 10 * (32 + 200),
            events: 5,
            ..ReceivedMessages::default()
        };
        let entry = transport.beyond_transport(2.0, &phase, &answers);
        assert!((entry - (2.0 - 0.01 - 0.05 - 0.1 - 0.1 + 0.07)).abs() < 1e-9);
    }

    #[test]
    fn curves_are_constant_beyond_their_ends() {
        let curve = [(1.0, 2.0), (3.0, 4.0)];
        let at = [0.0, 1.0, 2.0, 9.0].map(|x| between(&curve, x));
        assert_eq!(at, [2.0, 2.0, 3.0, 4.0]);
        assert_eq!(between(&[], 1.0), 0.0);
    }
}
