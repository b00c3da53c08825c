//! The extensions whose requests a session tracks.

use x11prof_protocol::Symbol;

/// An extension that a session tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtensionKind {
    Composite,
    Damage,
    Dbe,
    Dri3,
    Present,
    Render,
    Shm,
    Sync,
    Xfixes,
    Glx,
    Xtest,
}

const EXTENSIONS: [(&str, ExtensionKind); 11] = [
    ("RENDER", ExtensionKind::Render),
    ("MIT-SHM", ExtensionKind::Shm),
    ("Present", ExtensionKind::Present),
    ("XFIXES", ExtensionKind::Xfixes),
    ("GLX", ExtensionKind::Glx),
    ("SYNC", ExtensionKind::Sync),
    ("DAMAGE", ExtensionKind::Damage),
    ("DRI3", ExtensionKind::Dri3),
    ("Composite", ExtensionKind::Composite),
    ("XTEST", ExtensionKind::Xtest),
    ("DOUBLE-BUFFER", ExtensionKind::Dbe),
];

/// The tracked extensions, by name.
#[derive(Debug)]
pub(crate) struct ExtensionKinds([(Symbol, ExtensionKind); EXTENSIONS.len()]);

impl ExtensionKinds {
    pub(crate) fn new() -> ExtensionKinds {
        ExtensionKinds(EXTENSIONS.map(|(name, kind)| (Symbol::new(name), kind)))
    }

    /// The tracked extension with this name; `None` if the session does not track it.
    #[inline]
    pub(crate) fn find(&self, name: Symbol) -> Option<ExtensionKind> {
        let mut known = self.0.iter();
        known
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}
