//! The analyses, from a trace to reports. The two main types are:
//!
//! - [`Pipeline`] takes the records of a trace in one forward pass and emits [`Observation`]s: each message with its
//!   context ([`MessageContext`]), and each fact that becomes known later.
//! - [`Profile`], the largest analysis, processes those observations: server time by request.
//!
//! The other analyses process the same observations, one folder each: [`Episodes`], [`RoundTrips`], [`Stalls`],
//! [`Statistics`], [`Resources`], and combinations of them. Reports are plain values; `views` prints them.
//!
//! The crate is pure: it processes records and returns values. It opens no file, reads no clock, prints nothing, and
//! keeps only a window of the trace in memory.

mod callers;
mod clients;
mod comparisons;
mod episodes;
mod forecast;
mod input;
mod link;
mod live;
mod networks;
mod pipeline;
mod profile;
mod recording;
mod resources;
mod round_trips;
mod roundtrips;
mod scrub;
mod server_time;
mod stalls;
mod statistics;
#[doc(hidden)]
#[allow(clippy::unwrap_used, reason = "tests alone use the module")]
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod testing_display;
mod text;
mod threads;
#[cfg(test)]
mod together_tests;

pub use callers::blocked::{Blocked, BlockedIn};
pub use callers::call_tree::CallTree;
pub use callers::code_stacks::{CodeStacks, StackNames};
pub use callers::running::{ClientSample, RUNS, RanIn, Running, RunningReport, StackRun};
pub use callers::{
    CallerReport, Callers, CallersReport, FunctionReport, RequestCount, StackWaits, interpreted,
    place_of, program_functions,
};
pub use clients::{ClientChoice, Unmatched};
pub use comparisons::budget::{
    Budget, BudgetCounts, BudgetError, BudgetLine, BudgetVerdict, Found,
};
pub use comparisons::comparison::{
    ComparedRequest, ComparedServer, Comparison, RecordedTime, Replays, RequestOnServer, share,
};
pub use comparisons::difference::{
    Difference, DifferenceRow, Figures, FiguresOfRun, LEVEL, Quantity, Sample, SideReport,
    ValuesReport, chances,
};
pub use comparisons::divergence::{
    ClientDivergence, ContextMessage, ContextRow, DifferenceKinds, DisplayStreams, Divergence,
    DivergenceContext, DivergenceReport, MessageDetails, MissingReply, ReceivedDifference,
    RepeatedRequest, RequestAnswers, RequestDifference, RequestSide, ServerClosed, UnequalRequests,
};
pub use episodes::{
    ApartReport, AwaitedOutcome, AwaitedReport, AwaitedRequest, BacklogReport, BlameReport, Blamed,
    BurstReport, Cause, CausesReport, Child as EpisodeChild, ChildReport, CumulativeReport,
    DurationReport, Episode, EpisodeOptions, EpisodeReport, Episodes, EpisodesReport,
    EventDefinition, EventDefinitions, EventFileError, EventTypeReport, ExclusiveReport, Findings,
    HeldUpReport, LandmarkReport, LatencyBreakdown, LatencyComponent, LocationReport, LoopReport,
    MarkReport, MarkedEpisode, MarkedStall, ModalReport, OutliersReport, PartsReport, PathReport,
    PatternReport, PhasesReport, ResourceUse, SeriesReport, ServerCause, SummaryReport,
    ThinkReport, ThresholdError, Thresholds, Trigger, TriggerReport, Unsure, component_name,
};
pub use forecast::{
    ForecastCause, ForecastReport, ForecastStartUp, ForecastTimes, Forecasts, LinkLimits, NeverCame,
};
pub use input::marks::Marks;
pub use input::played::{
    ActionReport, HistogramCell, Played, PlayedAction, PlaysReport, RunReport,
    SpreadReport as LatencySpread, play_mark,
};
pub use input::user_input::{InputWindow, UserInput, UserInputs};
pub use link::{LinkFinding, LinkKind, LinkReport, SpreadReport};
pub use live::LiveProfile;
pub use live::clients_now::report::{ClientNow, GrabNow, HeldNow, NowReport, RateNow, RowNow};
pub use live::clients_now::{ClientsNow, NowOptions};
pub use networks::emulated;
pub use pipeline::live_pass::{Follows, LivePass};
pub use pipeline::open_requests::{
    OPEN_KINDS, OpenKind, OpenKindDefinition, OpenRequest, OpenRequestChange, OpenStep,
};
pub use pipeline::start_up::{ClientRole, StartUpParts, StartUpReport};
pub use pipeline::{HandledRequest, MessageContext, Observation, Pipeline, ServerRun};
pub use profile::cost_estimator::CostEstimator;
pub use profile::groups::{By, UNATTRIBUTED};
pub use profile::partition::PartitionReport;
pub use profile::report::{
    ConnectionReport, EventReport, GroupReport, NetworkReport, OwnReport, ProfileReport,
    RequestReport, ServerReport, TraceReport, TransportReport,
};
pub use profile::scales::{Scale, ScaleError, ScaleReport, Scales};
pub use profile::stacks::Stack;
pub use profile::tally::Line;
pub use profile::total::TotalReport;
pub use profile::{NetworkModel, Profile, TimeSourceOption, TransportLine, profile_trace};
pub use recording::activity::ActivityFigures;
pub use recording::recorded_server::{recorded_host, recorded_server};
pub use recording::trace_summary::{
    ConnectionSummary, CpuFigures, MissingParts, TraceSummary, identity, is_timed,
};
pub use recording::warnings::{Warning, WarningKind, Warnings};
pub use resources::counts::ResourceCounts;
pub use resources::report::{
    ClientResources, HeldOverTime, KindResources, PixelFormatReport, RemainderReport,
    ResourceReport, SizeReport, SummedClients, SummedKind,
};
pub use resources::{Resources, StackHeld};
pub use roundtrips::report::{
    Ahead, BlockingRequest, ClientRoundTrips, DuplicateRequest, Place, RoundTripsReport,
    Suggestion, TotalRoundTrips, Wait,
};
pub use roundtrips::{RoundTripOptions, RoundTrips, TRIED};
pub use scrub::{Scrubbed, Scrubber};
pub use server_time::TimeSource;
pub use stalls::grabs::Grabs;
pub use stalls::grabs::report::{GrabLine, GrabReport};
pub use stalls::report::{StallLine, StallWaiter, StallingClient, StallsReport};
pub use stalls::{FRAME_MS, Stalls};
pub use statistics::distribution::Distribution;
pub use statistics::histogram::Cell;
pub use statistics::report::{
    BytesReport, CategoryReport, DistributionReport, MessageReport, StatisticsReport,
};
pub use statistics::{Category, MessageStatistics, Statistics};
pub use text::label::{client_name, program_of};
pub use text::pattern::matches as name_matches;
pub use text::units::{counted, percent};
pub use threads::thread_states::Step;
pub use x11prof_server_model::{Charge, TransportPart};
