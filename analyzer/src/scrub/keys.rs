//! Key codes that do not reveal the key. Each press gets a new code from a rotating range; its release gets the same
//! code, so that reports still find the actions. Presses of one key at one time are not equal either: programs send keys with a
//! fixed time, and fast ones send several in a millisecond.

use rustc_hash::FxHashMap;
use x11prof_trace::ConnectionId;

/// The smallest valid key code (protocol, section "Keyboards").
const FIRST: u8 = 8;
/// Maximum number of keys of a client that can be down.
const MOST_DOWN: usize = 1024;

/// The kind of an event about a key. A client may receive several kinds of events about one press, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum KeySource {
    /// The core events KeyPress and KeyRelease.
    Core,
    /// SendEvent by the client.
    Sent,
    /// XTEST's FakeInput by the client.
    Fake,
    /// The events of the X Input Extension 1.
    Device,
    /// The events of XI2 for a device.
    Xi2 { device: u16, is_raw: bool },
}

/// The codes of the keys that are down, for each client that receives key events.
#[derive(Debug)]
pub(super) struct KeyCodes {
    clients: FxHashMap<ConnectionId, FxHashMap<(KeySource, u32), u8>>,
    next: u8,
}

impl KeyCodes {
    pub(super) fn new(first: u8) -> KeyCodes {
        KeyCodes {
            clients: FxHashMap::default(),
            next: first.max(FIRST),
        }
    }

    /// The replacement code for an event about `key`. 0, which is not a key, is kept.
    pub(super) fn code(
        &mut self,
        client: ConnectionId,
        source: KeySource,
        key: u32,
        is_press: bool,
    ) -> u8 {
        if key == 0 {
            return 0;
        }
        let down = self.clients.entry(client).or_default();
        let known = down.remove(&(source, key));
        if let Some(known) = known.filter(|_| !is_press) {
            return known;
        }
        // The next code depends on the number of presses only. If it depended on the keys that are down, it would reveal which keys
        // a client without releases has pressed twice.
        self.next = self.next.checked_add(1).unwrap_or(FIRST);
        if is_press && down.len() < MOST_DOWN {
            down.insert((source, key), self.next);
        }
        self.next
    }

    pub(super) fn closed(&mut self, client: ConnectionId) {
        self.clients.remove(&client);
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::ConnectionId;

    use super::{KeyCodes, KeySource};

    #[test]
    fn press_and_release_share_a_code_and_presses_differ() {
        let mut codes = KeyCodes::new(250);
        let mut code = |key, is_press| codes.code(ConnectionId(1), KeySource::Core, key, is_press);
        let mut seen = Vec::new();
        for _ in 0..300 {
            let (a, b) = (code(38, true), code(56, true));
            assert_ne!(a, b);
            assert_eq!([code(38, false), code(56, false)], [a, b]);
            assert!(a >= 8 && b >= 8);
            seen.push(a);
        }
        assert!(seen.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn presses_without_releases_and_releases_without_presses_differ() {
        let mut codes = KeyCodes::new(0);
        let mut code = |is_press| codes.code(ConnectionId(1), KeySource::Core, 38, is_press);
        let presses = [(); 3].map(|()| code(true));
        assert!(presses[0] != presses[1] && presses[1] != presses[2]);
        assert_eq!(code(false), presses[2]);
        assert!(code(false) != presses[2] && code(false) != code(false));
        assert_eq!(codes.code(ConnectionId(1), KeySource::Core, 0, true), 0);
    }

    #[test]
    fn codes_of_presses_do_not_depend_on_the_keys() {
        let codes = |key: fn(u32) -> u32| {
            let mut codes = KeyCodes::new(0);
            let client = ConnectionId(1);
            let mut code = |press| codes.code(client, KeySource::Core, key(press), true);
            (0..600).map(&mut code).collect::<Vec<_>>()
        };
        assert_eq!(codes(|press| 9 + press % 7), codes(|_| 116));
    }

    #[test]
    fn events_of_each_kind_have_their_own_codes() {
        let mut codes = KeyCodes::new(0);
        let kinds = [false, true].map(|is_raw| KeySource::Xi2 { device: 3, is_raw });
        let mut code =
            |kind: usize, is_press| codes.code(ConnectionId(1), kinds[kind], 38, is_press);
        let (raw, plain) = (code(1, true), code(0, true));
        assert_ne!(raw, plain);
        assert_eq!([code(1, false), code(0, false)], [raw, plain]);
    }
}
