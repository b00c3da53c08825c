//! The arguments of `replay`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use x11prof_proxy::ServerKind;

use super::values::{DEFAULT_TRACE, SERVER, TableFormat};

/// The pace of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceChoice {
    /// With the recorded pauses
    Recorded,
    /// As fast as replies and events permit
    Full,
}

#[derive(Debug, Args)]
// If none of these options is given, clap's error names all of them, so that users are not led to `--display` only.
#[command(group(ArgGroup::new("where").required(true).multiple(true).args(["server", "server_command", "display"])))]
#[command(
    override_usage = "x11prof replay [OPTIONS] --server <KIND> [TRACE]\n       \
                      x11prof replay [OPTIONS] --server-command <COMMAND> [TRACE]\n       \
                      x11prof replay [OPTIONS] --display <DISPLAY> [TRACE]",
    after_help = "Record with `record --keep-images`; otherwise images over 4 KiB are replayed as noise. `report`, `diff` and \
                  `check` read the traces of replays.\n\nExit status with --budget or --answers: 1 if a replay exceeds the \
                  budget or a message differs, 2 on any error, 125 if a server of --server-command does not start (`git \
                  bisect run` skips that commit)."
)]
pub(crate) struct Replay {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// Play to a private headless server of this kind (may be repeated)
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: Vec<ServerKind>,
    /// Play to this display
    ///
    /// The replay moves the pointer, presses keys and clicks in its own windows; a program that has grabbed the keyboard
    /// or pointer gets them too. It leaves out requests whose effects outlive the connection or reach other programs. A
    /// malicious trace can get past this check: replay a stranger's trace with --server.
    #[arg(long, value_name = "DISPLAY", conflicts_with_all = ["server", "server_command"])]
    pub(crate) display: Option<String>,
    /// Do not ask before using the pointer and keys of the display
    #[arg(long)]
    pub(crate) yes: bool,
    /// Play to a private server: 'build/Xvfb -screen 0 …' (repeatable)
    ///
    /// x11prof appends -displayfd, -auth, -nolisten and -noreset to the shell command.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server_command: Vec<String>,
    /// How fast the requests follow each other
    #[arg(long, value_enum, default_value = "recorded")]
    pub(crate) pace: PaceChoice,
    /// Play N times to each server in turns, and report the median and whether times differ
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) times: u16,
    /// Compare replies, errors and events with the recorded ones, in place of server times
    ///
    /// Not compared: the order of events, and events of input devices and from other clients.
    #[arg(long, conflicts_with_all = ["times", "budget"])]
    pub(crate) answers: bool,
    /// Check each replay against the budget in FILE, as `check` does
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,
    /// The traces of the replays: FILE-xvfb.mcap, FILE-xvnc.mcap …
    #[arg(short, long, value_name = "FILE", default_value = "replay.mcap")]
    pub(crate) output: PathBuf,
    /// Write screenshots to FOLDER/SERVER: at each mark and at the end (PPM)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pictures: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Print all rows
    #[arg(long)]
    pub(crate) all: bool,
}
