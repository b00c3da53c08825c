//! Counts the clients that run on a display, before a recording starts.

use super::{existing, last_client};
use crate::display::conversation::Conversation;
use crate::display::server_info::{self, DisplayError};
use crate::display::setup_connection::PATIENCE;
use crate::recording::config::{self, Target};
use crate::recording::record_error::RecordError;

/// The number of clients that are connected to a display; 0 if the server has no X-Resource extension.
///
/// # Errors
/// Fails if the display cannot be used.
pub fn running_clients(target: &Target) -> Result<usize, RecordError> {
    let (link, _server) = config::target(target)?;
    if last_client::would_end(link.name()) {
        return Ok(0);
    }
    let extensions = server_info::ask(&link)?.extensions;
    let count = || {
        let mut conversation = Conversation::begin(&link, PATIENCE, extensions)?;
        let setup = conversation.setup();
        let (ours, mask) = (setup.resource_id_base, setup.resource_id_mask);
        let clients = existing::clients(&mut conversation)?;
        let others = |client: &&existing::FoundClient| client.first & !mask != ours;
        Ok(clients.iter().filter(others).count())
    };
    count().map_err(|reason: String| {
        RecordError::Display(DisplayError::NotAttached {
            display: link.name().to_string(),
            reason,
        })
    })
}
