//! The session: takes the messages of all clients of a display, in order, and gives each
//! request as an operation.

use x11prof_protocol::{
    ErrorMessage, Extensions, Message, Request, SequenceNumber, ServerSetup, Symbol,
};
use x11rb_protocol::protocol::xproto;

use crate::body::Body;
use crate::clients::Clients;
use crate::drawables::{Drawable, Drawables};
use crate::fonts::Fonts;
use crate::gc::{Gc, Gcs};
use crate::ids::{By, ClientId};
use crate::names::Names;
use crate::operation::{Effect, Operation};
use crate::setup::Setup;
use crate::{drawing, images, other, text, window_messages};

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
    operation: Operation,
}

/// What requests find on the server.
#[derive(Debug, Default)]
pub(crate) struct State {
    clients: Clients,
    pub(crate) drawables: Drawables,
    pub(crate) fonts: Fonts,
    pub(crate) gcs: Gcs,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// A session of which nothing has been seen.
    pub fn new() -> Session {
        Session {
            state: State::default(),
            names: Names::new(),
            operation: Operation::new(Symbol::new("NoOperation")),
        }
    }

    /// Takes the next message of `client`.
    pub fn observe(
        &mut self,
        client: ClientId,
        message: &Message<'_>,
        _extensions: &Extensions,
    ) -> Observed<'_> {
        match message {
            Message::Request(request) => {
                self.request(client, request);
                Observed::Operation(&self.operation)
            }
            Message::Error(error) => {
                self.state.failed(client, error);
                Observed::Failed(error.sequence)
            }
            Message::Event(event) => {
                window_messages::event(&mut self.state.drawables.windows, client, event);
                Observed::Nothing
            }
            Message::ServerSetup(setup) => {
                self.state.accepted(client, setup);
                Observed::Nothing
            }
            Message::ClientSetup(_) | Message::Reply(_) | Message::Malformed(_) => {
                Observed::Nothing
            }
        }
    }

    /// The connection of `client` has ended: its resources go, unless it had them retained.
    pub fn closed(&mut self, client: ClientId) {
        if self.state.clients.closed(client) {
            self.state.remove_client(client);
        }
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

    /// The graphics context `id`; `None` where it is not known.
    pub fn gc(&self, id: u32) -> Option<&Gc> {
        self.state.gcs.get(id)
    }

    /// The name that the font `id` was opened by; `None` where it is not known.
    pub fn font_name(&self, id: u32) -> Option<Symbol> {
        self.state.fonts.name(id)
    }

    /// Makes `self.operation` that of the request, and does to the state what the request does.
    fn request(&mut self, client: ClientId, request: &Request<'_>) {
        let Session {
            state,
            names,
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
            _ => {
                other::operation(operation, names, request, &body);
                state.apply(
                    By {
                        client,
                        sequence: request.sequence,
                    },
                    request,
                    &body,
                );
            }
        }
    }
}

impl State {
    /// Does what a request does to the resources. `None` where it was cut off before that.
    fn apply(&mut self, by: By, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
        let State {
            clients,
            drawables,
            fonts,
            gcs,
        } = self;
        let made = match request.major {
            xproto::CREATE_WINDOW_REQUEST => {
                window_messages::create(&mut drawables.windows, by, request.minor, body)?
            }
            xproto::CREATE_PIXMAP_REQUEST => drawables.create_pixmap(by, request.minor, body)?,
            xproto::CREATE_GC_REQUEST => gcs.create(by, body, fonts)?,
            xproto::OPEN_FONT_REQUEST => fonts.open(by, body)?,
            _ => return self.change(by, request, body),
        };
        clients.made(by.client, by.sequence, made);
        Some(())
    }

    /// The requests that change or free resources.
    fn change(&mut self, by: By, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
        let State {
            clients,
            drawables,
            fonts,
            gcs,
        } = self;
        match request.major {
            xproto::CHANGE_WINDOW_ATTRIBUTES_REQUEST => {
                window_messages::change_attributes(&mut drawables.windows, by, body)?;
            }
            xproto::DESTROY_WINDOW_REQUEST..=xproto::CONFIGURE_WINDOW_REQUEST => {
                window_messages::request(&mut drawables.windows, by, request, body)?;
            }
            xproto::FREE_PIXMAP_REQUEST => drawables.free_pixmap(body.u32(0)?),
            xproto::CLOSE_FONT_REQUEST => fonts.close(body.u32(0)?),
            xproto::CHANGE_GC_REQUEST => gcs.change(body, fonts)?,
            xproto::COPY_GC_REQUEST => gcs.copy(body)?,
            xproto::SET_DASHES_REQUEST => gcs.set_dashes(body)?,
            xproto::SET_CLIP_RECTANGLES_REQUEST => gcs.set_clip_rectangles(body)?,
            xproto::FREE_GC_REQUEST => gcs.free(body.u32(0)?),
            xproto::SET_CLOSE_DOWN_MODE_REQUEST => {
                clients.set_close_down(by.client, request.minor);
            }
            xproto::KILL_CLIENT_REQUEST => {
                for client in clients.killed(body.u32(0)?) {
                    self.remove_client(client);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn accepted(&mut self, client: ClientId, setup: &ServerSetup<'_>) {
        if let Some(setup) = Setup::read(setup) {
            self.clients.accepted(client, setup.id_base, setup.id_mask);
            setup
                .roots
                .into_iter()
                .for_each(|root| self.drawables.add_root(root));
        }
    }

    /// A request failed: what it was to make does not exist.
    fn failed(&mut self, client: ClientId, error: &ErrorMessage<'_>) {
        if let Some(id) = self.clients.failed(client, error.sequence) {
            let by = By {
                client,
                sequence: error.sequence,
            };
            self.drawables.undo(id, by);
            self.gcs.undo(id, by);
            self.fonts.undo(id, by);
        }
    }

    fn remove_client(&mut self, client: ClientId) {
        self.drawables.remove_client(client);
        self.gcs.remove_client(client);
        self.fonts.remove_client(client);
    }
}
