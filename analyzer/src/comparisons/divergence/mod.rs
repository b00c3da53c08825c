//! Compares one program on two servers: the first request that only one of the recordings has, and the differing
//! messages that the client had received before it.
//!
//! A first pass over each recording reduces each message to a digest ([`DisplayStreams`]). The digests are aligned, and a
//! second pass reads the fields of the few messages that differ ([`MessageDetails`]).

mod alignment;
mod context;
mod details;
mod events;
mod findings;
mod meaning;
mod padding;
mod replay;
mod report;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::Timestamp;

use alignment::{Alignment, Hunk, align};
pub use context::{ContextMessage, ContextRow, DivergenceContext};
pub use details::MessageDetails;
use details::Place;
pub use findings::DifferenceKinds;
use meaning::PairedIds;
pub use report::{
    ClientDivergence, DivergenceReport, MissingReply, ReceivedDifference, RepeatedRequest,
    RequestAnswers, RequestDifference, RequestSide, ServerClosed, UnequalRequests,
};
pub use streams::DisplayStreams;
use streams::{ClientStream, Entry, Received};

use crate::text::units::duration_ms;

/// The maximum number of differences of all clients that are kept. Later ones count as messages that are not compared.
const MOST_DIFFERENCES: u64 = 20_000;
/// Maximum number of requests of a difference that are reported in text form, for each side.
const SHOWN_REQUESTS: usize = 3;
/// The number of equal requests from which a difference is a loop, and the time that they must take: a program may send
/// hundreds at once to draw.
const LOOP: u64 = 100;
const LOOP_TIME: Duration = Duration::from_millis(100);

/// The differences between two recordings, before the fields of the differing messages are read.
#[derive(Debug, Default)]
pub struct Divergence {
    pairs: Vec<ClientPair>,
    only_reference: Vec<String>,
    only_other: Vec<String>,
    drivers: Vec<String>,
    requests: u64,
    left_out: u64,
    /// The reasons for unequal requests, as far as they are known before the report.
    unequal: UnequalRequests,
    ids: PairedIds,
    /// The number of steps of all alignments, which limits their time.
    alignment_steps: u64,
    /// The number of all differences, including those that are not kept.
    differences: u64,
    /// True for a recording and its replay: only received messages are compared.
    is_replay: bool,
    /// For a replay, the numbers of requests whose replies and errors are equal, differ, or are new errors.
    answers: BTreeMap<&'static str, [u64; 3]>,
}

/// A client that both recordings contain.
#[derive(Debug, Default)]
struct ClientPair {
    name: String,
    reference: usize,
    other: usize,
    equal: u64,
    /// The starts of the two recordings.
    starts: [Timestamp; 2],
    requests: Vec<RequestHunk>,
    /// For each side, the request that the program repeats at all differing positions together.
    repeated: [Option<RepeatedRequest>; 2],
    received: Vec<ReceivedPair>,
    waits_for: Option<(Symbol, f64)>,
    closed_by_server: Option<ServerClosed>,
}

/// Requests at one position that only one recording has.
#[derive(Debug)]
struct RequestHunk {
    hunk: Hunk,
    time: Timestamp,
    /// The names of both sides' requests.
    names: BTreeSet<Symbol>,
    sides: [Side; 2],
}

/// The requests of one recording in a hunk.
#[derive(Debug, Default)]
struct Side {
    shown: Vec<(Symbol, Place)>,
    count: u64,
}

/// A received message that differs, or that only one recording has.
#[derive(Debug)]
struct ReceivedPair {
    kind: Received,
    name: Symbol,
    /// The kinds and names of both messages, if one recording has an error in place of a reply.
    replaced: Option<[(Received, Symbol); 2]>,
    places: [Option<Place>; 2],
    hash: u64,
    /// The number of further messages of a flood, beyond the limit of kept differences.
    more: u64,
    /// True for an event that is equal in both recordings, but at another position.
    is_moved: bool,
    /// The number of the client's requests before this message in the reference.
    requests_before: u32,
    time: Timestamp,
}

