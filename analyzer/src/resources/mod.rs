//! What each client holds in the server, over time: the dynamic profile of resources that the
//! paper's Limitations section wishes for.
//!
//! It follows the requests that create and free resources, takes back creations that failed, and
//! frees what a client leaves behind when it closes. It counts what clients asked for; what a
//! server allocates for itself (a backing pixmap, a cache of glyphs) is not on the wire.

mod clients;
mod history;
mod kind_use;
pub(crate) mod pixel_formats;
pub(crate) mod report;
pub(crate) mod requests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use x11prof_protocol::{Message, Request, SequenceNumber};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::pipeline::{Observation, Seen};
use clients::{ClientUse, Clients, Remainder, RemainderKey};
use kind_use::{Held, KindUse};
use pixel_formats::PixelFormats;
use requests::{Action, ResourceKind, Shape, action, close_down_mode};

/// Resources followed at once, at most.
const MOST: usize = 1 << 18;
/// Creations of a client that an error may still take back.
const REMEMBERED: usize = 1024;
/// Glyphs of a set told apart at most.
const MOST_GLYPHS: usize = 1 << 16;

/// The resources of all clients.
#[derive(Debug, Default)]
pub struct Resources {
    pub(crate) formats: PixelFormats,
    pub(crate) clients: Clients,
    held: HashMap<u32, Held>,
    /// What goes with a window: its children, and what is bound to it.
    inside: HashMap<u32, BTreeSet<u32>>,
    pub(crate) now: Timestamp,
    pub(crate) start: Option<Timestamp>,
}

