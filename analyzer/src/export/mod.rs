//! A trace in the formats of other programs.

pub(crate) mod pcapng;
