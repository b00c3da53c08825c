//! Properties that a client reads completely in small pieces: each GetProperty reads a part, and the next one continues
//! there.

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Control};

use super::{AvoidableTrips, Context, Finding, GROUPS, Groups, Insight, topic};
use crate::pipeline::Observation;
use crate::round_trips::CompletedRequest;

/// The minimum number of pieces after the first for a finding.
const PIECES: u64 = 2;

#[derive(Debug, Default)]
struct PieceCounts {
    continued: u64,
    waits: AvoidableTrips,
    bytes: u64,
}

/// Finds properties that clients read in pieces.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The window and atom of the property that each client has partly read.
    open: FxHashMap<ConnectionId, (u32, u32)>,
    pieced: Groups<Symbol, PieceCounts>,
}

impl Insight for Pieces {
    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(_, Control::Closed { connection, .. }) = observation {
            self.open.remove(connection);
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>) {
        let question = &answer.question;
        if question.name.as_str() != "GetProperty" {
            return;
        }
        // GetProperty: window, property, type, long-offset, long-length; its reply: bytes-after at 12.
        let (Some(window), Some(atom), Some(reply)) =
            (question.u32(0), question.u32(4), answer.reply)
        else {
            return;
        };
        let goes_on = self.open.remove(&answer.client) == Some((window, atom));
        if goes_on
            && let Some(topic) = topic(context.session, question)
            && let Some(pieced) = self.pieced.of(answer.client, topic)
        {
            pieced.continued += 1;
            pieced.waits.add(answer);
            pieced.bytes += reply.wire_len;
        }
        let left = reply.order.u32(reply.bytes, 12).unwrap_or(0);
        if left > 0 && self.open.len() < GROUPS {
            self.open.insert(answer.client, (window, atom));
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, topic, pieced): (ConnectionId, Symbol, &PieceCounts)| {
            (pieced.continued >= PIECES).then(|| Finding {
                kind: "pieces",
                client,
                request: Symbol::new("GetProperty"),
                count: pieced.continued,
                action: format!(
                    "Read {topic} with one GetProperty that has a large enough long-length"
                ),
                why: format!(
                    "{} GetProperty each read the next part of the property, {:.0} bytes on average",
                    pieced.continued,
                    pieced.bytes as f64 / pieced.continued as f64
                ),
                saves: pieced.waits.saving(pieced.continued * 56),
            })
        };
        self.pieced.all().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    #[test]
    fn property_read_in_pieces_can_be_read_at_once() {
        let mut trace = Synthetic::new();
        for piece in 0..4 {
            let question = request(20, 0, &[ROOT, 23, 0, 8 * piece, 8]);
            trace.wait(10).client_sends(&[question]);
            let mut answer = reply(piece as u16 + 1);
            answer[12] = 3 - piece as u8;
            trace.wait(50).server_sends(&[answer]);
        }
        let found = findings(&trace, Pieces::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (3, 3));
        assert!(found[0].action.contains("RESOURCE_MANAGER"), "{found:?}");
    }
}
