//! The display session of the loads, computed by the same code as in the analysis.

use x11prof_protocol::{Connection, Extensions, Input, Side};
use x11prof_session::{ClientId, Observed, Operation, Session};

/// The only client of the session.
const CLIENT: ClientId = ClientId(1);

/// Follows one connection.
#[derive(Default)]
pub(crate) struct Tracker {
    connection: Connection,
    extensions: Extensions,
    session: Session,
}

impl Tracker {
    /// Processes the client's bytes and returns their operations.
    pub(crate) fn sent(&mut self, bytes: &[u8]) -> Vec<Operation> {
        self.feed(Side::Client, bytes)
    }

    /// Processes the server's bytes.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        self.feed(Side::Server, bytes);
    }

    fn feed(&mut self, side: Side, bytes: &[u8]) -> Vec<Operation> {
        let mut operations = Vec::new();
        let session = &mut self.session;
        let input = Input::Bytes(bytes);
        let extensions = &mut self.extensions;
        self.connection
            .feed(side, input, extensions, |message, extensions| {
                if let Observed::Operation(operation) =
                    session.observe(CLIENT, &message, extensions)
                {
                    operations.push(operation.clone());
                }
            });
        operations
    }
}
