//! Resources of each client in the server, over time: the dynamic resource profile that the paper's Limitations section
//! proposes.
//!
//! The session reports each creation and freeing; this module counts them, with their times. Only the clients' requests
//! count: a server's own allocations (a backing pixmap, a cache of glyphs) are not visible in the protocol.

mod clients;
pub(crate) mod counts;
mod history;
mod kind_use;
pub(crate) mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use x11prof_protocol::{Message, Symbol};
use x11prof_session::{ClientId, PixmapFormat, Resource, ResourceChange, Session};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::callers::code_stacks::StackNames;
use crate::pipeline::elapsed::Elapsed;
use crate::pipeline::{MessageContext, Observation};
use crate::recording::trace_summary::TraceSummary;
use clients::{ClientUse, Clients, Remainder, RemainderKey};
use kind_use::{Held, KindUse, size};

/// The resources of all clients, over time.
#[derive(Debug, Default)]
pub struct Resources {
    pub(crate) formats: Vec<PixmapFormat>,
    pub(crate) clients: Clients,
    /// Existing resources of each client, with the time of their creation.
    held: HashMap<ConnectionId, HashMap<u32, Held>>,
    pub(crate) elapsed: Elapsed,
    stacks: StackNames,
}

/// The server memory that a client holds, allocated on one call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackHeld {
    /// The name of the client that holds the memory.
    pub client: String,
    /// The functions of the program on the stack, the outermost first.
    pub place: Vec<String>,
    /// The name of the request that created the resources.
    pub request: String,
    /// The number of bytes that the client holds.
    pub bytes: u64,
}

