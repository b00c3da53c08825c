//! Recording a display session.

use crate::notice::Notice;
use crate::recording::config::{RecordConfig, Recorded};
use crate::recording::record_error::RecordError;
use crate::{attach, serving};

/// Records according to `config`, and returns at the end of the recording. With a command, the recording ends when the
/// command has ended and its windows have closed; otherwise at SIGINT or SIGTERM. The calling thread blocks, and calls
/// `on` for each notice.
///
/// # Errors
/// Fails if nothing could be recorded. A recording that began and then failed is `Ok`; [`Recorded::trouble`] has the
/// reason.
pub fn record(config: &RecordConfig, on: impl FnMut(Notice)) -> Result<Recorded, RecordError> {
    match &config.attach {
        Some(options) => attach::record(config, options, on),
        None => serving::record(config, on),
    }
}
