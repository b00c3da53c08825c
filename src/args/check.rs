//! The arguments of `check`.

use std::path::PathBuf;

use clap::Args;

use super::values::DEFAULT_TRACE;

#[derive(Debug, Args)]
#[command(
    after_help = "A budget:\n  [start_up]\n  latency_ms = 1000    # time to the first frame\n  round_trips = 130"
)]
pub(crate) struct Check {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The budget: a TOML file with the highest allowed figures (docs/CI.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: PathBuf,
    /// Also write the result to FILE as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}
