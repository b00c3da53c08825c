//! What can be typed: the command line as clap sees it. Commands turn it into plain values.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use x11prof_analyzer::{By, Scale, Thresholds};
use x11prof_cost_model::Network;
use x11prof_proxy::ServerKind;

/// perf for X11: where does the time of an X11 program go, request by request?
#[derive(Debug, Parser)]
#[command(name = "x11prof", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a program's X11 protocol through a proxy display
    Record(Record),
    /// Print the execution profile of a recording: every request with its count, time and share
    Report(Report),
    /// Price one recording for several display servers, side by side
    Compare(Compare),
    /// Print the statistics of a recording's messages: inter-arrival times and sizes
    Stats(Stats),
    /// Print how long each action of the user took until its response was complete, and what took it
    Episodes(Episodes),
    /// Print the messages of a recording, one line each
    Dump(Dump),
    /// Write a recording in another program's format
    Export(Export),
    /// Measure what each request costs a display server, and write a parameter file
    Measure(Measure),
    /// List, show and ask server parameter files
    #[command(subcommand)]
    Params(Params),
    /// Make a complete trace of one whose recorder was killed
    Recover(Recover),
    /// Print the completions of a shell
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Without COMMAND it serves until Ctrl-C and prints the DISPLAY and XAUTHORITY to set.
/// With one it sets them, and passes the command's exit status on.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The trace file to write
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TRACE)]
    pub(crate) output: PathBuf,
    /// The display server to record at [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Start a private headless server of this kind, and stop it afterwards
    #[arg(long, value_name = "KIND", value_parser = server_kind)]
    pub(crate) server: Option<ServerKind>,
    /// Serve as display number N [default: the first free one]
    #[arg(long, value_name = "N")]
    pub(crate) listen: Option<u16>,
    /// Show the profile as it grows. SIGUSR1 prints what came so far to standard error, SIGUSR2
    /// starts the counts afresh and reads the parameters again, also where there is no terminal
    #[arg(long)]
    pub(crate) live: bool,
    /// The server's parameters for --live: a file, or a name from `params list`
    /// [default: those that match the server]
    #[arg(long, value_name = "P", requires = "live")]
    pub(crate) params: Option<String>,
    /// Listen by TCP as well, at this address [default: localhost], for whoever has the cookie
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "localhost")]
    pub(crate) tcp: Option<String>,
    /// Take the clients of other users too, if they have the cookie
    #[arg(long)]
    pub(crate) any_user: bool,
    /// How much may wait in memory for a slow disk, in MiB [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) queue: Option<u32>,
    /// Keep the bodies of images, which are left out from 4 KiB on otherwise
    #[arg(long)]
    pub(crate) full: bool,
    /// The command to record, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The server's parameters: a file, or a name from `params list`
    /// [default: those that match the server in the trace]
    #[arg(long, value_name = "P")]
    pub(crate) params: Option<String>,
    /// Your own operations: what decides the cost of requests that x11prof does not know, or that
    /// you want counted otherwise (a TOML file, see docs/OPERATIONS.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// The network: SPEED,RTT such as 100KB/s,10ms or 10Mbit/s,1ms; or lan, wifi, dsl, lte,
    /// xprof-1993, none
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = network)]
    pub(crate) net: Network,
    /// What to add times up by
    #[arg(long, value_enum, default_value = "request")]
    pub(crate) by: GroupBy,
    /// Show the N most expensive lines only
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// What if: multiply the server's time for REQUEST (`*` stands for any text) by FACTOR;
    /// 0 leaves it out. May be repeated: 'MIT-SHM:*=0'
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    /// Show what the clients hold in the server, and who grabbed it, as well (JSON has it always)
    #[arg(long)]
    pub(crate) resources: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
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
    #[arg(long, value_name = "P", required = true)]
    pub(crate) params: Vec<String>,
    /// Your own operations (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// The network (see `report`); give it several times to see what each does to each server
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = network)]
    pub(crate) net: Vec<Network>,
    /// Show the N most expensive requests only
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// What if: multiply the servers' time for REQUEST by FACTOR (see `report`)
    #[arg(long, value_name = "REQUEST=FACTOR", value_parser = scale)]
    pub(crate) scale: Vec<Scale>,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// Your own operations, which decide op-sizes (see `report`)
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Beside the four categories show PolyLine, 'RENDER:*' only (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// The width of a cell in the histogram of NAME's sizes [default: one that suits their range]
    #[arg(long, value_name = "NAME=N", value_parser = grain)]
    pub(crate) grain: Vec<(String, u64)>,
    /// Show the histograms: logarithmic for time, linear for size
    #[arg(long)]
    pub(crate) histograms: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Episodes {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// From when on an episode is perceptible: MS, or TRIGGER=MS,… with input, output, asynchronous,
    /// keyboard, mouse [default: 100,keyboard=150,mouse=195]
    #[arg(long, value_name = "MS", value_parser = thresholds)]
    pub(crate) threshold: Option<Thresholds>,
    /// The length of a frame in an animation or a drag [default: 16.67, which is 60 a second]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// Only the client of this number, or those whose name contains this
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Only the landmarks whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) landmark: Option<String>,
    /// List the N longest episodes only
    #[arg(long, value_name = "N")]
    pub(crate) worst: Option<usize>,
    /// Add what it would take over a network (see `report`)
    #[arg(long, value_name = "SPEED,RTT", default_value = "none", value_parser = network)]
    pub(crate) net: Network,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
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
    /// Only messages of this name: PolyLine, 'RENDER:*' (may be repeated); an error is found by
    /// its request's name as well
    #[arg(long, value_name = "NAME")]
    pub(crate) message: Vec<String>,
    /// Only what came S seconds after the start or later
    #[arg(long, value_name = "S")]
    pub(crate) from: Option<f64>,
    /// Only what came S seconds after the start or earlier
    #[arg(long, value_name = "S")]
    pub(crate) to: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The format: pcapng is a capture of TCP conversations that Wireshark's X11 dissector decodes
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportFormat,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The display server to measure [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Start a private headless server of this kind, and stop it afterwards
    #[arg(long, value_name = "KIND", value_parser = server_kind)]
    pub(crate) server: Option<ServerKind>,
    /// The parameter file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Fewer sizes and fewer repetitions: under 30 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure this request only (may be repeated)
    #[arg(long, value_name = "REQUEST")]
    pub(crate) only: Vec<String>,
    /// Measure what this recording needs and the file of -o lacks, and add it
    #[arg(long = "for", value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// Go on with the file of -o: measure what it lacks, and add it
    #[arg(long)]
    pub(crate) resume: bool,
    /// Measure as well what a user of the display would notice (grabs, focus, pointer); always
    /// done on a private server
    #[arg(long)]
    pub(crate) intrusive: bool,
    /// How long it may take, in seconds; what is still unsure then keeps the spread that it has
    /// [default: 525]
    #[arg(long, value_name = "SECONDS", conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(30..=86_400))]
    pub(crate) time_limit: Option<u64>,
    /// Leave the processors to the scheduler instead of pinning the server and x11prof to them
    #[arg(long)]
    pub(crate) no_pin: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// List the parameter files that come with x11prof
    List,
    /// Print a parameter file
    Show {
        /// A file, or a name from `params list`
        #[arg(value_name = "P")]
        params: String,
    },
    /// Check a parameter file, and say what limits it
    Check {
        /// A file, or a name from `params list`
        #[arg(value_name = "P")]
        params: String,
    },
    /// Show where two servers differ most
    Diff {
        /// A file, or a name from `params list`
        #[arg(value_name = "P")]
        first: String,
        /// Another one
        #[arg(value_name = "P")]
        second: String,
        /// How many differences to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        top: usize,
    },
    /// Turn a description in Xprof's own language into a parameter file
    Import {
        /// The description
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The parameter file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Write a parameter file in Xprof's own language: rates on the wall, no more
    Export {
        /// A file, or a name from `params list`
        #[arg(value_name = "P")]
        params: String,
        /// The file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Price one request: x11prof params price sun4-ipc 'PolyLine gxmode=GXcopy …' 100
    Price {
        /// A file, or a name from `params list`
        #[arg(value_name = "P")]
        params: String,
        /// The request's name with its attributes
        #[arg(value_name = "REQUEST attr=value …")]
        request: String,
        /// The op-size of one item
        #[arg(value_name = "OPSIZE")]
        op_size: f64,
        /// How many items of that size
        #[arg(long, value_name = "N", default_value_t = 1)]
        items: usize,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// The trace to read
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The complete trace to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs; versioned
    Json,
}

/// What a recording can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A network capture
    Pcapng,
}

/// The form of a result that is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For people
    Text,
    /// For programs; versioned
    Json,
    /// For spreadsheets: the main table
    Csv,
}

/// What times are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// The kind of request
    Request,
    /// The client
    Client,
    /// The window that a request acts on
    Window,
    /// The window or pixmap that it acts on
    Drawable,
    /// The property, selection or message type that it is about
    Atom,
}

impl GroupBy {
    /// The analyzer's word for it; none for the requests, which it has always.
    pub(crate) fn by(self) -> Option<By> {
        match self {
            GroupBy::Request => None,
            GroupBy::Client => Some(By::Client),
            GroupBy::Window => Some(By::Window),
            GroupBy::Drawable => Some(By::Drawable),
            GroupBy::Atom => Some(By::Atom),
        }
    }
}

const DEFAULT_TRACE: &str = "x11prof.mcap";

fn network(text: &str) -> Result<Network, String> {
    Network::parse(text).map_err(|error| error.to_string())
}

fn scale(text: &str) -> Result<Scale, String> {
    Scale::parse(text).map_err(|error| error.to_string())
}

fn grain(text: &str) -> Result<(String, u64), String> {
    let expected = "expected NAME=N with N from 1 on, such as PutImage=16";
    let (name, grain) = text.rsplit_once('=').ok_or(expected)?;
    match grain.parse() {
        Ok(grain) if grain > 0 => Ok((name.to_owned(), grain)),
        _ => Err(expected.to_owned()),
    }
}

fn thresholds(text: &str) -> Result<Thresholds, String> {
    Thresholds::parse(text).map_err(|error| error.to_string())
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if ms > 0.0 && ms.is_finite() => Ok(ms),
        _ => Err("expected a number of milliseconds above 0".to_owned()),
    }
}

fn server_kind(text: &str) -> Result<ServerKind, String> {
    ServerKind::from_name(text)
        .ok_or_else(|| "expected one of xvfb, xvfb-8, xvnc, xephyr, xorg-dummy".to_owned())
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_hold_together() {
        Arguments::command().debug_assert();
    }
}