impl Divergence {
    /// Aligns the messages of two recordings, and compares them. Clients that send input are not compared: how often such
    /// a client looks for a window depends on the other load of the machine.
    pub fn new(reference: &DisplayStreams, other: &DisplayStreams) -> Divergence {
        let drivers = [reference, other].map(DisplayStreams::drivers);
        let drivers: BTreeSet<&str> = drivers[0].intersection(&drivers[1]).copied().collect();
        let is_compared = |client: &ClientStream| !drivers.contains(client.name.as_str());
        let mut divergence = Divergence {
            left_out: reference.left_out + other.left_out,
            drivers: drivers.iter().map(|name| (*name).to_owned()).collect(),
            ..Divergence::default()
        };
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, client) in other.clients.iter().enumerate().rev() {
            if is_compared(client) {
                by_name.entry(&client.name).or_default().push(index);
            }
        }
        for (index, client) in reference.clients.iter().enumerate() {
            if !is_compared(client) {
                continue;
            }
            let partner = by_name.get_mut(client.name.as_str()).and_then(Vec::pop);
            match partner {
                Some(partner) => divergence.pair(reference, other, index, partner),
                None => divergence.only_reference.push(client.name.clone()),
            }
        }
        let rest = by_name.into_values().flatten();
        divergence.only_other = rest
            .map(|index| other.clients[index].name.clone())
            .collect();
        divergence.only_other.sort();
        divergence
    }

    fn pair(&mut self, reference: &DisplayStreams, other: &DisplayStreams, a: usize, b: usize) {
        let (first, second) = (&reference.clients[a], &other.clients[b]);
        let is_replay = self.is_replay;
        let hashes = |client: &ClientStream| -> Vec<u64> {
            let name = |entry: &Entry| meaning::hash(entry.name.as_str());
            match is_replay {
                // A request that differs here was translated for the other server.
                true => client.requests.iter().map(name).collect(),
                false => request_hashes(client),
            }
        };
        let mut alignment = align(&hashes(first), &hashes(second), &mut self.alignment_steps);
        self.requests += first.requests.len() as u64;
        let mut pair = ClientPair {
            name: first.name.clone(),
            reference: a,
            other: b,
            equal: alignment.equal.len() as u64,
            starts: [reference, other].map(|display| display.start.unwrap_or_default()),
            ..ClientPair::default()
        };
        // In the order of the reference: IDs are paired at their first occurrence.
        self.setups(&mut pair, first, second);
        let answers = [first.answers(), second.answers()];
        for &(i, j) in &alignment.equal {
            let (request, partner) = (&first.requests[i], &second.requests[j]);
            if !self.same_ids([first, second], [request, partner]) && !is_replay {
                let hunk = Hunk {
                    reference: i..i + 1,
                    other: j..j + 1,
                };
                pair.equal -= 1;
                self.add_request(&mut pair, hunk, [first, second]);
            }
            let answers = [
                first.answers_to(i, &answers[0]),
                second.answers_to(j, &answers[1]),
            ];
            let outcome = self.received(&mut pair, [first, second], answers);
            if is_replay {
                self.answers.entry(request.name.as_str()).or_default()[outcome] += 1;
            }
            // The reply exists only in the reference, and the other recording ends there.
            if first.has_reply[i]
                && let [[reply, ..], []] = answers
                && j + 1 == second.requests.len()
                && (is_replay || !second.ended_before(first.received[*reply].1.requests_before))
            {
                let start = other.start.unwrap_or(partner.time);
                pair.waits_for = Some((partner.name, duration_ms(partner.time.since(start))));
            }
        }
        let (displays, clients) = ([reference, other], [first, second]);
        self.unequal.after_end += self.cut_off(&mut alignment, displays, clients, |_| true);
        let (hunks, moved) = match is_replay {
            true => (Vec::new(), 0),
            false => without_moves(alignment.hunks, first, second),
        };
        self.unequal.moved += moved;
        pair.repeated = repeated(&hunks, clients);
        for hunk in hunks {
            self.add_request(&mut pair, hunk, clients);
        }
        pair.requests.sort_by_key(|hunk| hunk.hunk.reference.start);
        self.events(&mut pair, displays, clients);
        pair.received
            .sort_by_key(|one| (one.requests_before, one.time));
        // The player of a replay closes its connections itself, also those that the recorded server closed.
        let closed = closed_by_server(displays, clients);
        pair.closed_by_server = closed.filter(|closed| !(is_replay && closed.in_reference));
        self.pairs.push(pair);
    }

    fn setups(&mut self, pair: &mut ClientPair, first: &ClientStream, second: &ClientStream) {
        let clients = [first, second];
        let received = clients.map(|client| &client.received);
        let setups = received.map(|all| all.iter().position(|one| one.0 == Received::Setup));
        self.received(pair, clients, setups.each_ref().map(Option::as_slice));
    }

    /// Counts a difference, and returns true if it is kept. The first difference of a client is always kept.
    fn is_kept(&mut self, is_first: bool) -> bool {
        self.differences += 1;
        let is_kept = is_first || self.differences <= MOST_DIFFERENCES;
        self.left_out += u64::from(!is_kept);
        is_kept
    }

    fn add_request(&mut self, pair: &mut ClientPair, hunk: Hunk, clients: [&ClientStream; 2]) {
        if self.is_kept(pair.requests.is_empty()) {
            pair.requests.push(pair.hunk(hunk, clients[0], clients[1]));
        }
    }

    /// Compares the messages at `indices` one by one. Returns 0 if they are equal, 1 if any differ, and 2 if any is an
    /// error in the other recording only.
    fn received(
        &mut self,
        pair: &mut ClientPair,
        clients: [&ClientStream; 2],
        indices: [&[usize]; 2],
    ) -> usize {
        let mut outcome = 0;
        for at in 0..indices[0].len().max(indices[1].len()) {
            let sides = [0, 1].map(|side| {
                let index = indices[side].get(at)?;
                clients[side].received.get(*index)
            });
            let differs = match sides {
                [Some((kind, a)), Some((other_kind, b))] => {
                    kind != other_kind
                        || a.name != b.name
                        || a.hash != b.hash
                        || !self.same_ids(clients, [a, b])
                }
                _ => true,
            };
            if let Some(received) = pair.different(sides).filter(|_| differs) {
                outcome = outcome.max(1 + usize::from(received.fails()));
                let is_kept = self.is_kept(pair.received.is_empty());
                // A flood of messages is counted to its end.
                if !is_kept
                    && received.places[0].is_none()
                    && let Some(last) = pair.received.last_mut()
                    && last.hash == received.hash
                {
                    last.more += 1;
                    self.left_out -= 1;
                } else if is_kept {
                    pair.received.push(received);
                }
            }
        }
        outcome
    }

    /// Removes the end of the longer sequence of messages, and counts it as not compared, if the other side may have had
    /// these messages in a longer recording: both recordings have about the same length, and the client was active until
    /// the end. Returns the number of these messages in the reference. `is_late` returns false if the other side sent
    /// requests after that time.
    fn cut_off(
        &mut self,
        alignment: &mut Alignment,
        displays: [&DisplayStreams; 2],
        clients: [&ClientStream; 2],
        is_late: impl Fn(&Hunk) -> bool,
    ) -> u64 {
        let lengths =
            displays.map(|display| display.end.since(display.start.unwrap_or(display.end)));
        let [short, long] = [lengths[0].min(lengths[1]), lengths[0].max(lengths[1])];
        if self.is_replay || long - short > short / 5 {
            return 0;
        }
        let equal = alignment.equal.last();
        let end = alignment.hunks.pop_if(|last| {
            let side = usize::from(last.other.is_empty());
            let is_one_sided = last.reference.is_empty() || last.other.is_empty();
            let is_last = equal.is_none_or(|(index, _)| *index < last.reference.start);
            let is_end = is_one_sided && is_last && is_late(last);
            is_end && displays[side].is_active_at_end(clients[side])
        });
        let end = end.map_or([0, 0], |end| [end.reference.len(), end.other.len()]);
        self.left_out += (end[0] + end[1]) as u64;
        end[0] as u64
    }

    fn same_ids(&mut self, clients: [&ClientStream; 2], entries: [&Entry; 2]) -> bool {
        let [first, second] = [0, 1].map(|side| clients[side].server_ids(entries[side]));
        let pairs = first.iter().zip(second);
        // All messages are paired, also after a differing one.
        first.len() == second.len()
            && pairs.fold(true, |same, (a, b)| self.ids.pair(*a, *b) && same)
    }

    /// Creates the collectors of the differing messages' fields, for a second pass over each of the two recordings.
    pub fn details(&self) -> [MessageDetails; 2] {
        [0, 1].map(|side| {
            let requests = self.pairs.iter().flat_map(|pair| &pair.requests);
            let requests = requests.flat_map(|hunk| &hunk.sides[side].shown);
            let requests = requests.map(|(_, place)| *place);
            let received = self.pairs.iter().flat_map(|pair| &pair.received);
            let received = received.filter_map(|one| one.places[side]);
            MessageDetails::new(received.chain(requests))
        })
    }
}

