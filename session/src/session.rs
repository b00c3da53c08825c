//! The session: takes the messages of all clients of a display, in order, and gives each
//! request as an operation.

use x11prof_protocol::{
    Body, ErrorMessage, Extensions, Message, Request, SequenceNumber, ServerSetup, Symbol,
};
use x11rb_protocol::protocol::xproto;

use crate::definitions::Definitions;
use crate::geometry::target::Target;
use crate::ids::{By, ClientId};
use crate::operations::names::{ExtensionKind, Names};
use crate::operations::operation::{Effect, Operation};
use crate::operations::subject::{self, Targets};
use crate::operations::{compositing, drawing, images, plain, text, window_requests};
use crate::rendering::gc::{Gc, Gcs, Known};
use crate::rendering::render::Render;
use crate::replies::AwaitedReplies;
use crate::resources::atoms::Atoms;
use crate::resources::clients::{Clients, Deed};
use crate::resources::fonts::{FontMetrics, Fonts};
use crate::resources::opaque::OpaqueResources;
use crate::resources::regions::Regions;
use crate::setup::{PixmapFormat, Setup};
use crate::windows::drawables::{Drawable, Drawables};
use crate::windows::{events, requests};

/// Major opcodes from here on are extensions' (protocol, section "Request Format").
const FIRST_EXTENSION: u8 = 128;

/// What a message was to the session.
#[derive(Debug, PartialEq)]
pub enum Observed<'a> {
    /// A request: it is to be priced. The value is used again for the next one.
    Operation(&'a Operation),
    /// The request of that number, observed before on the same connection, failed: it cost its
    /// fixed part only.
    Failed(SequenceNumber),
    /// Nothing that has a price here.
    Nothing,
}

/// The state of a display session, shared by its clients: any of them may use any resource.
#[derive(Debug)]
pub struct Session {
    state: State,
    names: Names,
    targets: Targets,
    operation: Operation,
    definitions: Definitions,
}

