//! ISO Latin-1, the protocol's encoding for the names of fonts and atoms. Its codes equal Unicode's.

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