fn request_hashes(client: &ClientStream) -> Vec<u64> {
    client.requests.iter().map(|entry| entry.hash).collect()
}

/// Removes hunks whose requests the other side also sends, at another position: the order of independent requests
/// varies from run to run. Also removes hunks of requests without an effect. Returns the number of the reference's requests
/// in the removed hunks.
fn without_moves(
    hunks: Vec<Hunk>,
    first: &ClientStream,
    second: &ClientStream,
) -> (Vec<Hunk>, u64) {
    let mut surplus: FxHashMap<u64, i64> = FxHashMap::default();
    for hunk in &hunks {
        for entry in &first.requests[hunk.reference.clone()] {
            *surplus.entry(entry.hash).or_default() += 1;
        }
        for entry in &second.requests[hunk.other.clone()] {
            *surplus.entry(entry.hash).or_default() -= 1;
        }
    }
    // A program that finds no event sends NoOperation to see whether the server still runs.
    let surplus = |entry: &Entry| match entry.name.as_str() {
        "NoOperation" => 0,
        _ => surplus.get(&entry.hash).copied().unwrap_or_default(),
    };
    let differs = |hunk: &Hunk| {
        let more = |entry: &Entry| surplus(entry) > 0;
        let fewer = |entry: &Entry| surplus(entry) < 0;
        first.requests[hunk.reference.clone()].iter().any(more)
            || second.requests[hunk.other.clone()].iter().any(fewer)
    };
    let (kept, moved): (_, Vec<Hunk>) = hunks.into_iter().partition(differs);
    let moved = moved.iter().map(|hunk| hunk.reference.len() as u64);
    (kept, moved.sum())
}

