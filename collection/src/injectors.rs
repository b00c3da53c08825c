//! Clients that only play the user, as xdotool does: they make events of devices and show no window. Nobody waits for
//! them, so their episodes are none of a user's.

use std::collections::HashSet;

use x11prof_analyzer::Observation;
use x11prof_protocol::Message;
use x11prof_trace::ConnectionId;

/// Clients told apart at most.
const LIMIT: usize = 10_000;

/// Which clients those are.
#[derive(Debug, Default)]
pub(crate) struct Injectors {
    inject: HashSet<ConnectionId>,
    show: HashSet<ConnectionId>,
}

impl Injectors {
    /// Takes the next observation.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        let Observation::Message(seen) = observation else {
            return;
        };
        match seen.message {
            Message::Request(request) => self.named(seen.connection, request.name.as_str()),
            Message::Event(event) => self.named(seen.connection, event.name.as_str()),
            _ => {}
        }
    }

    fn named(&mut self, client: ConnectionId, name: &str) {
        let clients = match name {
            "XTEST:FakeInput" => &mut self.inject,
            // Where the recording begins in the middle, a window may have been there before.
            "MapWindow"
            | "MapSubwindows"
            | "Expose"
            | "ButtonPress"
            | "XInputExtension:ButtonPress"
            | "XInputExtension:TouchBegin" => &mut self.show,
            _ => return,
        };
        if clients.len() < LIMIT {
            clients.insert(client);
        }
    }

    /// Whether a client is one by now.
    pub(crate) fn has(&self, client: ConnectionId) -> bool {
        self.inject.contains(&client) && !self.show.contains(&client)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::ConnectionId;

    use super::Injectors;

    #[test]
    fn one_with_a_window_is_a_program_of_the_user() {
        let mut injectors = Injectors::default();
        let (xdotool, recorder, editor) = (ConnectionId(1), ConnectionId(2), ConnectionId(3));
        for (client, name) in [
            (xdotool, "XTEST:FakeInput"),
            (recorder, "MapWindow"),
            (recorder, "XTEST:FakeInput"),
            (editor, "MapWindow"),
            (editor, "PolyLine"),
        ] {
            injectors.named(client, name);
        }
        let found = [xdotool, recorder, editor].map(|client| injectors.has(client));
        assert_eq!(found, [true, false, false]);
    }
}
