//! A trace in the formats of other programs.

pub mod pcapng;
