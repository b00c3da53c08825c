//! The arguments of `check`.

use std::path::PathBuf;

use clap::Args;

use super::values::DEFAULT_TRACE;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The budget, with the highest allowed costs (a TOML file, see docs/CI.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: PathBuf,
    /// Write the result to FILE as JUnit XML as well
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}