impl Resources {
    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                self.now = self.now.max(seen.time);
                self.message(seen);
            }
            Observation::Control(time, control) => {
                self.start.get_or_insert(*time);
                self.now = self.now.max(*time);
                if let Control::Closed { connection, .. } = control {
                    self.closed(*connection);
                }
            }
            _ => {}
        }
    }

    /// Starts all counts afresh, from what is held now.
    pub fn start_afresh(&mut self) {
        self.clients.start_afresh(self.now);
    }

    fn message(&mut self, seen: &Seen<'_>) {
        match seen.message {
            Message::ServerSetup(setup) => {
                self.formats.learn(setup);
                let base = setup.order.u32(setup.bytes, 12);
                if let Some(client) = self.client(seen.connection) {
                    client.id_base = base;
                }
            }
            Message::Request(request) => {
                if let Some(action) = action(request).or_else(|| close_down_mode(request)) {
                    self.act(seen, request, action);
                }
            }
            Message::Error(error) => self.failed(seen.connection, error.sequence),
            _ => {}
        }
    }

    fn client(&mut self, id: ConnectionId) -> Option<&mut ClientUse> {
        self.clients.entry(id, self.now)
    }

    fn act(&mut self, seen: &Seen<'_>, request: &Request<'_>, action: Action) {
        match action {
            Action::Create(kind, id, shape) => self.create(seen, request, kind, id, shape),
            Action::Free(id) => self.free(id),
            Action::DestroySubwindows(id) => self.destroy_inferiors(id),
            Action::Reparent { window, parent } => {
                if let Some(held) = self.held.get_mut(&window) {
                    let before = std::mem::replace(&mut held.shape.of, parent);
                    if let Some(inside) = self.inside.get_mut(&before) {
                        inside.remove(&window);
                    }
                    self.inside.entry(parent).or_default().insert(window);
                }
            }
            Action::Resize {
                window,
                mask,
                sizes,
            } => self.resize(window, mask, sizes),
            Action::AddGlyphs { set, glyphs } => self.change_glyphs(set, |held| {
                for (glyph, bytes) in glyphs {
                    if held.len() < MOST_GLYPHS || held.contains_key(&glyph) {
                        held.insert(glyph, bytes);
                    }
                }
            }),
            Action::FreeGlyphs { set, glyphs } => self.change_glyphs(set, |held| {
                for glyph in glyphs {
                    held.remove(&glyph);
                }
            }),
            Action::CloseDownMode(mode) => {
                if let Some(client) = self.client(seen.connection) {
                    client.retains = mode != 0;
                }
            }
        }
    }

    fn create(
        &mut self,
        seen: &Seen<'_>,
        request: &Request<'_>,
        kind: ResourceKind,
        id: u32,
        mut shape: Shape,
    ) {
        if self.held.len() >= MOST {
            return;
        }
        if kind == ResourceKind::Window && shape.depth == 0 {
            let parent = self.held.get(&shape.of).map(|parent| parent.shape.depth);
            shape.depth = parent
                .or_else(|| self.formats.root_depth(shape.of))
                .unwrap_or(0);
        }
        let bytes = self.formats.bytes(kind, &shape);
        let held = Held {
            kind,
            owner: seen.connection,
            request: request.name,
            sequence: request.sequence,
            created: seen.time,
            bytes,
            shape,
            glyphs: None,
        };
        // The protocol forbids it; then the old one's end was not seen.
        if self.held.contains_key(&id) {
            self.free(id);
        }
        let now = self.now;
        if let Some(client) = self.client(seen.connection) {
            if client.made.len() == REMEMBERED {
                client.made.pop_front();
            }
            client.made.push_back((request.sequence, id));
            let opened = client.opened;
            let of_kind = client
                .kinds
                .entry(kind)
                .or_insert_with(|| KindUse::new(opened));
            of_kind.created(now, &held);
        }
        if goes_with_window(kind) {
            self.inside.entry(shape.of).or_default().insert(id);
        }
        self.held.insert(id, held);
    }

    /// Frees a resource; with a window its inferiors, and what is bound to them.
    fn free(&mut self, id: u32) {
        let mut going = vec![id];
        while let Some(id) = going.pop() {
            let Some(held) = self.held.remove(&id) else {
                continue;
            };
            if let Some(of_kind) = self
                .clients
                .get_mut(held.owner)
                .and_then(|client| client.kinds.get_mut(&held.kind))
            {
                of_kind.freed(self.now, &held);
            }
            self.unbind(id, &held);
            if held.kind == ResourceKind::Window {
                going.extend(self.inside.remove(&id).unwrap_or_default());
            }
        }
    }

    fn destroy_inferiors(&mut self, window: u32) {
        let inside = self.inside.remove(&window).unwrap_or_default();
        inside.into_iter().for_each(|id| self.free(id));
    }

    fn unbind(&mut self, id: u32, held: &Held) {
        if let Some(inside) = self.inside.get_mut(&held.shape.of) {
            inside.remove(&id);
            if inside.is_empty() {
                self.inside.remove(&held.shape.of);
            }
        }
    }

    fn resize(&mut self, id: u32, mask: u16, [width, height]: [u32; 2]) {
        let Some(window) = self.held.get_mut(&id) else {
            return;
        };
        let size = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
        if mask & 0b0100 != 0 {
            window.shape.width = size(width);
        }
        if mask & 0b1000 != 0 {
            window.shape.height = size(height);
        }
        let bytes = self.formats.bytes(window.kind, &window.shape);
        let before = std::mem::replace(&mut window.bytes, bytes);
        let (owner, kind) = (window.owner, window.kind);
        self.bytes_changed(owner, kind, before, bytes);
    }

    fn change_glyphs(&mut self, set: u32, change: impl FnOnce(&mut HashMap<u32, u64>)) {
        let Some(held) = self.held.get_mut(&set) else {
            return;
        };
        let glyphs = held.glyphs.get_or_insert_default();
        change(glyphs);
        let bytes = glyphs
            .values()
            .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let before = std::mem::replace(&mut held.bytes, bytes);
        let (owner, kind) = (held.owner, held.kind);
        self.bytes_changed(owner, kind, before, bytes);
    }

    fn bytes_changed(&mut self, owner: ConnectionId, kind: ResourceKind, before: u64, now: u64) {
        let client = self.clients.get_mut(owner);
        if let Some(of_kind) = client.and_then(|client| client.kinds.get_mut(&kind)) {
            of_kind.held_bytes = of_kind
                .held_bytes
                .saturating_sub(before)
                .saturating_add(now);
            of_kind.most_bytes = of_kind.most_bytes.max(of_kind.held_bytes);
        }
    }

    /// A request failed: what it was to make does not exist.
    fn failed(&mut self, connection: ConnectionId, sequence: SequenceNumber) {
        let Some(client) = self.clients.get_mut(connection) else {
            return;
        };
        let Ok(at) = client
            .made
            .binary_search_by_key(&sequence, |(made, _)| *made)
        else {
            return;
        };
        let Some((_, id)) = client.made.get(at).copied() else {
            return;
        };
        let made = |held: &Held| held.owner == connection && held.sequence == sequence;
        if self.held.get(&id).is_some_and(made)
            && let Some(held) = self.held.remove(&id)
            && let Some(of_kind) = client.kinds.get_mut(&held.kind)
        {
            of_kind.undone(self.now, &held);
            self.unbind(id, &held);
        }
    }

    fn closed(&mut self, connection: ConnectionId) {
        let remained = self.remaining(connection);
        if !self.clients.closed(connection, self.now, remained) {
            return;
        }
        // What went with the connection was held to its end: it is not counted as freed.
        let owned: Vec<u32> = self
            .held
            .iter()
            .filter(|(_, held)| held.owner == connection)
            .map(|(id, _)| *id)
            .collect();
        let mut windows = Vec::new();
        for id in owned {
            if let Some(held) = self.held.remove(&id) {
                self.unbind(id, &held);
                if held.kind == ResourceKind::Window {
                    windows.push(id);
                }
            }
        }
        windows
            .into_iter()
            .for_each(|id| self.destroy_inferiors(id));
    }

    /// What a client holds now, in groups.
    pub(crate) fn remaining(&self, client: ConnectionId) -> BTreeMap<RemainderKey, Remainder> {
        let mut groups: BTreeMap<RemainderKey, Remainder> = BTreeMap::new();
        for held in self.held.values().filter(|held| held.owner == client) {
            let shape = &held.shape;
            let key = (
                held.kind,
                held.request,
                shape.width,
                shape.height,
                shape.depth,
            );
            let group = groups.entry(key).or_insert(Remainder {
                count: 0,
                bytes: 0,
                first: held.created,
                last: held.created,
            });
            group.count += 1;
            group.bytes = group.bytes.saturating_add(held.bytes);
            group.first = group.first.min(held.created);
            group.last = group.last.max(held.created);
        }
        groups
    }
}

/// Whether a resource goes with the window that it is in or of. A picture keeps a pixmap alive,
/// but not a window.
fn goes_with_window(kind: ResourceKind) -> bool {
    matches!(
        kind,
        ResourceKind::Window
            | ResourceKind::Picture
            | ResourceKind::Damage
            | ResourceKind::BackBuffer
    )
}
