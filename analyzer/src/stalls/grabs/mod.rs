//! Grabs: who kept the server, the pointer, the keyboard or a device for himself, for how long,
//! and who waited meanwhile.
//!
//! A grab of the server lasts from GrabServer to UngrabServer: other clients' requests that come
//! in between wait. An active grab begins when its request is answered with success. Grabs that
//! the server activates by itself, on a button or key that was grabbed passively or is held
//! down, are not told on the wire and are not here.

pub(crate) mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};

use x11prof_protocol::{Body, Message, Reply, Request, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::elapsed::Elapsed;
use crate::pipeline::{Observation, Seen};
use crate::stalls::stall::{HoldKind, Stall, Waited};

/// Grabs listed at most, the last ones.
const MAX_GRABS: usize = 1000;
/// Requests for grabs that wait for their answers, at most.
const MAX_PENDING: usize = 4096;

/// The grabbed object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum GrabTarget {
    Server,
    Pointer,
    Keyboard,
    Device(u16),
}

impl GrabTarget {
    fn name(self) -> String {
        match self {
            GrabTarget::Server => "server".to_owned(),
            GrabTarget::Pointer => "pointer".to_owned(),
            GrabTarget::Keyboard => "keyboard".to_owned(),
            GrabTarget::Device(number) => format!("device {number}"),
        }
    }
}

/// A client that waited for a grab of the server.
#[derive(Debug, Clone, Copy, Default)]
struct Waiter {
    first: Timestamp,
    requests: u64,
}

#[derive(Debug)]
struct OpenGrab {
    by: ConnectionId,
    since: Timestamp,
    waiters: BTreeMap<ConnectionId, Waiter>,
}

#[derive(Debug)]
struct EndedGrab {
    what: GrabTarget,
    by: ConnectionId,
    since: Timestamp,
    until: Timestamp,
    end: &'static str,
    waiters: BTreeMap<ConnectionId, Waiter>,
}

/// The grabs of a trace.
#[derive(Debug, Default)]
pub struct Grabs {
    open: HashMap<GrabTarget, OpenGrab>,
    asked: HashMap<(ConnectionId, SequenceNumber), GrabTarget>,
    done: VecDeque<EndedGrab>,
    /// The grab of the server that ended last, until it is taken.
    ended: Option<Stall>,
    count: u64,
    refused: u64,
    elapsed: Elapsed,
}

