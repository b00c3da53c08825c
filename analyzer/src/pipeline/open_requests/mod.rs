//! Open requests between clients: a client has sent a request to another client, by a message of the X protocol or of
//! an inter-client convention, and has not received the reply. [`kinds`] has the table of request kinds. The pipeline
//! has the only instance.

mod kinds;
mod messages;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::Symbol;
use x11prof_session::Session;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::pipeline::device_grabs::{DeviceGrab, GrabStep};
pub use kinds::{OPEN_KINDS, OpenKind, OpenKindDefinition};

/// Maximum number of open requests, and of each other kind of tracked object. Further ones are not tracked.
const MAX_OPEN: usize = 1024;

/// An open request: another client, or the screen's clock, has to reply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRequest {
    /// The number of the open request in the recording.
    pub number: u64,
    /// The client that waits for the reply.
    pub client: ConnectionId,
    /// The kind of open request.
    pub kind: OpenKind,
    /// The name of the selection or the property; `None` if there is none.
    pub subject: Option<Symbol>,
    /// The client that has to reply; `None` if unknown, or if no client has to reply.
    pub party: Option<ConnectionId>,
    /// The time at which the client sent the request.
    pub since: Timestamp,
}

/// A change of an open request's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenStep {
    /// The client has sent the request.
    Opened,
    /// The request has reached the client that has to reply, which is now known.
    Reached,
    /// The client that has to reply has replied.
    Answered,
    /// The client cancelled or repeated the request, or its connection ended.
    Abandoned,
}

/// A change of an open request.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequestChange {
    /// The open request after the change.
    pub request: OpenRequest,
    /// The change of the request's state.
    pub step: OpenStep,
    /// The time at which the open request changed.
    pub time: Timestamp,
}

/// The common part of a request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    kind: OpenKind,
    /// The window, or the client if the convention has no window.
    window: u32,
    detail: u64,
}

/// An incremental selection transfer, on a property of a window.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    owner: ConnectionId,
    selection: Option<Symbol>,
}

/// The open requests of all clients, and the changes that have not been emitted yet.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    count: u64,
    open: Vec<(Key, OpenRequest)>,
    changes: VecDeque<OpenRequestChange>,
    /// The windows of selection owners.
    owners: HashMap<u32, u32>,
    /// The clients that last mapped or configured each window.
    changed: HashMap<u32, ConnectionId>,
    /// The last requests for a selection, by requesting window and property.
    asked: HashMap<(u32, u32), Key>,
    /// Incremental transfers, by window and property.
    transfers: HashMap<(u32, u32), Transfer>,
    /// SYNC counters that count the redraws of windows after resizing, with their windows.
    counters: HashMap<u32, u32>,
    /// The first bytes of messages to and from input methods that are in properties, by window and property.
    payloads: VecDeque<((u32, u32), u8)>,
    /// Clients that have connected to an input method.
    composing: Vec<ConnectionId>,
    /// The client to which the server redirects other clients' requests.
    window_manager: Option<ConnectionId>,
}

impl OpenRequests {
    /// Removes and returns the next change; `None` after the last.
    pub(crate) fn take_change(&mut self) -> Option<OpenRequestChange> {
        self.changes.pop_front()
    }

    fn change(&mut self, time: Timestamp, request: OpenRequest, step: OpenStep) {
        self.changes.push_back(OpenRequestChange {
            request,
            step,
            time,
        });
    }

    /// Adds a client's request to another client. An equal open request of the client is abandoned.
    fn opens(
        &mut self,
        time: Timestamp,
        key: Key,
        client: ConnectionId,
        party: Option<ConnectionId>,
        subject: Option<Symbol>,
    ) {
        // A client that answers itself waits for no other.
        if party == Some(client) {
            return;
        }
        if key.kind != OpenKind::InputMethod {
            self.close(time, OpenStep::Abandoned, |(known, _)| *known == key);
        }
        if self.open.len() >= MAX_OPEN {
            let (_, oldest) = self.open.remove(0);
            self.change(time, oldest, OpenStep::Abandoned);
        }
        let request = OpenRequest {
            number: self.count,
            client,
            kind: key.kind,
            subject,
            party,
            since: time,
        };
        self.count += 1;
        self.open.push((key, request));
        self.change(time, request, OpenStep::Opened);
    }

    /// Notes the client that a request has reached.
    fn reached(&mut self, time: Timestamp, key: Key, party: ConnectionId) {
        let open = self.open.iter_mut().find(|(known, _)| *known == key);
        if let Some((_, request)) = open
            && request.party != Some(party)
        {
            request.party = Some(party);
            let request = *request;
            self.change(time, request, OpenStep::Reached);
            // A client that replies to itself does not wait for another client.
            self.close(time, OpenStep::Abandoned, |(_, one)| {
                one.party == Some(one.client)
            });
        }
    }

    /// Closes the first request with this key as replied to.
    fn answered(&mut self, time: Timestamp, key: Key) {
        if let Some(at) = self.open.iter().position(|(known, _)| *known == key) {
            let (_, request) = self.open.remove(at);
            self.change(time, request, OpenStep::Answered);
        }
    }

    fn close(
        &mut self,
        time: Timestamp,
        step: OpenStep,
        ends: impl Fn(&(Key, OpenRequest)) -> bool,
    ) {
        while let Some(at) = self.open.iter().position(&ends) {
            let (_, request) = self.open.remove(at);
            self.change(time, request, step);
        }
    }

    /// Processes a change of a device grab, which may open a request or reply to one.
    pub(crate) fn device_grab(&mut self, grab: &DeviceGrab) {
        let key = Key {
            kind: OpenKind::Grab,
            window: grab.by.0,
            detail: 0,
        };
        match grab.step {
            // If the client retries, its wait began with the first attempt.
            GrabStep::Refused if !self.open.iter().any(|(known, _)| *known == key) => {
                self.opens(grab.asked, key, grab.by, grab.holder, None);
            }
            GrabStep::Began => self.answered(grab.time, key),
            _ => {}
        }
    }

    /// Ends the open requests of a client that disconnected at `time`.
    pub(crate) fn closed(&mut self, time: Timestamp, client: ConnectionId) {
        self.close(time, OpenStep::Abandoned, |(_, one)| one.client == client);
        self.composing.retain(|one| *one != client);
        self.transfers.retain(|_, one| one.owner != client);
        self.window_manager.take_if(|one| *one == client);
    }
}

/// The client that created this window.
fn client_of(session: &Session, window: u32) -> Option<ConnectionId> {
    session
        .id_range(window)
        .map(|range| ConnectionId(range.client.0))
}
