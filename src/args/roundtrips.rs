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
    /// Assume this round-trip time, in milliseconds, and unlimited speed
    ///
    /// Large messages still take several round trips, because TCP starts slowly.
    #[arg(long, value_name = "MS", value_parser = milliseconds, conflicts_with = "net")]
    pub(crate) rtt: Option<f64>,
    /// The network (see `report`) [default: the recorded network, else dsl]
    #[arg(long, value_name = "SPEED,RTT", value_parser = NETWORK, hide_possible_values = true)]
    pub(crate) net: Option<Network>,
    /// Only the start-up of the program: until the end of its first frame
    #[arg(long)]
    pub(crate) start_up: bool,
    /// Show only clients whose name contains NAME, or client number N
    #[arg(long, value_name = "NAME|N")]
    pub(crate) client: Option<String>,
    /// Print all suggestions and requests
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) result: TableArguments,
}
