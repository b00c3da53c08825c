//! The clients of a session: their ids, the fate of their resources after they disconnect, and the effects of their
//! latest requests.

use std::collections::{BTreeSet, VecDeque};

use x11prof_protocol::SequenceNumber;

use crate::ids::{ClientId, IdMap, IdRange};

/// The maximum number of stored effects of each client's requests. If a request fails, the session undoes its effect.
/// The error arrives a round trip after the request. If the client's later requests had more effects than this number
/// in the meantime, the session does not undo the effect.
const REMEMBERED: usize = 1024;

/// Maximum number of windows in a client's save set.
const SAVED_LIMIT: usize = 1 << 12;

/// The maximum number of disconnected clients that are stored because the server retains their resources.
const RETAINED: usize = 1 << 12;

/// The clients of a display, with their resource ids and close-down modes.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    known: IdMap<ClientState>,
    /// The id ranges of clients, by the first id. A server assigns the range of a disconnected client to the next
    /// client that connects.
    ranges: IdMap<IdRange>,
    /// Disconnected clients whose resources the server retains.
    retained: BTreeSet<(CloseDown, ClientId)>,
    mask: u32,
}

/// The effect of a request, which has to be undone if the request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undoable {
    /// The request created the resource with this id.
    Made(u32),
    /// The request changed these components of the GC. If the request fails, any of these components may still have
    /// changed (protocol, ChangeGC).
    ChangedGc {
        /// The id of the GC.
        gc: u32,
        /// The mask of the changed components.
        mask: u32,
    },
}

#[derive(Debug, Default)]
struct ClientState {
    /// The client's resource id range; `None` if unknown.
    ids: Option<IdRange>,
    close_down: CloseDown,
    deeds: VecDeque<(SequenceNumber, Undoable)>,
    save_set: BTreeSet<u32>,
}

/// The fate of a client's resources after the client disconnects (protocol, SetCloseDownMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum CloseDown {
    #[default]
    Destroy,
    RetainPermanent,
    RetainTemporary,
}

impl Clients {
    /// Stores the range of ids (first id and mask) of a client that the server accepted.
    pub(crate) fn accepted(&mut self, client: ClientId, first: u32, mask: u32) {
        let range = IdRange {
            first,
            mask,
            client,
            reused: self.ranges.get(first).is_some(),
        };
        self.mask = mask;
        self.ranges.insert(first, range);
        self.entry(client).ids = Some(range);
    }

    /// The id range that contains `id`. If the server assigned the range several times, returns the latest assignment.
    /// `None` if no range contains `id`.
    pub(crate) fn range(&self, id: u32) -> Option<IdRange> {
        self.ranges.get(id & !self.mask).copied()
    }

