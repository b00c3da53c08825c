//! What `top` is asked for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use x11prof_views::clients_now::By;

use super::values::{ParametersParser, milliseconds, seconds};

#[derive(Debug, Args)]
#[command(
    after_help = "Without TRACE it watches a running display, by attaching to it (see `record --attach`). In a \
                  terminal it is a screen with keys; elsewhere it prints once."
)]
pub(crate) struct Top {
    /// A recording instead of a display; it may still go on
    #[arg(value_name = "TRACE", conflicts_with = "display")]
    pub(crate) trace: Option<PathBuf>,
    /// The display [default: $DISPLAY]
    #[arg(long, value_name = "DISPLAY")]
    pub(crate) display: Option<String>,
    /// Print what went on S seconds after the recording's start [default: at its end]
    #[arg(long, value_name = "S", value_parser = seconds, requires = "trace")]
    pub(crate) at: Option<f64>,
    /// Rates over the last SECONDS
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = window)]
    pub(crate) seconds: f64,
    /// What the rows are at first
    #[arg(long, value_enum, default_value = "client")]
    pub(crate) by: TopBy,
    /// How long one client may hold the server before that is a stall: a frame [default: 16.67, which is 60 a second]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) frame_budget: Option<f64>,
    /// The server's parameters: a file, or a name from `params list` [default: those that match the server]
    #[arg(long, value_name = "P", value_parser = ParametersParser, hide_possible_values = true)]
    pub(crate) params: Option<String>,
    /// Print all rows
    #[arg(long)]
    pub(crate) all: bool,
    /// Watch for SECONDS, then print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What rows of `top` are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopBy {
    /// Clients
    Client,
    /// Windows
    Window,
    /// Kinds of requests
    Request,
}

impl TopBy {
    /// The view's word for it.
    pub(crate) fn by(self) -> By {
        match self {
            TopBy::Client => By::Client,
            TopBy::Window => By::Window,
            TopBy::Request => By::Request,
        }
    }
}

/// A number of seconds to look at: a tenth to a day.
fn window(text: &str) -> Result<f64, String> {
    let wide = seconds(text)?;
    match (0.1..=86_400.0).contains(&wide) {
        true => Ok(wide),
        false => Err("from 0.1 to 86400".to_owned()),
    }
}
