//! Questions whose answers tell a session something, kept until the reply comes.

use std::collections::VecDeque;

use x11prof_protocol::{Body, Reply, Request, SequenceNumber};
use x11rb_protocol::protocol::{render, xfixes, xproto};

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId, IdMap};
use crate::operations::names::ExtensionKind;
use crate::resources::atoms;
use crate::session::State;

/// Questions kept for each client; the replies to older ones teach nothing.
const MOST: usize = 1 << 12;

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    WindowAttributes(u32),
    Geometry(u32),
    Atom(Box<str>),
    AtomName(u32),
    SelectionOwner(u32),
    Font(u32),
    FontList,
    PictFormats,
    Region(u32),
}

/// The open questions of all clients, in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct AwaitedReplies(IdMap<VecDeque<(SequenceNumber, Question)>>);

impl AwaitedReplies {
    /// Takes down the question in a request, if it is one.
    pub(crate) fn request(
        &mut self,
        by: By,
        request: &Request<'_>,
        extension: Option<ExtensionKind>,
        body: &Body<'_>,
    ) {
        if request.has_reply
            && let Some(question) = question(request, extension, body)
        {
            let open = self.0.entry(by.client.0);
            if open.len() >= MOST {
                open.pop_front();
            }
            open.push_back((by.sequence, question));
        }
    }

    /// The question that a reply answers.
    fn answered(&mut self, client: ClientId, reply: &Reply<'_>) -> Option<Question> {
        let open = self.0.get_mut(client.0)?;
        while open
            .front()
            .is_some_and(|(asked, _)| *asked < reply.sequence)
        {
            open.pop_front();
        }
        let (asked, question) = open.front()?;
        if *asked != reply.sequence {
            return None;
        }
        if reply.last {
            open.pop_front().map(|(_, question)| question)
        } else {
            Some(question.clone())
        }
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.0.remove(client.0);
    }
}

fn question(
    request: &Request<'_>,
    extension: Option<ExtensionKind>,
    body: &Body<'_>,
) -> Option<Question> {
    Some(match (extension, request.major, request.minor) {
        (None, xproto::GET_WINDOW_ATTRIBUTES_REQUEST, _) => {
            Question::WindowAttributes(body.u32(0)?)
        }
        (None, xproto::GET_GEOMETRY_REQUEST, _) => Question::Geometry(body.u32(0)?),
        (None, xproto::INTERN_ATOM_REQUEST, _) => {
            let length = usize::from(body.u16(0)?);
            Question::Atom(atoms::name(body.from(4).get(..length)?))
        }
        (None, xproto::GET_ATOM_NAME_REQUEST, _) => Question::AtomName(body.u32(0)?),
        (None, xproto::GET_SELECTION_OWNER_REQUEST, _) => Question::SelectionOwner(body.u32(0)?),
        (None, xproto::QUERY_FONT_REQUEST, _) => Question::Font(body.u32(0)?),
        (None, xproto::LIST_FONTS_WITH_INFO_REQUEST, _) => Question::FontList,
        (Some(ExtensionKind::Render), _, render::QUERY_PICT_FORMATS_REQUEST) => {
            Question::PictFormats
        }
        (Some(ExtensionKind::Xfixes), _, xfixes::FETCH_REGION_REQUEST) => {
            Question::Region(body.u32(0)?)
        }
        _ => return None,
    })
}

impl State {
    /// Learns from a reply. `None` where there is nothing to learn.
    pub(crate) fn learn(&mut self, client: ClientId, reply: &Reply<'_>) -> Option<()> {
        let asked = By {
            client,
            sequence: reply.sequence,
        };
        match self.awaited.answered(client, reply)? {
            Question::WindowAttributes(id) => self.described(id, asked, reply),
            Question::Geometry(id) => self.measured(id, asked, reply),
            Question::Atom(name) => self.atoms.interned(name, reply),
            Question::AtomName(atom) => self.atoms.named(atom, reply),
            Question::SelectionOwner(selection) => {
                let owner = reply.order.u32(reply.bytes, 8)?;
                if self.atoms.owner(selection) != Some(owner) {
                    self.atoms.own(selection, owner, None);
                }
                Some(())
            }
            Question::Font(id) => self.fonts.queried(id, reply),
            Question::FontList => self.fonts.listed(reply),
            Question::PictFormats => self.render.formats.learn(reply),
            Question::Region(id) => self.regions.fetched(id, asked, reply),
        }
    }

    /// GetWindowAttributes tells whether a window is mapped and viewable.
    fn described(&mut self, id: u32, asked: By, reply: &Reply<'_>) -> Option<()> {
        const UNMAPPED: u8 = 0;
        const VIEWABLE: u8 = 2;
        let map_state = *reply.bytes.get(26)?;
        match self.drawables.windows.get_mut(id) {
            Some(window) if !asked.is_before(window.map_changed) => {
                window.mapped = map_state != UNMAPPED;
            }
            Some(_) => {}
            None => self.drawables.earlier.described(id, map_state == VIEWABLE),
        }
        Some(())
    }

    /// GetGeometry tells the size and the depth of a drawable.
    fn measured(&mut self, id: u32, asked: By, reply: &Reply<'_>) -> Option<()> {
        let (bytes, order) = (reply.bytes, reply.order);
        let depth = *bytes.get(1)?;
        let geometry = Geometry {
            x: order.i16(bytes, 12)?,
            y: order.i16(bytes, 14)?,
            width: order.u16(bytes, 16)?,
            height: order.u16(bytes, 18)?,
            border_width: order.u16(bytes, 20)?,
        };
        let is_pixmap = self.drawables.is_pixmap(id);
        match self.drawables.windows.get_mut(id) {
            Some(window) if !asked.is_before(window.moved) => {
                window.geometry = geometry;
                window.depth = Some(depth);
            }
            Some(_) => {}
            None if is_pixmap => {}
            None => self.drawables.earlier.measured(id, geometry, depth),
        }
        Some(())
    }
}
