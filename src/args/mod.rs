//! The command line, as clap parses it. Commands turn the arguments into plain values.

mod analyses;
mod audit;
mod check;
mod diverge;
mod issues;
mod play;
mod replay;
mod roundtrips;
mod top;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use x11prof_cost_model::Network;
use x11prof_protocol::Chord;
use x11prof_proxy::{Rewrite, ServerKind};

use crate::error::CommandError;
use crate::ring::Condition;
pub(crate) use analyses::{Compare, Diff, Dump, Episodes, Export, Link, Report, Stats};
pub(crate) use audit::Audit;
pub(crate) use check::Check;
pub(crate) use diverge::Diverge;
pub(crate) use issues::{Issues, IssuesFormat, Sql, SqlFormat};
pub(crate) use play::{Play, PlayPace, Type, Where, WindowChoice};
pub(crate) use replay::{PaceChoice, Replay};
pub(crate) use roundtrips::RoundTrips;
pub(crate) use top::Top;
pub(crate) use values::{
    BasisChoice, DEFAULT_TRACE, EpisodesFormat, ExportBy, ExportFormat, Format, ReportFormat,
    StacksOf, TableArguments, TableFormat, seconds,
};
use values::{NETWORK, PARAMETERS, SERVER, label, rewrite};

/// perf for X11: where does the time of an X11 program go, request by request?
#[derive(Debug, Parser)]
#[command(name = "x11prof", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// The parsed command line. Help, and clap's own errors, end the program here.
    pub(crate) fn read() -> Result<Arguments, CommandError> {
        Arguments::try_parse_from(options_first(std::env::args_os().collect())).map_err(|error| {
            let advice = command_without_dashes(&error).or_else(|| file_as_command(&error));
            match advice {
                Some(advice) => CommandError::usage(advice),
                None => error.exit(),
            }
        })
    }
}

/// The words of the command line. In `diff OLD -- NEW` the options after NEW, which clap would take for
/// recordings, move before the dashes.
fn options_first(words: Vec<OsString>) -> Vec<OsString> {
    let is_diff = words.get(1).is_some_and(|word| word == "diff");
    let dashes = words.iter().position(|word| word == "--");
    let Some(dashes) = dashes.filter(|_| is_diff) else {
        return words;
    };
    let mut before = words;
    let mut traces = before.split_off(dashes).into_iter().peekable();
    let mut after = Vec::from_iter(traces.next());
    while let Some(word) = traces.next() {
        let text = word.to_string_lossy().into_owned();
        let alone = !text.starts_with('-') || text.contains('=') || text == "--all";
        match text.starts_with('-') {
            true => before.push(word),
            false => after.push(word),
        }
        if !alone {
            before.extend(traces.next());
        }
    }
    before.append(&mut after);
    before
}

/// Advice for `x11prof FILE`.
fn file_as_command(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if std::path::Path::new(word).is_file() => Some(format!(
            "{word} is a file; for a profile of a recording: x11prof report {word}"
        )),
        _ => None,
    }
}

