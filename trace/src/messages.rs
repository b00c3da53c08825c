//! Reads the messages of a trace's MCAP file in file order, without interpreting them.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use mcap::records::{Channel, Header, MessageHeader, Record as McapRecord, op};
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, McapResult, parse_record};

use crate::error::damage;
use crate::format::{
    COMPRESSION, CONTROL_FREE, CONTROL_LIMIT, CONTROL_RATIO, MESSAGE_LIMIT, MESSAGES_FREE,
    MESSAGES_RATIO, PROFILE, RECORD_LIMIT, Topic,
};
use crate::lengths::strings_fit;
use crate::source::Source;
use crate::{Timestamp, TraceError};

/// Size of the memory blocks that messages are allocated from.
const ARENA_LEN: usize = 1 << 16;

/// The maximum length of a channel's name in bytes. The length is limited, because names remain in memory.
const NAME_LIMIT: usize = 1 << 10;

/// A message of the file, with its channel and its time.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) topic: MessageTopic,
    pub(crate) time: Timestamp,
    pub(crate) data: Bytes,
}

/// The topic of the channel to which a message belongs.
#[derive(Clone)]
pub(crate) enum MessageTopic {
    Known(Topic),
    /// This version does not support the channel.
    Other(Arc<OtherChannel>),
}

/// A channel that this version does not support, with its name and encoding.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct OtherChannel {
    pub(crate) name: String,
    pub(crate) message_encoding: String,
}

/// The MCAP records that are relevant to a reader of messages.
enum Found {
    Header(String),
    Chunk,
    Channel(Channel),
    Message(MessageHeader, Bytes),
    Footer,
    Nothing,
}

/// Reads the messages of a file. The length of the longest chunk limits the memory that is used.
pub(crate) struct Messages<R> {
    source: Source<R>,
    /// Splits the file into MCAP records, and verifies its checksums.
    file: LinearReader,
    /// Splits each chunk into messages after verifying its checksum. After the last message of a chunk, `file` reads
    /// the next chunk.
    chunk: LinearReader,
    channels: HashMap<u16, MessageTopic>,
    arena: BytesMut,
    /// The MCAP sequence number of the next message.
    sequence: u32,
    /// The number of bytes of control records so far.
    control: u64,
    /// Bytes of messages and of other records in chunks so far.
    pub(crate) bytes: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The reader has not read the header yet.
    Begin,
    Reading,
    /// The reader has reached the footer.
    Complete,
    /// The reader has stopped, because the file was truncated or because there was an error.
    Broken,
}

impl<R: Read> Messages<R> {
    /// Reads the header of the file.
    pub(crate) fn new(source: R) -> Result<Messages<R>, TraceError> {
        let file = LinearReaderOptions::default()
            .with_emit_chunks(true)
            .with_skip_end_magic(true)
            .with_validate_data_section_crc(true)
            .with_validate_summary_section_crc(true)
            .with_record_length_limit(RECORD_LIMIT);
        let chunk = LinearReaderOptions::default()
            .with_skip_start_magic(true)
            .with_skip_end_magic(true)
            .with_prevalidate_chunk_crcs(true)
            .with_record_length_limit(RECORD_LIMIT);
        let mut messages = Messages {
            source: Source::new(source),
            file: LinearReader::new_with_options(file),
            chunk: LinearReader::new_with_options(chunk),
            channels: HashMap::new(),
            arena: BytesMut::with_capacity(ARENA_LEN),
            sequence: 0,
            control: 0,
            bytes: 0,
            state: State::Begin,
        };
        match messages.found()? {
            Some(Found::Header(profile)) if profile == PROFILE => {
                messages.state = State::Reading;
                Ok(messages)
            }
            Some(Found::Header(profile)) => Err(TraceError::OtherProfile { profile }),
            Some(_) => Err(TraceError::NotATrace),
            None if messages.source.position() == 0 => Err(TraceError::Empty),
            None if messages.source.is_begin_of_magic() => Err(TraceError::NoRecords),
            None if messages.source.position() < mcap::MAGIC.len() as u64 => {
                Err(TraceError::NotATrace)
            }
            None => Err(TraceError::NoRecords),
        }
    }

