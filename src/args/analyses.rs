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
    /// The cost table of the server: a file, or a name from `params list` [default: the table that matches the
    /// recorded server]. Repeat it with --format html to get a column for each server
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Where server times come from. `auto` uses the best source in the recording
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) time_source: TimeSourceChoice,
    /// Use the cost table unchanged. By default a table from another machine is rescaled to the recorded machine
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// A TOML file with your own operations: it defines the attributes and sizes by which the cost of a request is
    /// looked up (docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// A TOML file with your own substitutions: if an attribute value was not calibrated, the file names a similar
    /// value to use instead (docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// Assume this network: SPEED,RTT (such as 100KB/s,10ms or 10Mbit/s,1ms), a preset (lan, wifi, dsl = 1.5 Mbit/s
    /// and 50 ms, lte, xprof-1993) or none. Append ,compress=RATIO if all bytes are compressed (ssh -C)
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Network,
    /// How to estimate network time: play the recording over the network (simulated), or add up bytes and round trips
    /// (paper: Xprof's equation 7)
    #[arg(long, value_name = "MODEL", default_value = "simulated", value_parser = NETWORK_MODEL)]
    pub(crate) net_model: NetworkModel,
    /// Show only the clients whose name contains NAME, or the client with this number
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Group the times by this
    #[arg(long, value_enum, default_value = "request")]
    pub(crate) by: GroupBy,
    /// Show the N most expensive rows [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print everything: all rows, the parts of transport, events, every caveat
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// What if: multiply the server time of REQUEST by FACTOR (`*` matches any text, 0 removes the request; may be
    /// repeated): 'MIT-SHM:*=0'
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    /// Also show what the clients hold in the server and who grabbed it (JSON always includes this)
    #[arg(long)]
    pub(crate) resources: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Open the page in a browser (with --format html; without -o the page is written beside the recording)
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
    /// The cost table of a server: a file, or a name from `params list`. Repeat it for each server
    #[arg(long, value_name = "P", required = true, value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Use the cost tables unchanged, also those from other machines (see `report`)
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// A TOML file with your own operations (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// A TOML file with your own substitutions (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// Assume this network (see `report`). Repeat it to compare networks
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Vec<Network>,
    /// How to estimate network time: play the recording over the network (simulated), or add up bytes and round trips
    /// (paper: Xprof's equation 7)
    #[arg(long, value_name = "MODEL", default_value = "simulated", value_parser = NETWORK_MODEL)]
    pub(crate) net_model: NetworkModel,
    /// Show the N most expensive requests [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print everything: all rows, the parts of transport, events, every caveat
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
    /// One or more recordings of the old version. With four or more of each version, `diff` tests for significance
    #[arg(value_name = "OLD", required = true)]
    pub(crate) old: Vec<PathBuf>,
    /// One or more recordings of the new version
    #[arg(value_name = "NEW", required = true, last = true)]
    pub(crate) new: Vec<PathBuf>,
    /// The cost table of the server: a file, or a name from `params list` [default: the table that matches the
    /// server of the first recording]
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Show only the clients whose name contains NAME, or the client with this number
    #[arg(long, value_name = "NAME")]
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
    /// A TOML file with your own operations, which define op-sizes: the work of a request, such as pixels (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Show only messages with this name besides the four categories: PolyLine, 'RENDER:*' (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
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
    /// The recording. Several recordings of the same actions give the mean and standard deviation over them
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) traces: Vec<PathBuf>,
    /// The latency from which an episode is perceptible: MS, or TRIGGER=MS,… with the triggers input, output,
    /// asynchronous, keyboard and mouse [default: 100,keyboard=150,mouse=195]
    #[arg(long, value_name = "MS", value_parser = thresholds)]
    pub(crate) threshold: Option<Thresholds>,
    /// The length of a frame in an animation or a drag, in milliseconds [default: 16.67, 60 Hz]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// Show only the clients whose name contains NAME, or the client with this number
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Show only landmarks whose name or group contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) landmark: Option<String>,
    /// List the N longest episodes, with their call stacks and messages
    #[arg(long, value_name = "N")]
    pub(crate) worst: Option<usize>,
    /// A TOML file with your own events, each defined by its start and end (docs/REFERENCE.md). Adds a table of
    /// their durations
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show each key and button in its own row
    #[arg(long)]
    pub(crate) by_key: bool,
    /// Group episodes that did the same work, and show if a group is slow always, sometimes or once
    #[arg(long)]
    pub(crate) patterns: bool,
    /// Show what happened around each mark: episodes, stalls and server time from 5 s before to 1 s after
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
    /// Print only messages with this name: PolyLine, 'RENDER:*' (may be repeated). An error also matches the name
    /// of its request
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// Print only messages from S seconds after the start
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<f64>,
    /// Print only messages up to S seconds after the start
    #[arg(long, value_name = "S")]
    pub(crate) to: Option<f64>,
    /// Also print when threads run and wait; in text form also their call stacks
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
    /// The file to write; for parquet the folder of the tables, which may exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
