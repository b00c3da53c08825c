//! The processes of the clients, for replies to X-Resource's QueryClientIds. The server sees the recorder at the other
//! end of each connection, so the recorder writes the client's process id into the reply.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use x11prof_protocol::ByteOrder;
use x11rb_protocol::protocol::res::ClientIdMask;

/// The length in bytes of the reply before the ids, and of an id before its value (X-Resource 1.2, "QueryClientIds").
const IDS_AT: u64 = 32;
const ID_HEAD: usize = 12;
/// The length of a process id in bytes.
const PID: usize = 4;

/// The process id of each connected client, by the client's first resource id; `None` if unknown.
#[derive(Debug, Default)]
pub(crate) struct ClientProcesses(Mutex<BTreeMap<u32, Option<u32>>>);

impl ClientProcesses {
    /// Adds a client by its first resource id. `pid` is `None` if its process is unknown.
    pub(crate) fn insert(&self, first_id: u32, pid: Option<u32>) {
        self.lock().insert(first_id, pid);
    }

    pub(crate) fn remove(&self, first_id: u32) {
        self.lock().remove(&first_id);
    }

    /// The first resource ids of the connected clients.
    pub(crate) fn first_ids(&self) -> Vec<u32> {
        self.lock().keys().copied().collect()
    }

    /// The clients as lines of text: first resource id and process id, which is 0 if it is unknown.
    pub(crate) fn to_text(&self) -> String {
        let clients = self.lock();
        let lines = clients.iter();
        let lines = lines.map(|(id, pid)| format!("{id} {}\n", pid.unwrap_or(0)));
        lines.collect()
    }

    /// The clients in the text of [`to_text`](ClientProcesses::to_text).
    pub(crate) fn of_text(text: &str) -> impl Iterator<Item = (u32, Option<u32>)> {
        let clients = text.lines().filter_map(|line| line.split_once(' '));
        clients.filter_map(|(id, pid)| {
            let pid: u32 = pid.parse().ok()?;
            Some((id.parse().ok()?, Some(pid).filter(|pid| *pid != 0)))
        })
    }

    fn pid(&self, first_id: u32) -> Option<u32> {
        self.lock().get(&first_id).copied().flatten()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Option<u32>>> {
        // An insertion or a removal is one step, so the map is consistent even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The position in a reply to QueryClientIds that arrives in parts.
#[derive(Debug, Default)]
pub(crate) struct ClientIdsReply {
    /// The header of the current id, as far as it has arrived.
    head: [u8; ID_HEAD],
    filled: usize,
    /// The number of bytes of the current value that have not arrived.
    left: u32,
    /// The process id to write over the current value, if the value belongs to a client of the recorder.
    pid: Option<[u8; PID]>,
}

impl ClientIdsReply {
    /// Replaces the process ids in `bytes`, the part of the reply from `offset` on.
    pub(crate) fn replace(
        &mut self,
        offset: u64,
        bytes: &mut [u8],
        order: ByteOrder,
        processes: &ClientProcesses,
    ) {
        if offset == 0 {
            *self = ClientIdsReply::default();
        }
        let head_left = usize::try_from(IDS_AT.saturating_sub(offset)).unwrap_or(usize::MAX);
        for byte in bytes.iter_mut().skip(head_left) {
            if self.filled < ID_HEAD {
                self.head[self.filled] = *byte;
                self.filled += 1;
                if self.filled == ID_HEAD {
                    self.begin_value(order, processes);
                }
            } else {
                let at = self.pid.map(|pid| pid[PID - (self.left as usize).min(PID)]);
                *byte = at.unwrap_or(*byte);
                self.left -= 1;
            }
            if self.filled == ID_HEAD && self.left == 0 {
                self.filled = 0;
            }
        }
    }

    fn begin_value(&mut self, order: ByteOrder, processes: &ClientProcesses) {
        let [client, mask, length] = [0, 4, 8].map(|at| order.u32(&self.head, at).unwrap_or(0));
        self.left = length;
        let is_pid = mask == u32::from(ClientIdMask::LOCAL_CLIENT_PID) && length as usize == PID;
        // X.Org writes the client's id in the byte order of this client, not of the client that receives the reply.
        let pid = [client, client.swap_bytes()].map(|client| processes.pid(client));
        let pid = pid[0].or(pid[1]).filter(|_| is_pid);
        self.pid = pid.map(|pid| order.u32_bytes(pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_processes_can_be_read_from_text() {
        let processes = ClientProcesses::default();
        processes.insert(7, Some(77));
        processes.insert(70, None);
        let text = processes.to_text();
        let clients: Vec<_> = ClientProcesses::of_text(&text).collect();
        assert_eq!(clients, [(7, Some(77)), (70, None)]);
    }

    fn reply(ids: &[(u32, u32, &[u32])]) -> Vec<u8> {
        let mut bytes = vec![1; IDS_AT as usize];
        for (client, mask, value) in ids {
            let length = 4 * value.len() as u32;
            for word in [*client, *mask, length].iter().chain(*value) {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn process_id_of_a_client_of_the_other_byte_order_is_replaced() {
        let processes = ClientProcesses::default();
        processes.insert(0x20_0000, Some(77));
        let mut bytes = reply(&[(0x20_0000_u32.swap_bytes(), 2, &[5])]);
        let mut state = ClientIdsReply::default();
        state.replace(0, &mut bytes, ByteOrder::Little, &processes);
        assert!(bytes.ends_with(&77_u32.to_le_bytes()));
    }

    #[test]
    fn client_process_ids_are_replaced_at_any_reply_split() {
        let processes = ClientProcesses::default();
        processes.insert(0x20_0000, Some(77));
        processes.insert(0x40_0000, None);
        processes.insert(0x60_0000, Some(88));
        processes.remove(0x60_0000);
        let server = [
            (0x20_0000, 1, &[5][..]),
            (0x20_0000, 2, &[9][..]),
            (0x20_0000, 2, &[]),
            (0x40_0000, 2, &[9]),
            (0x60_0000, 2, &[9]),
            (0x80_0000, 2, &[4]),
        ];
        let mut client = server;
        client[1].2 = &[77];
        let (sent, expected) = (reply(&server), reply(&client));
        for step in 1..=sent.len() {
            let mut bytes = sent.clone();
            let mut state = ClientIdsReply::default();
            for _ in 0..2 {
                bytes.copy_from_slice(&sent);
                for (number, part) in bytes.chunks_mut(step).enumerate() {
                    let offset = (number * step) as u64;
                    state.replace(offset, part, ByteOrder::Little, &processes);
                }
                assert_eq!(bytes, expected, "{step}");
            }
        }
    }
}