/// What requests find on the server.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) awaited: AwaitedReplies,
    pub(crate) atoms: Atoms,
    pub(crate) clients: Clients,
    pub(crate) drawables: Drawables,
    pub(crate) opaque: OpaqueResources,
    pub(crate) fonts: Fonts,
    pub(crate) gcs: Gcs,
    pub(crate) pixmap_formats: Vec<PixmapFormat>,
    pub(crate) regions: Regions,
    pub(crate) render: Render,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// A session of which nothing has been seen.
    pub fn new() -> Session {
        Session::with_definitions(Definitions::default())
    }

    /// A session of which nothing has been seen, in which the user's own definitions decide the
    /// operations that they are about.
    pub fn with_definitions(definitions: Definitions) -> Session {
        Session {
            definitions,
            state: State::default(),
            names: Names::new(),
            targets: Targets::new(),
            operation: Operation::new(Symbol::new("NoOperation")),
        }
    }

    /// Takes the next message of `client`.
    pub fn observe(
        &mut self,
        client: ClientId,
        message: &Message<'_>,
        extensions: &Extensions,
    ) -> Observed<'_> {
        match message {
            Message::Request(request) => {
                self.request(client, request, extensions);
                Observed::Operation(&self.operation)
            }
            Message::Error(error) => {
                self.state.failed(client, error);
                Observed::Failed(error.sequence)
            }
            Message::Event(event) => {
                events::event(&mut self.state.drawables, client, event);
                Observed::Nothing
            }
            Message::ServerSetup(setup) => {
                self.state.accepted(client, setup);
                Observed::Nothing
            }
            Message::Reply(reply) => {
                self.state.learn(client, reply);
                Observed::Nothing
            }
            Message::ClientSetup(_) | Message::Malformed(_) => Observed::Nothing,
        }
    }

    /// The operation of the last request.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The connection of `client` has ended: its resources go, unless it had them retained.
    pub fn closed(&mut self, client: ClientId) {
        self.state.closed(client);
    }

    /// The window or pixmap `id`; `None` where it is not known.
    pub fn drawable(&self, id: u32) -> Option<Drawable> {
        self.state.drawables.get(id)
    }

    /// The root windows, in the order of their ids.
    pub fn roots(&self) -> Vec<u32> {
        let mut roots: Vec<u32> = self.state.drawables.windows.roots().collect();
        roots.sort_unstable();
        roots
    }

    /// The drawable that the picture `id` is of; `None` where it is not known, or of none.
    pub fn picture_drawable(&self, id: u32) -> Option<u32> {
        self.state.render.pictures.drawable(id)
    }

    /// What a request that is yet to be observed acts on; `None` where it has no target that is
    /// known.
    pub fn target(&self, request: &Request<'_>) -> Option<subject::Target> {
        self.targets.find(request, &self.state.render.pictures)
    }

    /// The property, selection or message type that a request is about, or the name that it
    /// interns.
    pub fn subject_atom(&self, request: &Request<'_>) -> Option<Symbol> {
        subject::atom(&self.state.atoms, request)
    }

    /// The name of an atom, or `atom` and its number where the recording does not tell it.
    pub fn atom_label(&self, atom: u32) -> Symbol {
        subject::label(&self.state.atoms, atom)
    }

    /// The graphics context `id`; `None` where it is not known.
    pub fn gc(&self, id: u32) -> Option<&Gc> {
        self.state.gcs.get(id)
    }

    /// The name that the font `id` was opened by; `None` where it is not known.
    pub fn font_name(&self, id: u32) -> Option<Symbol> {
        self.state.fonts.name(id)
    }

    /// The metrics of the font `id`; `None` where no reply has told them.
    pub fn font_metrics(&self, id: u32) -> Option<FontMetrics> {
        self.state.fonts.metrics(id)
    }

    /// The name of an atom; `None` where the recording does not tell it.
    pub fn atom_name(&self, atom: u32) -> Option<&str> {
        self.state.atoms.name(atom)
    }

    /// The window that owns the selection named by an atom, as far as the recording tells.
    pub fn selection_owner(&self, selection: u32) -> Option<u32> {
        self.state.atoms.owner(selection)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Makes `self.operation` that of the request, and does to the state what the request does.
    fn request(&mut self, client: ClientId, request: &Request<'_>, extensions: &Extensions) {
        let Session {
            state,
            names,
            targets: _,
            operation,
            definitions,
        } = self;
        operation.request = request.name;
        operation.attributes.clear();
        operation.items.clear();
        operation.op_size = 0.0;
        operation.blanks = 0;
        operation.rows.clear();
        operation.surroundings = None;
        operation.effect = Effect::Full;
        let body = Body::of(request);
        match request.major {
            xproto::POLY_POINT_REQUEST..=xproto::POLY_FILL_ARC_REQUEST => {
                drawing::operation(operation, names, state, request, &body);
            }
            xproto::CLEAR_AREA_REQUEST..=xproto::COPY_PLANE_REQUEST
            | xproto::PUT_IMAGE_REQUEST
            | xproto::GET_IMAGE_REQUEST => {
                images::operation(operation, names, state, request, &body);
            }
            xproto::POLY_TEXT8_REQUEST..=xproto::IMAGE_TEXT16_REQUEST => {
                text::operation(operation, names, state, request, &body);
            }
            FIRST_EXTENSION.. => {
                let extension = extensions.by_major(request.major);
                let kind = extension.and_then(|extension| names.extension(extension.name));
                let drawn = match kind {
                    Some(ExtensionKind::Render) => {
                        compositing::operation(operation, names, state, request, &body);
                        true
                    }
                    Some(ExtensionKind::Shm) => {
                        images::shm_operation(operation, names, state, request.minor, &body)
                    }
                    Some(ExtensionKind::Present) => {
                        images::present_operation(operation, names, state, request.minor, &body)
                    }
                    _ => false,
                };
                if !drawn {
                    plain::extension(operation, names, kind, request);
                }
                if let Some(kind) = kind {
                    let by = By::request(client, request);
                    state.awaited.request(by, request, Some(kind), &body);
                    if let Some(made) = state.extension(by, kind, request.minor, &body) {
                        state
                            .clients
                            .did(client, request.sequence, Deed::Made(made));
                    }
                }
            }
            major => {
                if matches!(
                    major,
                    xproto::DESTROY_WINDOW_REQUEST
                        | xproto::DESTROY_SUBWINDOWS_REQUEST
                        | xproto::REPARENT_WINDOW_REQUEST
                        ..=xproto::CIRCULATE_WINDOW_REQUEST
                ) {
                    window_requests::operation(operation, names, state, client, request, &body);
                } else {
                    plain::operation(operation, names, state, request, &body);
                }
                state.apply(By::request(client, request), request, &body);
            }
        }
        if !definitions.is_empty() {
            definitions.redefine(operation, request, extensions);
        }
    }
}

