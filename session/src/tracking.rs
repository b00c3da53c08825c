//! The effects of messages on the inventory of resources. Requests are tracked after they have changed the state,
//! because the sizes and depths of new resources are read from the state.

use x11prof_protocol::{Body, Event, Request};
use x11rb_protocol::protocol::{dri3, render, shm, xproto};

use crate::extension_kind::ExtensionKind;
use crate::ids::By;
use crate::request_table::{Fact, facts};
use crate::resources::clients::Undoable;
use crate::resources::resource::{Resource, ResourceKind};
use crate::setup::pixel_bytes;
use crate::state::State;

impl State {
    /// Tracks the resources that a request created, freed and resized. Returns `None` if the request was truncated.
    #[inline]
    pub(crate) fn track(
        &mut self,
        by: By,
        request: &Request<'_>,
        extension: Option<ExtensionKind>,
        body: &Body<'_>,
    ) -> Option<()> {
        self.free_destroyed();
        for fact in facts(request) {
            let (kind, at, window) = match *fact {
                Fact::Frees => {
                    self.inventory.freed(body.u32(0)?);
                    return Some(());
                }
                Fact::Makes(kind, at) => (kind, at, None),
                Fact::MakesOfWindow(kind, at, window) => (kind, at, Some(body.u32(window)?)),
                _ => continue,
            };
            let new = self.made(by, request, (kind, body.u32(at)?), extension, body)?;
            self.inventory.created(new, window);
            return Some(());
        }
        self.resized(request, extension, body)
    }

    /// Tracks the destroyed and resized windows after an event.
    pub(crate) fn track_event(&mut self, event: &Event<'_>) -> Option<()> {
        self.free_destroyed();
        if event.code == xproto::CONFIGURE_NOTIFY_EVENT {
            self.window_resized(event.order.u32(event.bytes, 8)?)?;
        }
        Some(())
    }

    /// Returns the resource that a request of the client in `by` created. `extension` is the request's extension.
    fn made(
        &mut self,
        by: By,
        request: &Request<'_>,
        (kind, id): (ResourceKind, u32),
        extension: Option<ExtensionKind>,
        body: &Body<'_>,
    ) -> Option<Resource> {
        let deed = Undoable::Made(id);
        self.clients.did(by.client, by.sequence, deed);
        let reported = match (extension, request.minor) {
            (Some(ExtensionKind::Dri3), dri3::PIXMAP_FROM_BUFFER_REQUEST) => {
                body.u32(8).map(u64::from)
            }
            (Some(ExtensionKind::Shm), shm::CREATE_SEGMENT_REQUEST) => body.u32(4).map(u64::from),
            _ => None,
        };
        let (size, depth, has_pixels) = match kind {
            ResourceKind::Window => {
                let window = self.drawables.windows.get(id)?;
                let size = (window.geometry.width, window.geometry.height);
                // A window draws into the screen's memory, or into a pixmap that the compositing manager names.
                (size, window.depth, false)
            }
            ResourceKind::Pixmap => {
                let pixmap = self.drawables.pixmap(id)?;
                ((pixmap.width, pixmap.height), pixmap.depth, true)
            }
            _ => ((0, 0), None, false),
        };
        let pixels = || {
            let depth = depth.filter(|_| has_pixels)?;
            Some(pixel_bytes(&self.pixmap_formats, depth, size))
        };
        Some(Resource {
            id,
            kind,
            client: by.client,
            sequence: by.sequence,
            request: request.name,
            size,
            depth,
            bytes: reported.or_else(pixels).unwrap_or(0),
        })
    }

    /// Applies a request that may change the size of an existing resource.
    fn resized(
        &mut self,
        request: &Request<'_>,
        extension: Option<ExtensionKind>,
        body: &Body<'_>,
    ) -> Option<()> {
        match (extension, request.major, request.minor) {
            (None, xproto::CONFIGURE_WINDOW_REQUEST, _) => self.window_resized(body.u32(0)?),
            (
                Some(ExtensionKind::Render),
                _,
                render::ADD_GLYPHS_REQUEST | render::FREE_GLYPHS_REQUEST,
            ) => {
                let id = body.u32(0)?;
                let bytes = self.render.glyphs.get(id)?.bytes();
                self.inventory.resized(id, (0, 0), bytes);
                Some(())
            }
            _ => None,
        }
    }

    fn window_resized(&mut self, id: u32) -> Option<()> {
        let window = self.drawables.windows.get(id)?;
        let size = (window.geometry.width, window.geometry.height);
        self.inventory.resized(id, size, 0);
        Some(())
    }
}
