//! The clients of a session: the ids they may give, what becomes of their resources when they
//! close, and which resources their latest requests made.

use std::collections::VecDeque;

use x11prof_protocol::SequenceNumber;

use crate::ids::{ClientId, IdMap};

/// Deeds remembered for each client, so that one that failed can be undone. An error comes a
/// round trip later; a client that does more than this meanwhile is not undone.
const REMEMBERED: usize = 256;

/// Windows in a client's save set at most.
const MOST_SAVED: usize = 1 << 12;

/// Clients that are gone, but whose resources the server retains, kept at most.
const RETAINED: usize = 1 << 12;

/// The clients of a display.
#[derive(Debug, Default)]
pub(crate) struct Clients(IdMap<Client>);

/// What a request did that an error undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It made the resource.
    Made(u32),
    /// It changed these components of the GC: after an error any of them may have been changed
    /// (protocol, ChangeGC).
    ChangedGc {
        /// The GC.
        gc: u32,
        /// The value mask.
        mask: u32,
    },
}

#[derive(Debug, Default)]
struct Client {
    /// Base and mask of its resource ids.
    ids: Option<(u32, u32)>,
    close_down: CloseDown,
    deeds: VecDeque<(SequenceNumber, Deed)>,
    save_set: Vec<u32>,
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
        self.entry(client).ids = Some((base, mask));
    }

    /// The client whose ids include `id`.
    pub(crate) fn owner(&self, id: u32) -> Option<ClientId> {
        self.0
            .iter()
            .find(|(_, client)| client.ids.is_some_and(|(base, mask)| id & !mask == base))
            .map(|(client, _)| ClientId(client))
    }

    /// SetCloseDownMode.
    pub(crate) fn set_close_down(&mut self, client: ClientId, mode: u8) {
        self.entry(client).close_down = match mode {
            1 => CloseDown::RetainPermanent,
            2 => CloseDown::RetainTemporary,
            _ => CloseDown::Destroy,
        };
    }

    /// ChangeSaveSet.
    pub(crate) fn change_save_set(&mut self, client: ClientId, insert: bool, window: u32) {
        let saved = &mut self.entry(client).save_set;
        saved.retain(|known| *known != window);
        if insert && saved.len() < MOST_SAVED {
            saved.push(window);
        }
    }

    /// Takes the client's save set.
    pub(crate) fn take_save_set(&mut self, client: ClientId) -> Vec<u32> {
        self.0
            .get_mut(client.0)
            .map(|client| std::mem::take(&mut client.save_set))
            .unwrap_or_default()
    }

    /// Remembers what request `sequence` did.
    pub(crate) fn did(&mut self, client: ClientId, sequence: SequenceNumber, deed: Deed) {
        let deeds = &mut self.entry(client).deeds;
        if deeds.len() >= REMEMBERED {
            deeds.pop_front();
        }
        deeds.push_back((sequence, deed));
    }

    /// What request `sequence`, which failed, was to do.
    pub(crate) fn failed(&self, client: ClientId, sequence: SequenceNumber) -> Option<Deed> {
        let deeds = &self.0.get(client.0)?.deeds;
        let at = deeds
            .binary_search_by_key(&sequence, |(done, _)| *done)
            .ok()?;
        deeds.get(at).map(|(_, deed)| *deed)
    }

    /// The client has closed. True where its resources go with it.
    pub(crate) fn closed(&mut self, client: ClientId) -> bool {
        let retained = self.0.iter().filter(|(_, client)| client.gone).count();
        let Some(known) = self.0.get_mut(client.0) else {
            return true;
        };
        if known.close_down == CloseDown::Destroy || retained >= RETAINED {
            self.0.remove(client.0);
            return true;
        }
        known.gone = true;
        known.deeds = VecDeque::new();
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
            .map(|(id, _)| ClientId(id))
            .collect();
        for client in &going {
            self.0.remove(client.0);
        }
        going
    }

    fn entry(&mut self, client: ClientId) -> &mut Client {
        self.0.entry(client.0)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;

    use super::{Clients, Deed};
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
    fn remembers_the_latest_deeds() {
        let (client, mut clients) = (ClientId(1), Clients::default());
        for number in 1..=1000 {
            clients.did(client, SequenceNumber(number), Deed::Made(number as u32));
        }
        assert_eq!(
            clients.failed(client, SequenceNumber(1000)),
            Some(Deed::Made(1000))
        );
        assert_eq!(clients.failed(client, SequenceNumber(1)), None);
        assert_eq!(clients.failed(ClientId(2), SequenceNumber(1000)), None);
    }
}
