//! Compares a recording with its replay: the same requests, so that only the received messages can differ.

use super::report::RequestAnswers;
use super::streams::{ClientStream, DisplayStreams, Received};
use super::{Divergence, ReceivedPair};

impl Divergence {
    /// Compares the messages that the clients of a recording received with those of a replay, which sends the same
    /// requests and some of its own.
    pub fn of_replay(recorded: &DisplayStreams, replay: &DisplayStreams) -> Divergence {
        let mut divergence = Divergence {
            left_out: recorded.left_out + replay.left_out,
            is_replay: true,
            ..Divergence::default()
        };
        // The replay's clients connect in the recorded order.
        let connected =
            |client: &ClientStream| client.received.iter().any(|one| one.0 == Received::Setup);
        let all = |streams: &DisplayStreams| -> Vec<usize> {
            let clients = 0..streams.clients.len();
            clients
                .filter(|index| connected(&streams.clients[*index]))
                .collect()
        };
        let mut replayed = all(replay).into_iter();
        for index in all(recorded) {
            match replayed.next() {
                Some(partner) => divergence.pair(recorded, replay, index, partner),
                None => {
                    let name = recorded.clients[index].name.clone();
                    divergence.only_reference.push(name);
                }
            }
        }
        divergence
    }

    /// The replies and errors of a replay by request, those with the most differences first.
    pub(super) fn answers(&self) -> Vec<RequestAnswers> {
        let all = self.answers.iter();
        let all = all.map(|(request, [equal, differ, failed])| RequestAnswers {
            request: (*request).to_owned(),
            equal: *equal,
            differ: *differ,
            failed: *failed,
        });
        let mut all: Vec<RequestAnswers> = all.collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.failed + one.differ));
        all
    }
}

impl ReceivedPair {
    /// Returns true if only the other recording has an error in this place.
    pub(super) fn fails(&self) -> bool {
        match self.replaced {
            Some([(a, _), (b, _)]) => a != Received::Error && b == Received::Error,
            None => self.kind == Received::Error && self.places[0].is_none(),
        }
    }
}
