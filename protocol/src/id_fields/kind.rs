//! The kinds of id in a request.

/// The kind of an id in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// The id of a resource of any kind.
    Resource,
    /// The id of a font among the items of PolyText8 and PolyText16: most significant byte first in either byte order.
    FontItem,
    /// The number of an atom.
    Atom,
    /// A time of the server's clock, in milliseconds.
    Time,
    /// The id of a visual.
    Visual,
    /// The id of a picture format (RENDER).
    PictFormat,
}
