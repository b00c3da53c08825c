//! Fonts: the names with which their ids were opened.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Symbol};

use crate::ids::{By, IdMap, Made};
use crate::latin1::latin1;

/// The fonts that the clients of a display have opened.
#[derive(Debug, Default)]
pub(crate) struct Fonts {
    open: IdMap<Font>,
    /// The number of ids that refer to each open font, by the font's name in lower case. Font names are
    /// case-insensitive.
    loaded: FxHashMap<Symbol, u32>,
}

/// A font that a client has opened.
#[derive(Debug)]
pub(crate) struct Font {
    pub(crate) name: Symbol,
    pub(crate) by: By,
    loaded: Symbol,
}

/// The fonts that a server opens for its own use when it starts: the default font of GCs, and the cursor font.
const OWN: [&str; 2] = ["fixed", "cursor"];

impl Fonts {
    /// True if the font with this name, in lower case, is in the server's memory, because it is open or is one of the
    /// server's own fonts. A font that was opened with another name, or before the recording, does not count.
    pub(crate) fn is_loaded(&self, name: Symbol) -> bool {
        self.loaded.contains_key(&name) || OWN.contains(&name.as_str())
    }

    /// The name with which the font `id` was opened, as the client wrote it. The name may be an alias or a pattern.
    /// `None` if unknown.
    pub(crate) fn name(&self, id: u32) -> Option<Symbol> {
        self.open.get(id).map(|font| font.name)
    }

    /// Applies OpenFont. Returns the id of the font; `None` if the request is truncated.
    pub(crate) fn open(&mut self, by: By, body: &Body<'_>) -> Option<u32> {
        let (id, length) = (body.u32(0)?, body.u16(4)?);
        let bytes = body.from(8).get(..usize::from(length))?;
        let name = latin1(bytes);
        let loaded = Symbol::new(&name.to_ascii_lowercase());
        let name = Symbol::new(&name);
        self.close(id);
        let font = Font { name, by, loaded };
        if self.open.insert(id, font) {
            *self.loaded.entry(loaded).or_default() += 1;
        }
        Some(id)
    }

    /// Applies CloseFont: removes the font `id`.
    pub(crate) fn close(&mut self, id: u32) {
        if let Some(font) = self.open.remove(id) {
            unload(&mut self.loaded, font.loaded);
        }
    }

    /// Removes the font `id` if `made` returns true for the request that opened it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.open.get(id).is_some_and(|font| made(font.by)) {
            self.close(id);
        }
    }
}

/// Decrements the number of ids that refer to the open font `name`.
fn unload(loaded: &mut FxHashMap<Symbol, u32>, name: Symbol) {
    if let Some(holders) = loaded.get_mut(&name) {
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            loaded.remove(&name);
        }
    }
}
