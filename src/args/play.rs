//! The arguments of `drive` and `type`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use x11prof_proxy::ServerKind;

use super::values::{SERVER, TableFormat};

/// The pace at which a session's actions follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlayPace {
    /// Each action as soon as the program is idle
    Quiet,
    /// With the recorded pauses
    Recorded,
}

/// The display that a program is driven on.
#[derive(Debug, Args)]
pub(crate) struct Where {
    /// Start a private headless server of this kind
    #[arg(long, value_name = "KIND", default_value = "xvfb", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: ServerKind,
    /// Use this display
    ///
    /// The pointer of the display moves, and its keys are pressed. As with a user's input, a program that has grabbed the
    /// keyboard or the pointer receives it.
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Do not ask before using the pointer and keys of the display
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each action waits until the program is idle and its window is visible. The recordings are drive-1.mcap, \
                  drive-2.mcap … With --old there are also drive-old-1.mcap …, and a first run of each version to warm up, \
                  which is not compared: drive-cold.mcap, drive-old-cold.mcap. `diff` compares the recordings action by \
                  action. Exit status 1 if a session did not run to its end."
)]
pub(crate) struct Play {
    /// A recording whose input is sent again, or a text file (see --print)
    #[arg(value_name = "SESSION")]
    pub(crate) session: PathBuf,
    /// Print the session as text, to edit and use as SESSION
    #[arg(long, conflicts_with_all = ["old", "command"])]
    pub(crate) print: bool,
    /// A shell command for the old version, to compare both
    ///
    /// Both versions run in turns. The result is that of `diff`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) old: Option<String>,
    /// Repeat the session N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) times: u16,
    /// How fast the actions follow each other
    #[arg(long, value_enum, default_value = "quiet")]
    pub(crate) pace: PlayPace,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The recordings: drive.mcap gives drive-1.mcap, drive-2.mcap …
    #[arg(short, long, value_name = "FILE", default_value = "drive.mcap")]
    pub(crate) output: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Print every action, in the order of the session
    #[arg(long)]
    pub(crate) all: bool,
    /// The program, with its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "print")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "`episodes`, `report` and `diff` read the recording. Caution: the program acts on the keys, so it may write \
                  files or send the text."
)]
pub(crate) struct Type {
    /// The text to type [default: about 200 letters]. \n is Return
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Keys per second; each key also waits until the program is idle
    #[arg(long, value_name = "RATE", default_value = "8/s", value_parser = rate)]
    pub(crate) rate: Duration,
    /// Type into an existing window: an ID from xwininfo, or `click`
    ///
    /// `click`: choose the window with the pointer. The recorder attaches to the display, by default $DISPLAY.
    #[arg(long, value_name = "ID|click", value_parser = window, conflicts_with_all = ["server", "command"])]
    pub(crate) window: Option<WindowChoice>,
    /// Also print this earlier recording of `type` or `drive` (repeatable)
    #[arg(long, value_name = "TRACE")]
    pub(crate) against: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The recording
    #[arg(short, long, value_name = "FILE", default_value = "type.mcap")]
    pub(crate) output: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// The program, with its arguments
    #[arg(
        last = true,
        value_name = "PROGRAM",
        required_unless_present = "window"
    )]
    pub(crate) command: Vec<OsString>,
}

/// The choice of an existing window, for `--window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowChoice {
    /// The window with this X11 ID.
    Id(u32),
    /// The window that the user clicks with the pointer.
    Click,
}

fn window(text: &str) -> Result<WindowChoice, String> {
    if text == "click" {
        return Ok(WindowChoice::Click);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = number.map(WindowChoice::Id);
    number.map_err(|_| "expected a window ID, such as 0x1c00007, or click".to_owned())
}

/// Parses keys per second into the time between two keys.
fn rate(text: &str) -> Result<Duration, String> {
    let rate = text.strip_suffix("/s").unwrap_or(text).parse::<f64>();
    match rate {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(Duration::from_secs_f64(1.0 / rate)),
        _ => Err("expected keys per second from 0.01 to 1000, such as 8/s".to_owned()),
    }
}
