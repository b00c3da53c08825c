//! Grabs: the clients that grabbed the server, the pointer, the keyboard or a device, the length of each grab, and the
//! clients that waited meanwhile.
//!
//! A server grab lasts from GrabServer to UngrabServer: other clients' requests that arrive in between wait. The
//! pipeline reports the active device grabs (`device_grabs.rs`).

pub(crate) mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::pipeline::device_grabs::{Device, DeviceGrab, GrabStep};
use crate::pipeline::elapsed::Elapsed;
use crate::pipeline::{MessageContext, Observation};
use crate::stalls::stall::{HoldKind, Stall, Waited};

/// Maximum number of listed grabs; the last ones are kept.
const MAX_GRABS: usize = 1000;

/// The grabbed object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum GrabTarget {
    Server,
    Device(Device),
}

impl GrabTarget {
    fn name(self) -> String {
        match self {
            GrabTarget::Server => "server".to_owned(),
            GrabTarget::Device(Device::Pointer) => "pointer".to_owned(),
            GrabTarget::Device(Device::Keyboard) => "keyboard".to_owned(),
            GrabTarget::Device(Device::Numbered(number)) => format!("device {number}"),
        }
    }
}

#[derive(Debug)]
struct Grab {
    what: GrabTarget,
    by: ConnectionId,
    since: Timestamp,
    /// The time and the cause of its end; `None` while it is active.
    end: Option<(Timestamp, &'static str)>,
    /// The clients that waited for a grab of the server, with the time of their first request and the number of
    /// requests.
    waiters: BTreeMap<ConnectionId, (Timestamp, u64)>,
}

/// Collects the grabs of a trace.
#[derive(Debug, Default)]
pub struct Grabs {
    open: BTreeMap<GrabTarget, Grab>,
    done: VecDeque<Grab>,
    /// The server grab that ended last, until the caller removes it.
    ended: Option<Stall>,
    count: u64,
    refused: u64,
    elapsed: Elapsed,
}

impl Grabs {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.elapsed.observe(observation);
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Grabbed(time, by) => self.server_changed(*time, *by),
            Observation::DeviceGrab { grab, .. } => self.device_changed(grab),
            Observation::Control(time, Control::Closed { connection, .. }) => {
                let server = self.open.get(&GrabTarget::Server);
                if server.is_some_and(|open| open.by == *connection) {
                    self.end(GrabTarget::Server, *time, "closed");
                }
            }
            _ => {}
        }
    }

    /// The time of the trace's first record.
    pub(crate) fn start(&self) -> Timestamp {
        self.elapsed.start()
    }

    /// The grabs that were active at `since` or later: client, grabbed object, start, and end (`None` if still active).
    pub(crate) fn after(
        &self,
        since: Timestamp,
    ) -> impl Iterator<Item = (ConnectionId, String, Timestamp, Option<Timestamp>)> {
        let end = |one: &Grab| one.end.map(|(until, _)| until);
        let all = self
            .all()
            .map(move |one| (one.by, one.what.name(), one.since, end(one)));
        all.filter(move |(.., end)| end.is_none_or(|end| end >= since))
    }

    /// The last grabs, ordered by their ends.
    fn all(&self) -> impl Iterator<Item = &Grab> {
        self.done.iter().chain(self.open.values())
    }

    /// The time of the latest record that was processed.
    pub(crate) fn now(&self) -> Timestamp {
        self.elapsed.now()
    }

    /// True if a client has grabbed the server at this point.
    pub(crate) fn has_server(&self) -> bool {
        self.open.contains_key(&GrabTarget::Server)
    }

    /// Removes and returns the server grab that ended since the last call; `None` if there is none.
    pub(crate) fn take_server_grab(&mut self) -> Option<Stall> {
        self.ended.take()
    }

    /// The server grab that is still active at `now`; `None` without a server grab.
    pub(crate) fn server_grab(&self, now: Timestamp) -> Option<Stall> {
        let open = self.open.get(&GrabTarget::Server)?;
        Some(stall(open, now))
    }

    /// Resets the counts. Active grabs are kept.
    pub fn start_afresh(&mut self) {
        self.done.clear();
        self.count = self.open.len() as u64;
        self.refused = 0;
    }

    /// Notes the requests of other clients, and their connection setup, which the server does not read either.
    fn message(&mut self, seen: &MessageContext<'_>) {
        let requests = match seen.message {
            Message::Request(_) => seen.times,
            Message::ClientSetup(_) => 0,
            _ => return,
        };
        if let Some(open) = self.open.get_mut(&GrabTarget::Server)
            && open.by != seen.connection
        {
            let waiter = open.waiters.entry(seen.connection);
            waiter.or_insert((seen.time, 0)).1 += requests;
        }
    }

    fn device_changed(&mut self, grab: &DeviceGrab) {
        let what = GrabTarget::Device(grab.device);
        let end = match grab.step {
            GrabStep::Began => return self.begin(what, grab.by, grab.time),
            GrabStep::Refused => {
                self.refused += 1;
                return;
            }
            GrabStep::Ungrabbed => "ungrab",
            GrabStep::Lost => "lost",
            GrabStep::Unmapped => "unmapped",
            GrabStep::Closed => "closed",
        };
        self.end(what, grab.time, end);
    }

    /// Processes a change of the client that has grabbed the server.
    fn server_changed(&mut self, time: Timestamp, by: Option<ConnectionId>) {
        self.end(GrabTarget::Server, time, "ungrab");
        if let Some(by) = by {
            self.begin(GrabTarget::Server, by, time);
        }
    }

    fn begin(&mut self, what: GrabTarget, by: ConnectionId, time: Timestamp) {
        self.count += 1;
        let open = Grab {
            what,
            by,
            since: time,
            end: None,
            waiters: BTreeMap::new(),
        };
        self.open.insert(what, open);
    }

    fn end(&mut self, what: GrabTarget, until: Timestamp, end: &'static str) {
        let Some(mut open) = self.open.remove(&what) else {
            return;
        };
        if what == GrabTarget::Server {
            self.ended = Some(stall(&open, until));
        }
        if self.done.len() == MAX_GRABS {
            self.done.pop_front();
        }
        open.end = Some((until, end));
        self.done.push_back(open);
    }
}

/// A grab of the server as a stall until `until`.
fn stall(grab: &Grab, until: Timestamp) -> Stall {
    let waiters = grab.waiters.iter();
    let waited = waiters.map(|(client, (first, requests))| Waited {
        client: *client,
        requests: *requests,
        nanos: until.since(*first).as_nanos() as u64,
    });
    Stall {
        how: HoldKind::Grabbed,
        client: grab.by,
        request: Some(Symbol::new("GrabServer")),
        from: grab.since.as_nanos(),
        to: until.as_nanos(),
        ran: None,
        handled: None,
        waited: waited.collect(),
    }
}
