//! The simulation: recorded writes and reads as events, in the order of their forecast times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use x11prof_trace::{ConnectionId, EmulatedNetwork, Line};

use super::changes::Changes;
use super::collect::{Awaited, Id, Moment, Recorded};

/// The number of bytes in the kernel's buffer of a client's socket, which the client can write before the link takes them
/// (unix(7), Linux's default of net.core.wmem_default).
const SOCKET: usize = 212_992;

/// The link of a forecast; `None` for a server without a link.
pub(super) type ForecastLink<'a> = Option<&'a EmulatedNetwork>;

/// An event of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The client writes the bytes of the write with this number.
    Write(Id),
    /// The server has received the bytes of the write with this number.
    Arrive(Id),
    /// The server sends the bytes of the read with this number.
    Send(Id),
    /// The client has received the bytes of the read with this number.
    Deliver(Id),
}

/// The forecast times of a write, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WriteTimes {
    /// The time at which the client writes, in nanoseconds.
    pub(super) start: u64,
    /// The time at which the first byte enters the line to the server, in nanoseconds.
    pub(super) begin: u64,
    /// The time at which the client can continue after the write, in nanoseconds.
    pub(super) returned: u64,
    /// The time at which the server has received all bytes, in nanoseconds.
    pub(super) arrived: u64,
    /// The time at which the server starts to process the bytes, in nanoseconds.
    pub(super) served: u64,
    /// The previous write on the line, if it still occupied the line; `None` if the line was free.
    pub(super) behind: Option<Id>,
}

/// The forecast times of a read, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadTimes {
    pub(super) sent: u64,
    /// The time at which the first byte enters the line to the client, in nanoseconds.
    pub(super) begin: u64,
    pub(super) delivered: u64,
    /// The previous read on the line, if it still occupied the line; `None` if the line was free.
    pub(super) behind: Option<Id>,
}

/// The forecast times of all writes and reads.
#[derive(Debug, Default)]
pub(super) struct Simulated {
    pub(super) writes: Vec<WriteTimes>,
    pub(super) reads: Vec<ReadTimes>,
    /// For each write, the write or read that it follows, and the nanoseconds that the client itself used between the
    /// two.
    pub(super) after: Vec<(Option<Moment>, u64)>,
    /// The last write or read of the simulation that counts for its end.
    pub(super) end: Option<Moment>,
}

impl Simulated {
    /// The time at which the client writes or reads, in nanoseconds.
    pub(super) fn time(&self, moment: Moment) -> u64 {
        match moment {
            Moment::Write(id) => self.writes[id].start,
            Moment::Read(id) => self.reads[id].delivered,
        }
    }

    /// The nanoseconds by which the client's first write is later than recorded.
    pub(super) fn delay(&self, recorded: &Recorded, client: ConnectionId) -> u64 {
        let first = recorded.of_client.get(&client);
        let first = first.and_then(|ids| ids.first());
        first.map_or(0, |id| {
            let at = recorded.writes[*id].at;
            self.writes[*id].start.saturating_sub(at)
        })
    }

    /// The time at which a write or read ends the recording, in nanoseconds: the server has handled its last requests. The
    /// end of a connection has no bytes.
    pub(super) fn end_time(&self, recorded: &Recorded, moment: Moment) -> u64 {
        match moment {
            Moment::Write(id) if recorded.writes[id].bytes > 0 => {
                let service = recorded.writes[id].service;
                self.writes[id].served.saturating_add(service)
            }
            moment => self.time(moment),
        }
    }
}

struct Simulation<'a> {
    recorded: &'a Recorded,
    link: ForecastLink<'a>,
    /// The number of bytes that each write leaves out.
    left_out: FxHashMap<Id, u64>,
    /// The number of bytes that the server leaves out of each read.
    not_returned: FxHashMap<Id, u64>,
    times: Simulated,
    /// For each write, the number of events that it still waits for.
    open: Vec<u8>,
    next: Vec<Option<Id>>,
    /// Writes by the event that they follow, and reads by their cause, both sorted.
    followers: Vec<(Moment, Id)>,
    caused: Vec<(Moment, Id)>,
    /// The recorded delay from the handling of its request to each read, in nanoseconds.
    delays: Vec<u64>,
    there: Line,
    back: Line,
    last_there: Option<Id>,
    last_back: Option<Id>,
    server_free: u64,
    queue: BinaryHeap<Reverse<(u64, Event)>>,
}

/// Simulates a recording over a link, with changes of the program's behaviour.
pub(super) fn simulate(
    recorded: &Recorded,
    link: ForecastLink<'_>,
    changes: &Changes,
) -> Simulated {
    let mut simulation = Simulation::new(recorded, link, changes);
    while let Some(Reverse((time, event))) = simulation.queue.pop() {
        match event {
            Event::Write(id) => simulation.write(time, id),
            Event::Arrive(id) => simulation.arrive(time, id),
            Event::Send(id) => simulation.send(time, id),
            Event::Deliver(id) => simulation.deliver(time, id),
        }
    }
    let mut times = simulation.times;
    let end_time = |moment: &Moment| times.end_time(recorded, *moment);
    times.end = recorded.ends().max_by_key(end_time);
    times
}