/// The end of a client's connection by one of the two servers, if the other server did not close it.
fn closed_by_server(
    displays: [&DisplayStreams; 2],
    clients: [&ClientStream; 2],
) -> Option<ServerClosed> {
    let (side, time) = match clients.map(|client| client.closed_by_server) {
        [Some(time), None] => (0, time),
        [None, Some(time)] => (1, time),
        _ => return None,
    };
    let start = displays[side].start.unwrap_or(time);
    Some(ServerClosed {
        in_reference: side == 0,
        since_ms: duration_ms(time.since(start)),
    })
}

impl ClientPair {
    fn different(&self, sides: [Option<&(Received, Entry)>; 2]) -> Option<ReceivedPair> {
        let clients = [self.reference, self.other];
        let side = usize::from(sides[0].is_none());
        let (kind, entry) = sides[side]?;
        let [start, of_side] = [self.starts[0], self.starts[side]].map(Timestamp::as_nanos);
        let time = Timestamp::from_nanos(start + entry.time.as_nanos().saturating_sub(of_side));
        let places = [0, 1].map(|side| Some((clients[side], sides[side]?.1.number)));
        let replaced = match sides {
            [Some((a, first)), Some((b, second))] if a != b => {
                Some([(*a, first.name), (*b, second.name)])
            }
            _ => None,
        };
        // The name of the reply, which is the name of its request.
        let replies = sides.into_iter().flatten();
        let mut replies = replies.filter(|(kind, _)| *kind == Received::Reply);
        let name = replies.next().map_or(entry.name, |(_, reply)| reply.name);
        Some(ReceivedPair {
            kind: *kind,
            name,
            replaced,
            places,
            hash: entry.hash,
            more: 0,
            is_moved: false,
            requests_before: entry.requests_before,
            time,
        })
    }

