//! A resource that a client created, and its changes.

use std::fmt;

use x11prof_protocol::{SequenceNumber, Symbol};

use crate::ids::ClientId;

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A window.
    Window,
    /// A pixmap.
    Pixmap,
    /// A graphics context.
    Gc,
    /// An open font.
    Font,
    /// A cursor.
    Cursor,
    /// A colormap.
    Colormap,
    /// A RENDER picture.
    Picture,
    /// A RENDER glyph set.
    GlyphSet,
    /// An XFIXES region.
    Region,
    /// An MIT-SHM segment.
    Segment,
    /// A DAMAGE object.
    Damage,
    /// A SYNC counter.
    Counter,
    /// A SYNC alarm.
    Alarm,
    /// A SYNC or DRI3 fence.
    Fence,
    /// A DOUBLE-BUFFER back buffer.
    BackBuffer,
}

impl ResourceKind {
    /// The name of the kind in reports.
    pub fn name(self) -> &'static str {
        match self {
            ResourceKind::Window => "window",
            ResourceKind::Pixmap => "pixmap",
            ResourceKind::Gc => "gc",
            ResourceKind::Font => "font",
            ResourceKind::Cursor => "cursor",
            ResourceKind::Colormap => "colormap",
            ResourceKind::Picture => "picture",
            ResourceKind::GlyphSet => "glyph set",
            ResourceKind::Region => "region",
            ResourceKind::Segment => "segment",
            ResourceKind::Damage => "damage",
            ResourceKind::Counter => "counter",
            ResourceKind::Alarm => "alarm",
            ResourceKind::Fence => "fence",
            ResourceKind::BackBuffer => "back buffer",
        }
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A resource that a request in the recording created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// The resource's id.
    pub id: u32,
    /// The kind of the resource.
    pub kind: ResourceKind,
    /// The client that created the resource.
    pub client: ClientId,
    /// The sequence number of the request that created the resource, on its client's connection.
    pub sequence: SequenceNumber,
    /// The name of the request that created the resource.
    pub request: Symbol,
    /// The width and height of a window or pixmap in pixels; 0 for other resources, and for a pixmap that names a
    /// window's memory.
    pub size: (u16, u16),
    /// The depth of a window or pixmap in bits; `None` for other resources, or if unknown.
    pub depth: Option<u8>,
    /// The number of bytes that the resource occupies: the pixels of a window or pixmap, the images of a glyph set, or
    /// an MIT-SHM segment. 0 if the requests and the server's pixmap formats do not determine the number.
    pub bytes: u64,
}

/// The effect of a message on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceChange {
    /// A request created the resource.
    Created(Resource),
    /// A request freed the resource, or destroyed its window.
    Freed(Resource),
    /// The request that should have created the resource failed, so the resource never existed.
    Failed(Resource),
    /// The resource was freed when the connection of its client ended.
    Closed(Resource),
    /// The size of the resource changed, in pixels or bytes.
    Resized {
        /// The properties of the resource after the change.
        now: Resource,
        /// The number of bytes before the change.
        bytes_before: u64,
    },
}
