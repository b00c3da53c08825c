//! ISO Latin-1, in which the protocol writes the names of fonts and atoms: its codes are those of
//! Unicode.

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