impl Grabs {
    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.elapsed.observe(observation);
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Grabbed(time, by) => self.server_changed(*time, *by),
            Observation::Control(time, Control::Closed { connection, .. }) => {
                self.end_all(*connection, *time);
            }
            _ => {}
        }
    }

    /// The trace's first record.
    pub(crate) fn start(&self) -> Timestamp {
        self.elapsed.start()
    }

    /// The grabs that went on at `since` or later: whose, what, from when, until when; `None` where it goes
    /// on.
    pub(crate) fn after(
        &self,
        since: Timestamp,
    ) -> impl Iterator<Item = (ConnectionId, String, Timestamp, Option<Timestamp>)> {
        let done = self.done.iter().filter(move |one| one.until >= since);
        let done = done.map(|one| (one.by, one.what.name(), one.since, Some(one.until)));
        let open = self.open.iter();
        done.chain(open.map(|(what, open)| (open.by, what.name(), open.since, None)))
    }

    /// When something was last seen.
    pub(crate) fn now(&self) -> Timestamp {
        self.elapsed.now()
    }

    /// True where the server is grabbed now.
    pub(crate) fn has_server(&self) -> bool {
        self.open.contains_key(&GrabTarget::Server)
    }

    /// The grab of the server that ended since this was asked last.
    pub(crate) fn take_server_grab(&mut self) -> Option<Stall> {
        self.ended.take()
    }

    /// The grab of the server that goes on at `now`.
    pub(crate) fn server_grab(&self, now: Timestamp) -> Option<Stall> {
        let open = self.open.get(&GrabTarget::Server)?;
        Some(stall(open, now))
    }

    /// Starts the counts afresh: of those before, only the grabs that last count.
    pub fn start_afresh(&mut self) {
        self.done.clear();
        self.count = self.open.len() as u64;
        self.refused = 0;
    }

    fn message(&mut self, seen: &Seen<'_>) {
        match seen.message {
            Message::Request(request) => self.request(seen, request),
            Message::Reply(reply) => self.reply(seen, reply),
            Message::Error(error) if !self.asked.is_empty() => {
                self.asked.remove(&(seen.connection, error.sequence));
            }
            _ => {}
        }
    }

    fn request(&mut self, seen: &Seen<'_>, request: &Request<'_>) {
        if let Some(open) = self.open.get_mut(&GrabTarget::Server)
            && open.by != seen.connection
        {
            let waiter = open.waiters.entry(seen.connection).or_insert(Waiter {
                first: seen.time,
                requests: 0,
            });
            waiter.requests += 1;
        }
        let body = Body::of(request);
        let device = |at| body.u16(at).map(GrabTarget::Device);
        let ended = match request.name.as_str() {
            "GrabPointer" => return self.ask(seen, request, Some(GrabTarget::Pointer)),
            "GrabKeyboard" => return self.ask(seen, request, Some(GrabTarget::Keyboard)),
            // XIGrabDevice: window, time, cursor, device.
            "XInputExtension:XIGrabDevice" => return self.ask(seen, request, device(12)),
            "UngrabPointer" => Some(GrabTarget::Pointer),
            "UngrabKeyboard" => Some(GrabTarget::Keyboard),
            "XInputExtension:XIUngrabDevice" => device(4),
            _ => None,
        };
        if let Some(what) = ended
            && self
                .open
                .get(&what)
                .is_some_and(|open| open.by == seen.connection)
        {
            self.end(what, seen.time, "ungrab");
        }
    }

    fn ask(&mut self, seen: &Seen<'_>, request: &Request<'_>, what: Option<GrabTarget>) {
        if let Some(what) = what
            && self.asked.len() < MAX_PENDING
        {
            self.asked.insert((seen.connection, request.sequence), what);
        }
    }

    fn reply(&mut self, seen: &Seen<'_>, reply: &Reply<'_>) {
        if self.asked.is_empty() {
            return;
        }
        if let Some(what) = self.asked.remove(&(seen.connection, reply.sequence)) {
            // Status 0 is Success. The core puts it in the reply's second byte, XIGrabDevice
            // after the header.
            let at = if matches!(what, GrabTarget::Device(_)) {
                8
            } else {
                1
            };
            match reply.bytes.get(at) {
                Some(0) => self.begin(what, seen.connection, seen.time),
                Some(_) => self.refused += 1,
                None => {}
            }
        }
    }

    /// The server changed hands.
    fn server_changed(&mut self, time: Timestamp, by: Option<ConnectionId>) {
        self.end(GrabTarget::Server, time, "ungrab");
        if let Some(by) = by {
            self.begin(GrabTarget::Server, by, time);
        }
    }

    fn begin(&mut self, what: GrabTarget, by: ConnectionId, time: Timestamp) {
        match self.open.get(&what) {
            // One's own grab again changes how it is held, not since when.
            Some(open) if open.by == by => return,
            Some(_) => self.end(what, time, "lost"),
            None => {}
        }
        self.count += 1;
        let open = OpenGrab {
            by,
            since: time,
            waiters: BTreeMap::new(),
        };
        self.open.insert(what, open);
    }

    fn end(&mut self, what: GrabTarget, until: Timestamp, end: &'static str) {
        let Some(open) = self.open.remove(&what) else {
            return;
        };
        if what == GrabTarget::Server {
            self.ended = Some(stall(&open, until));
        }
        if self.done.len() == MAX_GRABS {
            self.done.pop_front();
        }
        self.done.push_back(EndedGrab {
            what,
            by: open.by,
            since: open.since,
            until,
            end,
            waiters: open.waiters,
        });
    }

    fn end_all(&mut self, connection: ConnectionId, time: Timestamp) {
        let held: Vec<GrabTarget> = self
            .open
            .iter()
            .filter(|(_, open)| open.by == connection)
            .map(|(what, _)| *what)
            .collect();
        held.into_iter()
            .for_each(|what| self.end(what, time, "closed"));
        self.asked.retain(|(of, _), _| *of != connection);
    }
}

/// A grab of the server as a stall until `until`.
fn stall(grab: &OpenGrab, until: Timestamp) -> Stall {
    let waited = grab.waiters.iter().map(|(client, waiter)| Waited {
        client: *client,
        requests: waiter.requests,
        nanos: until.since(waiter.first).as_nanos() as u64,
    });
    Stall {
        how: HoldKind::Grabbed,
        client: grab.by,
        request: Some(Symbol::new("GrabServer")),
        from: grab.since.as_nanos(),
        to: until.as_nanos(),
        ran: None,
        waited: waited.collect(),
    }
}
