//! Resources of which a session follows no more than that they exist: cursors, colormaps,
//! counters, segments and the like.

use crate::ids::{By, ClientId, IdMap};
use crate::operations::names::ExtensionKind;
use crate::resources::resource::ResourceKind;
use x11prof_protocol::Body;

/// What a request does to such a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// It makes one, whose id is at this place in its body.
    Makes(ResourceKind, usize),
    /// It frees the one whose id is at the beginning of its body.
    Frees,
}
use Does::{Frees, Makes};
use ResourceKind::{
    Barrier, Colormap, Cursor, Damage, GlxContext, GlxDrawable, ShmSegment, SyncAlarm, SyncCounter,
    SyncFence,
};

/// Core requests by their opcodes (protocol encoding, "Requests").
const CORE: [(u8, Does); 6] = [
    (78, Makes(Colormap, 0)),
    (79, Frees),
    (80, Makes(Colormap, 0)),
    (93, Makes(Cursor, 0)),
    (94, Makes(Cursor, 0)),
    (95, Frees),
];

/// Requests of extensions by their minor opcodes.
const RENDER: &[(u8, Does)] = &[(27, Makes(Cursor, 0)), (31, Makes(Cursor, 0))];
const SHM: &[(u8, Does)] = &[
    (1, Makes(ShmSegment, 0)),
    (2, Frees),
    (6, Makes(ShmSegment, 0)),
    (7, Makes(ShmSegment, 0)),
];
const SYNC: &[(u8, Does)] = &[
    (2, Makes(SyncCounter, 0)),
    (6, Frees),
    (8, Makes(SyncAlarm, 0)),
    (11, Frees),
    (14, Makes(SyncFence, 4)),
    (17, Frees),
];
const DAMAGE: &[(u8, Does)] = &[(1, Makes(Damage, 0)), (2, Frees)];
const XFIXES: &[(u8, Does)] = &[(31, Makes(Barrier, 0)), (32, Frees)];
const DRI3: &[(u8, Does)] = &[(4, Makes(SyncFence, 4))];
const GLX: &[(u8, Does)] = &[
    (3, Makes(GlxContext, 0)),
    (4, Frees),
    (13, Makes(GlxDrawable, 12)),
    (15, Frees),
    (22, Makes(GlxDrawable, 12)),
    (23, Frees),
    (24, Makes(GlxContext, 0)),
    (27, Makes(GlxDrawable, 8)),
    (28, Frees),
    (31, Makes(GlxDrawable, 12)),
    (32, Frees),
    (34, Makes(GlxContext, 0)),
];

/// A resource that exists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpaqueResource {
    pub(crate) kind: ResourceKind,
    pub(crate) by: By,
    /// Bytes, where the request tells.
    pub(crate) bytes: Option<u64>,
}

/// These resources by their ids.
#[derive(Debug, Default)]
pub(crate) struct OpaqueResources(IdMap<OpaqueResource>);

impl OpaqueResources {
    pub(crate) fn get(&self, id: u32) -> Option<&OpaqueResource> {
        self.0.get(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &OpaqueResource)> {
        self.0.iter()
    }

    /// A core request; gives the id of what it makes.
    pub(crate) fn core(&mut self, by: By, major: u8, body: &Body<'_>) -> Option<u32> {
        self.apply(by, find(&CORE, major)?, body)
    }

    /// A request of an extension; gives the id of what it makes.
    pub(crate) fn extension(
        &mut self,
        by: By,
        extension: ExtensionKind,
        minor: u8,
        body: &Body<'_>,
    ) -> Option<u32> {
        /// MIT-SHM CreateSegment, which tells the size of its segment.
        const CREATE_SEGMENT: u8 = 7;
        let table = match extension {
            ExtensionKind::Render => RENDER,
            ExtensionKind::Shm => SHM,
            ExtensionKind::Sync => SYNC,
            ExtensionKind::Damage => DAMAGE,
            ExtensionKind::Xfixes => XFIXES,
            ExtensionKind::Dri3 => DRI3,
            ExtensionKind::Glx => GLX,
            _ => return None,
        };
        let made = self.apply(by, find(table, minor)?, body)?;
        if extension == ExtensionKind::Shm
            && minor == CREATE_SEGMENT
            && let Some(segment) = self.0.get_mut(made)
        {
            segment.bytes = body.u32(4).map(u64::from);
        }
        Some(made)
    }

    fn apply(&mut self, by: By, does: Does, body: &Body<'_>) -> Option<u32> {
        match does {
            Makes(kind, at) => {
                let id = body.u32(at)?;
                let bytes = None;
                self.0.insert(id, OpaqueResource { kind, by, bytes });
                Some(id)
            }
            Frees => {
                self.0.remove(body.u32(0)?);
                None
            }
        }
    }

    /// Forgets `id` if `by` made it: the request failed.
    pub(crate) fn undo(&mut self, id: u32, by: By) {
        if self.0.get(id).is_some_and(|extra| extra.by == by) {
            self.0.remove(id);
        }
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.0.retain(|extra| extra.by.client != client);
    }
}

fn find(table: &[(u8, Does)], opcode: u8) -> Option<Does> {
    table
        .iter()
        .find(|(known, _)| *known == opcode)
        .map(|(_, does)| *does)
}
