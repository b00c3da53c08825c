//! Updates the session's state from replies, which contain state from before the recording and state that only the
//! server has.

use x11prof_protocol::Reply;

use crate::awaited::PendingReply;
use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId};
use crate::state::State;

impl State {
    /// Updates the state from a reply to `client`. Returns `None` if the reply has no new information.
    pub(crate) fn learn(&mut self, client: ClientId, reply: &Reply<'_>) -> Option<()> {
        let asked = By {
            client,
            sequence: reply.sequence,
        };
        match self.awaited.answered(client, reply)? {
            PendingReply::WindowAttributes(id) => self.described(id, asked, reply),
            PendingReply::Geometry(id) => self.measured(id, asked, reply),
            PendingReply::Atom(name) => self.atoms.interned(name, reply),
            PendingReply::AtomName(atom) => self.atoms.named(atom, reply),
            PendingReply::PictFormats => self.render.formats.learn(reply),
            PendingReply::Region(id) => self.regions.fetched(id, asked, reply),
        }
    }

    /// Applies a reply to GetWindowAttributes, which shows whether the window `id` is mapped and viewable. `asked` is
    /// the request.
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

    /// Applies a reply to GetGeometry, which contains the size and the depth of the drawable `id`. `asked` is the
    /// request.
    fn measured(&mut self, id: u32, asked: By, reply: &Reply<'_>) -> Option<()> {
        let (bytes, order) = (reply.bytes, reply.order);
        let depth = *bytes.get(1)?;
        let geometry = Geometry::parse(bytes, order, 12)?;
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
