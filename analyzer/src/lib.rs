//! The analyses, from a trace to results: the one forward pass over its records, the prices of what is seen in it,
//! the execution profile, the comparison of servers. How results look is `views`' to say.
//!
//! Pure: it takes records and returns values. It opens no file, reads no clock and prints nothing. What a
//! message means is `protocol`'s and `session`'s to say and what it costs is `cost-model`'s; here they are
//! put together in the order of the trace, in bounded memory.

mod activity;
mod budget;
mod callers;
mod checkpoint;
mod clients_now;
mod code_stacks;
mod comparison;
mod device_grabs;
mod difference;
mod elapsed;
mod emulated_link;
mod episodes;
mod facts;
mod figures;
mod label;
mod link;
mod live;
mod live_pass;
mod marks;
mod measured;
mod observation;
mod pattern;
mod pipeline;
mod played;
mod profile;
mod recorded_server;
mod reorder;
mod report_times;
mod request_stacks;
mod resources;
mod roundtrips;
mod running;
mod scrub;
mod seen;
mod server_grab;
mod stalls;
mod start_up;
mod statistics;
#[doc(hidden)]
#[allow(clippy::unwrap_used, reason = "tests alone use the module")]
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod testing_display;
#[cfg(test)]
mod together_tests;
mod trace_summary;
mod units;
mod user_input;
mod waits;
mod warnings;

pub use activity::figures::ActivityFigures;
pub use activity::run_times::ServerRuns;
pub use activity::threads::Step;
pub use budget::{Budget, BudgetCounts, BudgetError, BudgetLine, BudgetVerdict, Found};
pub use callers::{
    CallerReport, Callers, CallersReport, FunctionReport, RequestCount, StackWaits, interpreted,
    place_of, program_functions,
};
pub use clients_now::report::{
    ClientNow, GrabNow, HeldNow, NowReport, RateNow, RowNow, WaitNow, WatchingCost,
};
pub use clients_now::{ClientsNow, NowOptions};
pub use code_stacks::{CodeStacks, StackNames};
pub use comparison::{
    ComparedRequest, ComparedServer, Comparison, RecordedTime, RequestOnServer, share,
};
pub use difference::{
    Difference, DifferenceRow, Figures, FiguresOfRun, LEVEL, Quantity, Sample, SideReport,
    ValuesReport, chances,
};
pub use episodes::{
    ApartReport, BlameReport, Blamed, BurstReport, Cause, CausesReport, Child as EpisodeChild,
    ChildReport, CumulativeReport, DurationReport, Episode, EpisodeOptions, EpisodeReport,
    Episodes, EpisodesReport, EventDefinition, EventDefinitions, EventFileError, EventTypeReport,
    ExclusiveReport, Figure, Findings, HeldUpReport, LandmarkReport, LocationReport, MarkReport,
    MarkedEpisode, MarkedStall, ModalReport, OutliersReport, Owner, Parts, PartsReport, PathReport,
    PatternReport, PhasesReport, RepeatedLandmark, RepeatedReport, ResourceUse, SeriesReport,
    ServerCause, SummaryReport, ThinkReport, ThresholdError, Thresholds, Trigger, TriggerReport,
    Unmatched, Unsure,
};
pub use figures::{FigureDefinition, figure_at, figures};
pub use link::{LinkFinding, LinkKind, LinkReport, SpreadReport};
pub use live::LiveProfile;
pub use live_pass::{Follows, LivePass};
pub use marks::Marks;
pub use measured::Basis;
pub use pattern::matches as name_matches;
pub use pipeline::{Observation, Pipeline, Seen};
pub use played::{
    ActionReport, HistogramCell, Played, PlayedAction, PlaysReport, RunReport,
    SpreadReport as LatencySpread, play_mark,
};
pub use profile::groups::By;
pub use profile::partition::PartitionReport;
pub use profile::pricing::Pricer;
pub use profile::report::{
    ConnectionReport, EventReport, GroupReport, NetworkReport, OwnReport, ProfileReport,
    RequestReport, ServerReport, TraceReport, TransportReport,
};
pub use profile::scales::{Scale, ScaleError, ScaleReport, Scales};
pub use profile::stacks::Stack;
pub use profile::tally::Line;
pub use profile::total::TotalReport;
pub use profile::{BasisOption, Blocking, Profile, TransportLine, profile_trace};
pub use recorded_server::{recorded_host, recorded_server};
pub use resources::report::{
    ClientResources, HeldOverTime, KindResources, PixelFormatReport, RemainderReport,
    ResourceReport, SizeReport, SummedClients, SummedKind,
};
pub use resources::{Resources, StackHeld};
pub use roundtrips::report::{
    Ahead, AtRtt, BlockingRequest, ClientRoundTrips, DuplicateRequest, Place, RoundTripsReport,
    Suggestion, TotalRoundTrips, Wait,
};
pub use roundtrips::{RoundTripOptions, RoundTrips, TRIED};
pub use running::{ClientSample, RUNS, RanIn, Running, RunningReport, StackRun};
pub use scrub::{Scrubbed, Scrubber};
pub use stalls::grabs::Grabs;
pub use stalls::grabs::report::{GrabLine, GrabReport, GrabWaiter};
pub use stalls::report::{StallLine, StallWaiter, StallingClient, StallsReport};
pub use stalls::{FRAME_MS, Stalls};
pub use start_up::{StartUpParts, StartUpReport};
pub use statistics::distribution::Distribution;
pub use statistics::histogram::Cell;
pub use statistics::report::{
    BytesReport, CategoryReport, DistributionReport, HistogramOptions, MessageReport,
    StatisticsReport,
};
pub use statistics::{Category, MessageStatistics, Statistics};
pub use trace_summary::{
    ConnectionSummary, CpuFigures, MissingParts, TraceSummary, identity, is_timed,
};
pub use units::percent;
pub use user_input::{InputWindow, UserInput, UserInputs};
pub use warnings::{Warning, WarningKind, Warnings};
pub use x11prof_server_model::{Charge, TransportPart};
