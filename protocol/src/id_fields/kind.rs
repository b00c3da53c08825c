//! The kinds of id in a request.

/// The meaning of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// A resource, of any kind.
    Resource,
    /// A font among the items of PolyText8 and PolyText16: most significant byte first in either byte order.
    FontItem,
    /// An atom.
    Atom,
    /// A time of the server.
    Time,
    /// A visual.
    Visual,
    /// A picture format (RENDER).
    PictFormat,
}