    fn hunk(&self, hunk: Hunk, first: &ClientStream, second: &ClientStream) -> RequestHunk {
        let requests = [
            &first.requests[hunk.reference.clone()],
            &second.requests[hunk.other.clone()],
        ];
        let clients = [self.reference, self.other];
        let names = requests.iter().flat_map(|side| side.iter());
        let names = names.map(|entry| entry.name).collect();
        let next = first.requests.get(hunk.reference.start);
        let next = next.or_else(|| first.requests.last());
        RequestHunk {
            time: next.map_or(Timestamp::default(), |entry| entry.time),
            names,
            sides: [0, 1].map(|side| Side::new(requests[side], clients[side])),
            hunk,
        }
    }
}

impl Side {
    fn new(requests: &[Entry], client: usize) -> Side {
        let shown = requests.iter().take(SHOWN_REQUESTS);
        let shown = shown.map(|entry| (entry.name, (client, entry.number)));
        Side {
            shown: shown.collect(),
            count: requests.len() as u64,
        }
    }
}

/// For each side, returns the request of which the other side has at least [`LOOP`] fewer, if these make up nine tenths of
/// the side's requests in `hunks`; otherwise `None`. Equal requests between the hunks are not counted: a loop that goes on
/// in one recording ends in the other.
fn repeated(hunks: &[Hunk], clients: [&ClientStream; 2]) -> [Option<RepeatedRequest>; 2] {
    let sides = [0, 1].map(|side| {
        let range = |hunk: &Hunk| [&hunk.reference, &hunk.other][side].clone();
        let requests = hunks
            .iter()
            .map(|hunk| &clients[side].requests[range(hunk)]);
        let mut counts: BTreeMap<Symbol, (u64, Timestamp, Timestamp)> = BTreeMap::new();
        for entry in requests.flatten() {
            let count = counts.entry(entry.name);
            let (count, _, last) = count.or_insert((0, entry.time, entry.time));
            (*count, *last) = (*count + 1, entry.time);
        }
        counts
    });
    [0, 1].map(|side| {
        let more = |(name, (count, first, last)): (&Symbol, &(u64, Timestamp, Timestamp))| {
            let others = sides[1 - side].get(name).map_or(0, |other| other.0);
            (count.saturating_sub(others), *name, last.since(*first))
        };
        let (count, name, duration) = sides[side].iter().map(more).max()?;
        let all: u64 = sides[side].values().map(|(count, ..)| count).sum();
        let seconds = duration.as_secs_f64();
        let is_loop = count >= LOOP && count * 10 >= all * 9 && duration >= LOOP_TIME;
        is_loop.then(|| RepeatedRequest {
            request: name.as_str().to_owned(),
            count,
            per_second: count as f64 / if seconds > 0.0 { seconds } else { 1.0 },
        })
    })
}

#[cfg(test)]
mod tests;
