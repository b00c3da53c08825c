//! The arguments of `drive` and `type`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use x11prof_proxy::ServerKind;

use super::values::{SERVER, TableFormat};

/// The pace of a session's actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlayPace {
    /// Each as soon as the program is quiet
    Quiet,
    /// With the person's pauses
    Recorded,
    /// With pauses drawn from the person's by --seed
    Human,
}

/// The display that a program is driven on.
#[derive(Debug, Args)]
pub(crate) struct Where {
    /// Start a private headless server of this kind
    #[arg(long, value_name = "KIND", default_value = "xvfb", value_parser = SERVER, hide_possible_values = true)]
    pub(crate) server: ServerKind,
    /// Use this display instead [with --window: $DISPLAY]: its pointer moves and its keys are pressed
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub(crate) display: Option<String>,
    /// Do not ask before the display's pointer and keys are used
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The next action waits until the program is quiet, and until its window is seen. The recordings are \
                  drive-1.mcap, drive-2.mcap …; with --old also drive-old-1.mcap …, and of each version a first play, which is \
                  cold and not compared: drive-cold.mcap, drive-old-cold.mcap. `diff` joins recordings action by action. \
                  Exit status 1 where a session was not played to its end."
)]
pub(crate) struct Play {
    /// The session: a recording whose input is played again, or a text (see --print)
    #[arg(value_name = "SESSION")]
    pub(crate) session: PathBuf,
    /// Print the session as a text, to be edited and played, and play nothing
    #[arg(long, conflicts_with_all = ["old", "command"])]
    pub(crate) print: bool,
    /// The program's old version, a shell command: both are played in turns, then compared as `diff` does
    #[arg(long, value_name = "COMMAND")]
    pub(crate) old: Option<String>,
    /// Play N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) times: u16,
    /// The pace
    #[arg(long, value_enum, default_value = "quiet")]
    pub(crate) pace: PlayPace,
    /// The seed of --pace human [default: another one each time, which is printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The recordings: FILE-1.mcap, FILE-2.mcap …
    #[arg(short, long, value_name = "FILE", default_value = "drive.mcap")]
    pub(crate) output: PathBuf,
    /// The form of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
    /// Print every action, in the session's order
    #[arg(long)]
    pub(crate) all: bool,
    /// The program, with its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "print")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The recording is a trace: `episodes`, `report` and `diff` read it. The program is typed into, so it may \
                  write files or send what was typed."
)]
pub(crate) struct Type {
    /// The text [default: some 200 letters]; \n is Return
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Keys a second, such as 8/s; the next key waits in any case until the program is quiet
    #[arg(long, value_name = "RATE", default_value = "8/s", value_parser = rate)]
    pub(crate) rate: Duration,
    /// Type into a window that is there, by its number (as xwininfo prints it), or into the one that you `click`. The
    /// recorder attaches to the display
    #[arg(long, value_name = "ID|click", value_parser = window, conflicts_with_all = ["server", "command"])]
    pub(crate) window: Option<WindowChoice>,
    /// Print these recordings of `type` or `drive` beside the new one (may be repeated)
    #[arg(long, value_name = "TRACE")]
    pub(crate) against: Vec<PathBuf>,
    /// Write a picture of the distribution to FILE (SVG)
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The recording
    #[arg(short, long, value_name = "FILE", default_value = "type.mcap")]
    pub(crate) output: PathBuf,
    /// The form of the result
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

/// A window that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowChoice {
    /// The window of this number.
    Id(u32),
    /// The window that the user clicks.
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
    number.map_err(|_| "expected a window's number, such as 0x1c00007, or click".to_owned())
}

/// The time between two keys, from keys a second.
fn rate(text: &str) -> Result<Duration, String> {
    let rate = text.strip_suffix("/s").unwrap_or(text).parse::<f64>();
    match rate {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(Duration::from_secs_f64(1.0 / rate)),
        _ => Err("expected keys a second from 0.01 to 1000, such as 8/s".to_owned()),
    }
}