impl<'a> Simulation<'a> {
    fn new(recorded: &'a Recorded, link: ForecastLink<'a>, changes: &Changes) -> Simulation<'a> {
        let (writes, reads) = (&recorded.writes, &recorded.reads);
        let mut simulation = Simulation {
            recorded,
            link,
            left_out: left_out(recorded, changes),
            not_returned: not_returned(recorded, changes),
            times: Simulated {
                writes: vec![WriteTimes::default(); writes.len()],
                reads: vec![ReadTimes::default(); reads.len()],
                ..Simulated::default()
            },
            open: vec![0; writes.len()],
            next: vec![None; writes.len()],
            followers: Vec::new(),
            caused: Vec::new(),
            delays: delays(recorded),
            there: Line::new(link.cloned().unwrap_or_default()),
            back: Line::to_client(link.cloned().unwrap_or_default()),
            last_there: None,
            last_back: None,
            server_free: 0,
            queue: BinaryHeap::new(),
        };
        for (id, write) in writes.iter().enumerate() {
            let (after, own) = simulation.after(id, changes);
            simulation.times.after.push((after, own));
            let previous = write.previous.map(Moment::Write);
            if let Some(previous) = write.previous {
                simulation.next[previous] = Some(id);
                simulation.open[id] += 1;
            }
            match after {
                Some(moment) if after != previous => {
                    simulation.followers.push((moment, id));
                    simulation.open[id] += 1;
                }
                Some(_) => {}
                None if previous.is_none() => {
                    simulation.queue.push(Reverse((write.at, Event::Write(id))));
                }
                None => {}
            }
        }
        for (id, read) in reads.iter().enumerate() {
            match read.cause {
                Some(cause) => simulation.caused.push((Moment::Write(cause), id)),
                None => simulation.queue.push(Reverse((read.sent, Event::Send(id)))),
            }
        }
        simulation.followers.sort_unstable();
        simulation.caused.sort_unstable();
        simulation
    }

    /// Returns the write or read that a write follows, and the nanoseconds that the client itself uses between the two.
    fn after(&self, id: Id, changes: &Changes) -> (Option<Moment>, u64) {
        let write = &self.recorded.writes[id];
        let previous = write.previous.map(Moment::Write);
        let Some(moment) = write.after else {
            return (None, 0);
        };
        let read = match moment {
            Moment::Read(read) => read,
            Moment::Write(before) => {
                let before = &self.recorded.writes[before];
                return (Some(moment), write.at.saturating_sub(before.returned));
            }
        };
        let own = write.at.saturating_sub(self.recorded.time(moment));
        let is_remote = self.link.is_some();
        match self.recorded.reads[read] {
            super::collect::Read {
                awaited: Awaited::SharedEvent,
                ..
            } if is_remote => (previous, own),
            super::collect::Read {
                client,
                awaited:
                    Awaited::Reply {
                        sequence,
                        synchronises,
                        shared,
                        ..
                    },
                event,
                cause,
                ..
            } if shared && is_remote || changes.not_awaited.contains(&(client, sequence)) => {
                // A client that synchronised and received an event has waited for that event.
                let event = event.filter(|_| synchronises).map(Moment::Read);
                // The write may follow a read of another connection of the same thread.
                let sent = cause.max(write.previous).map(Moment::Write);
                (event.or(sent), own)
            }
            _ => (Some(moment), own),
        }
    }

    fn write(&mut self, time: u64, id: Id) {
        let write = &self.recorded.writes[id];
        let unshared = if self.link.is_some() {
            write.unshared
        } else {
            0
        };
        let bytes = write.bytes.saturating_add(unshared);
        let bytes = bytes.saturating_sub(self.left_out.get(&id).copied().unwrap_or(0));
        // The end of a connection has no bytes. It arrives after the bytes before it.
        let sent = self.there.send(time, bytes);
        let connects = self.link.filter(|_| write.connects);
        let connects = connects.map_or(0, |link| link.round_trip_ns);
        let buffered = self
            .link
            .and_then(|link| Some(link.buffered()?.saturating_add(link.occupies(SOCKET))));
        let returned =
            buffered.map_or(time, |buffered| time.max(sent.end.saturating_sub(buffered)));
        let arrived = sent.arrives.saturating_add(connects);
        let last = self.last_there;
        if bytes > 0 {
            self.last_there = Some(id);
        }
        self.times.writes[id] = WriteTimes {
            start: time,
            begin: sent.begin,
            returned,
            arrived,
            served: arrived,
            behind: last.filter(|_| sent.begin > time),
        };
        self.queue.push(Reverse((arrived, Event::Arrive(id))));
        if let Some(next) = self.next[id] {
            let (after, own) = self.times.after[next];
            let own = if after == Some(Moment::Write(id)) {
                own
            } else {
                0
            };
            self.ready(next, returned.saturating_add(own));
        }
        self.follow(Moment::Write(id), returned);
    }

    /// Notes that one event that a write waits for has happened.
    fn ready(&mut self, id: Id, time: u64) {
        let start = &mut self.times.writes[id].start;
        *start = time.max(*start);
        self.open[id] -= 1;
        if self.open[id] == 0 {
            self.queue.push(Reverse((*start, Event::Write(id))));
        }
    }

    fn follow(&mut self, moment: Moment, time: u64) {
        for at in range_of(&self.followers, moment) {
            let id = self.followers[at].1;
            let own = self.times.after[id].1;
            self.ready(id, time.saturating_add(own));
        }
    }

    fn arrive(&mut self, time: u64, id: Id) {
        let served = time.max(self.server_free);
        self.times.writes[id].served = served;
        self.server_free = served.saturating_add(self.recorded.writes[id].service);
        for at in range_of(&self.caused, Moment::Write(id)) {
            let read = self.caused[at].1;
            let sent = served.saturating_add(self.delays[read]);
            self.queue.push(Reverse((sent, Event::Send(read))));
        }
    }

    fn send(&mut self, time: u64, id: Id) {
        let read = &self.recorded.reads[id];
        let unshared = self.link.map_or(0, |_| read.unshared);
        let bytes = read.bytes.saturating_add(unshared);
        let bytes = bytes.saturating_sub(self.not_returned.get(&id).copied().unwrap_or(0));
        let back = self.back.send(time, bytes);
        self.times.reads[id] = ReadTimes {
            sent: time,
            begin: back.begin,
            delivered: back.arrives,
            behind: self.last_back.replace(id).filter(|_| back.begin > time),
        };
        self.queue.push(Reverse((back.arrives, Event::Deliver(id))));
    }

    fn deliver(&mut self, time: u64, id: Id) {
        self.follow(Moment::Read(id), time);
    }
}

