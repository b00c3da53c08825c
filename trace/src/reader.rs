//! Reads a trace (docs/FORMAT.md).

use std::io::Read;

use serde::Deserialize;

use crate::format::{FORMAT, Topic};
use crate::limits::check_limits;
use crate::messages::{Message, MessageTopic, Messages};
use crate::{
    Control, Direction, Record, StackFrame, Started, Timestamp, TraceError, block, handler_times,
    schedule,
};

/// Reads the records of a trace in file order, in one pass and with bounded memory. Skips unknown channels, unknown
/// kinds of control records and unknown kinds of switches.
pub struct Reader<R> {
    messages: Messages<R>,
    started: Started,
    /// The time of `started`.
    began: Timestamp,
    /// The time of `started`, until `next` has returned it.
    first: Option<Timestamp>,
}

impl<R: Read> Reader<R> {
    /// Opens a trace, and reads up to its first record.
    ///
    /// # Errors
    /// Fails if the source fails, is not a trace, has a later version, or contains no record.
    pub fn new(source: R) -> Result<Reader<R>, TraceError> {
        let mut messages = Messages::new(source)?;
        let (first, started) = begin(&mut messages)?;
        Ok(Reader {
            messages,
            started,
            began: first.time,
            first: Some(first.time),
        })
    }

    /// The first record of the recording. [`next`](Reader::next) also returns it.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Returns the next record; `None` at the end. Then [`is_complete`](Reader::is_complete) shows whether the file was
    /// truncated.
    ///
    /// # Errors
    /// Fails if the source fails or the file is damaged. All later calls return `None`.
    #[expect(
        clippy::should_implement_trait,
        reason = "an Iterator would give Option<Result>, which the question mark does not fit"
    )]
    pub fn next(&mut self) -> Result<Option<Record>, TraceError> {
        if let Some(time) = self.first.take() {
            let started = Control::Started(self.started.clone());
            return Ok(Some(Record::Control(time, started)));
        }
        while let Some(message) = self.messages.next()? {
            match decode(message, self.began) {
                Ok(None) => {}
                Ok(record) => return Ok(record),
                Err(what) => return Err(self.messages.damaged(what)),
            }
        }
        Ok(None)
    }

    /// The total length in bytes of all messages that were read so far. The records of these messages use at most about
    /// eight times as much memory.
    pub fn message_bytes(&self) -> u64 {
        self.messages.bytes
    }

    /// True if the file is complete. Valid after the last record. The file of a killed recorder is incomplete, but its
    /// flushed records are readable.
    pub fn is_complete(&self) -> bool {
        self.messages.is_complete()
    }
}

/// Reads the first message of a file, which must be `started`, and checks its version.
pub(crate) fn begin<R: Read>(messages: &mut Messages<R>) -> Result<(Message, Started), TraceError> {
    /// The fields that are read before the version is known. These fields must be the same in every version of the
    /// format.
    #[derive(Deserialize)]
    struct Version {
        kind: String,
        format: u32,
    }
    const NOT_STARTED: &str = "its first record is not the one that every trace starts with";

    let Some(message) = messages.next()? else {
        return Err(match messages.is_complete() {
            true => messages.damaged("there is no record in it"),
            false => TraceError::NoRecords,
        });
    };
    if !matches!(message.topic, MessageTopic::Known(Topic::Control)) {
        return Err(messages.damaged(NOT_STARTED));
    }
    match serde_json::from_slice(&message.data) {
        Ok(Version { kind, format }) if kind == "started" => {
            if format > FORMAT {
                return Err(TraceError::NewerFormat { found: format });
            }
        }
        _ => return Err(messages.damaged(NOT_STARTED)),
    }
    match serde_json::from_slice(&message.data) {
        Ok(Control::Started(started)) => Ok((message, started)),
        _ => Err(messages.damaged(NOT_STARTED)),
    }
}

/// Decodes a message of a recording that started at `began`; `None` for a kind of record that this version does not
/// support.
pub(crate) fn decode(message: Message, began: Timestamp) -> Result<Option<Record>, String> {
    let record = decode_any(message)?;
    if let Some(record) = &record {
        check_limits(record, began)?;
    }
    Ok(record)
}

fn decode_any(message: Message) -> Result<Option<Record>, String> {
    let Message { topic, time, data } = message;
    let MessageTopic::Known(topic) = topic else {
        return Ok(None);
    };
    Ok(match topic {
        Topic::ToServer => Some(Record::Block(block::decode(
            time,
            Direction::ToServer,
            data,
        )?)),
        Topic::ToClient => Some(Record::Block(block::decode(
            time,
            Direction::ToClient,
            data,
        )?)),
        Topic::Control => match control(&data) {
            Ok(Control::Unknown) => None,
            Ok(control) => Some(Record::Control(time, control)),
            Err(error) => return Err(format!("a control record cannot be read ({error})")),
        },
        Topic::Schedule => Some(schedule::decode(data)?)
            .filter(|switches| !switches.is_empty())
            .map(Record::Schedule),
        Topic::HandlerTimes => Some(handler_times::decode(data)?)
            .filter(|times| !times.is_empty())
            .map(Record::HandlerTimes),
    })
}

/// Decodes a control record. Call stacks are most of the bytes. Decoding them directly takes two thirds of the
/// instructions: `serde` first stores all fields of a record, because the kind may follow them.
fn control(data: &[u8]) -> serde_json::Result<Control> {
    #[derive(Deserialize)]
    struct Stack {
        stack: u32,
        frames: Vec<StackFrame>,
        whole: bool,
    }
    if !data.starts_with(br#"{"kind":"stack","#) {
        return serde_json::from_slice(data);
    }
    serde_json::from_slice(data).map(|of: Stack| Control::Stack {
        stack: of.stack,
        frames: of.frames,
        whole: of.whole,
    })
}
