//! The display server to calibrate.

use x11prof_cost_model::{FORMAT, Host, ServerIdentity, ServerParameters};
use x11prof_proxy::{DisplayError, ServerLink, describe_server};
use x11prof_trace::Server;

use crate::server::identity;

/// The display server to calibrate, and its address.
#[derive(Debug, Clone)]
pub struct Target {
    link: ServerLink,
    server: Server,
    name: Option<String>,
}

impl Target {
    /// Creates a target for the server at `link`. Requests the server's properties over a short connection.
    ///
    /// # Errors
    /// Fails if the display cannot be reached or refuses the connection.
    pub fn new(link: ServerLink) -> Result<Target, DisplayError> {
        let server = describe_server(&link)?;
        Ok(Target {
            link,
            server,
            name: None,
        })
    }

    /// Sets the name of the server in the parameters, instead of the name of its executable.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Target {
        self.name = Some(name.into());
        self
    }

    /// The server's process, if it runs on this machine.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid
    }

    /// The identity of the server, as the parameters store it.
    pub fn identity(&self) -> ServerIdentity {
        identity::server(&self.server, self.name.as_deref())
    }

    /// The properties of the server's machine; empty if the server runs on another machine.
    pub fn host(&self) -> Host {
        match self.pid() {
            Some(_) => identity::this_machine(),
            None => Host::default(),
        }
    }

    /// The parameters of this server on its machine, still without costs.
    pub(crate) fn parameters(&self) -> ServerParameters {
        ServerParameters {
            format: FORMAT,
            server: self.identity(),
            host: self.host(),
            ..ServerParameters::default()
        }
    }

    pub(crate) fn link(&self) -> &ServerLink {
        &self.link
    }
}
