//! A resource that a client made, and what becomes of it.

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
    /// RENDER's picture.
    Picture,
    /// RENDER's set of glyphs.
    GlyphSet,
    /// XFIXES' region.
    Region,
    /// MIT-SHM's segment.
    Segment,
    /// DAMAGE's object.
    Damage,
    /// SYNC's counter.
    Counter,
    /// SYNC's alarm.
    Alarm,
    /// SYNC's and DRI3's fence.
    Fence,
    /// DOUBLE-BUFFER's back buffer.
    BackBuffer,
}

impl ResourceKind {
    /// As it is called in results.
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

/// A resource that a request in the recording made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// Its id.
    pub id: u32,
    /// What it is.
    pub kind: ResourceKind,
    /// The client that made it.
    pub client: ClientId,
    /// The number of the request that made it.
    pub sequence: SequenceNumber,
    /// The name of that request.
    pub request: Symbol,
    /// Width and height in pixels, of windows and pixmaps; 0 for others and for a window's own
    /// pixmap.
    pub size: (u16, u16),
    /// Bits of a pixel, of windows and pixmaps; `None` for others and where it is not known.
    pub depth: Option<u8>,
    /// Bytes that it takes, as far as requests and the server's pixmap formats tell: pixels,
    /// the images of a glyph set, a segment. A window's are those that its pixels would take.
    pub bytes: u64,
}

/// What a message did to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceChange {
    /// A request made it.
    Created(Resource),
    /// A request freed it, or freed the window that it was in or of.
    Freed(Resource),
    /// The request that was to make it failed: it never existed.
    Failed(Resource),
    /// It went with the connection of its client.
    Closed(Resource),
    /// It has another size or other bytes.
    Resized {
        /// The resource as it is now.
        now: Resource,
        /// The bytes that it took before.
        bytes_before: u64,
    },
}