    /// Returns the next message; `None` at the end of the file, complete or truncated, and after an error.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, TraceError> {
        while self.state == State::Reading {
            match self.found()? {
                Some(Found::Message(header, data)) => {
                    let Some(topic) = self.channels.get(&header.channel_id) else {
                        return Err(self.damaged("a message is of a channel that is not declared"));
                    };
                    let topic = topic.clone();
                    if data.len() > MESSAGE_LIMIT {
                        return Err(self.damaged("a message is longer than any may be"));
                    }
                    if header.sequence != self.sequence {
                        return Err(self.damaged("messages are missing or not in their order"));
                    }
                    if matches!(topic, MessageTopic::Known(Topic::Control)) {
                        if data.len() > CONTROL_LIMIT && self.sequence > 0 {
                            return Err(self.damaged("a control record is longer than any may be"));
                        }
                        self.control += data.len() as u64;
                    }
                    self.count(data.len())?;
                    self.sequence = self.sequence.wrapping_add(1);
                    return Ok(Some(Message {
                        topic,
                        time: Timestamp::from_nanos(header.log_time),
                        data,
                    }));
                }
                Some(Found::Channel(channel)) => self.declare(channel)?,
                Some(Found::Footer) => self.end()?,
                Some(Found::Header(_) | Found::Chunk | Found::Nothing) => {}
                None => self.state = State::Broken,
            }
        }
        Ok(None)
    }

    /// Reads the rest of the file after the footer. Only MCAP's magic number may follow the footer.
    fn end(&mut self) -> Result<(), TraceError> {
        self.state = State::Complete;
        let (mut rest, mut len) = ([0; mcap::MAGIC.len() + 1], 0);
        loop {
            match self
                .source
                .read(&mut rest[len..])
                .map_err(TraceError::Read)?
            {
                0 if len < rest.len() => return Ok(()),
                0 => return Err(self.damaged("bytes follow its end")),
                more => len += more,
            }
        }
    }

    /// True if the end of a complete file has been reached.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Returns the error for an inconsistency in the record that was just read, and stops reading.
    pub(crate) fn damaged(&mut self, what: impl Into<String>) -> TraceError {
        self.state = State::Broken;
        TraceError::Damaged {
            position: self.source.position(),
            what: what.into(),
        }
    }

    /// Returns the error for an error of the MCAP reader, and stops reading.
    fn failed(&mut self, error: &McapError) -> TraceError {
        let damaged = self.damaged(damage(error));
        match error {
            // The text of zstd.
            McapError::DecompressionError(what) if what.contains("not enough memory") => {
                TraceError::Read(ErrorKind::OutOfMemory.into())
            }
            _ => damaged,
        }
    }

    /// Adds `len` bytes of a record in a chunk to the total. Fails if the total is too large for the length of the
    /// file, which bounds the time to read a file and the memory for names and stacks.
    fn count(&mut self, len: usize) -> Result<(), TraceError> {
        self.bytes += len as u64;
        let file = self.source.position();
        let is_over = |bytes, free, ratio| bytes > free + file.saturating_mul(ratio);
        match is_over(self.bytes, MESSAGES_FREE, MESSAGES_RATIO)
            || is_over(self.control, CONTROL_FREE, CONTROL_RATIO)
        {
            true => Err(self.damaged("it holds more than any file of its length")),
            false => Ok(()),
        }
    }

    fn declare(&mut self, channel: Channel) -> Result<(), TraceError> {
        let topic = match Topic::from_name(&channel.topic) {
            Some(topic) => MessageTopic::Known(topic),
            None if channel.topic.len() + channel.message_encoding.len() > NAME_LIMIT => {
                return Err(self.damaged("the name of a channel is longer than any may be"));
            }
            None => MessageTopic::Other(Arc::new(OtherChannel {
                name: channel.topic,
                message_encoding: channel.message_encoding,
            })),
        };
        self.channels.insert(channel.id, topic);
        Ok(())
    }

    /// The next MCAP record; `None` at the end of the file.
    fn found(&mut self) -> Result<Option<Found>, TraceError> {
        match self.chunk.next_event() {
            // All messages of the last chunk were returned, or there was no chunk yet.
            None | Some(Ok(LinearReadEvent::ReadRequest(_))) => {}
            Some(Ok(LinearReadEvent::Record { opcode, data })) => {
                let len = RECORD_HEAD + data.len();
                let found = look_in_chunk(opcode, data, &mut self.arena);
                if opcode != op::MESSAGE {
                    self.count(len)?;
                }
                return match found {
                    Ok(found) => Ok(Some(found)),
                    Err(error) => Err(self.failed(&error)),
                };
            }
            Some(Err(error)) => return Err(self.failed(&error)),
        }
        let result = loop {
            match self.file.next_event() {
                None => return Ok(None),
                Some(Ok(LinearReadEvent::ReadRequest(len))) => {
                    match self.source.read(self.file.insert(len)) {
                        Ok(len) => self.file.notify_read(len),
                        Err(error) => {
                            self.state = State::Broken;
                            return Err(TraceError::Read(error));
                        }
                    }
                }
                Some(Ok(LinearReadEvent::Record { opcode, data })) => {
                    break look_in_file(opcode, data, &mut self.chunk);
                }
                Some(Err(error)) => break Err(error),
            }
        };
        match result {
            Ok(found) => Ok(Some(found)),
            // Lengths beyond the end of the file show that the file was truncated, unless it has the end of a complete
            // file.
            Err(McapError::UnexpectedEof) if !self.source.ends_finished() => Ok(None),
            Err(McapError::BadMagic) if self.state == State::Begin => {
                self.state = State::Broken;
                Err(TraceError::NotATrace)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// Length of a record's head: opcode and length.
const RECORD_HEAD: usize = 1 + 8;

/// Length of a footer: two offsets and a checksum.
const FOOTER_LEN: usize = 20;

/// Handles a record of the file. A chunk is passed to the reader of chunks.
fn look_in_file(opcode: u8, data: &[u8], chunk: &mut LinearReader) -> McapResult<Found> {
    // Only these records are parsed; all others are skipped. Messages and their channels must be in chunks, because
    // only chunks have checksums.
    if !matches!(opcode, op::HEADER | op::CHUNK | op::FOOTER) {
        return Ok(Found::Nothing);
    }
    // A footer of another length means that a wrong length in an earlier record has led here.
    let fits = opcode != op::FOOTER || data.len() == FOOTER_LEN;
    if !fits || !strings_fit(opcode, data) {
        return Err(McapError::UnexpectedEoc);
    }
    Ok(match parse_record(opcode, data)? {
        McapRecord::Header(Header { profile, .. }) => Found::Header(profile),
        McapRecord::Chunk { header, .. } if header.compression != COMPRESSION => {
            return Err(McapError::UnsupportedCompression(header.compression));
        }
        McapRecord::Chunk { .. } => {
            let len = (data.len() as u64).to_le_bytes();
            let record = [&[opcode], &len[..], data].concat();
            chunk.insert(record.len()).copy_from_slice(&record);
            chunk.notify_read(record.len());
            Found::Chunk
        }
        McapRecord::Footer(_) => Found::Footer,
        _ => Found::Nothing,
    })
}

fn look_in_chunk(opcode: u8, data: &[u8], arena: &mut BytesMut) -> McapResult<Found> {
    if !matches!(opcode, op::CHANNEL | op::MESSAGE) {
        return Ok(Found::Nothing);
    }
    if !strings_fit(opcode, data) {
        return Err(McapError::UnexpectedEoc);
    }
    Ok(match parse_record(opcode, data)? {
        McapRecord::Channel(channel) => Found::Channel(channel),
        McapRecord::Message { header, data } => {
            arena.extend_from_slice(&data);
            Found::Message(header, arena.split().freeze())
        }
        _ => Found::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_memory_is_not_damage() {
        let trace: &[u8] = include_bytes!("../../tests/data/xset.mcap");
        let mut messages = Messages::new(trace).unwrap();
        let mut failed = |what: &str| {
            let error = McapError::DecompressionError(what.to_owned());
            messages.failed(&error).to_string()
        };
        assert!(failed("Data corruption detected").contains("damaged"));
        let failed = failed("Allocation error : not enough memory");
        assert_eq!(failed, "the trace cannot be read: out of memory");
    }
}
