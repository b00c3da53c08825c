//! From a trace to results: the one forward pass over its records, the prices of what is seen
//! in it, the execution profile, the comparison of servers, the plain dump.
//!
//! Pure: it takes records and returns values, or writes to a writer that it is given. It opens
//! no file, reads no clock and prints nothing. What a message means is `protocol`'s and
//! `session`'s to say and what it costs is `cost-model`'s; here they are put together in the
//! order of the trace, in bounded memory.

mod comparison;
mod dump;
mod facts;
#[cfg(test)]
mod paper_tests;
mod pcapng;
mod pipeline;
mod pricing;
mod profile;
#[cfg(test)]
mod profile_tests;
mod report;
mod reporting;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod warnings;

pub use comparison::{ComparedRequest, ComparedServer, Comparison, RequestOnServer};
pub use dump::{Dump, DumpError, DumpFilter, DumpFormat, dump};
pub use facts::{ConnectionFacts, CpuFigures, Facts, identity};
pub use pcapng::PcapNg;
pub use pipeline::{Observation, Pipeline, Seen};
pub use pricing::{Blocking, Charge, Pricer, TransportPart};
pub use profile::{Line, Profile, TransportLine, profile_trace};
pub use report::{
    ConnectionReport, NetworkReport, ProfileReport, RequestReport, ServerReport, TotalReport,
    TraceReport, TransportReport,
};
pub use warnings::{Warning, WarningKind, Warnings};
