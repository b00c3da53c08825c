//! The arguments of `audit`.

use std::path::PathBuf;

use clap::Args;

use super::values::DEFAULT_TRACE;

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The recording
    #[arg(value_name = "TRACE", default_value = DEFAULT_TRACE)]
    pub(crate) trace: PathBuf,
    /// The profile that `record --live` printed on SIGUSR1 after the programs ended
    #[arg(long, value_name = "FILE")]
    pub(crate) live: Option<PathBuf>,
}