/// Advice for `x11prof record COMMAND`.
fn command_without_dashes(error: &clap::Error) -> Option<String> {
    let recording = std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "record");
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word))
            if recording
                && error.kind() == ErrorKind::UnknownArgument
                && !word.starts_with('-') =>
        {
            Some(format!(
                "a command to record comes after --, as in: x11prof record -- {word}"
            ))
        }
        _ => None,
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a program's X11 protocol through a proxy display
    Record(Record),
    /// Print the execution profile of a recording: every request with its count, time and share
    Report(Report),
    /// Price one recording for several display servers, side by side
    Compare(Compare),
    /// Show what changed between two versions of a program, from recordings of each
    Diff(Diff),
    /// Find the first difference between one program's sessions on two servers, and what led to it
    Diverge(Diverge),
    /// Print the statistics of a recording's messages: inter-arrival times and sizes
    Stats(Stats),
    /// Print the latency of each action of the user until its response was complete, and the causes
    Episodes(Episodes),
    /// Print the replies that clients waited for, their cost over a network, and ways to save them
    Network(RoundTrips),
    /// Rank the slow actions of many sessions: actions that are slow for one reason are one issue
    ///
    /// An issue is all actions of one kind, in one program, that took too long for one reason. The worst
    /// issue has the most time over the threshold, of all users together.
    Issues(Issues),
    /// Query the tables of many sessions with an installed DuckDB
    ///
    /// The query is DuckDB's. Each table is a view: sessions, episodes, latencies, requests, round_trips,
    /// resources, server_runs, marks (docs/REFERENCE.md).
    Sql(Sql),
    /// Show what each client costs the server now: who draws, polls, grabs, leaks, or waits
    Top(Top),
    /// Compare a recording with a budget; exit status 1 where the recording costs more, 2 on any error
    Check(Check),
    /// Play a recording to other display servers, and compare what it takes there
    Replay(Replay),
    /// Drive a program by recorded input, action by action, and print how long each took
    Drive(Play),
    /// Type into a program, and print how long its answers to the keys took
    Type(Type),
    /// Put a mark into the running recording, at the moment when a delay was felt
    Mark(Mark),
    /// Start your display server so that every recorder of yours times each of its requests
    Server(ServerCommand),
    /// Measure the connection to a display, to see whether the network is to blame
    Ping(Link),
    /// Print the messages of a recording, one line each
    Dump(Dump),
    /// Write a recording in another program's format
    Export(Export),
    /// Measure what each request costs a display server, and write a parameter file
    Calibrate(Measure),
    /// List, show, check and convert server parameter files
    #[command(subcommand)]
    Params(Params),
    /// Check that all reports on a recording agree, to report a fault of x11prof
    #[command(hide = true)]
    Audit(Audit),
    /// Make a complete trace of one whose recorder was killed
    Recover(Recover),
    /// Copy a recording without typed and shown text and images, to show it to others
    Scrub(Scrub),
    /// Print the completions of a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without COMMAND, `record` serves clients until Ctrl-C, and prints the DISPLAY and XAUTHORITY to set. \
                  With COMMAND, it sets both for the command, and exits with the command's status."
)]
pub(crate) struct Record {
    /// The trace file to write, once a client has connected or the recording ends; an existing one is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TRACE)]
    pub(crate) output: PathBuf,
    /// The display server to record at [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Start a private headless server of this kind, and stop it afterwards; the server times each request, but for
    /// xwayland
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: Option<ServerKind>,
    /// Record the clients that already run on the display, until Ctrl-C: through its RECORD extension,
    /// without a restart, as an ordinary user. RECORD does not tell when clients read bytes, nor which
    /// descriptors they pass
    #[arg(long, conflicts_with_all = ["server", "listen", "tcp", "all_users", "link", "net", "rewrites", "command"])]
    pub(crate) attach: bool,
    /// End the recording after N seconds, and COMMAND with it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: Option<u64>,
    /// Record until all clients have disconnected. By default, the recording ends when COMMAND has ended and its windows
    /// are closed, even if helper programs such as dbus-launch are still connected
    #[arg(long, requires = "command")]
    pub(crate) until_closed: bool,
    /// End the recording once it costs the server more than PERCENT of a processor, over five seconds
    #[arg(long, value_name = "PERCENT", requires = "attach", value_parser = values::percent)]
    pub(crate) max_overhead: Option<f64>,
    /// Keep only the last SECONDS (at most 200 MB, in files without a name), and write them to FILE-1,
    /// FILE-2 … each time a condition of --when is met
    #[arg(long, value_name = "SECONDS", requires = "when", conflicts_with_all = ["live", "scrub"],
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) ring: Option<u64>,
    /// The condition for writing the ring to a file (may be repeated): 'episode > 200ms', 'stall > 50ms',
    /// mark (x11prof mark), or signal (SIGUSR1)
    #[arg(long, value_name = "CONDITION", requires = "ring")]
    pub(crate) when: Vec<Condition>,
    /// Serve as display number N [default: the first free one]
    #[arg(long, value_name = "N")]
    pub(crate) listen: Option<u16>,
    /// Show the profile while it grows. The command cannot read from the terminal, and what it writes there
    /// is shown afterwards. SIGUSR1 prints the profile so far to standard error; SIGUSR2 resets the counts
    /// and reads the parameters again; both work without a terminal too
    #[arg(long)]
    pub(crate) live: bool,
    /// The server's parameters for --live: a file, or a name from `params list`
    /// [default: those that match the server]
    #[arg(long, value_name = "P", requires = "live", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Listen by TCP as well, at this address [default: localhost], for clients that have the cookie
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "localhost")]
    pub(crate) tcp: Option<String>,
    /// Take the clients of other users too, if they have the cookie
    #[arg(long)]
    pub(crate) all_users: bool,
    /// The size of the queue in memory for a slow disk, in MiB [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) queue: Option<u32>,
    /// Keep the bodies of images; without this, those over 4 KiB are left out
    #[arg(long)]
    pub(crate) keep_images: bool,
    /// Leave out typed and shown text and images, as `scrub` does, before anything reaches the disk
    #[arg(long)]
    pub(crate) scrub: bool,
    /// Write no trace, for days of use: only tables, to the folder of -o [default: x11prof-tables], of the
    /// actions that took too long, with their causes, and of the latencies of all others. They hold no key,
    /// text or title
    #[arg(long, conflicts_with_all = ["live", "ring", "keep_images", "scrub", "link"])]
    pub(crate) tables_only: bool,
    /// Put a mark into the recording at each press of KEY, such as F12, Pause or ctrl+alt+m. The key is
    /// grabbed on the server's root windows: no program gets it meanwhile
    #[arg(long, value_name = "KEY")]
    pub(crate) mark_key: Option<Chord>,
    /// Record where in the program waits for replies began (waits, the default; short ones go by where looking would take over
    /// a twentieth of them): `network` names the functions. Or where each request was made (requests), or where the program
    /// ran (cpu): `report --by function` adds up by them. Several: requests,cpu. With --attach only cpu
    #[arg(
        long,
        value_name = "OF",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "waits",
        conflicts_with_all = ["ring", "tables_only"]
    )]
    pub(crate) stacks: Vec<StacksOf>,
    /// Write the names of the stacks' functions into the trace at the end, so that they are known elsewhere, and after the
    /// programs have changed. Debug files are asked for where DEBUGINFOD_URLS names servers
    #[arg(long, requires = "stacks")]
    pub(crate) keep_symbols: bool,
    /// First measure the connection to the server, which takes some seconds, and keep the result in the trace
    #[arg(long)]
    pub(crate) link: bool,
    /// A label of this session in the trace: version=1.2, user=ann, program=notes (may be repeated);
    /// `issues` and `export --to parquet` tell sessions apart by their labels
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// Put a slower network between the program and the server, as SPEED,RTT (see `report`): the program then
    /// runs as over that network, without MIT-SHM and DRI3. Bytes take their time in each direction
    #[arg(long, value_name = "SPEED,RTT", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Option<Network>,
    /// Try a change of the program before it is made (may be repeated): answer-queries and answer-atoms
    /// answer repeated questions of a connection, current-resources does not probe the outputs, no-sharing
    /// hides MIT-SHM and DRI3
    #[arg(long = "try", value_name = "FIX", value_parser = rewrite)]
    pub(crate) rewrites: Vec<Rewrite>,
    /// The command to record, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The display server to measure [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Start a private headless server of this kind, and stop it afterwards
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: Option<ServerKind>,
    /// The parameter file to write [default: the file of this machine and server, where `report` finds it].
    /// An interruption leaves FILE.partial
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Fewer sizes and fewer repetitions: about half a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure this request only (may be repeated)
    #[arg(long, value_name = "REQUEST")]
    pub(crate) only: Vec<String>,
    /// Measure what this recording needs and the file lacks, and add it
    #[arg(long = "for", value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// Continue an interrupted measurement: measure what the file and its FILE.partial lack, and add it
    #[arg(long)]
    pub(crate) resume: bool,
    /// Also measure what a user of the display would notice (grabs, focus, pointer); a private server is
    /// always measured so
    #[arg(long)]
    pub(crate) intrusive: bool,
    /// The time limit in seconds [default: 525]; figures that are uncertain by then keep a wide spread
    #[arg(long, value_name = "SECONDS", conflicts_with = "quick",
          value_parser = clap::value_parser!(u64).range(30..=86_400))]
    pub(crate) time_limit: Option<u64>,
    /// Do not pin the server and x11prof to processors
    #[arg(long)]
    pub(crate) no_pin: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// List the parameter files: those measured here or elsewhere, and those that come with x11prof
    List,
    /// Print a parameter file
    Show {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
    },
    /// Check a parameter file, and name its limits
    Check {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
    },
    /// Show where two servers differ most
    Diff {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        first: String,
        /// Another one
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        second: String,
        /// The number of differences to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        top: usize,
    },
    /// Show what typical requests cost several servers, as the Xprof paper's Table 1 does
    Table {
        /// Files, or names from `params list`
        #[arg(value_name = "P", required = true, value_parser = PARAMETERS, hide_possible_values = true)]
        params: Vec<String>,
        /// This request instead of the paper's, with the attributes that are not the usual ones:
        /// 'PolyLine linewidth=10 gxmode=GXxor' (may be repeated)
        #[arg(long, value_name = "NAME")]
        request: Vec<String>,
        #[command(flatten)]
        result: TableArguments,
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
    /// Write a parameter file in Xprof's own language, which has wall-clock rates only
    Export {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
        /// The file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Price one request: x11prof params price sun4-ipc 'PolyLine gxmode=GXcopy …' 100
    Price {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
        /// The request's name with its attributes
        #[arg(value_name = "REQUEST attr=value …")]
        request: String,
        /// The op-size of one item
        #[arg(value_name = "OPSIZE")]
        op_size: f64,
        /// The number of items of that size
        #[arg(long, value_name = "N", default_value_t = 1)]
        items: usize,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "`episodes --marks` lists what went on around each mark. The recording is found through a \
                  socket of this user, not through the display: this works while the display hangs."
)]
pub(crate) struct Mark {
    /// The text of the mark
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// The display that is recorded: the one that `record` serves, or the server's own [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "x11prof becomes the server: its process, its exit status. `record --display`, `record --attach` and \
                  `top` find the times. A setuid server loads no library, and is measured as before."
)]
pub(crate) struct ServerCommand {
    /// The server's command, such as `Xvnc :7 -geometry 1280x800`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
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

#[derive(Debug, Args)]
#[command(
    after_help = "Keys, texts, titles and other properties, selections, images, paths and hosts are replaced by \
                  others of the same length. Sizes and times stay: reports differ in names only."
)]
pub(crate) struct Scrub {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The copy to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Arguments, options_first};
    use clap::CommandFactory;

    #[test]
    fn the_definitions_hold_together() {
        Arguments::command().debug_assert();
    }
    #[test]
    fn options_after_the_new_recordings_of_a_diff_are_options() {
        let moved = |words: &str| {
            let words = words.split(' ').map(OsString::from).collect();
            let moved = options_first(words).into_iter();
            moved
                .filter_map(|word| word.into_string().ok())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            moved("x11prof diff a b -- c --all d --format json --client=x"),
            "x11prof diff a b --all --format json --client=x -- c d"
        );
        let record = "x11prof record -- ls --all";
        assert_eq!(moved(record), record);
    }
}
