//! The arguments of `network`.

use std::path::PathBuf;

use clap::Args;

use super::values::{DEFAULT_TRACE, TableArguments, milliseconds};

#[derive(Debug, Args)]
pub(crate) struct RoundTrips {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The round-trip time of the network, in milliseconds
    #[arg(long, value_name = "MS", default_value = "50", value_parser = milliseconds)]
    pub(crate) rtt: f64,
    /// Only start-up: until the first frame of each client's first window
    #[arg(long)]
    pub(crate) start_up: bool,
    /// Only the client of this number, or clients whose name contains CLIENT
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// Print all suggestions and requests
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}
