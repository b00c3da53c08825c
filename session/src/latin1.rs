//! ISO Latin-1, the protocol's encoding for the names of fonts and atoms. Its codes are equal to the first 256 codes of
//! Unicode.

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
