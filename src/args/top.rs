//! The arguments of `top`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use x11prof_views::clients_now::By;

use super::values::{PARAMETERS, seconds};

#[derive(Debug, Args)]
#[command(
    after_help = "Without TRACE, `top` attaches to a running display (see `record --attach`). On a terminal it shows a screen \
                  that you control with keys; otherwise it prints once."
)]
pub(crate) struct Top {
    /// A recording instead of a display; it may still grow
    #[arg(value_name = "TRACE", conflicts_with = "display")]
    pub(crate) trace: Option<PathBuf>,
    /// The display [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
    /// With TRACE: print the state S seconds after its start [default: at the end]
    #[arg(long, value_name = "S", value_parser = seconds, requires = "trace")]
    pub(crate) at: Option<f64>,
    /// Average the rates over about this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = window)]
    pub(crate) seconds: f64,
    /// What the rows show at the start
    #[arg(long, value_enum, default_value = "client")]
    pub(crate) by: TopBy,
    /// The cost table: a file or a name from `params list` [default: best match]
    #[arg(long, value_name = "P", value_parser = PARAMETERS, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Print all rows
    #[arg(long)]
    pub(crate) all: bool,
    /// Watch for SECONDS, then print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kinds of rows that `top` can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopBy {
    /// Clients
    Client,
    /// Windows
    Window,
    /// Requests
    Request,
}

impl TopBy {
    /// Converts the kind of rows to the analyzer's value.
    pub(crate) fn by(self) -> By {
        match self {
            TopBy::Client => By::Client,
            TopBy::Window => By::Window,
            TopBy::Request => By::Request,
        }
    }
}

/// Parses an interval in seconds, from 0.1 s to one day.
fn window(text: &str) -> Result<f64, String> {
    let wide = seconds(text)?;
    match (0.1..=86_400.0).contains(&wide) {
        true => Ok(wide),
        false => Err("expected seconds from 0.1 to 86400".to_owned()),
    }
}
