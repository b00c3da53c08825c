//! From a trace to results: the one forward pass over its records, the prices of what is seen
//! in it, the execution profile, the comparison of servers, the plain dump.
//!
//! Pure: it takes records and returns values, or writes to a writer that it is given. It opens
//! no file, reads no clock and prints nothing. What a message means is `protocol`'s and
//! `session`'s to say and what it costs is `cost-model`'s; here they are put together in the
//! order of the trace, in bounded memory.

mod activity;
mod atoms;
mod body;
mod comparison;
mod comparison_text;
mod csv_tables;
mod distribution;
mod dump;
mod episodes;
mod facts;
mod grabs;
#[cfg(test)]
mod grabs_tests;
mod groups;
mod histogram;
mod history;
mod live;
#[cfg(test)]
mod paper_tests;
mod partition;
mod pcapng;
mod pipeline;
mod pixel_formats;
mod pricing;
mod profile;
#[cfg(test)]
mod profile_tests;
mod report;
mod reporting;
mod resource_report;
mod resource_requests;
#[cfg(test)]
mod resource_tests;
mod resource_text;
mod resource_use;
mod resources;
mod scales;
mod stats;
mod stats_report;
mod stats_text;
mod table;
mod tally;
mod target;
#[cfg(test)]
mod testing;
mod text;
mod warnings;
#[cfg(test)]
mod what_if_tests;

pub use activity::ActivityFigures;
pub use comparison::{ComparedRequest, ComparedServer, Comparison, RequestOnServer};
pub use distribution::Distribution;
pub use dump::{Dump, DumpError, DumpFilter, DumpFormat, dump};
pub use episodes::{
    Asked, Cause, CumulativeReport, Episode, EpisodeOptions, EpisodeReport, Episodes,
    EpisodesReport, Findings, LandmarkReport, Owner, Parts, PartsReport, SummaryReport,
    ThresholdError, Thresholds, Trigger,
};
pub use facts::{ConnectionFacts, CpuFigures, Facts, identity};
pub use grabs::{GrabLine, GrabReport, GrabWaiter, Grabs};
pub use groups::By;
pub use histogram::Cell;
pub use live::LiveProfile;
pub use partition::PartitionReport;
pub use pcapng::PcapNg;
pub use pipeline::{Observation, Pipeline, Seen};
pub use pricing::{Blocking, Charge, Pricer, TransportPart};
pub use profile::{Profile, TransportLine, profile_session, profile_trace};
pub use report::{
    ConnectionReport, EventReport, GroupReport, NetworkReport, ProfileReport, RequestReport,
    ServerReport, TotalReport, TraceReport, TransportReport,
};
pub use resource_report::{
    ClientResources, HeldOverTime, KindResources, PixelFormatReport, RemainderReport,
    ResourceReport, SizeReport,
};
pub use resource_requests::ResourceKind;
pub use resources::Resources;
pub use scales::{Scale, ScaleError, ScaleReport, Scales};
pub use stats::{Category, MessageStatistics, Statistics};
pub use stats_report::{
    BytesReport, CategoryReport, DistributionReport, HistogramOptions, MessageReport,
    StatisticsReport,
};
pub use tally::Line;
pub use warnings::{Warning, WarningKind, Warnings};
