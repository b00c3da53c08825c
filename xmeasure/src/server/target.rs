//! The display server to calibrate.

use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt::socket_peercred;
use x11rb::rust_connection::DefaultStream;
use x11rb_protocol::parse_display::parse_display;
use x11rb_protocol::xauth::get_auth;

use crate::error::MeasureError;

/// The display server to calibrate, and its address.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    display: String,
    authorization: Option<(Vec<u8>, Vec<u8>)>,
    name: Option<String>,
    viewed: Option<bool>,
}

impl Target {
    /// The server of the display `display` (`:0`, `host:1`), with the authority from the user's own authority file.
    pub fn display(display: impl Into<String>) -> Target {
        Target {
            display: display.into(),
            authorization: None,
            name: None,
            viewed: None,
        }
    }

    /// The target with this MIT-MAGIC-COOKIE-1 in place of the authority file's.
    #[must_use]
    pub fn with_cookie(mut self, cookie: &[u8]) -> Target {
        self.authorization = Some((b"MIT-MAGIC-COOKIE-1".to_vec(), cookie.to_vec()));
        self
    }

    /// The target with this name for the parameters, in place of the executable's.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Target {
        self.name = Some(name.into());
        self
    }

    /// Sets whether a viewer is connected, for a server that encodes its screen only for a viewer.
    #[must_use]
    pub fn viewed(mut self, viewed: Option<bool>) -> Target {
        self.viewed = viewed;
        self
    }

    /// Whether a viewer is connected; `None` if the user did not specify it.
    pub(crate) fn is_viewed(&self) -> Option<bool> {
        self.viewed
    }

    /// The name that the user gave.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The display's name.
    pub(crate) fn display_name(&self) -> &str {
        &self.display
    }

    /// Connects the socket without sending any protocol message.
    pub(crate) fn connect(&self) -> Result<Wire, MeasureError> {
        let parsed = parse_display(Some(&self.display)).map_err(|_| MeasureError::DisplayName {
            display: self.display.clone(),
        })?;
        let mut failure = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in parsed.connect_instruction() {
            let (stream, (family, peer)) = match DefaultStream::connect(&address) {
                Ok(connected) => connected,
                Err(error) => {
                    // Report the error of the first address, which the user meant; a fallback's error would
                    // mislead.
                    if failure.raw_os_error().is_none() {
                        failure = error;
                    }
                    continue;
                }
            };
            let authorization = match &self.authorization {
                Some(given) => given.clone(),
                None => get_auth(family, &peer, parsed.display)
                    .ok()
                    .flatten()
                    .unwrap_or_default(),
            };
            let refused = |source| MeasureError::Connect {
                display: self.display.clone(),
                source,
            };
            let fd = stream.as_fd().try_clone_to_owned().map_err(refused)?;
            // Only local sockets report the peer's process.
            let pid = socket_peercred(&fd)
                .ok()
                .map(|peer| peer.pid.as_raw_nonzero().get());
            return Ok(Wire {
                fd,
                authorization,
                pid: pid.filter(|pid| *pid > 0),
            });
        }
        Err(MeasureError::Connect {
            display: self.display.clone(),
            source: failure,
        })
    }
}

/// Omits the cookie, which is secret.
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("display", &self.display)
            .finish_non_exhaustive()
    }
}

/// A connected socket before the connection's setup.
pub(crate) struct Wire {
    pub(crate) fd: OwnedFd,
    /// Name and data of the authorization; empty for none.
    pub(crate) authorization: (Vec<u8>, Vec<u8>),
    /// The server's process, if it runs on this machine.
    pub(crate) pid: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::MeasureError;

    #[test]
    fn bad_display_name_and_missing_server_are_distinct_errors() {
        assert!(matches!(
            Target::display("nonsense").connect(),
            Err(MeasureError::DisplayName { .. })
        ));
        assert!(matches!(
            Target::display("unix/:359").connect(),
            Err(MeasureError::Connect { .. })
        ));
    }

    #[test]
    fn debug_output_hides_the_cookie() {
        let shown = format!("{:?}", Target::display(":1").with_cookie(b"secret"));
        assert!(!shown.contains("secret") && !shown.contains("115"));
    }
}
