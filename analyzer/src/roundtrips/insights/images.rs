//! Pictures that go through the connection where MIT-SHM would pass them in memory: GetImage and PutImage.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control, Direction};

use super::{Context, Finding, GROUPS, Groups, Insight, Saving, remember};
use crate::pipeline::Observation;
use crate::round_trips::Answer;
use crate::round_trips::arrival::Arrival;

/// Smaller pictures are not worth a segment of their own, in bytes.
const LARGE: u64 = 64 << 10;

#[derive(Debug, Default)]
struct Pictures {
    count: u64,
    bytes: u64,
    /// The time from the first byte to the last.
    crossing: u64,
    most: u64,
    /// Requests whose reply a client waited for.
    requests: Vec<SequenceNumber>,
}

impl Pictures {
    fn add(&mut self, bytes: u64, crossing: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.crossing += crossing;
        self.most = self.most.max(bytes);
    }
}

/// A client on the server's machine.
#[derive(Debug, Default)]
struct LocalClient {
    sending: Arrival,
    /// The server has MIT-SHM.
    can: bool,
}

/// Counts large pictures of clients that could share memory with the server.
#[derive(Debug, Default)]
pub(super) struct Images {
    local: FxHashMap<ConnectionId, LocalClient>,
    pictures: Groups<Symbol, Pictures>,
}

impl Insight for Images {
    fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, Control::Opened(opened))
                if opened.transport != "tcp" && self.local.len() < GROUPS =>
            {
                self.local.insert(opened.connection, LocalClient::default());
            }
            Observation::BlockStart(block) if block.direction == Direction::ToServer => {
                if let Some(client) = self.local.get_mut(&block.connection) {
                    client.sending.block(block);
                }
            }
            Observation::BlockEnd(block) if block.direction == Direction::ToServer => {
                if let Some(client) = self.local.get_mut(&block.connection) {
                    client.sending.end();
                }
            }
            Observation::Message(seen) => {
                let Some(client) = self.local.get_mut(&seen.connection) else {
                    return;
                };
                match seen.message {
                    Message::Request(request) => {
                        client.can = seen.extensions.by_name("MIT-SHM").is_some();
                        let bytes = request.wire_len.saturating_mul(seen.times);
                        let began = client.sending.message(bytes);
                        if request.name.as_str() == "PutImage"
                            && request.wire_len >= LARGE
                            && client.can
                        {
                            let crossing = began.map_or(0, |began| {
                                seen.time.as_nanos().saturating_sub(began.as_nanos())
                            });
                            if let Some(pictures) = self.pictures.of(seen.connection, request.name)
                            {
                                pictures.add(request.wire_len, crossing);
                            }
                        }
                    }
                    Message::ClientSetup(setup) => {
                        client.sending.message(setup.wire_len);
                    }
                    Message::Malformed(bytes) => {
                        client.sending.message(bytes.wire_len);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &Answer<'_>, _: &Context<'_>) {
        let Some(reply) = answer.reply else { return };
        if answer.question.name.as_str() == "GetImage"
            && reply.wire_len >= LARGE
            && self
                .local
                .get(&answer.client)
                .is_some_and(|client| client.can)
            && let Some(pictures) = self.pictures.of(answer.client, answer.question.name)
        {
            pictures.add(reply.wire_len, answer.time.saturating_sub(answer.began));
            if answer.how.is_round_trip() {
                remember(&mut pictures.requests, [answer.question.sequence]);
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, name, pictures): (ConnectionId, Symbol, &Pictures)| {
            let (shared, call) = match name.as_str() {
                "GetImage" => ("MIT-SHM:GetImage", "XShmGetImage"),
                _ => ("MIT-SHM:PutImage", "XShmPutImage"),
            };
            Finding {
                kind: "images",
                client,
                request: name,
                count: pictures.count,
                action: format!(
                    "Use {shared} ({call}), not {name}: it sent {}, which would stay in shared memory",
                    megabytes(pictures.bytes)
                ),
                why: format!(
                    "{} {name}, {} at most; {:.1} ms from their first bytes to their last; on one machine only",
                    pictures.count,
                    megabytes(pictures.most),
                    pictures.crossing as f64 / 1e6,
                ),
                saves: Saving {
                    round_trips: 0,
                    bytes: pictures.bytes.saturating_sub(pictures.count * 40),
                    nanos: pictures.crossing,
                    waits: pictures.requests.clone(),
                },
            }
        };
        self.pictures.all().map(found).collect()
    }
}

fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    match megabytes < 10.0 {
        true => format!("{megabytes:.1} MB"),
        false => format!("{megabytes:.0} MB"),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Control, Direction, ExtensionOpcodes};

    use super::Images;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    #[test]
    fn a_large_picture_could_have_been_shared() {
        let mut trace = Synthetic::new();
        let extension = ExtensionOpcodes {
            name: "MIT-SHM".to_owned(),
            major: 130,
            first_event: 0,
            first_error: 0,
        };
        trace.control(Control::Extensions {
            extensions: vec![extension],
        });
        trace.client_sends(&[request(73, 2, &[ROOT, 0, 0, 0])]);
        let mut answer = reply(1);
        answer[4..8].copy_from_slice(&(100_000_u32 / 4).to_le_bytes());
        answer.resize(32 + 100_000, 0);
        let (first, rest) = answer.split_at(40_000);
        trace.wait(100).block(Direction::ToClient, first);
        trace.wait(300).block(Direction::ToClient, rest);
        let found = findings(&trace, Images::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].saves.nanos, 300_000);
        assert_eq!(found[0].saves.bytes, 100_032 - 40);
        assert!(found[0].action.contains("XShmGetImage"), "{found:?}");
    }
}