/// The positions of the entries of `moment` in a sorted list.
fn range_of(list: &[(Moment, Id)], moment: Moment) -> Range<usize> {
    let begin = list.partition_point(|(one, _)| *one < moment);
    begin..list.partition_point(|(one, _)| *one <= moment)
}

/// Returns the recorded delay of each read in nanoseconds, from the time at which the server could begin to handle its
/// request.
fn delays(recorded: &Recorded) -> Vec<u64> {
    let mut free = 0;
    let served: Vec<u64> = recorded
        .writes
        .iter()
        .map(|write| {
            let served = write.arrived.max(free);
            free = served.saturating_add(write.service);
            served
        })
        .collect();
    let delay = |read: &super::collect::Read| {
        let served = read.cause.map_or(read.sent, |cause| served[cause]);
        read.sent.saturating_sub(served)
    };
    recorded.reads.iter().map(delay).collect()
}

/// Returns the number of bytes by which each write becomes shorter. A request ends in one write but may begin in
/// earlier ones.
fn left_out(recorded: &Recorded, changes: &Changes) -> FxHashMap<Id, u64> {
    let of = |client| {
        let ids = recorded.of_client.get(client);
        ids.map(Vec::as_slice).unwrap_or_default()
    };
    let not_sent = changes.not_sent.iter().map(|((client, sequence), bytes)| {
        let ids = of(client);
        let end = ids.partition_point(|id| recorded.writes[*id].last < *sequence);
        (ids, end, *bytes)
    });
    let clients = recorded.of_client.values();
    let pixels = clients.filter(|_| changes.no_pixels).flat_map(|ids| {
        let ends = ids.iter().enumerate();
        ends.map(|(end, id)| (ids.as_slice(), end, recorded.writes[*id].pixels))
    });
    let mut less: FxHashMap<Id, u64> = FxHashMap::default();
    for (ids, end, mut bytes) in not_sent.chain(pixels) {
        for id in ids.iter().take(end + 1).rev() {
            if bytes == 0 {
                break;
            }
            let write = &recorded.writes[*id];
            let so_far = less.entry(*id).or_default();
            let all = write.bytes.saturating_add(write.unshared);
            let now = bytes.min(all.saturating_sub(*so_far));
            *so_far += now;
            bytes -= now;
        }
    }
    less
}

/// Returns the number of bytes by which each read becomes shorter. A reply ends in the read that its client waited for,
/// and may begin in earlier ones.
fn not_returned(recorded: &Recorded, changes: &Changes) -> FxHashMap<Id, u64> {
    let mut less: FxHashMap<Id, u64> = FxHashMap::default();
    let reads = recorded.reads.iter().enumerate();
    for (last, read) in reads.filter(|_| !changes.not_returned.is_empty()) {
        let Awaited::Reply { sequence, .. } = read.awaited else {
            continue;
        };
        let bytes = changes.not_returned.get(&(read.client, sequence));
        let mut bytes = bytes.copied().unwrap_or(0);
        for (id, part) in recorded.reads.iter().enumerate().take(last + 1).rev() {
            if bytes == 0 || part.client == read.client && part.cause != read.cause {
                break;
            }
            if part.client == read.client {
                let now = bytes.min(part.bytes);
                *less.entry(id).or_default() += now;
                bytes -= now;
            }
        }
    }
    less
}
