//! An exchange with the server: the bytes that are sent, and the messages that are received.

use std::os::fd::OwnedFd;

/// The numbers of messages that the server sent in an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReceivedMessages {
    pub(crate) replies: u64,
    pub(crate) reply_bytes: u64,
    pub(crate) events: u64,
    pub(crate) errors: u64,
    /// The code, the major opcode and the minor opcode of the first error; `None` without errors.
    pub(crate) first_error: Option<(u8, u8, u16)>,
}

impl ReceivedMessages {
    pub(super) fn count(&mut self, message: &[u8]) {
        match message.first() {
            Some(0) => {
                self.errors += 1;
                let at = |index: usize| message.get(index).copied().unwrap_or_default();
                let minor = u16::from_ne_bytes([at(8), at(9)]);
                self.first_error.get_or_insert((at(1), at(10), minor));
            }
            Some(1) => {
                self.replies += 1;
                self.reply_bytes += message.len() as u64;
            }
            _ => self.events += 1,
        }
    }

    /// The number of replies and errors.
    pub(crate) fn answered(&self) -> u64 {
        self.replies + self.errors
    }
}

/// The condition at which an exchange of bytes with the server ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// The exchange ends after the last byte is sent, without waiting for a reply.
    Sent,
    /// The exchange ends after the reply to the last request; valid for fewer than 65536 requests.
    LastAnswered,
    /// The exchange ends after this number of replies and errors.
    Answered(u64),
}

/// The bytes of an exchange to send: `unit`, repeated `times` times, and then `tail`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load<'a> {
    pub(crate) unit: &'a [u8],
    pub(crate) times: u64,
    pub(crate) tail: &'a [u8],
    /// The number of requests in the load.
    pub(crate) requests: u64,
    /// The file descriptor that is attached to the first byte of each unit, and how many times; `None` for none.
    pub(crate) descriptors: Option<(&'a OwnedFd, usize)>,
}

impl<'a> Load<'a> {
    /// Creates a load of these bytes, which contain `requests` requests, without a tail.
    pub(crate) fn once(unit: &'a [u8], requests: u64) -> Load<'a> {
        Load {
            unit,
            times: 1,
            requests,
            ..Load::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReceivedMessages;

    fn message(kind: u8, words: u32) -> Vec<u8> {
        let mut bytes = vec![0; 32 + words as usize * 4];
        bytes[0] = kind;
        bytes[1] = 3;
        bytes[10] = 53;
        bytes
    }

    #[test]
    fn replies_and_events_are_distinguished_and_first_error_kept() {
        let mut answers = ReceivedMessages::default();
        for (kind, words) in [(1, 2), (12, 0), (0, 0), (1, 0)] {
            answers.count(&message(kind, words));
        }
        assert_eq!(
            (answers.replies, answers.reply_bytes, answers.events),
            (2, 72, 1)
        );
        assert_eq!(answers.first_error, Some((3, 53, 0)));
        assert_eq!(answers.answered(), 3);
    }
}
