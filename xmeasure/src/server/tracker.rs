//! The state of the display session that the loads use, computed by the same code as in the analysis.

use x11prof_protocol::{Connection, Extensions, Input, Side};
use x11prof_session::{ClientId, Observed, Operation, Session};

/// The only client of the session.
const CLIENT: ClientId = ClientId(1);

/// Tracks the messages of one connection.
#[derive(Default)]
pub(crate) struct Tracker {
    connection: Connection,
    extensions: Extensions,
    session: Session,
}

impl Tracker {
    /// Processes bytes that the client sent, and returns the operations of their requests.
    pub(crate) fn sent(&mut self, bytes: &[u8]) -> Vec<Operation> {
        self.feed(Side::Client, bytes)
    }

    /// Processes bytes that the server sent.
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
