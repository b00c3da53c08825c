//! Exports a trace to the formats of other programs (docs/EXPORTS.md).

pub mod collapsed;
pub mod firefox;
pub mod pcapng;
pub mod perfetto;
pub mod pprof;
mod timeline;
