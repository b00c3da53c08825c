//! Fonts: the names with which their ids were opened, and their metrics from replies.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Reply, Symbol};

use crate::ids::{By, ClientId, IdMap};
use crate::latin1::latin1;

/// A font's metrics from QueryFont or ListFontsWithInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FontMetrics {
    /// Pixels above the base line.
    pub ascent: i16,
    /// Pixels below the baseline.
    pub descent: i16,
    /// The advance of the widest character, in pixels.
    pub max_width: i16,
    /// The number of characters with metrics.
    pub characters: u32,
    /// The atom of the full name (the property FONT); an alias has the atom of its font. `None` if the font
    /// has no full name.
    pub full_name: Option<u32>,
}

/// Maximum number of fonts whose metrics are stored by name.
const NAMES_LIMIT: usize = 1 << 14;

/// The open fonts of a display.
#[derive(Debug, Default)]
pub(crate) struct Fonts {
    open: IdMap<Font>,
    /// The number of ids with which each font is open, by its name in lower case, because font names are
    /// case-insensitive.
    loaded: FxHashMap<Symbol, u32>,
    by_name: FxHashMap<Symbol, FontMetrics>,
}

/// An open font.
#[derive(Debug)]
pub(crate) struct Font {
    pub(crate) name: Symbol,
    pub(crate) metrics: Option<FontMetrics>,
    pub(crate) by: By,
    loaded: Symbol,
}

/// The fonts that a server opens at its start: the default font of GCs, and the cursor font.
const OWN: [&str; 2] = ["fixed", "cursor"];

impl Fonts {
    /// True if the font with this name, in lower case, is in the server's memory, because it is open or one of the
    /// server's own fonts. A font that was opened with another name, or before the recording, does not count.
    pub(crate) fn is_loaded(&self, name: Symbol) -> bool {
        self.loaded.contains_key(&name) || OWN.contains(&name.as_str())
    }

    /// The name with which `id` was opened, as the client wrote it. It may be an alias or a pattern.
    pub(crate) fn name(&self, id: u32) -> Option<Symbol> {
        self.open.get(id).map(|font| font.name)
    }

    /// The metrics of the font `id`, from its own QueryFont or from a reply about its name.
    pub(crate) fn metrics(&self, id: u32) -> Option<FontMetrics> {
        self.open.get(id)?.metrics
    }

    /// OpenFont. Returns the id of the font.
    pub(crate) fn open(&mut self, by: By, body: &Body<'_>) -> Option<u32> {
        let (id, length) = (body.u32(0)?, body.u16(4)?);
        let bytes = body.from(8).get(..usize::from(length))?;
        let name = latin1(bytes);
        let loaded = Symbol::new(&name.to_ascii_lowercase());
        let name = Symbol::new(&name);
        let metrics = self.by_name.get(&name).copied();
        self.close(id);
        let font = Font {
            name,
            metrics,
            by,
            loaded,
        };
        if self.open.insert(id, font) {
            *self.loaded.entry(loaded).or_default() += 1;
        }
        Some(id)
    }

    /// CloseFont.
    pub(crate) fn close(&mut self, id: u32) {
        if let Some(font) = self.open.remove(id) {
            unload(&mut self.loaded, font.loaded);
        }
    }

    /// Processes the reply to QueryFont of `id`.
    pub(crate) fn queried(&mut self, id: u32, reply: &Reply<'_>) -> Option<()> {
        let metrics = read_metrics(reply, reply.order.u32(reply.bytes, 56)?)?;
        let font = self.open.get_mut(id)?;
        font.metrics = Some(metrics);
        let name = font.name;
        self.keep(name, metrics);
        Some(())
    }

    /// Processes a reply to ListFontsWithInfo. The last reply names no font.
    pub(crate) fn listed(&mut self, reply: &Reply<'_>) -> Option<()> {
        let (bytes, order) = (reply.bytes, reply.order);
        let length = usize::from(*bytes.get(1)?);
        if length == 0 {
            return None;
        }
        let at = 60 + 8 * usize::from(order.u16(bytes, 46)?);
        let name = Symbol::new(&latin1(bytes.get(at..at + length)?));
        // The reply contains the range of codes instead of the number of characters (protocol, QueryFont).
        let range = |first, last| u32::from(last) + 1 - u32::from(first).min(u32::from(last));
        let rows = range(*bytes.get(49)?, *bytes.get(50)?);
        let (first, last) = (order.u16(bytes, 40)?, order.u16(bytes, 42)?);
        let columns = u32::from(last.saturating_sub(first)) + 1;
        self.keep(name, read_metrics(reply, rows.saturating_mul(columns))?);
        Some(())
    }

    /// Removes `id` if `by` opened it, because the request failed.
    pub(crate) fn undo(&mut self, id: u32, by: By) {
        if self.open.get(id).is_some_and(|font| font.by == by) {
            self.close(id);
        }
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        let loaded = &mut self.loaded;
        self.open.retain(|font| {
            let stays = font.by.client != client;
            if !stays {
                unload(loaded, font.loaded);
            }
            stays
        });
    }

    fn keep(&mut self, name: Symbol, metrics: FontMetrics) {
        if self.by_name.len() < NAMES_LIMIT {
            self.by_name.insert(name, metrics);
        }
    }
}

/// Removes an id from the open ids of the font with this name.
fn unload(loaded: &mut FxHashMap<Symbol, u32>, name: Symbol) {
    if let Some(holders) = loaded.get_mut(&name) {
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            loaded.remove(&name);
        }
    }
}

/// The part that both replies have in common (protocol encoding, QueryFont and ListFontsWithInfo).
fn read_metrics(reply: &Reply<'_>, characters: u32) -> Option<FontMetrics> {
    /// The predefined atom FONT.
    const FONT: u32 = 18;
    let (bytes, order) = (reply.bytes, reply.order);
    let properties = usize::from(order.u16(bytes, 46)?);
    let full_name = bytes
        .get(60..)
        .unwrap_or_default()
        .chunks_exact(8)
        .take(properties)
        .find(|property| order.u32(property, 0) == Some(FONT))
        .and_then(|property| order.u32(property, 4));
    Some(FontMetrics {
        ascent: order.i16(bytes, 52)?,
        descent: order.i16(bytes, 54)?,
        max_width: order.i16(bytes, 28)?,
        characters,
        full_name,
    })
}