impl Resources {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.elapsed.observe(observation);
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Control(_, Control::Closed { connection, .. }) => self.closed(*connection),
            Observation::Closed { session, .. } => self.changed(session, None),
            _ => {}
        }
    }

    /// Restarts all counts, from the resources that clients hold now.
    pub fn start_afresh(&mut self) {
        self.clients.start_afresh(self.elapsed.now());
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        if matches!(seen.message, Message::ServerSetup(_)) {
            if self.formats.is_empty() {
                self.formats = seen.session.pixmap_formats().to_vec();
            }
            let ids = seen.session.ids_of(ClientId(seen.connection.0));
            if let Some(client) = self.client(seen.connection) {
                client.id_base = ids.map(|ids| ids.first);
            }
        }
        self.changed(seen.session, seen.stack);
    }

    /// Counts the effects of the last message, or of the end of a connection, on resources.
    fn changed(&mut self, session: &Session, stack: Option<u32>) {
        for change in session.resource_changes() {
            match change {
                ResourceChange::Created(resource) => self.created(*resource, stack),
                ResourceChange::Freed(resource) => {
                    self.end(resource, |of_kind, now, held| of_kind.freed(now, held));
                }
                ResourceChange::Failed(resource) => {
                    self.end(resource, |of_kind, now, held| of_kind.undone(now, held));
                }
                // The client held the resource until its end, so it does not count as freed.
                ResourceChange::Closed(resource) => {
                    self.remove(resource);
                }
                ResourceChange::Resized { now, bytes_before } => self.resized(*now, *bytes_before),
            }
        }
    }

    fn client(&mut self, id: ConnectionId) -> Option<&mut ClientUse> {
        self.clients.entry(id, self.elapsed.now())
    }

    fn created(&mut self, resource: Resource, stack: Option<u32>) {
        let created = self.elapsed.now();
        let held = Held {
            resource,
            created,
            stack,
        };
        let Some(client) = self.client(owner(&resource)) else {
            return;
        };
        let opened = client.opened;
        let of_kind = client.kinds.entry(resource.kind);
        let of_kind = of_kind.or_insert_with(|| KindUse::new(opened));
        of_kind.created(created, &held);
        let of_client = self.held.entry(owner(&resource)).or_default();
        of_client.insert(resource.id, held);
    }

    fn remove(&mut self, resource: &Resource) -> Option<Held> {
        let client = owner(resource);
        let of_client = self.held.get_mut(&client)?;
        let held = of_client.remove(&resource.id);
        // The map of a client that has disconnected would keep its memory.
        if of_client.is_empty() {
            self.held.remove(&client);
        }
        held
    }

    /// Processes the end of a resource. `count` removes the resource from the counts.
    fn end(&mut self, resource: &Resource, count: impl Fn(&mut KindUse, Timestamp, &Held)) {
        if let Some(held) = self.remove(resource)
            && let Some(client) = self.clients.get_mut(owner(resource))
            && let Some(of_kind) = client.kinds.get_mut(&resource.kind)
        {
            count(of_kind, self.elapsed.now(), &held);
        }
    }

    fn resized(&mut self, now: Resource, bytes_before: u64) {
        let of_client = self.held.get_mut(&owner(&now));
        if let Some(held) = of_client.and_then(|of| of.get_mut(&now.id)) {
            held.resource = now;
        }
        let client = self.clients.get_mut(owner(&now));
        if let Some(of_kind) = client.and_then(|client| client.kinds.get_mut(&now.kind)) {
            of_kind.counts.replace_bytes(bytes_before, now.bytes);
        }
    }

    fn closed(&mut self, connection: ConnectionId) {
        let remained = self.remaining(connection);
        self.clients
            .closed(connection, self.elapsed.now(), remained);
    }

    /// The resources that a client holds now, in groups.
    pub(crate) fn remaining(&self, client: ConnectionId) -> BTreeMap<RemainderKey, Remainder> {
        let mut groups: BTreeMap<RemainderKey, Remainder> = BTreeMap::new();
        for held in self.held.get(&client).into_iter().flat_map(HashMap::values) {
            let resource = &held.resource;
            let (width, height, depth) = size(resource);
            let (kind, request) = (resource.kind, resource.request);
            let one = Remainder {
                count: 1,
                bytes: resource.bytes,
                first: held.created,
                last: held.created,
            };
            join(
                &mut groups,
                (kind, request, width, height, depth, held.stack),
                &one,
            );
        }
        groups
    }

    /// The groups of remaining resources; groups whose stacks have equal function names are merged.
    pub(crate) fn by_function(
        &self,
        remained: BTreeMap<RemainderKey, Remainder>,
    ) -> BTreeMap<RemainderKey, Remainder> {
        let mut groups = BTreeMap::new();
        for ((kind, request, width, height, depth, stack), one) in remained {
            // Stacks without names are ignored.
            let stack = stack.filter(|stack| self.stacks.of(*stack).is_some());
            let stack = stack.map(|stack| self.stacks.first_alike(stack));
            join(
                &mut groups,
                (kind, request, width, height, depth, stack),
                &one,
            );
        }
        groups
    }

    /// The bytes that each client holds at the end of the recording, or held when it disconnected, by the stack on
    /// which the resources were created. `names` has the functions of the stacks.
    pub fn held_by_stack(&self, names: &StackNames, summary: &TraceSummary) -> Vec<StackHeld> {
        let mut held: BTreeMap<(ConnectionId, u32, Symbol), u64> = BTreeMap::new();
        for (id, of) in self.clients.iter() {
            let remained = match of.closed {
                Some(_) => of.remained.clone(),
                None => self.remaining(id),
            };
            for ((_, request, .., stack), one) in remained {
                if let Some(stack) = stack.filter(|_| one.bytes > 0) {
                    let key = (id, names.first_alike(stack), request);
                    *held.entry(key).or_default() += one.bytes;
                }
            }
        }
        let of = |((client, stack, request), bytes): ((ConnectionId, u32, Symbol), u64)| {
            Some(StackHeld {
                client: summary.client_name(client),
                place: names.of(stack)?.iter().rev().cloned().collect(),
                request: request.to_string(),
                bytes,
            })
        };
        held.into_iter().filter_map(of).collect()
    }

    /// The name of the function that represents a stack; `None` if unknown.
    pub(crate) fn function(&self, stack: u32) -> Option<String> {
        self.stacks.of(stack).map(|names| names.join(" < "))
    }

    /// Sets the names of the stacks on which resources were created.
    pub fn name_stacks(&mut self, names: StackNames) {
        self.stacks = names;
    }
}

fn join(groups: &mut BTreeMap<RemainderKey, Remainder>, key: RemainderKey, other: &Remainder) {
    match groups.get_mut(&key) {
        Some(group) => group.join(other),
        None => drop(groups.insert(key, other.clone())),
    }
}

/// The connection of the client that created a resource.
fn owner(resource: &Resource) -> ConnectionId {
    ConnectionId(resource.client.0)
}
