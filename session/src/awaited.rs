//! The pending requests of clients: requests whose replies update the session's state.

use std::collections::VecDeque;

use x11prof_protocol::{Body, Reply, Request, SequenceNumber};
use x11rb_protocol::protocol::{render, xfixes, xproto};

use crate::extension_kind::ExtensionKind;
use crate::ids::{By, ClientId, IdMap};
use crate::resources::atoms;

/// The maximum number of pending requests of each client. Replies to older requests are ignored.
const QUESTIONS_LIMIT: usize = 1 << 12;

/// The information that a pending request returns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PendingReply {
    WindowAttributes(u32),
    Geometry(u32),
    Atom(Box<str>),
    AtomName(u32),
    PictFormats,
    Region(u32),
}

/// The pending requests of each client, in request order.
#[derive(Debug, Default)]
pub(crate) struct AwaitedReplies(IdMap<VecDeque<(SequenceNumber, PendingReply)>>);

impl AwaitedReplies {
    /// Stores a request of client `by` if its reply will update the session.
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
            if open.len() >= QUESTIONS_LIMIT {
                open.pop_front();
            }
            open.push_back((by.sequence, question));
        }
    }

    /// Removes and returns the pending request to which `reply` belongs. `None` if the client sent no such request, or
    /// if its reply does not update the session.
    pub(crate) fn answered(&mut self, client: ClientId, reply: &Reply<'_>) -> Option<PendingReply> {
        let open = self.0.get_mut(client.0)?;
        while open
            .front()
            .is_some_and(|(asked, _)| *asked < reply.sequence)
        {
            open.pop_front();
        }
        let (_, question) = open.pop_front_if(|(asked, _)| *asked == reply.sequence)?;
        Some(question)
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.0.remove(client.0);
    }
}

fn question(
    request: &Request<'_>,
    extension: Option<ExtensionKind>,
    body: &Body<'_>,
) -> Option<PendingReply> {
    Some(match (extension, request.major, request.minor) {
        (None, xproto::GET_WINDOW_ATTRIBUTES_REQUEST, _) => {
            PendingReply::WindowAttributes(body.u32(0)?)
        }
        (None, xproto::GET_GEOMETRY_REQUEST, _) => PendingReply::Geometry(body.u32(0)?),
        (None, xproto::INTERN_ATOM_REQUEST, _) => {
            let length = usize::from(body.u16(0)?);
            PendingReply::Atom(atoms::name(body.from(4).get(..length)?))
        }
        (None, xproto::GET_ATOM_NAME_REQUEST, _) => PendingReply::AtomName(body.u32(0)?),
        (Some(ExtensionKind::Render), _, render::QUERY_PICT_FORMATS_REQUEST) => {
            PendingReply::PictFormats
        }
        (Some(ExtensionKind::Xfixes), _, xfixes::FETCH_REGION_REQUEST) => {
            PendingReply::Region(body.u32(0)?)
        }
        _ => return None,
    })
}
