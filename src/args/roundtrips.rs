//! The arguments of `network`.

use std::path::PathBuf;

use clap::Args;

use x11prof_cost_model::Network;

use super::values::{DEFAULT_TRACE, NETWORK, TableArguments, milliseconds};

#[derive(Debug, Args)]
pub(crate) struct RoundTrips {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The round-trip time of the link, in milliseconds; bytes take no time
    #[arg(long, value_name = "MS", default_value = "50", value_parser = milliseconds, conflicts_with = "net")]
    pub(crate) rtt: f64,
    /// The link: SPEED,RTT or a name (see `report`)
    #[arg(long, value_name = "SPEED,RTT", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Option<Network>,
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