    /// The id ranges of connected clients, and of disconnected clients whose resources are retained.
    pub(crate) fn connected(&self) -> impl Iterator<Item = IdRange> + '_ {
        self.known.iter().filter_map(|(_, client)| client.ids)
    }

    /// The id range of a client; `None` if unknown.
    pub(crate) fn ids_of(&self, client: ClientId) -> Option<IdRange> {
        self.known.get(client.0)?.ids
    }

    /// Applies SetCloseDownMode of `client`, which determines the fate of its resources after it disconnects.
    pub(crate) fn set_close_down(&mut self, client: ClientId, mode: u8) {
        self.entry(client).close_down = match mode {
            1 => CloseDown::RetainPermanent,
            2 => CloseDown::RetainTemporary,
            _ => CloseDown::Destroy,
        };
    }

    /// Applies ChangeSaveSet of `client`: adds `window` to the save set if `insert` is true, otherwise removes it.
    pub(crate) fn change_save_set(&mut self, client: ClientId, insert: bool, window: u32) {
        let saved = &mut self.entry(client).save_set;
        if !insert {
            saved.remove(&window);
        } else if saved.len() < SAVED_LIMIT {
            saved.insert(window);
        }
    }

    /// Removes and returns the save set of the client: ids of windows.
    pub(crate) fn take_save_set(&mut self, client: ClientId) -> BTreeSet<u32> {
        self.known
            .get_mut(client.0)
            .map(|client| std::mem::take(&mut client.save_set))
            .unwrap_or_default()
    }

    /// Stores the effect of the client's request `sequence`, for the case that the request fails.
    pub(crate) fn did(&mut self, client: ClientId, sequence: SequenceNumber, deed: Undoable) {
        let deeds = &mut self.entry(client).deeds;
        if deeds.len() >= REMEMBERED {
            deeds.pop_front();
        }
        deeds.push_back((sequence, deed));
    }

    /// The stored effect of the failed request `sequence`; `None` if there is none.
    pub(crate) fn failed(&self, client: ClientId, sequence: SequenceNumber) -> Option<Undoable> {
        let deeds = &self.known.get(client.0)?.deeds;
        let at = deeds
            .binary_search_by_key(&sequence, |(done, _)| *done)
            .ok()?;
        deeds.get(at).map(|(_, deed)| *deed)
    }

    /// Notes that the client has disconnected. Returns true if its resources are freed, false if they are retained.
    pub(crate) fn closed(&mut self, client: ClientId) -> bool {
        let retained = self.retained.len();
        let Some(known) = self.known.get_mut(client.0) else {
            return true;
        };
        if known.close_down == CloseDown::Destroy || retained >= RETAINED {
            self.known.remove(client.0);
            return true;
        }
        known.deeds = VecDeque::new();
        self.retained.insert((known.close_down, client));
        false
    }

    /// Applies KillClient. Returns the disconnected clients whose retained resources the server now frees. The result
    /// does not include connected clients, because the session processes the end of their connections separately.
    pub(crate) fn killed(&mut self, resource: u32) -> Vec<ClientId> {
        /// The value of KillClient's resource that means the resources of all terminated clients (AllTemporary).
        const ALL_TEMPORARY: u32 = 0;
        let temporary = |client| (CloseDown::RetainTemporary, ClientId(client));
        let mut going = Vec::new();
        if resource == ALL_TEMPORARY {
            going.extend(
                self.retained
                    .range(temporary(0)..=temporary(u32::MAX))
                    .copied(),
            );
        } else if let Some(range) = self.range(resource) {
            let kinds = [CloseDown::RetainPermanent, CloseDown::RetainTemporary];
            let both = kinds.map(|kind| (kind, range.client));
            going.extend(both.into_iter().filter(|one| self.retained.contains(one)));
        }
        for one in &going {
            self.retained.remove(one);
            self.known.remove(one.1.0);
        }
        going.into_iter().map(|(_, client)| client).collect()
    }

    fn entry(&mut self, client: ClientId) -> &mut ClientState {
        self.known.entry(client.0)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;

    use super::{Clients, Undoable};
    use crate::ids::ClientId;

    #[test]
    fn retained_resources_are_freed_when_the_client_is_killed() {
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
    fn reused_ids_belong_to_the_latest_client() {
        let mut clients = Clients::default();
        clients.accepted(ClientId(1), 0x20_0000, 0x1F_FFFF);
        clients.accepted(ClientId(2), 0x40_0000, 0x1F_FFFF);
        clients.closed(ClientId(1));
        clients.accepted(ClientId(3), 0x20_0000, 0x1F_FFFF);
        let of = |id| clients.range(id).map(|range| (range.client, range.reused));
        assert_eq!(of(0x20_0007), Some((ClientId(3), true)));
        assert_eq!(of(0x40_0007), Some((ClientId(2), false)));
        assert_eq!(of(0x50d), None);
    }

    #[test]
    fn only_the_latest_undoable_requests_are_kept() {
        let (client, mut clients) = (ClientId(1), Clients::default());
        for number in 1..=2000 {
            clients.did(
                client,
                SequenceNumber(number),
                Undoable::Made(number as u32),
            );
        }
        assert_eq!(
            clients.failed(client, SequenceNumber(2000)),
            Some(Undoable::Made(2000))
        );
        assert_eq!(clients.failed(client, SequenceNumber(1)), None);
        assert_eq!(clients.failed(ClientId(2), SequenceNumber(2000)), None);
    }
}
