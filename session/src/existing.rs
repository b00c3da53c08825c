//! Adds resources to a session that existed before the first message of the recording, and lists a session's resources.
//! The server reported the added resources, or they come from a session that observed earlier messages.

use x11prof_protocol::SequenceNumber;

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId, IdRange};
use crate::session::Session;
use crate::setup::{PixmapFormat, Root};
use crate::windows::drawables::{ExistingDrawable, Pixmap};
use crate::windows::names::WindowNames;
use crate::windows::window::Window;

/// A window that existed before the recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExistingWindow {
    /// The window's id.
    pub id: u32,
    /// The id of the window's parent.
    pub parent: u32,
    /// The window's position and size.
    pub geometry: Geometry,
    /// The depth in bits; `None` if unknown, or if the window has no pixels (InputOnly).
    pub depth: Option<u8>,
    /// True if the window has the class InputOnly, so it is never drawn.
    pub input_only: bool,
    /// True if the window is mapped. Its ancestors may be unmapped.
    pub mapped: bool,
    /// True if window managers must ignore the window.
    pub override_redirect: bool,
    /// The names in the window's properties.
    pub names: WindowNames,
}

/// The sequence number for resources that existed before the recording. The number precedes the number of the first
/// request.
const BEFORE: SequenceNumber = SequenceNumber(0);

impl Session {
    /// Sets the range of resource ids of a client: its first id and its mask.
    pub fn exists_client(&mut self, client: ClientId, first: u32, mask: u32) {
        self.state.clients.accepted(client, first, mask);
    }

    /// Adds a root window that existed before the recording.
    pub fn exists_root(&mut self, root: ExistingDrawable) {
        self.state.drawables.add_root(Root {
            id: root.id,
            width: root.size.0,
            height: root.size.1,
            depth: root.depth,
        });
    }

    /// Sets the server's pixmap formats, for a recording that begins after the connection setup.
    pub fn exists_formats(&mut self, formats: Vec<PixmapFormat>) {
        self.state.pixmap_formats = formats;
    }

    /// Adds a window that existed before the recording, above its existing siblings. Does nothing if the session
    /// already contains a window with this id.
    pub fn exists_window(&mut self, window: ExistingWindow) {
        let by = self.owner(window.id);
        let windows = &mut self.state.drawables.windows;
        if windows.get(window.id).is_some() {
            return;
        }
        if let Some(names) = windows.names_mut(window.id) {
            *names = window.names;
        }
        let mut made = Window::reported_of(window.parent, window.geometry);
        made.depth = window.depth;
        made.input_only = window.input_only;
        made.mapped = window.mapped;
        made.override_redirect = window.override_redirect;
        made.by = by;
        windows.add(window.id, made);
        if let Some(by) = by {
            self.state.inventory.existed(by.client, window.id);
        }
        self.state.drawables.earlier.remove(window.id);
    }

    /// Adds a pixmap that existed before the recording. Does nothing if the session already contains a pixmap with this
    /// id, or if no client's id range contains the id.
    pub fn exists_pixmap(&mut self, pixmap: ExistingDrawable) {
        let (width, height) = pixmap.size;
        if let Some(by) = self.owner(pixmap.id)
            && !self.state.drawables.is_pixmap(pixmap.id)
        {
            let depth = Some(pixmap.depth).filter(|depth| *depth > 0);
            let made = Pixmap {
                width,
                height,
                depth,
                shared: false,
                by,
            };
            self.state.drawables.add_pixmap(pixmap.id, made);
            self.state.inventory.existed(by.client, pixmap.id);
        }
    }

    /// Sets the name of an atom that existed before the recording.
    pub fn exists_atom(&mut self, atom: u32, name: &str) {
        self.state.atoms.reported(atom, name);
    }

    /// The ranges of resource ids of all clients.
    pub fn existing_clients(&self) -> Vec<IdRange> {
        let mut all: Vec<IdRange> = self.state.clients.connected().collect();
        all.sort_unstable_by_key(|range| range.first);
        all
    }

    /// The root windows of the display.
    pub fn existing_roots(&self) -> Vec<ExistingDrawable> {
        let root = |id: u32| {
            let window = self.state.drawables.windows.get(id)?;
            Some(ExistingDrawable {
                id,
                size: (window.geometry.width, window.geometry.height),
                depth: window.depth.unwrap_or(0),
            })
        };
        self.roots().into_iter().filter_map(root).collect()
    }

