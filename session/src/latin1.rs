//! ISO Latin-1, the protocol's encoding for the names of fonts and atoms. The codes of ISO Latin-1 are the first 256
//! codes of Unicode.

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
