//! The content of one reply to RECORD's EnableContext: messages of one client in one direction (Record Extension
//! Protocol Specification, sections 1.3 and "EnableContext").

use x11prof_protocol::ByteOrder;

/// The length of a reply's header in bytes.
pub(super) const HEADER: usize = 32;

/// The category of a reply's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    /// The reply contains replies, events and errors that the server sent.
    FromServer,
    /// The reply contains requests that the client sent.
    FromClient,
    /// The server has accepted a new client.
    Started,
    /// A client has disconnected.
    Died,
    /// The server begins to report.
    Begins,
    /// The server stops reporting.
    Ends,
}

/// The header of a reply to EnableContext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) category: Category,
    /// The first resource id of the client.
    pub(super) client: u32,
    /// The byte order of the client.
    pub(super) order: ByteOrder,
    /// The time on the server's clock, in milliseconds.
    pub(super) millis: u32,
    /// The sequence number of the last request that the server had begun to handle.
    pub(super) request: u32,
}

/// The length in bytes of the reply at the start of `bytes`; `None` if `bytes` is too short.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    const GENERIC_EVENT: u8 = 35;
    let units = ByteOrder::native().u32(bytes, 4)?;
    match *bytes.first()? {
        1 | GENERIC_EVENT => usize::try_from(units)
            .ok()?
            .checked_mul(4)?
            .checked_add(HEADER),
        _ => Some(HEADER),
    }
}

/// Parses the header of a reply; `None` for other messages, such as an error.
pub(super) fn head(answer: &[u8]) -> Option<Head> {
    let native = ByteOrder::native();
    let category = match answer.get(..2)? {
        [1, 0] => Category::FromServer,
        [1, 1] => Category::FromClient,
        [1, 2] => Category::Started,
        [1, 3] => Category::Died,
        [1, 4] => Category::Begins,
        [1, 5] => Category::Ends,
        _ => return None,
    };
    let swapped = *answer.get(9)? != 0;
    Some(Head {
        category,
        client: native.u32(answer, 12)?,
        order: match (swapped, native) {
            (false, order) => order,
            (true, ByteOrder::Little) => ByteOrder::Big,
            (true, ByteOrder::Big) => ByteOrder::Little,
        },
        millis: native.u32(answer, 16)?,
        request: native.u32(answer, 20)?,
    })
}

/// The requests in a reply's data: the time on the server's clock in milliseconds, the sequence number, and the bytes
/// of each.
pub(super) fn requests(data: &[u8], order: ByteOrder) -> impl Iterator<Item = (u32, u32, &[u8])> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let millis = ByteOrder::native().u32(rest, 0)?;
        let number = ByteOrder::native().u32(rest, 4)?;
        let bytes = rest.get(8..)?;
        let units = match order.u16(bytes, 2)? {
            // The length of a long request (Big Requests Extension).
            0 => order.u32(bytes, 4)?,
            units => u32::from(units),
        };
        let len = usize::try_from(units).ok()?.checked_mul(4)?.max(4);
        let request = bytes.get(..len)?;
        rest = bytes.get(len..)?;
        Some((millis, number, request))
    })
}

/// The server's messages in a reply's data: the time on the server's clock in milliseconds, the bytes, and the number
/// of bytes that RECORD omitted at the message's end. RECORD reports only the first 32 bytes of every event.
pub(super) fn messages(data: &[u8], order: ByteOrder) -> impl Iterator<Item = (u32, &[u8], u32)> {
    const REPLY: u8 = 1;
    const GENERIC_EVENT: u8 = 35;
    let mut rest = data;
    std::iter::from_fn(move || {
        let millis = ByteOrder::native().u32(rest, 0)?;
        rest = rest.get(4..)?;
        let code = *rest.first()?;
        let more = order.u32(rest, 4)?.saturating_mul(4);
        let (reported, missing) = match code & 0x7F {
            REPLY if code == REPLY => (more, 0),
            GENERIC_EVENT => (0, more),
            _ => (0, 0),
        };
        let len = usize::try_from(reported).ok()?.checked_add(HEADER)?;
        let message = rest.get(..len)?;
        rest = rest.get(len..)?;
        Some((millis, message, missing))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use x11prof_protocol::ByteOrder;

    use super::{Category, head, length, messages, requests};

    #[test]
    fn record_reply_header_is_parsed() {
        let mut answer = vec![0; 32];
        answer[..2].copy_from_slice(&[1, 1]);
        answer[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        answer[9] = 1;
        answer[12..16].copy_from_slice(&0x40_0000_u32.to_ne_bytes());
        answer[20..24].copy_from_slice(&5_u32.to_ne_bytes());
        assert_eq!(length(&answer), Some(60));
        let read = head(&answer).unwrap();
        assert_eq!(
            (read.category, read.client),
            (Category::FromClient, 0x40_0000)
        );
        assert_ne!(read.order, ByteOrder::native());
        assert_eq!(read.request, 5);
        assert_eq!(length(&[34, 1, 2, 3, 9, 9, 9, 9]), Some(32));
        assert_eq!((length(&[1]), head(&[])), (None, None));
    }

    #[test]
    fn requests_have_sequence_numbers_and_big_ones_lengths() {
        let words = |words: [u32; 2]| words.map(u32::to_ne_bytes).concat();
        let mut data = words([100, 7]);
        data.extend([127, 0, 0, 2, 1, 2, 3, 4]);
        data.extend(words([101, 8]));
        data.extend([72, 0, 0, 0, 0, 0, 0, 3, 9, 9, 9, 9]);
        let read: Vec<_> = requests(&data, ByteOrder::Big)
            .map(|(millis, number, bytes)| (millis, number, bytes[0], bytes.len()))
            .collect();
        assert_eq!(read, [(100, 7, 127, 8), (101, 8, 72, 12)]);
    }

    #[test]
    fn events_are_truncated_to_32_bytes() {
        let mut reply = vec![0; 36];
        (reply[0], reply[4]) = (1, 1);
        let mut event = vec![0; 32];
        (event[0], event[4]) = (35, 3);
        let mut error = vec![0; 32];
        error[4] = 200;
        let timed = |(millis, message): (u32, Vec<u8>)| [millis.to_ne_bytes().to_vec(), message];
        let data = [(5, reply), (6, event), (7, error)]
            .map(timed)
            .concat()
            .concat();
        let read: Vec<_> = messages(&data, ByteOrder::Little)
            .map(|(millis, bytes, missing)| (millis, bytes.len(), missing))
            .collect();
        assert_eq!(read, [(5, 36, 0), (6, 32, 12), (7, 32, 0)]);
    }

    proptest! {
        #[test]
        fn parsed_messages_never_exceed_the_input(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let reported: usize = requests(&bytes, order).map(|(.., one)| one.len()).sum();
                prop_assert!(reported <= bytes.len());
                let reported: usize = messages(&bytes, order).map(|(_, one, _)| one.len()).sum();
                prop_assert!(reported <= bytes.len());
            }
        }
    }
}
