//! Makes a complete trace from a trace that was truncated or damaged (docs/FORMAT.md, "Crash safety").

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use crate::format::Topic;
use crate::messages::{Message, MessageTopic, Messages, OtherChannel};
use crate::reader::{begin, decode};
use crate::writer::Container;
use crate::{Control, Timestamp, TraceError};

/// The first words of the `trouble` record of a recovered trace.
const CUT_OFF: &str = "the trace was cut off here";
const DAMAGED: &str = "the trace was damaged from here on";

/// True for the text of the `trouble` record that [`recover`] adds, which reports that the recording ended there.
pub fn tells_recovery(trouble: &str) -> bool {
    trouble.starts_with(CUT_OFF) || trouble.starts_with(DAMAGED)
}

/// The result of the recovery of a damaged or truncated trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The number of records that were copied, including records of unknown kinds.
    pub records: u64,
    /// True if the trace was complete, so that the copy has no additional record.
    pub complete_before: bool,
    /// A description of the damage to the file; `None` if the trace was only truncated. All records after the damage
    /// are lost.
    pub damage: Option<String>,
}

/// Copies the complete records of `source`, up to the cut or damage, into a finished trace. A `trouble` record at its
/// end reports the cut.
///
/// # Errors
/// Fails if `source` or `sink` fails, or if `source` is not a trace, has a later version, or contains no record.
pub fn recover(source: impl Read, sink: impl Write) -> Result<Recovery, TraceError> {
    let mut messages = Messages::new(source)?;
    let (first, _) = begin(&mut messages)?;
    let mut out = Container::new(sink)?;
    let mut copy = Copy {
        out: &mut out,
        others: HashMap::new(),
        records: 0,
        last: first.time,
    };
    copy.message(&first)?;

    let damage = loop {
        match messages.next() {
            // A message with a correct checksum can still have unreadable contents.
            Ok(Some(message)) => match decode(message.clone(), first.time) {
                Ok(_) => copy.message(&message)?,
                Err(what) => break Some(what),
            },
            Ok(None) => break None,
            Err(TraceError::Damaged { what, .. }) => break Some(what),
            Err(error) => return Err(error),
        }
    };
    let recovery = Recovery {
        records: copy.records,
        complete_before: damage.is_none() && messages.is_complete(),
        damage,
    };
    if !recovery.complete_before {
        copy.trouble(&recovery)?;
    }
    out.finish()?;
    Ok(recovery)
}

struct Copy<'a, W: Write> {
    out: &'a mut Container<W>,
    /// Ids of the channels that this version does not support.
    others: HashMap<Arc<OtherChannel>, u16>,
    records: u64,
    last: Timestamp,
}

impl<W: Write> Copy<'_, W> {
    fn message(&mut self, message: &Message) -> Result<(), TraceError> {
        let channel = match &message.topic {
            MessageTopic::Known(topic) => topic.spec().id,
            MessageTopic::Other(channel) => match self.others.get(channel) {
                Some(id) => *id,
                None => {
                    let id = self
                        .out
                        .other_channel(&channel.name, &channel.message_encoding)?;
                    self.others.insert(Arc::clone(channel), id);
                    id
                }
            },
        };
        self.put(channel, message.time, &message.data)
    }

    /// Writes the `trouble` record at the end.
    fn trouble(&mut self, recovery: &Recovery) -> Result<(), TraceError> {
        let records = recovery.records;
        let what = match &recovery.damage {
            None => format!("{CUT_OFF}; {records} whole records were recovered"),
            Some(what) => {
                format!("{DAMAGED} ({what}); {records} records before were recovered")
            }
        };
        let json = serde_json::to_vec(&Control::Trouble { what })
            .map_err(|error| TraceError::unwritable(error.to_string()))?;
        self.put(Topic::Control.spec().id, self.last, &json)
    }

    fn put(&mut self, channel: u16, time: Timestamp, data: &[u8]) -> Result<(), TraceError> {
        self.out.message(channel, time, data)?;
        self.records += 1;
        self.last = time;
        Ok(())
    }
}
