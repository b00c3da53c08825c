//! The loads that measure transport costs: the costs of messages in addition to their operations.

use x11rb_protocol::protocol::xproto::{
    AtomEnum, ChangePropertyRequest, GetInputFocusRequest, GetPropertyRequest, PropMode,
};

use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire;
use crate::workloads::workload::{Sync, Workload};

/// The lengths of long NoOperations in words of 4 bytes, up to the longest without BIG-REQUESTS. A server reads a long
/// request directly into a buffer of the request's size. The cost of a byte depends on the contents of the caches.
/// Transport costs contain the minimum, and the entry of a request contains the request's extra cost for reading.
const LONG_WORDS: [u16; 4] = [1024, 4096, 16384, u16::MAX];
/// The numbers of data bytes in long replies. Transport costs contain the minimum extra cost per byte, compared with a
/// short reply.
const LONG_REPLIES: [u32; 3] = [2048, 16384, 131_072];
/// The length of a short NoOperation, of the data in a short reply, and of a changed property, in bytes.
const SHORT: u32 = 4;

/// A value for each load that measures transport.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransportLoads<T> {
    pub(crate) no_operation: T,
    pub(crate) long_no_operations: Vec<Longer<T>>,
    pub(crate) input_focus: T,
    pub(crate) short_reply: T,
    pub(crate) long_replies: Vec<Longer<T>>,
    /// The change of a property whose events no client receives.
    pub(crate) unwatched_change: T,
    /// The change of a property whose events this client receives.
    pub(crate) notified_change: T,
}

/// A value for a load whose request has more bytes than the short request of its kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Longer<T> {
    /// The number of bytes in addition to the short request or reply.
    pub(crate) more_bytes: f64,
    pub(crate) load: T,
}

impl<T> TransportLoads<T> {
    /// Converts the values with `change`, which is called for the load of NoOperation first.
    pub(crate) fn map<U>(self, mut change: impl FnMut(T) -> U) -> TransportLoads<U> {
        let no_operation = change(self.no_operation);
        let mut longer = |all: Vec<Longer<T>>| -> Vec<Longer<U>> {
            let changed = all.into_iter().map(|longer| Longer {
                more_bytes: longer.more_bytes,
                load: change(longer.load),
            });
            changed.collect()
        };
        let long_no_operations = longer(self.long_no_operations);
        let long_replies = longer(self.long_replies);
        TransportLoads {
            no_operation,
            long_no_operations,
            input_focus: change(self.input_focus),
            short_reply: change(self.short_reply),
            long_replies,
            unwatched_change: change(self.unwatched_change),
            notified_change: change(self.notified_change),
        }
    }

    /// Mutable references to the values of all loads.
    pub(crate) fn all_mut(&mut self) -> Vec<&mut T> {
        let long = self
            .long_no_operations
            .iter_mut()
            .map(|longer| &mut longer.load);
        let replies = self.long_replies.iter_mut().map(|longer| &mut longer.load);
        let mut all = vec![&mut self.no_operation];
        all.extend(long);
        all.extend([&mut self.input_focus, &mut self.short_reply]);
        all.extend(replies);
        all.extend([&mut self.unwatched_change, &mut self.notified_change]);
        all
    }

    /// The values of all loads.
    pub(crate) fn all(&self) -> Vec<&T> {
        let long = self.long_no_operations.iter().map(|longer| &longer.load);
        let replies = self.long_replies.iter().map(|longer| &longer.load);
        let mut all = vec![&self.no_operation];
        all.extend(long);
        all.extend([&self.input_focus, &self.short_reply]);
        all.extend(replies);
        all.extend([&self.unwatched_change, &self.notified_change]);
        all
    }
}

/// Creates the loads that measure transport.
pub(crate) fn loads(client: &mut Client) -> Result<TransportLoads<Workload>, MeasureError> {
    let property = client.atom("X11PROF_TRANSPORT")?;
    let change = |window, length: u32| {
        wire::core(ChangePropertyRequest {
            mode: PropMode::REPLACE,
            window,
            property,
            type_: AtomEnum::STRING.into(),
            format: 8,
            data_len: length,
            data: vec![b'x'; length as usize].into(),
        })
    };
    let longest = LONG_REPLIES.into_iter().max().unwrap_or(SHORT);
    client.send_bytes(&change(client.window, longest))?;
    let window = client.window;
    let get = |bytes: u32| {
        let request = wire::core(GetPropertyRequest {
            delete: false,
            window,
            property,
            type_: AtomEnum::STRING.into(),
            long_offset: 0,
            long_length: bytes / 4,
        });
        Workload::answered(&request)
    };
    let repeated = |bytes: &[u8]| Workload::repeated(bytes, Sync::RoundTrip);
    let long_no_operations = LONG_WORDS.map(|words| Longer {
        more_bytes: f64::from(words) * 4.0 - f64::from(SHORT),
        load: repeated(&wire::no_operation(words)),
    });
    let long_replies = LONG_REPLIES.map(|bytes| Longer {
        more_bytes: f64::from(bytes - SHORT),
        load: get(bytes),
    });
    Ok(TransportLoads {
        no_operation: repeated(&wire::no_operation(1)),
        long_no_operations: long_no_operations.into(),
        input_focus: repeated(&wire::core(GetInputFocusRequest)),
        short_reply: get(SHORT),
        long_replies: long_replies.into(),
        unwatched_change: repeated(&change(client.unwatched, SHORT)),
        notified_change: repeated(&change(client.notified, SHORT)),
    })
}
