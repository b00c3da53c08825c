//! The server's state that requests use, and the effects of core requests on it.

use x11prof_protocol::{Body, ErrorMessage, Request, ServerSetup};
use x11rb_protocol::protocol::xproto;

use crate::awaited::AwaitedReplies;
use crate::geometry::target::DrawTarget;
use crate::ids::{By, ClientId, Made};
use crate::rendering::gc::{Gc, Gcs, Known};
use crate::rendering::render::Render;
use crate::resources::atoms::Atoms;
use crate::resources::clients::{Clients, Undoable};
use crate::resources::fonts::Fonts;
use crate::resources::inventory::Inventory;
use crate::resources::regions::Regions;
use crate::setup::{PixmapFormat, Setup};
use crate::windows::drawables::Drawables;
use crate::windows::requests;

/// The state of the server that requests use: drawables, GCs, fonts, pictures and others.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) awaited: AwaitedReplies,
    pub(crate) atoms: Atoms,
    pub(crate) clients: Clients,
    pub(crate) drawables: Drawables,
    pub(crate) fonts: Fonts,
    pub(crate) gcs: Gcs,
    pub(crate) inventory: Inventory,
    pub(crate) pixmap_formats: Vec<PixmapFormat>,
    pub(crate) regions: Regions,
    pub(crate) render: Render,
}

impl State {
    /// A drawable as the destination of a request with a GC, and the GC; `None` if the GC is unknown. If the GC is
    /// unknown, the effect is also unknown, because the GC may have a clip.
    #[inline]
    pub(crate) fn with_gc(
        &self,
        drawable: Option<u32>,
        gc: Option<u32>,
    ) -> (DrawTarget<'_>, Option<&Gc>) {
        let target = self.drawables.target(drawable);
        let Some(gc) = gc.and_then(|gc| self.gcs.get(gc)) else {
            return (target.doubted(), None);
        };
        let (clip, origin) = gc.clip();
        (target.clipped(clip, origin), Some(gc))
    }

    /// Applies a core request to the state. Returns `None` if the request was truncated.
    pub(crate) fn apply(&mut self, by: By, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
        let drawables = &mut self.drawables;
        match request.major {
            xproto::CREATE_WINDOW_REQUEST => requests::create(drawables, by, request.minor, body)?,
            xproto::CREATE_PIXMAP_REQUEST => drawables.create_pixmap(by, request.minor, body)?,
            xproto::CREATE_GC_REQUEST => {
                let fonts = &self.fonts;
                self.gcs.create(by, body, &Known { fonts, drawables })?
            }
            xproto::OPEN_FONT_REQUEST => self.fonts.open(by, body)?,
            _ => return self.change(by, request, body),
        };
        Some(())
    }

    /// Applies requests that change or free resources, and stores requests whose replies describe resources.
    fn change(&mut self, by: By, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
        match request.major {
            xproto::CHANGE_WINDOW_ATTRIBUTES_REQUEST => {
                requests::change_attributes(&mut self.drawables.windows, by, body)?;
            }
            xproto::CHANGE_SAVE_SET_REQUEST => {
                let insert = request.minor == 0;
                self.clients
                    .change_save_set(by.client, insert, body.u32(0)?);
            }
            xproto::DESTROY_WINDOW_REQUEST
            | xproto::DESTROY_SUBWINDOWS_REQUEST
            | xproto::REPARENT_WINDOW_REQUEST..=xproto::CIRCULATE_WINDOW_REQUEST => {
                requests::request(&mut self.drawables, by, request, body)?;
            }
            xproto::CHANGE_PROPERTY_REQUEST => {
                requests::change_property(&mut self.drawables.windows, &self.atoms, body)?;
            }
            xproto::FREE_PIXMAP_REQUEST => self.drawables.free_pixmap(body.u32(0)?),
            xproto::CLOSE_FONT_REQUEST => self.fonts.close(body.u32(0)?),
            xproto::CHANGE_GC_REQUEST..=xproto::SET_CLIP_RECTANGLES_REQUEST => {
                let known = Known {
                    fonts: &self.fonts,
                    drawables: &self.drawables,
                };
                let (gc, mask) = match request.major {
                    xproto::CHANGE_GC_REQUEST => self.gcs.change(body, &known)?,
                    xproto::COPY_GC_REQUEST => self.gcs.copy(body)?,
                    xproto::SET_DASHES_REQUEST => self.gcs.set_dashes(body)?,
                    _ => self.gcs.set_clip_rectangles(body)?,
                };
                let deed = Undoable::ChangedGc { gc, mask };
                self.clients.did(by.client, by.sequence, deed);
            }
            xproto::FREE_GC_REQUEST => self.gcs.free(body.u32(0)?),
            xproto::SET_CLOSE_DOWN_MODE_REQUEST => {
                self.clients.set_close_down(by.client, request.minor);
            }
            xproto::KILL_CLIENT_REQUEST => {
                for client in self.clients.killed(body.u32(0)?) {
                    self.remove_client(client);
                }
            }
            _ => self.awaited.request(by, request, None, body),
        }
        Some(())
    }

    pub(crate) fn accepted(&mut self, client: ClientId, setup: &ServerSetup<'_>) {
        if let Some(setup) = Setup::read(setup) {
            self.clients.accepted(client, setup.id_base, setup.id_mask);
            self.pixmap_formats = setup.formats;
            setup
                .roots
                .into_iter()
                .for_each(|root| self.drawables.add_root(root));
        }
    }

    /// Processes the error for a failed request. The resource that the request should have created does not exist. The
    /// resource that it should have changed becomes unknown.
    pub(crate) fn failed(&mut self, client: ClientId, error: &ErrorMessage<'_>) {
        let by = By {
            client,
            sequence: error.sequence,
        };
        match self.clients.failed(client, error.sequence) {
            Some(Undoable::Made(id)) => {
                self.inventory.failed(id, by);
                self.undo(id, &|made| made == by);
                self.free_destroyed();
            }
            Some(Undoable::ChangedGc { gc, mask }) => self.gcs.doubt(gc, mask),
            None => {}
        }
    }

    /// Processes the end of a client's connection.
    pub(crate) fn closed(&mut self, client: ClientId) {
        self.awaited.remove_client(client);
        let saved = self.clients.take_save_set(client);
        self.drawables.windows.save(client, &saved);
        if self.clients.closed(client) {
            self.remove_client(client);
        }
    }

    fn remove_client(&mut self, client: ClientId) {
        self.drawables.windows.remove_client(client);
        for id in self.inventory.remove_client(client) {
            self.undo(id, &|made| made.client == client);
        }
        self.free_destroyed();
    }

    /// Removes the resource `id` if `made` returns true for the request that created it.
    fn undo(&mut self, id: u32, made: Made<'_>) {
        self.drawables.undo(id, made);
        self.fonts.undo(id, made);
        self.gcs.undo(id, made);
        self.regions.undo(id, made);
        self.render.undo(id, made);
    }

    /// Removes destroyed windows from the inventory, with the resources that the server frees together with them.
    pub(crate) fn free_destroyed(&mut self) {
        for id in self.drawables.windows.take_destroyed() {
            self.inventory.freed(id);
        }
    }
}
