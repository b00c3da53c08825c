//! Fonts: the names that their ids were opened by.

use x11prof_protocol::Symbol;

use crate::body::Body;
use crate::ids::{By, ClientId, IdMap};

/// The open fonts of a display.
#[derive(Debug, Default)]
pub(crate) struct Fonts(IdMap<Font>);

#[derive(Debug)]
struct Font {
    name: Symbol,
    by: By,
}

impl Fonts {
    /// The name that `id` was opened by, as the client wrote it: perhaps an alias or a pattern.
    pub(crate) fn name(&self, id: u32) -> Option<Symbol> {
        self.0.get(id).map(|font| font.name)
    }

    /// OpenFont; gives the id of the font.
    pub(crate) fn open(&mut self, by: By, body: &Body<'_>) -> Option<u32> {
        let (id, length) = (body.u32(0)?, body.u16(4)?);
        let bytes = body.from(8).get(..usize::from(length))?;
        // Font names are ISO Latin-1 (protocol, OpenFont), whose codes are those of Unicode.
        let name: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        self.0.insert(
            id,
            Font {
                name: Symbol::new(&name),
                by,
            },
        );
        Some(id)
    }

    /// CloseFont.
    pub(crate) fn close(&mut self, id: u32) {
        self.0.remove(id);
    }

    /// Forgets `id` if `by` opened it: the request failed.
    pub(crate) fn undo(&mut self, id: u32, by: By) {
        if self.0.get(id).is_some_and(|font| font.by == by) {
            self.0.remove(id);
        }
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.0.retain(|font| font.by.client != client);
    }
}
