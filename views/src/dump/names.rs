//! Names of ids: windows and fonts by name, other resources by kind, from the session. The name of a freed resource is
//! kept until its id is reused, because later messages may still contain the id.

use std::collections::HashMap;

use x11prof_analyzer::MessageContext;
use x11prof_protocol::{Message, NumberKind, Request};
use x11prof_session::{ClientId, ResourceChange, ResourceKind, Session};

/// The maximum number of names kept. When the limit is reached, all names are dropped.
const NAMES_LIMIT: usize = 1 << 16;

/// The kind and name of a resource.
#[derive(Default)]
struct Resource {
    /// The kind of the resource; `None` if the creation is not in the trace.
    kind: Option<ResourceKind>,
    /// The name that the client gave to the resource, such as a window title.
    name: Option<String>,
}

/// The names of ids that are known so far.
#[derive(Default)]
pub(crate) struct Names {
    /// The resources by id. A freed resource stays until its id is reused, because messages may still name it.
    resources: HashMap<u32, Resource>,
}

impl Names {
    /// The name of `number`, whose meaning is `kind`; `None` if the number has no known name.
    pub(super) fn name<'a>(
        &'a self,
        session: &'a Session,
        kind: NumberKind,
        number: u32,
    ) -> Option<&'a str> {
        match kind {
            NumberKind::Id => self.resources.get(&number)?.name.as_deref(),
            NumberKind::Atom => session.atom_name(number),
            _ => None,
        }
    }

    /// The name of `number`, or the kind of the resource if it has no name; `None` if the resource is unknown.
    pub(super) fn name_or_kind<'a>(
        &'a self,
        session: &'a Session,
        kind: NumberKind,
        number: u32,
    ) -> Option<&'a str> {
        self.name(session, kind, number).or_else(|| match kind {
            NumberKind::Id => Some(self.resources.get(&number)?.kind?.name()),
            _ => None,
        })
    }

    /// Updates the names from a message. Call it before the message is shown.
    pub(crate) fn observe(&mut self, seen: &MessageContext<'_>) {
        for change in seen.session.resource_changes() {
            if let ResourceChange::Created(resource) = change {
                let name = seen.session.font_name(resource.id);
                let new = Resource {
                    kind: Some(resource.kind),
                    name: name.map(|name| name.to_string()),
                };
                put(&mut self.resources, resource.id, new);
            }
        }
        match seen.message {
            Message::Request(request) => self.request(seen, request).unwrap_or_default(),
            Message::ServerSetup(_) => self.setup(seen).unwrap_or_default(),
            _ => {}
        }
    }

    /// Updates the names from a request. A window without a title is named by its instance name (ICCCM, sections
    /// 4.1.2.1 and 4.1.2.5).
    fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) -> Option<()> {
        if request.name.as_str() != "ChangeProperty" {
            return None;
        }
        let window = seen.target?.drawable()?;
        let names = seen.session.window_names(window)?;
        let name = names.title.as_deref().or(names.instance.as_deref())?;
        let resource = self.resources.get(&window);
        if resource.is_none_or(|known| known.name.as_deref() != Some(name)) {
            self.give(window, name.to_owned());
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

    fn setup(&mut self, seen: &MessageContext<'_>) -> Option<()> {
        // The ids belong to a new client now, so the old names are removed.
        let ids = seen.session.ids_of(ClientId(seen.connection.0))?;
        self.resources.retain(|id, _| !ids.contains(*id));
        for root in seen.session.roots() {
            self.give(root, "root".to_owned());
        }
        Some(())
    }
}

fn put(resources: &mut HashMap<u32, Resource>, id: u32, resource: Resource) {
    if resources.len() >= NAMES_LIMIT {
        resources.clear();
    }
    resources.insert(id, resource);
}
