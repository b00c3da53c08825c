//! The arguments of `replay`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use x11prof_proxy::ServerKind;

use super::values::{DEFAULT_TRACE, SERVER, TableFormat};

/// How fast a recording is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceChoice {
    /// With the recorded pauses
    Recorded,
    /// As fast as replies and events permit
    Full,
}

#[derive(Debug, Args)]
// Without any of them, all are named: nobody is sent to the display that is in use.
#[command(group(ArgGroup::new("where").required(true).multiple(true).args(["server", "server_command", "display"])))]
#[command(
    after_help = "Record the program with `record --keep-images`: without that, images over 4 KiB are noise. A replay's \
                  trace is a trace: report, diff and check read it. With --budget, exit status 1 where a replay costs \
                  more, 2 on any error."
)]
pub(crate) struct Replay {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// Play to a private headless server of this kind (may be repeated)
    #[arg(long, value_name = "KIND", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: Vec<ServerKind>,
    /// Play to this display. The replay moves its pointer and presses its keys
    #[arg(long, value_name = "DISPLAY", conflicts_with_all = ["server", "server_command"])]
    pub(crate) display: Option<String>,
    /// Play to a private server of this shell command (may be repeated), such as 'build/Xvfb -screen 0 1280x1024x24';
    /// the command gets more arguments: -displayfd, -auth, -nolisten and -noreset
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server_command: Vec<String>,
    /// The pace
    #[arg(long, value_enum, default_value = "recorded")]
    pub(crate) pace: PaceChoice,
    /// Play N times to each server; the result has the run with the median time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) times: u16,
    /// Hold each replay against the budget in FILE, as `check` does
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,
    /// The traces of the replays: FILE-xvfb.mcap, FILE-xvnc.mcap …
    #[arg(short, long, value_name = "FILE", default_value = "replay.mcap")]
    pub(crate) output: PathBuf,
    /// Write pictures of the screen to FOLDER/SERVER: at each mark of the recording, and at the end (PPM)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pictures: Option<PathBuf>,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Print every line
    #[arg(long)]
    pub(crate) all: bool,
}
