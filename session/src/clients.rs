//! The clients of a session: the ids they may give, what becomes of their resources when they
//! close, and which resources their latest requests made.

use std::collections::{BTreeMap, VecDeque};

use x11prof_protocol::SequenceNumber;

use crate::ids::ClientId;

/// Creations remembered for each client, so that one that failed can be undone. An error
/// comes a round trip later; a client that makes more than this meanwhile is not undone.
const REMEMBERED: usize = 256;

/// Clients that are gone, but whose resources the server retains, kept at most.
const RETAINED: usize = 1 << 12;

/// The clients of a display.
#[derive(Debug, Default)]
pub(crate) struct Clients(BTreeMap<ClientId, Client>);

#[derive(Debug, Default)]
struct Client {
    /// Base and mask of its resource ids.
    ids: Option<(u32, u32)>,
    close_down: CloseDown,
    made: VecDeque<(SequenceNumber, u32)>,
    gone: bool,
}

/// What becomes of a client's resources when it closes (protocol, SetCloseDownMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CloseDown {
    #[default]
    Destroy,
    RetainPermanent,
    RetainTemporary,
}

impl Clients {
    /// Takes down the ids of a client that was accepted.
    pub(crate) fn accepted(&mut self, client: ClientId, base: u32, mask: u32) {
        self.0.entry(client).or_default().ids = Some((base, mask));
    }

    /// SetCloseDownMode.
    pub(crate) fn set_close_down(&mut self, client: ClientId, mode: u8) {
        self.0.entry(client).or_default().close_down = match mode {
            1 => CloseDown::RetainPermanent,
            2 => CloseDown::RetainTemporary,
            _ => CloseDown::Destroy,
        };
    }

    /// Remembers that request `sequence` made `resource`.
    pub(crate) fn made(&mut self, client: ClientId, sequence: SequenceNumber, resource: u32) {
        let made = &mut self.0.entry(client).or_default().made;
        if made.len() >= REMEMBERED {
            made.pop_front();
        }
        made.push_back((sequence, resource));
    }

    /// The resource that request `sequence`, which failed, was to make.
    pub(crate) fn failed(&self, client: ClientId, sequence: SequenceNumber) -> Option<u32> {
        let made = &self.0.get(&client)?.made;
        let at = made
            .binary_search_by_key(&sequence, |(made, _)| *made)
            .ok()?;
        made.get(at).map(|(_, resource)| *resource)
    }

    /// The client has closed. True where its resources go with it.
    pub(crate) fn closed(&mut self, client: ClientId) -> bool {
        let retained = self.0.values().filter(|client| client.gone).count();
        let Some(known) = self.0.get_mut(&client) else {
            return true;
        };
        if known.close_down == CloseDown::Destroy || retained >= RETAINED {
            self.0.remove(&client);
            return true;
        }
        known.gone = true;
        known.made = VecDeque::new();
        false
    }

    /// KillClient: the clients that are gone and whose retained resources go now. A client that
    /// is still there is closed by the server, which is seen as any other end.
    pub(crate) fn killed(&mut self, resource: u32) -> Vec<ClientId> {
        /// AllTemporary (protocol, KillClient).
        const ALL_TEMPORARY: u32 = 0;
        let goes = |client: &Client| {
            client.gone
                && match resource {
                    ALL_TEMPORARY => client.close_down == CloseDown::RetainTemporary,
                    id => client.ids.is_some_and(|(base, mask)| id & !mask == base),
                }
        };
        let going: Vec<ClientId> = self
            .0
            .iter()
            .filter(|(_, client)| goes(client))
            .map(|(id, _)| *id)
            .collect();
        for client in &going {
            self.0.remove(client);
        }
        going
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;

    use super::Clients;
    use crate::ids::ClientId;

    #[test]
    fn retained_resources_go_when_the_client_is_killed() {
        let (a, b) = (ClientId(1), ClientId(2));
        let mut clients = Clients::default();
        clients.accepted(a, 0x20_0000, 0x1F_FFFF);
        clients.accepted(b, 0x40_0000, 0x1F_FFFF);
        clients.set_close_down(a, 1);
        clients.set_close_down(b, 2);
        assert!(!clients.closed(a));
        assert!(!clients.closed(b));
        assert_eq!(clients.killed(0), [b]);
        assert_eq!(clients.killed(0x40_0001), []);
        assert_eq!(clients.killed(0x20_0001), [a]);
        assert!(clients.closed(a));
    }

    #[test]
    fn remembers_the_latest_creations() {
        let (client, mut clients) = (ClientId(1), Clients::default());
        for number in 1..=1000 {
            clients.made(client, SequenceNumber(number), number as u32);
        }
        assert_eq!(clients.failed(client, SequenceNumber(1000)), Some(1000));
        assert_eq!(clients.failed(client, SequenceNumber(1)), None);
        assert_eq!(clients.failed(ClientId(2), SequenceNumber(1000)), None);
    }
}
