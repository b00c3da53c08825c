//! The session, which processes the messages of all clients of a display in order, and returns each request as an
//! operation.

use x11prof_protocol::{Body, Extensions, Message, Request, SequenceNumber, Symbol};
use x11rb_protocol::protocol::xproto;

use crate::extension_kind::{ExtensionKind, ExtensionKinds};
use crate::geometry::target::Effect;
use crate::ids::{By, ClientId, IdRange};
use crate::operations::names::Names;
use crate::operations::network_substitute::{NetworkSubstitute, Sharing};
use crate::operations::operation::Operation;
use crate::operations::pixel_access::{self, PixelAccess};
use crate::operations::subject;
use crate::operations::{compositing, drawing, images, plain, text, window_requests};
use crate::rendering::gc::Gc;
use crate::request_table::{self, Target};
use crate::resources::resource::{Resource, ResourceChange};
use crate::setup::PixmapFormat;
use crate::state::State;
use crate::windows::drawables::Drawable;
use crate::windows::events;
use crate::windows::names::WindowNames;

/// The first major opcode of extensions (protocol, section "Request Format").
const FIRST_EXTENSION: u8 = 128;

/// True if the core request with this major opcode only draws or does nothing, so that it changes no state of the
/// session.
pub fn only_draws(major: u8) -> bool {
    let draws = xproto::POLY_POINT_REQUEST..=xproto::POLY_FILL_ARC_REQUEST;
    draws.contains(&major) || major == xproto::NO_OPERATION_REQUEST
}

/// The result of processing a message, used to estimate costs.
#[derive(Debug, PartialEq)]
pub enum Observed<'a> {
    /// The message is a request with this operation, from which its cost can be estimated. The next request overwrites
    /// the operation.
    Operation(&'a Operation),
    /// The request with this sequence number, observed earlier on the same connection, failed. Only its fixed part has
    /// a cost.
    Failed(SequenceNumber),
    /// The message is not a request, and reports no failed request.
    Nothing,
}

/// The state of a display session. All clients share it, because any client may use any resource.
#[derive(Debug)]
pub struct Session {
    pub(crate) state: State,
    names: Names,
    extensions: ExtensionKinds,
    operation: Operation,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// Creates a session without state.
    pub fn new() -> Session {
        Session {
            state: State::default(),
            names: Names::new(),
            extensions: ExtensionKinds::new(),
            operation: Operation::new(Symbol::new("NoOperation")),
        }
    }

    /// Processes the next message, which `client` sent or received.
    pub fn observe(
        &mut self,
        client: ClientId,
        message: &Message<'_>,
        extensions: &Extensions,
    ) -> Observed<'_> {
        self.state.inventory.start_message();
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
                self.state.track_event(event);
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

    /// The operation of the request that was processed last.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Processes the end of the connection of `client`. The client's resources are freed, unless the client retains
    /// them.
    pub fn closed(&mut self, client: ClientId) {
        self.state.inventory.start_message();
        self.state.closed(client);
    }

    /// The resource changes of the latest step: a message, or the end of a connection.
    pub fn resource_changes(&self) -> &[ResourceChange] {
        self.state.inventory.changes()
    }

    /// The resource with this id; `None` if no request in the recording created it.
    pub fn resource(&self, id: u32) -> Option<&Resource> {
        self.state.inventory.get(id)
    }

    /// The id range that contains `id`, with the latest client to which the server assigned the range. `None` for ids
    /// that the server uses itself, or if the client's setup is not in the recording.
    pub fn id_range(&self, id: u32) -> Option<IdRange> {
        self.state.clients.range(id)
    }

    /// The range of resource ids of a client; `None` if unknown.
    pub fn ids_of(&self, client: ClientId) -> Option<IdRange> {
        self.state.clients.ids_of(client)
    }

    /// The names in the properties of a window, given by id; `None` if no name has been set.
    pub fn window_names(&self, window: u32) -> Option<&WindowNames> {
        self.state.drawables.windows.names(window)
    }

    /// The geometry of a window, given by id; `None` if the window is unknown.
    pub fn window_geometry(&self, window: u32) -> Option<crate::Geometry> {
        Some(self.state.drawables.windows.get(window)?.geometry)
    }

