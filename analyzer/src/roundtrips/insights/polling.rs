//! Repeated requests for state that an event reports, such as the position of the pointer or of a window.

use x11prof_protocol::{Message, Symbol};
use x11prof_trace::ConnectionId;

use super::{AvoidableTrips, Context, Finding, Groups, Insight};
use crate::episodes::Trigger;
use crate::episodes::stimulus::Stimulus;
use crate::pipeline::Observation;
use crate::round_trips::CompletedRequest;

/// The number of equal requests from which on they count as a loop.
const LOOP: u64 = 10;
/// A request within this time after an input event is a consequence of the event. In nanoseconds.
const NEAR: u64 = 20_000_000;

/// Requests that programs send in loops, each with the event that reports the same state without a request.
const POLLED: [(&str, &str); 6] = [
    ("QueryPointer", "select XI_RawMotion or PointerMotion"),
    ("XInputExtension:XIQueryPointer", "select XI_RawMotion"),
    (
        "TranslateCoordinates",
        "keep the position that ConfigureNotify reports",
    ),
    ("QueryKeymap", "select XI_RawKeyPress, or read KeymapNotify"),
    (
        "MIT-SCREEN-SAVER:QueryInfo",
        "use an alarm of SYNC on IDLETIME",
    ),
    ("GetSelectionOwner", "select XFixesSelectionNotify"),
];

#[derive(Debug, Default)]
struct Loop {
    count: u64,
    waits: AvoidableTrips,
    first: u64,
    last: u64,
}

/// Counts requests that clients send in loops.
#[derive(Debug, Default)]
pub(super) struct Polling {
    loops: Groups<Symbol, Loop>,
    /// The time of the last input event, in nanoseconds.
    input: Groups<(), u64>,
}

fn instead(name: Symbol) -> Option<&'static str> {
    let known = POLLED.iter().find(|(polled, _)| *polled == name.as_str());
    known.map(|(_, instead)| *instead)
}

impl Insight for Polling {
    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Message(seen) = observation
            && let Message::Event(event) = seen.message
            && Stimulus::of(event).trigger == Trigger::Input
            && let Some(input) = self.input.of(seen.connection, ())
        {
            *input = seen.time.as_nanos();
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let question = &answer.question;
        if instead(question.name).is_none() {
            return;
        }
        if let Some(input) = self.input.of(answer.client, ())
            && question.requested_at.saturating_sub(*input) < NEAR
        {
            return;
        }
        if let Some(polled) = self.loops.of(answer.client, question.name) {
            if polled.count == 0 {
                polled.first = question.requested_at;
            }
            polled.count += 1;
            polled.waits.add(answer);
            polled.last = question.requested_at;
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, name, polled): (ConnectionId, Symbol, &Loop)| {
            let seconds = polled.last.saturating_sub(polled.first) as f64 / 1e9;
            let instead = instead(name).filter(|_| polled.count >= LOOP)?;
            Some(Finding {
                kind: "polling",
                client,
                request: name,
                count: polled.count,
                action: format!("Do not poll {name}: {instead}"),
                why: format!("sent {} times in {seconds:.1} s", polled.count),
                saves: polled.waits.saving(0),
            })
        };
        self.loops.all().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Polling;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    #[test]
    fn query_pointer_loop_is_polling() {
        let mut trace = Synthetic::new();
        for number in 1..=11 {
            trace.wait(99_900).client_sends(&[request(38, 0, &[ROOT])]);
            trace.wait(100).server_sends(&[reply(number)]);
        }
        let found = findings(&trace, Polling::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (11, 11));
        assert_eq!(found[0].why, "sent 11 times in 1.0 s");
    }

    #[test]
    fn requests_after_input_are_no_polling() {
        let mut trace = Synthetic::new();
        for number in 1..=11 {
            let mut key_press = expose(number - 1);
            key_press[0] = 2;
            trace.wait(99_800).server_sends(&[key_press]);
            trace.wait(100).client_sends(&[request(38, 0, &[ROOT])]);
            trace.wait(100).server_sends(&[reply(number)]);
        }
        assert_eq!(findings(&trace, Polling::default()), []);
    }
}
