//! Marks that the user sets in a running recording at the time of a perceived delay (after TIPME). The user sets a
//! mark with `x11prof mark`, through a socket in the recorder's private directory, or with a key that the recorder
//! grabs.

mod key;
mod socket;

pub(crate) use socket::clients_of;
pub use socket::{MarkError, mark, relayed_clients};

use std::path::Path;
use std::sync::Arc;

use x11prof_protocol::Chord;

use crate::display::display_name::DisplayName;
use crate::display::server_link::ServerLink;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::record_queue::RecordSender;
use key::Grabbed;
use socket::Listening;

/// Accepts the user's marks until dropped.
pub(crate) struct Marks {
    key: Option<Grabbed>,
    /// The reason why `x11prof mark` cannot reach this recording; `None` if it can.
    pub(crate) trouble: Option<String>,
    _listening: Option<Listening>,
}

impl Marks {
    /// Accepts marks for the displays `names` through a socket in `dir`, unless `names` is empty, and with `key` on the
    /// server of its link, if given. Fails with a reason if the key cannot be grabbed.
    pub(crate) fn start(
        dir: &Path,
        names: &[&DisplayName],
        key: Option<(&Chord, &ServerLink)>,
        sender: &RecordSender,
        clients: &Arc<ClientProcesses>,
    ) -> Result<Marks, String> {
        let key = key
            .map(|(key, link)| Grabbed::grab(key, link, sender.clone()))
            .transpose()?;
        let listening = match names {
            [] => Ok(None),
            names => Listening::start(dir, names, sender.clone(), Arc::clone(clients)).map(Some),
        };
        let (listening, trouble) = match listening {
            Ok(listening) => (listening, None),
            Err(error) => (
                None,
                Some(format!(
                    "`x11prof mark` cannot reach this recording: {error}"
                )),
            ),
        };
        Ok(Marks {
            key,
            trouble,
            _listening: listening,
        })
    }

    /// The first resource id of the connection that grabs the key; `None` without a key. This connection must not be
    /// recorded.
    pub(crate) fn connection(&self) -> Option<u32> {
        self.key.as_ref().map(Grabbed::connection)
    }
}
