//! The command line, parsed by clap. The commands convert the arguments into plain values.

mod analyses;
mod check;
mod diverge;
mod issues;
mod play;
mod replay;
mod roundtrips;
mod top;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use x11prof_protocol::Chord;
use x11prof_proxy::{Rewrite, ServerKind};
use x11prof_trace::EmulatedNetwork;

use crate::error::CommandError;
use crate::ring::Condition;
use crate::say::say_error;
pub(crate) use analyses::{Compare, Diff, Dump, Episodes, Export, Link, Report, Stats};
pub(crate) use check::Check;
pub(crate) use diverge::Diverge;
pub(crate) use issues::{Issues, IssuesFormat, Sql, SqlFormat};
pub(crate) use play::{Play, PlayPace, Type, Where, WindowChoice};
pub(crate) use replay::{PaceChoice, Replay};
pub(crate) use roundtrips::RoundTrips;
pub(crate) use top::Top;
pub(crate) use values::{
    DEFAULT_TRACE, DivergeFormat, EpisodesFormat, ExportBy, ExportFormat, Format, ReportFormat,
    StacksOf, TableArguments, TableFormat, TimeSourceChoice, seconds,
};
use values::{EMULATED, PARAMETERS, SERVER, label, rewrite};

/// perf for X11: shows where the time of an X11 program goes, in the client, the server and the network
#[derive(Debug, Parser)]
#[command(name = "x11prof", version, max_term_width = 80)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Parses the command line of this process. Returns `None` if help was printed. If clap finds an error, this
    /// function prints the error and ends the process.
    pub(crate) fn read() -> Result<Option<Arguments>, CommandError> {
        let words = options_first(std::env::args_os().collect());
        let matches = grouped().try_get_matches_from(words);
        let parsed = matches.and_then(|mut found| Arguments::from_arg_matches_mut(&mut found));
        let error = match parsed {
            Ok(arguments) => return Ok(Some(arguments)),
            Err(error) => error,
        };
        if let Some(advice) = command_without_dashes(&error).or_else(|| file_as_command(&error)) {
            return Err(CommandError::usage(advice));
        }
        if error.use_stderr() {
            say_error(&error.render().to_string());
            std::process::exit(error.exit_code());
        }
        let printed = error.print().and_then(|()| io::stdout().flush());
        match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::failed(
                format_args!("standard output: {error}"),
            )),
            _ => Ok(None),
        }
    }
}

/// The headings of `--help`, each with the names of its commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Record", &["record", "mark", "server"]),
    (
        "Look",
        &["report", "episodes", "network", "top", "stats", "dump"],
    ),
    (
        "Compare",
        &["diff", "compare", "check", "diverge", "issues", "sql"],
    ),
    ("Drive", &["drive", "type", "replay"]),
    ("Share", &["export", "scrub"]),
    ("Maintain", &["calibrate", "params", "ping", "recover"]),
];

/// Builds clap's command line, whose help lists the commands in groups.
fn grouped() -> clap::Command {
    let command = Arguments::command();
    let bold = *command.get_styles().get_header();
    let mut template = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        template.push_str(&format!("\n{bold}{heading}:{bold:#}\n"));
        for command in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            template.push_str(&format!("  {:<11}{about}\n", command.get_name()));
        }
    }
    template.push_str(&format!("\n{bold}Options:{bold:#}\n{{options}}"));
    // clap then reports a wrong value for `--seconds -1` instead of an unknown option `-1`.
    let negative = |option: clap::Arg| match option.get_long() {
        Some(_) if option.get_action().takes_values() => option.allow_negative_numbers(true),
        _ => option,
    };
    let command = command.mut_subcommands(|of| of.mut_args(negative));
    command.help_template(template)
}

/// Reorders the words of the command line. In `diff OLD -- NEW`, clap would treat options after NEW as recordings, so
/// this function moves these options before the `--`.
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

