//! The arguments of the analyses of a trace.

use std::path::PathBuf;

use clap::Args;
use x11prof_analyzer::{NetworkModel, Scale, Thresholds};
use x11prof_cost_model::Network;

use crate::span::SpanArguments;

use super::values::{
    DEFAULT_TRACE, EpisodesFormat, ExportBy, ExportFormat, Format, GroupBy, NETWORK, NETWORK_MODEL,
    PARAMETERS, ReportFormat, TableArguments, TimeSourceChoice, milliseconds, scale, thresholds,
};

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The cost table: a file or a name from `params list` [default: best match]
    ///
    /// With --format html, repeat the option to get a column for each server.
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Where server times come from
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) time_source: TimeSourceChoice,
    /// Do not rescale the cost table to the recorded machine
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// A TOML file with your own substitutions (docs/REFERENCE.md)
    ///
    /// Example: of a drawing function that was not calibrated, use the cost of another one that was.
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// Assume this network, such as 10Mbit/s,20ms or dsl
    ///
    /// SPEED,RTT; or a preset (lan, wifi, dsl = 1.5 Mbit/s and 50 ms, lte, xprof-1993); or none. Append ,ssh for
    /// ssh -X, ,compress=RATIO if all bytes are compressed (ssh -C), ,jitter=TIME and ,loss=PERCENT%.
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Network,
    /// How to estimate the time on the network
    ///
    /// simulated: play the recording over the network. paper: add up bytes and round trips (equation 7 of Xprof).
    #[arg(long, value_name = "MODEL", default_value = "simulated", value_parser = NETWORK_MODEL)]
    pub(crate) net_model: NetworkModel,
    /// Show only clients whose name contains NAME, or client number N
    #[arg(long, value_name = "NAME|N")]
    pub(crate) client: Option<String>,
    /// Group the times by this
    #[arg(long, value_enum, default_value = "request")]
    pub(crate) by: GroupBy,
    /// Show the N most expensive rows [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print all rows and tables
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// Multiply the server time of REQUEST by FACTOR, such as 'MIT-SHM:*=0.5'
    ///
    /// `*` matches any text, and the factor 0 removes the request. May be repeated.
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    /// Also show the clients' resources in the server, and grabs
    #[arg(long)]
    pub(crate) resources: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// With --format html: open the page in a browser
    ///
    /// Without -o, the page is written beside the recording.
    #[arg(long)]
    pub(crate) open: bool,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// A server's cost table: a file or a name from `params list` (repeatable)
    #[arg(long, value_name = "P", required = true, value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Do not rescale the cost tables to the recorded machine
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// A TOML file with your own substitutions (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// Assume this network (see `report`). Repeat it to compare networks
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Vec<Network>,
    /// How to estimate the time on the network
    ///
    /// simulated: play the recording over the network. paper: add up bytes and round trips (equation 7 of Xprof).
    #[arg(long, value_name = "MODEL", default_value = "simulated", value_parser = NETWORK_MODEL)]
    pub(crate) net_model: NetworkModel,
    /// Show the N most expensive requests [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print all rows and tables
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// What if: multiply the server time of REQUEST by FACTOR (see `report`)
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "All recordings use the same cost table, so no difference comes from the table."
)]
pub(crate) struct Diff {
    /// Recordings of the old version
    ///
    /// With four or more recordings of each version, `diff` tests for significance.
    #[arg(value_name = "OLD", required = true)]
    pub(crate) old: Vec<PathBuf>,
    /// One or more recordings of the new version
    #[arg(value_name = "NEW", required = true, last = true)]
    pub(crate) new: Vec<PathBuf>,
    /// The cost table: a file or a name from `params list` [default: best match]
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Show only clients whose name contains NAME, or client number N
    #[arg(long, value_name = "NAME|N")]
    pub(crate) client: Option<String>,
    /// Show all differences instead of the fifteen largest
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "The test takes a few seconds and changes nothing on the display.")]
pub(crate) struct Link {
    /// A recording made with --link, instead of a display
    #[arg(value_name = "TRACE", conflicts_with = "display")]
    pub(crate) trace: Option<PathBuf>,
    /// The display [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// Also print the distributions of messages with this name: PolyLine, 'RENDER:*' (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// Count only the messages of clients whose name contains NAME, or of client number N
    #[arg(long, value_name = "NAME|N")]
    pub(crate) client: Option<String>,
    /// Show histograms: logarithmic for times, linear for sizes
    #[arg(long)]
    pub(crate) histograms: bool,
    /// Print the distributions of all messages instead of the largest
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
pub(crate) struct Episodes {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The latency from which an episode is too long [default: 100,keyboard=150,mouse=195]
    ///
    /// MS for all episodes, or TRIGGER=MS,…: input (keyboard and mouse), keyboard, mouse, output (redraws), asynchronous
    /// (all others).
    #[arg(long, value_name = "MS", value_parser = thresholds)]
    pub(crate) threshold: Option<Thresholds>,
    /// The length of a frame of an animation or a drag [default: 16.67]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// Show only clients whose name contains NAME, or client number N
    #[arg(long, value_name = "NAME|N")]
    pub(crate) client: Option<String>,
    /// Show only actions whose name (`KeyPress Ctrl+O in Mousepad`) or group (`Other keys in Mousepad`) contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) landmark: Option<String>,
    /// List the N longest episodes, with their call stacks (--all: and messages)
    #[arg(long, value_name = "N")]
    pub(crate) worst: Option<usize>,
    /// Add a table of your own events, from a TOML file (docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show each key and button in its own row
    #[arg(long)]
    pub(crate) by_key: bool,
    /// Group equal episodes; show if they are slow always, sometimes or once
    #[arg(long)]
    pub(crate) patterns: bool,
    /// Show what happened from 5 s before each mark to 1 s after
    #[arg(long)]
    pub(crate) marks: bool,
    /// Draw utilization and latency over time
    #[arg(long)]
    pub(crate) chart: bool,
    /// Show all rows and tables; with --worst also messages
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// Assume this network instead of the recorded one (see `report`)
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Network,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: EpisodesFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The output format: one line per message, or one JSON object per line
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Print only the messages of connection N
    #[arg(long, value_name = "N")]
    pub(crate) connection: Option<u32>,
    /// Print only messages with this name: PolyLine, 'RENDER:*' (repeatable)
    ///
    /// An error also matches the name of its request.
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// Print only messages from S seconds after the start
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<f64>,
    /// Print only messages up to S seconds after the start
    #[arg(long, value_name = "S")]
    pub(crate) to: Option<f64>,
    /// Also print context switches, and call stacks in text form
    #[arg(long)]
    pub(crate) switches: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The recording; for parquet also a folder of recordings
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The output format (docs/EXPORTS.md)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// What pprof and collapsed stacks show between client and request
    #[arg(long, value_enum, default_value = "window")]
    pub(crate) by: ExportBy,
    /// The file to write; for parquet, a folder
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
