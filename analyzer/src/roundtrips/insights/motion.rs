//! Round trips while the pointer moves: each MotionNotify causes the client to send requests with replies.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control};

use super::{AvoidableTrips, Context, Finding, GROUPS, Groups, Insight, Names, is_motion};
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::CompletedRequest;
use crate::text::units::counted;

/// A request belongs to a motion if it follows the motion, or the previous reply, within this time, in nanoseconds.
const NEAR: u64 = 20_000_000;
/// Minimum number of motion events with round trips for a finding.
const EVENTS: u64 = 5;

#[derive(Debug, Default)]
struct MotionReplies {
    waits: AvoidableTrips,
    names: Names,
}

#[derive(Debug, Default)]
struct Pointer {
    events: u64,
    /// The time of the last motion, or of the last reply that the motion caused, in nanoseconds.
    last: u64,
}

/// Counts the round trips of each client while the pointer moves.
#[derive(Debug, Default)]
pub(super) struct Motion {
    pointers: FxHashMap<ConnectionId, Pointer>,
    answers: Groups<(), MotionReplies>,
}

impl Motion {
    fn message(&mut self, seen: &MessageContext<'_>) {
        let known = self.pointers.contains_key(&seen.connection);
        if is_motion(seen) && (known || self.pointers.len() < GROUPS) {
            let pointer = self.pointers.entry(seen.connection).or_default();
            pointer.events += 1;
            pointer.last = seen.time.as_nanos();
        } else if known
            && let Message::Event(event) = seen.message
            // Keys and buttons: a round trip after one is for that.
            && (2..=5).contains(&event.code)
            && let Some(pointer) = self.pointers.get_mut(&seen.connection)
        {
            pointer.last = 0;
        }
    }
}

impl Insight for Motion {
    fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Control(_, Control::Closed { connection, .. }) => {
                if let Some(pointer) = self.pointers.get_mut(connection) {
                    pointer.last = 0;
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let Some(pointer) = self.pointers.get_mut(&answer.client) else {
            return;
        };
        let since = answer.question.requested_at.saturating_sub(pointer.last);
        if !answer.how.is_round_trip() || since > NEAR {
            return;
        }
        pointer.last = pointer.last.max(answer.time);
        if let Some(answers) = self.answers.of(answer.client, ()) {
            answers.waits.add(answer);
            answers.names.add(answer.question.name);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let storm = |answers: &MotionReplies, client: &ConnectionId| {
            let events = self.pointers.get(client).map_or(0, |one| one.events);
            (events >= EVENTS && answers.waits.round_trips * 2 >= events).then_some(events)
        };
        let all: Vec<_> = self
            .answers
            .all()
            .filter_map(|(client, (), answers)| Some((client, answers, storm(answers, &client)?)))
            .collect();
        let clients = all.len();
        let found = |(client, answers, events): (ConnectionId, &MotionReplies, u64)| Finding {
            kind: "motion",
            client,
            request: answers
                .names
                .first()
                .map_or_else(|| Symbol::new("MotionNotify"), |(name, _)| name),
            count: answers.waits.round_trips,
            action: format!(
                "Send no request with a reply when the pointer moves: {events} motion events caused {}",
                counted(answers.waits.round_trips, "round trip")
            ),
            why: format!(
                "{:.1} for each event: {}; the event has the position, and the other replies can be stored{}",
                answers.waits.round_trips as f64 / events as f64,
                answers.names.list(),
                match clients {
                    1 => String::new(),
                    _ => format!("; {clients} clients send such requests"),
                }
            ),
            saves: answers.waits.saving(0),
        };
        all.into_iter().map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Motion;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    #[test]
    fn round_trips_after_motion_events_add_up() {
        let mut trace = Synthetic::new();
        for number in 0..6 {
            let mut motion = expose(2 * number);
            motion[0] = 6;
            trace.wait(90_000).server_sends(&[motion]);
            for question in 1..=2 {
                trace.wait(100).client_sends(&[request(38, 0, &[ROOT])]);
                trace
                    .wait(100)
                    .server_sends(&[reply(2 * number + question)]);
            }
        }
        // A much later request has another cause.
        trace.wait(90_000).client_sends(&[query_font()]);
        trace.wait(100).server_sends(&[reply(13)]);
        let found = findings(&trace, Motion::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].saves.round_trips, 12);
        assert!(
            found[0]
                .action
                .ends_with("6 motion events caused 12 round trips"),
            "{found:?}"
        );
    }
}
