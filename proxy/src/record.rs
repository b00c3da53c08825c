//! Recording a display session.

use crate::notice::Notice;
use crate::recording::config::{RecordConfig, Recorded};
use crate::recording::record_error::RecordError;
use crate::{attach, serving};

/// Records as `config` says, and returns at the end of the recording. With a command, this is the end of the command
/// and of its windows; otherwise SIGINT or SIGTERM. The calling thread blocks, and calls `on`.
///
/// # Errors
/// Fails if nothing could be recorded. A recording that began and then failed is `Ok`; [`Recorded::trouble`] says why.
pub fn record(config: &RecordConfig, on: impl FnMut(Notice)) -> Result<Recorded, RecordError> {
    match &config.attach {
        Some(options) => attach::record(config, options, on),
        None => serving::record(config, on),
    }
}
