//! The existing resources of every kind that clients created, and the changes by the last message. The modules
//! `windows` and `rendering` describe the resources that are used for drawing.

use std::collections::BTreeSet;

use crate::ids::{By, ClientId, IdMap};
use crate::resources::resource::{Resource, ResourceChange, ResourceKind};
use rustc_hash::FxHashMap;

/// The existing resources of a display that clients created, and the latest changes.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    held: IdMap<Held>,
    /// The ids of each client's resources, including those from before the recording.
    of_clients: BTreeSet<(ClientId, u32)>,
    /// For each window, the ids of other resources that the server frees together with the window.
    bound: FxHashMap<u32, BTreeSet<u32>>,
    changes: Vec<ResourceChange>,
}

#[derive(Debug)]
struct Held {
    resource: Resource,
    /// The window together with which the server frees the resource.
    window: Option<u32>,
}

impl Inventory {
    pub(crate) fn get(&self, id: u32) -> Option<&Resource> {
        self.held.get(id).map(|held| &held.resource)
    }

    /// The changes of resources since `start_message`.
    pub(crate) fn changes(&self) -> &[ResourceChange] {
        &self.changes
    }

    /// Starts the next message: drops the changes of the previous message.
    #[inline]
    pub(crate) fn start_message(&mut self) {
        self.changes.clear();
    }

    /// Notes that a request created `resource`. If `window` is set, the resource is freed with this window.
    pub(crate) fn created(&mut self, resource: Resource, window: Option<u32>) {
        // The protocol forbids reusing an id in use, so the end of the old resource was not observed.
        self.freed(resource.id);
        if !self.held.insert(resource.id, Held { resource, window }) {
            return;
        }
        self.existed(resource.client, resource.id);
        if let Some(window) = window {
            self.bound.entry(window).or_default().insert(resource.id);
        }
        self.changes.push(ResourceChange::Created(resource));
    }

    /// Notes that a resource of `client` existed before the recording.
    pub(crate) fn existed(&mut self, client: ClientId, id: u32) {
        self.of_clients.insert((client, id));
    }

    /// Notes that a request freed the resource `id`, or destroyed its window.
    pub(crate) fn freed(&mut self, id: u32) {
        let Some(resource) = self.remove(id) else {
            return;
        };
        self.changes.push(ResourceChange::Freed(resource));
        if resource.kind == ResourceKind::Window {
            self.window_gone(id);
        }
    }

    /// Frees the resources that the server frees together with `window`.
    fn window_gone(&mut self, window: u32) {
        for id in self.bound.remove(&window).unwrap_or_default() {
            self.freed(id);
        }
    }

    /// Notes that the request `by`, which should have created the resource `id`, failed.
    pub(crate) fn failed(&mut self, id: u32, by: By) {
        let made =
            |resource: &Resource| resource.client == by.client && resource.sequence == by.sequence;
        if self.get(id).is_some_and(made)
            && let Some(resource) = self.remove(id)
        {
            self.changes.push(ResourceChange::Failed(resource));
        }
    }

    /// Frees the resources of a client, because its connection has ended. Returns their ids.
    pub(crate) fn remove_client(&mut self, client: ClientId) -> Vec<u32> {
        let own = self.of_clients.range((client, 0)..=(client, u32::MAX));
        let own: Vec<u32> = own.map(|(_, id)| *id).collect();
        let gone: Vec<Resource> = own.iter().filter_map(|id| self.remove(*id)).collect();
        // Resources from before the recording.
        own.iter().for_each(|id| {
            self.of_clients.remove(&(client, *id));
        });
        for resource in gone {
            self.changes.push(ResourceChange::Closed(resource));
            if resource.kind == ResourceKind::Window {
                self.window_gone(resource.id);
            }
        }
        own
    }

    /// Notes the new size of the resource `id`: width and height in pixels, and bytes.
    pub(crate) fn resized(&mut self, id: u32, size: (u16, u16), bytes: u64) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        let resource = &mut held.resource;
        if (resource.size, resource.bytes) != (size, bytes) {
            let bytes_before = std::mem::replace(&mut resource.bytes, bytes);
            resource.size = size;
            let now = *resource;
            self.changes
                .push(ResourceChange::Resized { now, bytes_before });
        }
    }

    fn remove(&mut self, id: u32) -> Option<Resource> {
        let Held { resource, window } = self.held.remove(id)?;
        self.of_clients.remove(&(resource.client, id));
        if let Some(window) = window
            && let Some(bound) = self.bound.get_mut(&window)
        {
            bound.remove(&id);
            if bound.is_empty() {
                self.bound.remove(&window);
            }
        }
        Some(resource)
    }
}
