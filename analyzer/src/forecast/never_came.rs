//! Replies and file descriptors that a client still waited for when its connection or the recording ended.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{Block, ConnectionId, Control};

use crate::pipeline::{MessageContext, Observation};

/// A wait shorter than this, in nanoseconds, is not reported: the recording may have ended before the reply was due.
const LONG: u64 = 1_000_000_000;
/// Maximum number of open requests tracked for a client, and of lost descriptors. Further ones are not reported.
const OPEN: usize = 4096;
/// The requests whose replies contain file descriptors. The second byte of the reply is the number of descriptors (DRI3
/// and MIT-SHM protocols).
const WITH_DESCRIPTORS: [&str; 5] = [
    "DRI3:Open",
    "DRI3:BufferFromPixmap",
    "DRI3:BuffersFromPixmap",
    "DRI3:FDFromFence",
    "MIT-SHM:CreateSegment",
];

/// A reply, or a reply's file descriptor, that a client waited for and never received. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeverCame {
    /// The number of the connection of the client that waited.
    pub connection: u32,
    /// The name of the request.
    pub request: String,
    /// The missing object: `reply` or `descriptor`.
    pub missing: String,
    /// The time of the request, in milliseconds since the trace's first record.
    pub since_ms: f64,
    /// The time in milliseconds from the request to the end of the connection or of the recording.
    pub waited_ms: f64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    sequence: SequenceNumber,
    request: Symbol,
    at: u64,
    /// True if the reply arrived, but without its descriptor.
    came: bool,
}

/// Tracks the requests whose replies have not arrived.
#[derive(Debug, Default)]
pub(super) struct Missing {
    open: FxHashMap<ConnectionId, VecDeque<Open>>,
    lost: Vec<(ConnectionId, Open, u64)>,
    /// The last reply of the current block that has descriptors, and the number of descriptors.
    owed: Option<(Open, u32)>,
    first: u64,
    last: u64,
}

impl Missing {
    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(time, control) => self.control(time.as_nanos(), control),
            Observation::BlockStart(block) => {
                self.owed = None;
                self.last = block.time.as_nanos();
            }
            Observation::Message(seen) => self.message(seen),
            Observation::BlockEnd(block, _) => self.descriptors(block),
            _ => {}
        }
    }

    fn control(&mut self, time: u64, control: &Control) {
        if self.first == 0 {
            self.first = time;
        }
        self.last = time;
        if let Control::Closed { connection, .. } = control
            && let Some(open) = self.open.remove(connection)
            && let Some(oldest) = open.front()
            && self.lost.len() < OPEN
        {
            self.lost.push((*connection, *oldest, time));
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        match seen.message {
            // The replies to this request continue until its connection ends (RECORD, "EnableContext").
            Message::Request(request)
                if request.has_reply && request.name.as_str() != "RECORD:EnableContext" =>
            {
                let open = self.open.entry(seen.connection).or_default();
                if open.len() < OPEN {
                    open.push_back(Open {
                        sequence: request.sequence,
                        request: request.name,
                        at: seen.time.as_nanos(),
                        came: false,
                    });
                }
            }
            Message::Reply(reply) if reply.last => {
                let answered = self.answered(seen.connection, reply.sequence);
                let has = |open: &Open| WITH_DESCRIPTORS.contains(&open.request.as_str());
                let number = reply.bytes.get(1).copied().unwrap_or(0);
                self.owed = answered.filter(has).map(|open| (open, u32::from(number)));
            }
            Message::Error(error) => {
                self.answered(seen.connection, error.sequence);
            }
            _ => {}
        }
    }

    fn answered(&mut self, client: ConnectionId, sequence: SequenceNumber) -> Option<Open> {
        let open = self.open.get_mut(&client)?;
        let mut last = None;
        while let Some(first) = open.pop_front_if(|first| first.sequence <= sequence) {
            last = Some(first).filter(|first| first.sequence == sequence);
        }
        last
    }

    fn descriptors(&mut self, block: &Block) {
        if let Some((open, number)) = self.owed.take()
            && u32::from(block.fds) < number
            && let Some(waiting) = self.open.get_mut(&block.connection)
        {
            // The client still waits, so the reply counts as missing.
            waiting.push_front(Open { came: true, ..open });
        }
    }

    /// The replies and descriptors that never arrived, the longest wait first.
    pub(super) fn report(&self) -> Vec<NeverCame> {
        let open = self.open.iter();
        let open = open.filter_map(|(client, open)| Some((*client, *open.front()?, self.last)));
        let all = self.lost.iter().copied().chain(open);
        let mut found: Vec<NeverCame> = all
            .filter(|(_, open, until)| until.saturating_sub(open.at) >= LONG)
            .map(|(client, open, until)| NeverCame {
                connection: client.0,
                request: open.request.to_string(),
                missing: if open.came { "descriptor" } else { "reply" }.to_owned(),
                since_ms: open.at.saturating_sub(self.first) as f64 / 1e6,
                waited_ms: until.saturating_sub(open.at) as f64 / 1e6,
            })
            .collect();
        found.sort_by(|a, b| b.waited_ms.total_cmp(&a.waited_ms));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Missing;
    use crate::pipeline::Pipeline;
    use crate::testing::*;

    #[test]
    fn missing_reply_is_found_unless_recording_just_ended() {
        let found = |silence| {
            let mut trace = Synthetic::new();
            trace.wait(10).client_sends(&[query_font()]);
            trace.wait(50).server_sends(&[reply(1)]);
            trace.wait(10).client_sends(&[query_font()]);
            trace.wait(silence).end();
            let mut missing = Missing::default();
            let records = trace.records.iter().cloned();
            Pipeline::new().run_records(records, |observation| missing.observe(observation));
            missing.report()
        };
        assert_eq!(found(10_000), []);
        let waits = found(2_000_000);
        assert_eq!(waits.len(), 1);
        assert_eq!(
            (waits[0].request.as_str(), waits[0].waited_ms),
            ("QueryFont", 2000.0)
        );
    }
}
