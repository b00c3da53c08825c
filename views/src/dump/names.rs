//! The names of windows and fonts, and the kinds of other resources, as the messages tell them; those
//! of atoms are the session's.

use std::collections::HashMap;

use x11prof_protocol::{ByteOrder, Message, Request, ServerSetup, SetupStatus};
use x11prof_session::Session;

use super::kinds::Kind;
use x11prof_analyzer::{ResourceKind, Seen, created};

/// Core opcodes that give something a name.
const CHANGE_PROPERTY: u8 = 18;
const OPEN_FONT: u8 = 45;
const WM_NAME: u32 = 39;
const WM_CLASS: u32 = 67;

/// Names of one kind remembered at most; beyond that they are learnt anew.
const MOST: usize = 1 << 16;
/// The longest name kept, in bytes.
const LONGEST: usize = 256;

/// A resource.
#[derive(Default)]
struct Resource {
    /// What it is; `None` where its creation is not in the trace.
    kind: Option<ResourceKind>,
    /// The name that the client gave it.
    name: Option<String>,
}

/// The names known so far.
#[derive(Default)]
pub(super) struct Names {
    /// By id, until the id is given to another: what is freed may still be spoken of.
    resources: HashMap<u32, Resource>,
}

impl Names {
    /// The name of a number of this kind.
    pub(super) fn name<'a>(
        &'a self,
        session: &'a Session,
        kind: Kind,
        number: u32,
    ) -> Option<&'a str> {
        match kind {
            Kind::Plain => None,
            Kind::Id => self.resources.get(&number)?.name.as_deref(),
            Kind::Atom => session.atom_name(number),
        }
    }

    /// A name, or the kind of a resource without one.
    pub(super) fn name_or_kind<'a>(
        &'a self,
        session: &'a Session,
        kind: Kind,
        number: u32,
    ) -> Option<&'a str> {
        self.name(session, kind, number).or_else(|| match kind {
            Kind::Id => Some(self.resources.get(&number)?.kind?.name()),
            _ => None,
        })
    }

    /// Learns what a message tells. Call it before the message is shown.
    pub(super) fn observe(&mut self, seen: &Seen<'_>) {
        // What is cut off or nonsense tells no name.
        let _ = match seen.message {
            Message::Request(request) => self.request(seen.session, request),
            Message::ServerSetup(setup) => self.setup(setup),
            _ => None,
        };
    }

    fn request(&mut self, session: &Session, request: &Request<'_>) -> Option<()> {
        if let Some((kind, id)) = created(request) {
            let kind = Some(kind);
            put(&mut self.resources, id, Resource { kind, name: None });
        }
        let body = request.bytes.get(request.header_len..)?;
        let order = request.order;
        match request.major {
            OPEN_FONT => {
                let name = text(body, 8, order.u16(body, 4)?.into())?;
                self.give(order.u32(body, 0)?, name);
            }
            CHANGE_PROPERTY => self.property(session, order, body)?,
            _ => {}
        }
        Some(())
    }

    /// ICCCM, sections 4.1.2.1 and 4.1.2.5; a window without a name goes by its class.
    fn property(&mut self, session: &Session, order: ByteOrder, body: &[u8]) -> Option<()> {
        let (window, property) = (order.u32(body, 0)?, order.u32(body, 4)?);
        let named = match property {
            WM_NAME => true,
            WM_CLASS => false,
            _ if session.atom_name(property) == Some("_NET_WM_NAME") => true,
            _ => return None,
        };
        if body.get(12) == Some(&8) && (named || self.name(session, Kind::Id, window).is_none()) {
            let len = usize::try_from(order.u32(body, 16)?).ok()?;
            let value = text(body, 20, len)?;
            let value = value.split('\0').next().unwrap_or_default();
            self.give(window, value.to_owned());
        }
        Some(())
    }

    fn give(&mut self, id: u32, name: String) {
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.name = Some(name);
        } else {
            let name = Some(name);
            put(&mut self.resources, id, Resource { kind: None, name });
        }
    }

    fn setup(&mut self, setup: &ServerSetup<'_>) -> Option<()> {
        if setup.status != SetupStatus::Success {
            return None;
        }
        let setup = setup.decode().ok()?;
        // The ids are a new client's; what another one had under them is gone.
        let (base, mask) = (setup.resource_id_base, setup.resource_id_mask);
        self.resources.retain(|id, _| id & !mask != base);
        for screen in setup.roots {
            self.give(screen.root, "root".to_owned());
        }
        Some(())
    }
}

fn text(bytes: &[u8], at: usize, len: usize) -> Option<String> {
    let text = bytes.get(at..)?.get(..len)?;
    let text = &text[..text.len().min(LONGEST)];
    Some(String::from_utf8_lossy(text).into_owned())
}

fn put<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, value: V) {
    if map.len() >= MOST {
        map.clear();
    }
    map.insert(key, value);
}