    /// A window and its known ancestors, from the window upwards.
    pub fn ancestry(&self, window: u32) -> impl Iterator<Item = u32> + '_ {
        self.state.drawables.windows.ancestry(window)
    }

    /// The memory layout of this server's pixels, for each depth.
    pub fn pixmap_formats(&self) -> &[PixmapFormat] {
        &self.state.pixmap_formats
    }

    /// Returns the substitute for `request` on a server without shared memory. `request` must be the last request that
    /// the session observed, and `operation` its operation. `None` if the request shares no memory, or if its image is
    /// unknown.
    pub fn across(
        &self,
        request: &Request<'_>,
        operation: &Operation,
        extensions: &Extensions,
    ) -> Option<NetworkSubstitute> {
        let sharing = Sharing { state: &self.state };
        let extension = || self.extension(request, extensions);
        sharing.across(extension, request, operation)
    }

    /// Returns the pixels that `request` reads and writes. `request` must be the last request that the session
    /// observed, and `operation` its operation. `None` if the pixels are unknown, or if the request draws no areas.
    pub fn pixel_access(
        &self,
        request: &Request<'_>,
        operation: &Operation,
    ) -> Option<PixelAccess> {
        pixel_access::pixel_access(&self.state, request, operation)
    }

    fn extension(&self, request: &Request<'_>, extensions: &Extensions) -> Option<ExtensionKind> {
        let extension = extensions.by_major(request.major)?;
        self.extensions.find(extension.name)
    }

    /// The known properties of the window or pixmap `id`; `None` if unknown.
    pub fn drawable(&self, id: u32) -> Option<Drawable> {
        self.state.drawables.get(id)
    }

    /// The client that redirects the children of a root window (SubstructureRedirect); `None` if no recorded client
    /// does.
    pub fn window_manager(&self) -> Option<ClientId> {
        self.state.drawables.windows.window_manager()
    }

    /// The ids of the root windows, in ascending order.
    pub fn roots(&self) -> Vec<u32> {
        let mut roots: Vec<u32> = self.state.drawables.windows.roots().collect();
        roots.sort_unstable();
        roots
    }

    /// Returns the drawable or picture that a request acts on. Call the function before the session observes the
    /// request. `None` if the request has no target, or if its id is truncated.
    pub fn target(&self, request: &Request<'_>) -> Option<Target> {
        request_table::target(request, &self.state.render.pictures)
    }

    /// Returns the drawables and pictures whose pixels a request reads.
    pub fn sources(&self, request: &Request<'_>) -> impl Iterator<Item = Target> {
        request_table::sources(request, &self.state.render.pictures)
    }

    /// The property, selection or message type that a request names, or the atom name that it interns; `None` for other
    /// requests.
    pub fn subject_atom(&self, request: &Request<'_>) -> Option<Symbol> {
        subject::atom(&self.state.atoms, request)
    }

    /// The name of an atom for display. If the recording does not contain the name, returns `atom` and the atom's
    /// number.
    pub fn atom_label(&self, atom: u32) -> Symbol {
        subject::label(&self.state.atoms, atom)
    }

    /// The graphics context with this id; `None` if unknown.
    pub fn gc(&self, id: u32) -> Option<&Gc> {
        self.state.gcs.get(id)
    }

    /// The name with which the font with this id was opened; `None` if unknown.
    pub fn font_name(&self, id: u32) -> Option<Symbol> {
        self.state.fonts.name(id)
    }

    /// The name of the atom with this number; `None` if the recording does not contain it.
    pub fn atom_name(&self, atom: u32) -> Option<&str> {
        self.state.atoms.name(atom)
    }

    /// Sets `self.operation` to the request's operation, and applies the request to the state.
    fn request(&mut self, client: ClientId, request: &Request<'_>, extensions: &Extensions) {
        let Session {
            state,
            names,
            extensions: followed,
            operation,
        } = self;
        operation.request = request.name;
        operation.attributes.clear();
        operation.items.clear();
        operation.op_size = 0.0;
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
                let kind = extension.and_then(|extension| followed.find(extension.name));
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
                    state.extension(by, kind, request.minor, &body);
                    state.track(by, request, Some(kind), &body);
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
                let by = By::request(client, request);
                state.apply(by, request, &body);
                state.track(by, request, None, &body);
            }
        }
    }
}
