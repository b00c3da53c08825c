//! The arguments of the analyses of a trace.

use std::path::PathBuf;

use clap::Args;
use x11prof_analyzer::{Scale, Thresholds};
use x11prof_cost_model::Network;

use crate::span::SpanArguments;

use super::values::{
    BasisChoice, DEFAULT_TRACE, EpisodesFormat, ExportBy, ExportFormat, Format, GroupBy, NETWORK,
    PARAMETERS, ReportFormat, TableArguments, grain, milliseconds, scale, thresholds,
};

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The server's parameters: a file, or a name from `params list`
    /// [default: those that match the server in the trace]. Several with --format html: a column for each
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Where server times come from: the kernel's clock of the recorded server, divided by prices, or
    /// prices alone. `auto` takes the clock where the prices are of the recorded server
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) time_source: BasisChoice,
    /// Take the parameters as they were measured; without this, those of another machine are converted to the
    /// recorded one
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// Your own operations: what decides the cost of requests that x11prof does not know, or that you want to
    /// count differently (a TOML file, see docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Your own rules for which value stands in for an attribute's value that was not measured (a TOML
    /// file, see docs/REFERENCE.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// The network: SPEED,RTT such as 100KB/s,10ms or 10Mbit/s,1ms; or lan, wifi, dsl, lte,
    /// xprof-1993, none; each with ,compress=RATIO where all bytes are compressed (ssh -C)
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Network,
    /// The grouping of times
    #[arg(long, value_enum, default_value = "request")]
    pub(crate) by: GroupBy,
    /// Show the N most expensive lines [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print everything: every line, transport by its parts, events, each warning
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// The shortest stall: a client holds the server for MS milliseconds [default: 16.67, a frame at 60 Hz]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// What if: multiply the server's time for REQUEST (`*` stands for any text) by FACTOR;
    /// 0 leaves it out. May be repeated: 'MIT-SHM:*=0'
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    /// Also show what the clients hold in the server, and who grabbed it (JSON always has this)
    #[arg(long)]
    pub(crate) resources: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Show the page in a browser (with --format html; without -o it is written beside the recording)
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
    /// A server's parameters: a file, or a name from `params list`; give it once for each server
    #[arg(long, value_name = "P", required = true, value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Vec<String>,
    /// Take them as they were measured, also those of another machine (see `report`)
    #[arg(long)]
    pub(crate) no_rescale: bool,
    /// Your own operations (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Your own rules for substitutions (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) substitutions: Option<PathBuf>,
    /// The network (see `report`); give it several times to see what each does to each server
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Vec<Network>,
    /// Show the N most expensive requests [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Print everything: every line, transport by its parts, events, each warning
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// What if: multiply the servers' time for REQUEST by FACTOR (see `report`)
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "All recordings get the same prices, so no difference comes from prices.")]
pub(crate) struct Diff {
    /// One or more recordings of the old version; with four of each, chance is told from change
    #[arg(value_name = "OLD", required = true)]
    pub(crate) old: Vec<PathBuf>,
    /// One or more recordings of the new version
    #[arg(value_name = "NEW", required = true, last = true)]
    pub(crate) new: Vec<PathBuf>,
    /// The server's parameters: a file, or a name from `params list`
    /// [default: those that match the server in the first recording]
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Only the episodes of the clients whose name holds NAME, or whose number it is
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Show all that differs, not the fifteen largest changes only
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "The measurement takes some seconds and changes nothing on the display.")]
pub(crate) struct Link {
    /// A recording made with --link, instead of a display
    #[arg(value_name = "TRACE", conflicts_with = "display")]
    pub(crate) trace: Option<PathBuf>,
    /// The display [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// Your own operations, which decide op-sizes (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Besides the four categories show only this message: PolyLine, 'RENDER:*' (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// The width of a bin in the histogram of NAME's sizes [default: one that suits their range]
    #[arg(long, value_name = "NAME=N", value_parser = grain)]
    pub(crate) grain: Vec<(String, u64)>,
    /// Show the histograms: logarithmic for time, linear for size
    #[arg(long)]
    pub(crate) histograms: bool,
    /// Print the distributions of every message, not the largest only
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}

#[derive(Debug, Args)]
pub(crate) struct Episodes {
    /// The recording; several of the same actions give mean and standard deviation over them
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) traces: Vec<PathBuf>,
    /// The latency from which an episode is perceptible: MS, or TRIGGER=MS,… for the triggers input, output,
    /// asynchronous, keyboard and mouse [default: 100,keyboard=150,mouse=195]
    #[arg(long, value_name = "MS", value_parser = thresholds)]
    pub(crate) threshold: Option<Thresholds>,
    /// The length of a frame in an animation or a drag, in milliseconds [default: 16.67, 60 Hz]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// Only the client of this number, or clients whose name contains CLIENT
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Only landmarks whose name, or whose group's name, contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) landmark: Option<String>,
    /// List the N longest episodes only
    #[arg(long, value_name = "N")]
    pub(crate) worst: Option<usize>,
    /// Your own events, by their start and end (a TOML file, see docs/REFERENCE.md): adds a table of their
    /// durations
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Show each key and button below its kind of action
    #[arg(long)]
    pub(crate) by_key: bool,
    /// Show patterns (episodes that did the same), and whether they are slow always, sometimes or once
    #[arg(long)]
    pub(crate) patterns: bool,
    /// Show what went on around each mark of the user: episodes, stalls and the server's time from 5 s
    /// before to 1 s after
    #[arg(long)]
    pub(crate) marks: bool,
    /// Draw utilisation and latency over time
    #[arg(long)]
    pub(crate) chart: bool,
    /// Show all rows and tables; with --worst also messages
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) span: SpanArguments,
    /// Add the time that a network would take (see `report`)
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Network,
    /// The form of the result
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
    /// The form of the result: a line a message, or a JSON object a line
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Only the messages of connection N
    #[arg(long, value_name = "N")]
    pub(crate) connection: Option<u32>,
    /// Only messages of this name: PolyLine, 'RENDER:*' (may be repeated); errors have their request's name
    /// as well
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// Only messages from S seconds after the start on
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<f64>,
    /// Only messages up to S seconds after the start
    #[arg(long, value_name = "S")]
    pub(crate) to: Option<f64>,
    /// Show when threads begin to run and stop as well
    #[arg(long)]
    pub(crate) switches: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The recording; for parquet a folder of them as well
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The format (docs/EXPORTS.md)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// The names between client and request, of pprof and collapsed
    #[arg(long, value_enum, default_value = "window")]
    pub(crate) by: ExportBy,
    /// The file to write; for parquet the folder of the tables, which may exist already
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
