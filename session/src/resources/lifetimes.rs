//! The requests that make and free resources, by opcode (protocol encoding, "Requests", and those of the
//! extensions).

use crate::extension_kind::ExtensionKind;
use crate::resources::resource::ResourceKind;

/// A request's effect on the resources. Offsets count from the first byte after the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The request makes a resource with its id at this offset.
    Makes(ResourceKind, usize),
    /// The request makes a resource of this kind, with its id at the first offset, that goes with the
    /// window whose id is at the second. A picture keeps a pixmap alive, but not a window.
    MakesOfWindow(ResourceKind, usize, usize),
    /// The request frees the resource whose id is its first field.
    Frees,
}
use Lifetime::{Frees, Makes, MakesOfWindow};
use ResourceKind::{
    Alarm, BackBuffer, Colormap, Counter, Cursor, Damage, Fence, Font, Gc, GlyphSet, Picture,
    Pixmap, Region, Segment, Window,
};

const CORE: &[(u8, Lifetime)] = &[
    (1, Makes(Window, 0)),
    (4, Frees),
    (45, Makes(Font, 0)),
    (46, Frees),
    (53, Makes(Pixmap, 0)),
    (54, Frees),
    (55, Makes(Gc, 0)),
    (60, Frees),
    (78, Makes(Colormap, 0)),
    (79, Frees),
    (80, Makes(Colormap, 0)),
    (93, Makes(Cursor, 0)),
    (94, Makes(Cursor, 0)),
    (95, Frees),
];
const RENDER: &[(u8, Lifetime)] = &[
    (4, MakesOfWindow(Picture, 0, 4)),
    (7, Frees),
    (17, Makes(GlyphSet, 0)),
    (18, Makes(GlyphSet, 0)),
    (19, Frees),
    (27, Makes(Cursor, 0)),
    (31, Makes(Cursor, 0)),
    (33, Makes(Picture, 0)),
    (34, Makes(Picture, 0)),
    (35, Makes(Picture, 0)),
    (36, Makes(Picture, 0)),
];
const SHM: &[(u8, Lifetime)] = &[
    (1, Makes(Segment, 0)),
    (2, Frees),
    (5, Makes(Pixmap, 0)),
    (6, Makes(Segment, 0)),
    (7, Makes(Segment, 0)),
];
const SYNC: &[(u8, Lifetime)] = &[
    (2, Makes(Counter, 0)),
    (6, Frees),
    (8, Makes(Alarm, 0)),
    (11, Frees),
    (14, Makes(Fence, 4)),
    (17, Frees),
];
const DAMAGE: &[(u8, Lifetime)] = &[(1, MakesOfWindow(Damage, 0, 4)), (2, Frees)];
const XFIXES: &[(u8, Lifetime)] = &[
    (5, Makes(Region, 0)),
    (6, Makes(Region, 0)),
    (7, Makes(Region, 0)),
    (8, Makes(Region, 0)),
    (9, Makes(Region, 0)),
    (10, Frees),
];
const DRI3: &[(u8, Lifetime)] = &[
    (2, Makes(Pixmap, 0)),
    (4, Makes(Fence, 4)),
    (7, Makes(Pixmap, 0)),
];
const COMPOSITE: &[(u8, Lifetime)] = &[(6, Makes(Pixmap, 4))];
const DBE: &[(u8, Lifetime)] = &[(1, MakesOfWindow(BackBuffer, 4, 0)), (2, Frees)];

/// A core request's effect on the resources.
pub(crate) fn core(opcode: u8) -> Option<Lifetime> {
    find(CORE, opcode)
}

/// The effect of an extension's request on the resources.
pub(crate) fn extension(extension: ExtensionKind, minor: u8) -> Option<Lifetime> {
    let table = match extension {
        ExtensionKind::Render => RENDER,
        ExtensionKind::Shm => SHM,
        ExtensionKind::Sync => SYNC,
        ExtensionKind::Damage => DAMAGE,
        ExtensionKind::Xfixes => XFIXES,
        ExtensionKind::Dri3 => DRI3,
        ExtensionKind::Composite => COMPOSITE,
        ExtensionKind::Dbe => DBE,
        _ => return None,
    };
    find(table, minor)
}

fn find(table: &[(u8, Lifetime)], opcode: u8) -> Option<Lifetime> {
    let mut known = table.iter();
    let found = known.find(|(known, _)| *known == opcode);
    found.map(|(_, lifetime)| *lifetime)
}