    /// The windows, except root windows, whose ancestors up to a root window are all known. Parents precede their
    /// children, and siblings are ordered from the lowest to the highest.
    pub fn existing_windows(&self) -> Vec<ExistingWindow> {
        let windows = &self.state.drawables.windows;
        let mut found = Vec::new();
        let mut parents = self.roots();
        while let Some(parent) = parents.pop() {
            for id in windows.children(parent) {
                let Some(window) = windows.get(id) else {
                    continue;
                };
                parents.push(id);
                found.push(ExistingWindow {
                    id,
                    parent,
                    geometry: window.geometry,
                    depth: window.depth,
                    input_only: window.input_only,
                    mapped: window.mapped,
                    override_redirect: window.override_redirect,
                    names: windows.names(id).cloned().unwrap_or_default(),
                });
            }
        }
        found
    }

    /// The pixmaps of the display, in the order of their ids.
    pub fn existing_pixmaps(&self) -> Vec<ExistingDrawable> {
        let mut all: Vec<_> = self.state.drawables.pixmaps().collect();
        all.sort_unstable_by_key(|pixmap| pixmap.id);
        all
    }

    /// The numbers and names of the atoms whose names are known, without the predefined atoms.
    pub fn existing_atoms(&self) -> Vec<(u32, &str)> {
        let mut all: Vec<_> = self.state.atoms.all().collect();
        all.sort_unstable();
        all
    }

    /// Returns the owner of a resource that existed before the recording: the client whose id range contains `id`.
    fn owner(&self, id: u32) -> Option<By> {
        let range = self.state.clients.range(id)?;
        Some(By {
            client: range.client,
            sequence: BEFORE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ExistingWindow;
    use crate::geometry::placement::Geometry;
    use crate::ids::ClientId;
    use crate::session::Session;
    use crate::windows::drawables::ExistingDrawable;
    use crate::windows::names::WindowNames;

    fn window(id: u32, parent: u32) -> ExistingWindow {
        ExistingWindow {
            id,
            parent,
            geometry: Geometry {
                width: 30,
                height: 20,
                ..Geometry::default()
            },
            mapped: true,
            names: WindowNames {
                class: Some("XTerm".into()),
                ..WindowNames::default()
            },
            ..ExistingWindow::default()
        }
    }

    #[test]
    fn existing_resources_transfer_to_the_next_session() {
        let mut session = Session::new();
        session.exists_client(ClientId(4), 0x20_0000, 0x1F_FFFF);
        let root = ExistingDrawable {
            id: 1,
            size: (640, 480),
            depth: 24,
        };
        session.exists_root(root);
        session.exists_window(window(0x20_0001, 1));
        session.exists_window(window(0x20_0002, 0x20_0001));
        let pixmap = ExistingDrawable {
            id: 0x20_0003,
            size: (5, 6),
            depth: 1,
        };
        session.exists_pixmap(pixmap);
        session.exists_atom(300, "_NET_WM_NAME");
        let inner = session.drawable(0x20_0002).unwrap();
        assert_eq!((inner.viewable, inner.geometry.width), (Some(true), 30));
        assert_eq!(session.atom_name(300), Some("_NET_WM_NAME"));
        assert_eq!(session.id_range(0x20_0002).unwrap().client, ClientId(4));

        let mut next = Session::new();
        for range in session.existing_clients() {
            next.exists_client(range.client, range.first, range.mask);
        }
        assert_eq!(session.existing_roots(), [root]);
        next.exists_root(root);
        let windows = session.existing_windows();
        windows
            .iter()
            .for_each(|one| next.exists_window(one.clone()));
        assert_eq!(next.existing_windows(), windows);
        assert_eq!(windows.len(), 2);
        assert_eq!(session.existing_pixmaps(), [pixmap]);
        assert_eq!(session.existing_atoms(), [(300, "_NET_WM_NAME")]);
        // The resource is freed with its client.
        session.closed(ClientId(4));
        assert!(session.drawable(0x20_0002).is_none());
        assert!(session.drawable(0x20_0003).is_none());
    }
}