/// Returns advice if the user typed `x11prof FILE`, without a command. `error` is clap's error. `None` for other
/// errors.
fn file_as_command(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if std::path::Path::new(word).is_file() => Some(format!(
            "{word} is a file; to show a recording: x11prof report {word}"
        )),
        _ => None,
    }
}

/// Returns advice if the user typed `x11prof record COMMAND` or `x11prof diff OLD NEW`, without `--` before the last
/// word. `error` is clap's error. `None` for other errors.
fn command_without_dashes(error: &clap::Error) -> Option<String> {
    let is = |name: &str| std::env::args_os().nth(1).is_some_and(|word| word == name);
    if is("diff") && error.kind() == ErrorKind::MissingRequiredArgument {
        return Some("write -- between old and new recordings: x11prof diff OLD -- NEW".into());
    }
    let recording = is("record");
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word))
            if recording
                && error.kind() == ErrorKind::UnknownArgument
                && !word.starts_with('-') =>
        {
            Some(format!(
                "the command comes after --: x11prof record -- {word}"
            ))
        }
        _ => None,
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record what a program and its X server send each other
    Record(Record),
    /// Show where the time of a recording went, request by request
    Report(Report),
    /// Estimate the server time of a recording on other servers
    Compare(Compare),
    /// Compare recordings of two versions of a program
    Diff(Diff),
    /// Find the first difference of one program on two servers
    Diverge(Diverge),
    /// Show message counts, sizes and gaps between messages
    Stats(Stats),
    /// Show how long each user action took, and why
    Episodes(Episodes),
    /// Show what a slow network makes slow, and how to avoid it
    Network(RoundTrips),
    /// Rank the slow actions of many sessions
    ///
    /// An issue is all slow actions of one kind, in one program, with the same cause. The worst issue has
    /// the most time over the threshold, summed over all users.
    Issues(Issues),
    /// Query the tables of many sessions with DuckDB
    ///
    /// DuckDB must be installed. The views are sessions, episodes, latencies, requests, round_trips,
    /// resources, server_runs and marks (docs/REFERENCE.md).
    Sql(Sql),
    /// Show live which client uses the server
    Top(Top),
    /// Compare a recording with a budget, for CI
    Check(Check),
    /// Play a recorded session to other servers and compare them
    Replay(Replay),
    /// Send recorded input to a program and time each action
    Drive(Play),
    /// Type into a program and time each key
    Type(Type),
    /// Mark the moment in a recording when a delay was felt
    Mark(Mark),
    /// Start your own X server so that every request is timed
    Server(ServerCommand),
    /// Test the connection to a display
    Ping(Link),
    /// Print the messages of a recording, one per line
    Dump(Dump),
    /// Convert a recording for other tools
    Export(Export),
    /// Measure what requests cost on a server
    Calibrate(Measure),
    /// List, show, compare, import and export cost tables
    #[command(subcommand)]
    Params(Params),
    /// Complete a recording whose recorder was killed
    Recover(Recover),
    /// Copy a recording without text, keys and images
    Scrub(Scrub),
    /// Print shell completions
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
    after_help = "With COMMAND, `record` sets DISPLAY and XAUTHORITY for the command, passes SIGHUP, SIGINT, \
                  SIGQUIT and SIGTERM on to it, and exits with its status. If the command still runs 10 s after \
                  SIGTERM, `record` ends by SIGTERM, too. Without COMMAND, it prints DISPLAY and XAUTHORITY, and \
                  records all clients that connect until Ctrl-C."
)]
pub(crate) struct Record {
    /// The trace file to write; an existing file is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TRACE)]
    pub(crate) output: PathBuf,
    /// Record on this display server [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Start a private server: xvfb, xvnc, xephyr, xwayland …
    ///
    /// It times every request (except xwayland).
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: Option<ServerKind>,
    /// Record the clients that already run on the display, until Ctrl-C
    ///
    /// The recorder uses the RECORD extension. Not recorded: XKB events, passed file descriptors, and when clients read.
    /// A faulty client that sends a request of length 0 while RECORD is in use crashes Xvfb and Xvnc (a bug of RECORD).
    #[arg(long, conflicts_with_all = ["server", "listen", "tcp", "all_users", "link", "net", "rewrites", "command"])]
    pub(crate) attach: bool,
    /// Stop the recording, and COMMAND, after N seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) seconds: Option<u64>,
    /// Record until all clients have disconnected
    ///
    /// By default, the recording ends when COMMAND has ended and its windows are closed, even if helper programs such
    /// as dbus-launch are still connected. It also ends if a client grabs the server for 30 s after COMMAND's end.
    #[arg(long, requires = "command")]
    pub(crate) until_closed: bool,
    /// Keep only the last SECONDS; write them when a --when condition is met
    ///
    /// The ring has at most 200 MB. The files are x11prof-1.mcap, x11prof-2.mcap …
    #[arg(long, value_name = "SECONDS", requires = "when", conflicts_with_all = ["live", "scrub"],
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) ring: Option<u64>,
    /// When to write the ring: 'episode > 200ms', 'stall > 50ms', mark, signal
    ///
    /// mark is `x11prof mark`, signal is SIGUSR1. May be repeated.
    #[arg(long, value_name = "CONDITION", requires = "ring")]
    pub(crate) when: Vec<Condition>,
    /// Serve as display number N [default: the first free number]
    #[arg(long, value_name = "N")]
    pub(crate) listen: Option<u16>,
    /// Show the profile while it grows
    ///
    /// COMMAND cannot read from the terminal; its output is shown afterwards. SIGUSR1 prints the profile to standard
    /// error, SIGUSR2 resets the counts and reloads the cost table.
    #[arg(long)]
    pub(crate) live: bool,
    /// The cost table for --live (see `report`) [default: best match]
    #[arg(long, value_name = "P", requires = "live", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Also listen on TCP at this address [default: localhost]
    ///
    /// Clients need the cookie.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "localhost")]
    pub(crate) tcp: Option<String>,
    /// Also accept clients of other users, if they have the cookie
    #[arg(long)]
    pub(crate) all_users: bool,
    /// The size of the memory queue for a slow disk, in MiB [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) queue: Option<u32>,
    /// Keep the pixels of images over 4 KiB, which are dropped by default
    #[arg(long)]
    pub(crate) keep_images: bool,
    /// Write no text, keys or images (see `scrub`)
    #[arg(long)]
    pub(crate) scrub: bool,
    /// Write no trace, only tables of slow actions and latencies (for days)
    ///
    /// The tables contain no text, no title, and no key that writes text. -o names the folder [default: x11prof-tables].
    #[arg(long, conflicts_with_all = ["live", "ring", "keep_images", "scrub", "link"])]
    pub(crate) tables_only: bool,
    /// Mark the recording at each press of KEY, such as F12 or ctrl+alt+m
    ///
    /// Other programs do not receive the key.
    #[arg(long, value_name = "KEY")]
    pub(crate) mark_key: Option<Chord>,
    /// Record call stacks: waits (the default), requests, cpu, or a list
    ///
    /// `report --by function` shows them. With --attach, only cpu is possible.
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
    /// Store the function names of stacks in the trace
    ///
    /// Then stacks can be read on another machine or after an update. Debug files are requested from the servers in
    /// DEBUGINFOD_URLS.
    #[arg(long, requires = "stacks")]
    pub(crate) keep_symbols: bool,
    /// First measure the connection to the server, for a few seconds
    #[arg(long)]
    pub(crate) link: bool,
    /// Label the recording, such as version=1.2 or user=ann (repeatable)
    ///
    /// `issues` and `export --to parquet` use the labels.
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// Emulate a network between program and server, such as dsl (see `report`)
    ///
    /// MIT-SHM and DRI3 are disabled, so that images cross the network. FILE,RTT emulates a link of varying speed: each
    /// line of FILE is a time in milliseconds; the link then transmits one packet of 1500 bytes (mahimahi).
    #[arg(long, value_name = "SPEED,RTT", value_parser = EMULATED, hide_possible_values = true)]
    pub(crate) net: Option<EmulatedNetwork>,
    /// Try an optimization without changing the program (repeatable)
    ///
    /// answer-queries, answer-atoms: the recorder replies to repeated QueryExtension or InternAtom. current-resources:
    /// RANDR GetScreenResources becomes GetScreenResourcesCurrent, which does not probe outputs. no-sharing: hide MIT-SHM and DRI3.
    #[arg(long = "try", value_name = "FIX", value_parser = rewrite)]
    pub(crate) rewrites: Vec<Rewrite>,
    /// The command to record, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The display server to calibrate [default: $DISPLAY]
    ///
    /// Takes up to 3 minutes, in which the server runs on one processor.
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Calibrate a private headless server of this kind
    #[arg(long, value_name = "KIND", value_parser = SERVER)]
    pub(crate) server: Option<ServerKind>,
    /// The cost table to write [default: a file that `report` finds]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Measure fewer sizes, with fewer repetitions: about 8 s on a private Xvfb, 15 s on a running display
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure only this request (may be repeated)
    #[arg(long, value_name = "REQUEST")]
    pub(crate) only: Vec<String>,
    /// Also run visible tests: grabs, focus, pointer
    ///
    /// Always on for a private server.
    #[arg(long)]
    pub(crate) intrusive: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Params {
    /// List the cost tables: your own, and those that come with x11prof
    List,
    /// Print a cost table
    Show {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
    },
    /// Validate a cost table and report its limits
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
        /// The second file or name
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        second: String,
        /// The number of differences to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        top: usize,
    },
    /// Show the costs of typical requests on several servers
    Table {
        /// Files, or names from `params list`
        #[arg(value_name = "P", required = true, value_parser = PARAMETERS, hide_possible_values = true)]
        params: Vec<String>,
        /// Show this request: 'PolyLine linewidth=10 gxmode=GXxor' (repeatable)
        #[arg(long, value_name = "NAME")]
        request: Vec<String>,
        #[command(flatten)]
        result: TableArguments,
    },
    /// Convert a description in Xprof's own language to a cost table
    Import {
        /// The description
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The parameter file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Convert a cost table to the language of Xprof (rates by one clock)
    Export {
        /// A file, or a name from `params list`
        #[arg(value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
        params: String,
        /// The file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show the cost of one request
    ///
    /// x11prof params cost sun4-ipc 'PolyLine gxmode=GXcopy …' 100
    Cost {
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
    after_help = "`episodes --marks` shows what happened around each mark. `mark` reaches the recorder through a socket, \
                  not through the display, so it works while the display hangs."
)]
pub(crate) struct Mark {
    /// The text of the mark
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// The display that `record` serves or attaches to [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "x11prof replaces itself with the server process. `record --display`, `record --attach` and `top` find the \
                  times. A setuid server cannot load the timing library; its requests are not timed."
)]
pub(crate) struct ServerCommand {
    /// The server command, such as `Xvnc :7 -geometry 1280x800`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// The damaged trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The complete trace to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Keys, texts, properties, selections, images, paths and host names are replaced by random data of the \
                  same length. Sizes and times stay. Reports lose names, and what follows from equal texts or keys."
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

    use super::{Arguments, GROUPS, options_first};
    use clap::CommandFactory;

    #[test]
    fn argument_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }
    #[test]
    fn help_lists_each_command_once() {
        let command = Arguments::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut shown: Vec<&str> = shown.map(|one| one.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.1).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
    #[test]
    fn diff_options_after_double_dash_remain_options() {
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