impl State {
    /// A drawable as the target of a request with a GC, and that GC. A GC that is not known may
    /// clip.
    #[inline]
    pub(crate) fn with_gc(
        &self,
        drawable: Option<u32>,
        gc: Option<u32>,
    ) -> (Target<'_>, Option<&Gc>) {
        let target = self.drawables.target(drawable);
        let Some(gc) = gc.and_then(|gc| self.gcs.get(gc)) else {
            return (target.doubted(), None);
        };
        let (clip, origin) = gc.clip();
        (target.clipped(clip, origin), Some(gc))
    }

    /// Does what a core request does to the resources. `None` where it was cut off before that.
    fn apply(&mut self, by: By, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
        let drawables = &mut self.drawables;
        let made = match request.major {
            xproto::CREATE_WINDOW_REQUEST => requests::create(drawables, by, request.minor, body)?,
            xproto::CREATE_PIXMAP_REQUEST => drawables.create_pixmap(by, request.minor, body)?,
            xproto::CREATE_GC_REQUEST => {
                let fonts = &self.fonts;
                self.gcs.create(by, body, &Known { fonts, drawables })?
            }
            xproto::OPEN_FONT_REQUEST => self.fonts.open(by, body)?,
            xproto::CREATE_COLORMAP_REQUEST
            | xproto::COPY_COLORMAP_AND_FREE_REQUEST
            | xproto::CREATE_CURSOR_REQUEST
            | xproto::CREATE_GLYPH_CURSOR_REQUEST => self.opaque.core(by, request.major, body)?,
            _ => return self.change(by, request, body),
        };
        self.clients.did(by.client, by.sequence, Deed::Made(made));
        Some(())
    }

    /// The requests that change or free resources, and those whose replies tell of some.
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
            xproto::SET_SELECTION_OWNER_REQUEST => {
                self.atoms.own(body.u32(4)?, body.u32(0)?, Some(by));
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
                let deed = Deed::ChangedGc { gc, mask };
                self.clients.did(by.client, by.sequence, deed);
            }
            xproto::FREE_GC_REQUEST => self.gcs.free(body.u32(0)?),
            xproto::FREE_COLORMAP_REQUEST | xproto::FREE_CURSOR_REQUEST => {
                self.opaque.core(by, request.major, body);
            }
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

    fn accepted(&mut self, client: ClientId, setup: &ServerSetup<'_>) {
        if let Some(setup) = Setup::read(setup) {
            self.clients.accepted(client, setup.id_base, setup.id_mask);
            self.pixmap_formats = setup.formats;
            setup
                .roots
                .into_iter()
                .for_each(|root| self.drawables.add_root(root));
        }
    }

    /// A request failed: what it was to make does not exist, what it was to change may have
    /// been changed or not.
    fn failed(&mut self, client: ClientId, error: &ErrorMessage<'_>) {
        let by = By {
            client,
            sequence: error.sequence,
        };
        match self.clients.failed(client, error.sequence) {
            Some(Deed::Made(id)) => {
                self.drawables.undo(id, by);
                self.opaque.undo(id, by);
                self.fonts.undo(id, by);
                self.gcs.undo(id, by);
                self.regions.undo(id, by);
                self.render.undo(id, by);
            }
            Some(Deed::ChangedGc { gc, mask }) => self.gcs.doubt(gc, mask),
            None => {}
        }
    }

    /// The connection of a client has ended.
    fn closed(&mut self, client: ClientId) {
        self.awaited.remove_client(client);
        self.atoms.remove_client(client);
        let saved = self.clients.take_save_set(client);
        self.drawables.windows.save(client, &saved);
        if self.clients.closed(client) {
            self.remove_client(client);
        }
    }

    fn remove_client(&mut self, client: ClientId) {
        self.drawables.remove_client(client);
        self.opaque.remove_client(client);
        self.fonts.remove_client(client);
        self.gcs.remove_client(client);
        self.regions.remove_client(client);
        self.render.remove_client(client);
    }
}
