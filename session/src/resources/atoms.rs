//! Atoms and their names.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use x11prof_protocol::Reply;
use x11rb_protocol::protocol::xproto::AtomEnum;

use crate::latin1::latin1;

/// The maximum number of stored names. The limits on the number and the length of names bound the used memory.
const ATOMS_LIMIT: usize = 1 << 16;
/// The longest stored name, in bytes. Longer names are truncated.
const LONGEST: usize = 256;

/// The names of a display's atoms.
#[derive(Debug, Default)]
pub(crate) struct Atoms {
    names: FxHashMap<u32, Box<str>>,
}

/// Decodes the name of an atom from ISO Latin-1, as in InternAtom. Names longer than 256 bytes are truncated.
pub(crate) fn name(bytes: &[u8]) -> Box<str> {
    latin1(bytes.get(..LONGEST).unwrap_or(bytes)).into_boxed_str()
}

impl Atoms {
    /// The name of the atom with this number; `None` if the recording does not contain the name.
    pub(crate) fn name(&self, atom: u32) -> Option<&str> {
        match predefined_atom(atom) {
            Some(name) => Some(name),
            None => self.names.get(&atom).map(|name| &**name),
        }
    }

    /// Stores the reply to InternAtom of `name`. Atom 0 (None) in the reply means that no atom has this name.
    pub(crate) fn interned(&mut self, name: Box<str>, reply: &Reply<'_>) -> Option<()> {
        let atom = reply.order.u32(reply.bytes, 8).filter(|atom| *atom != 0)?;
        self.keep(atom, name);
        Some(())
    }

    /// Stores the name of `atom`, from the reply to GetAtomName.
    pub(crate) fn named(&mut self, atom: u32, reply: &Reply<'_>) -> Option<()> {
        let length = usize::from(reply.order.u16(reply.bytes, 8)?);
        self.keep(atom, name(reply.bytes.get(32..32 + length)?));
        Some(())
    }

    /// Stores the name of an atom from another source.
    pub(crate) fn reported(&mut self, atom: u32, text: &str) {
        if predefined_atom(atom).is_none() {
            let kept = text.chars().take(LONGEST).collect::<String>();
            self.keep(atom, kept.into_boxed_str());
        }
    }

    /// The known atoms with their names, without the predefined atoms.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(atom, name)| (*atom, &**name))
    }

    fn keep(&mut self, atom: u32, name: Box<str>) {
        if self.names.len() < ATOMS_LIMIT || self.names.contains_key(&atom) {
            self.names.insert(atom, name);
        }
    }
}

/// The atoms that every server has, from 1 on (protocol, appendix "Predefined Atoms").
pub static PREDEFINED_ATOMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let last: u32 = AtomEnum::WM_TRANSIENT_FOR.into();
    let atoms = (1..=last as u8).map(AtomEnum::from);
    atoms.map(|atom| format!("{atom:?}")).collect()
});

/// The name of a predefined atom, which every server has; `None` for other atoms.
fn predefined_atom(atom: u32) -> Option<&'static str> {
    let at = atom.checked_sub(1)?;
    PREDEFINED_ATOMS.get(at as usize).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{Atoms, PREDEFINED_ATOMS, name};

    #[test]
    fn predefined_atoms_have_their_names() {
        let atoms = Atoms::default();
        assert_eq!(atoms.name(1), Some("PRIMARY"));
        assert_eq!(atoms.name(18), Some("FONT"));
        assert_eq!(atoms.name(39), Some("WM_NAME"));
        assert_eq!(atoms.name(68), Some("WM_TRANSIENT_FOR"));
        assert_eq!((atoms.name(0), atoms.name(69)), (None, None));
        assert_eq!(PREDEFINED_ATOMS.len(), 68);
        assert!(PREDEFINED_ATOMS.iter().all(|name| name.len() > 2));
    }

    #[test]
    fn atom_names_are_latin1_and_bounded() {
        assert_eq!(&*name(b"caf\xE9"), "café");
        assert_eq!(name(&[b'a'; 1000]).len(), 256);
    }
}
