//! Key codes that do not reveal the key. Each press gets a new code from a rotating range; its release gets the same
//! code, so that reports still find the actions. A repeat without a release (XKB's detectable autorepeat) counts as a
//! press: many programs receive no releases.

use rustc_hash::FxHashMap;
use x11prof_trace::ConnectionId;

/// The smallest valid key code (protocol, section "Keyboards").
const FIRST: u8 = 8;

/// The keys of a client, by key code.
type Keys = FxHashMap<u32, Key>;

/// The current replacement codes of keys, for each client that receives key events.
#[derive(Debug)]
pub(super) struct KeyCodes {
    clients: FxHashMap<ConnectionId, Keys>,
    next: u8,
}

/// A key that was pressed at least once.
#[derive(Debug, Clone, Copy)]
struct Key {
    code: u8,
    is_down: bool,
    /// The server's time in the key's last event, in milliseconds; `None` if unknown.
    time: Option<u32>,
}

impl KeyCodes {
    pub(super) fn new(first: u8) -> KeyCodes {
        KeyCodes {
            clients: FxHashMap::default(),
            next: first.max(FIRST),
        }
    }

    /// The replacement code for an event about `key`; `time` is the server's time in the event, in milliseconds. 0,
    /// which is not a key, is kept.
    pub(super) fn code(
        &mut self,
        client: ConnectionId,
        key: u32,
        is_press: bool,
        time: Option<u32>,
    ) -> u8 {
        if key == 0 {
            return 0;
        }
        // Programs that send keys to a window give them no time (CurrentTime).
        let time = time.filter(|time| *time != 0);
        let keys = self.clients.entry(client).or_default();
        let known = keys.get(&key).copied();
        let same = known.filter(|known| {
            // The release of a press, a second event about either, or a repeating key, whose presses each have a release.
            known.is_down && !is_press || time.is_some() && known.time == time
        });
        let code = match same {
            Some(known) => known.code,
            None => {
                // A code that no other pressed key has; there are more codes than fingers.
                let is_taken = |code| keys.values().any(|key| key.is_down && key.code == code);
                for _ in FIRST..=u8::MAX {
                    self.next = self.next.checked_add(1).unwrap_or(FIRST);
                    if !is_taken(self.next) {
                        break;
                    }
                }
                self.next
            }
        };
        // Key codes have one byte. XI2 has room for larger codes, which no server uses.
        if keys.len() < 256 || known.is_some() {
            let is_down = is_press;
            keys.insert(
                key,
                Key {
                    code,
                    is_down,
                    time,
                },
            );
        }
        code
    }

    pub(super) fn closed(&mut self, client: ConnectionId) {
        self.clients.remove(&client);
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::ConnectionId;

    use super::KeyCodes;

    #[test]
    fn press_and_release_share_a_code_and_presses_differ() {
        let mut codes = KeyCodes::new(250);
        let mut code = |key, is_press, time| codes.code(ConnectionId(1), key, is_press, Some(time));
        let mut seen = Vec::new();
        for time in 0..300 {
            let (a, b) = (code(38, true, 10 * time), code(56, true, 10 * time + 1));
            assert_ne!(a, b);
            assert_eq!(code(38, false, 10 * time + 2), a);
            assert_eq!(code(56, false, 10 * time + 3), b);
            assert!(a >= 8 && b >= 8);
            seen.push(a);
        }
        assert!(seen.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn autorepeating_key_keeps_its_code() {
        let mut codes = KeyCodes::new(0);
        let mut code = |is_press, time| codes.code(ConnectionId(1), 38, is_press, Some(time));
        let first = code(true, 100);
        assert_eq!([code(false, 600), code(true, 600)], [first; 2]);
        assert_eq!(code(false, 700), first);
        assert_ne!(code(true, 900), first);
    }

    #[test]
    fn presses_without_releases_differ() {
        let mut codes = KeyCodes::new(0);
        let mut code = |is_press, time| codes.code(ConnectionId(1), 38, is_press, Some(time));
        let presses = [100, 140, 180].map(|time| code(true, time));
        assert!(presses[0] != presses[1] && presses[1] != presses[2]);
        assert_eq!(code(false, 200), presses[2]);
        // Releases without presses differ, too.
        assert!(code(false, 240) != presses[2] && code(false, 280) != code(false, 320));
    }

    #[test]
    fn duplicate_press_keeps_its_code() {
        let mut codes = KeyCodes::new(0);
        let mut code = |is_press, time| codes.code(ConnectionId(1), 38, is_press, Some(time));
        assert_eq!(code(true, 100), code(true, 100));
        let up = code(false, 150);
        assert_eq!(up, code(false, 150));
        let mut unknown = |is_press| codes.code(ConnectionId(2), 9, is_press, Some(0));
        assert_ne!(unknown(false), 9);
        assert_ne!(unknown(true), unknown(true));
    }
}
