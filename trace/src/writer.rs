//! Writes a trace (docs/FORMAT.md).

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcap::records::MessageHeader;
use mcap::write::NoSeek;
use mcap::{Compression, WriteOptions};

use crate::block::{self, BlockHead};
use crate::format::{
    CHUNK_SIZE, CONTROL_FREE, CONTROL_LIMIT, CONTROL_RATIO, LIBRARY, MESSAGE_LIMIT, MESSAGES_RATIO,
    PADDING, PROFILE, Topic,
};
use crate::handler_times;
use crate::schedule::{self, BATCH_LIMIT};
use crate::{
    Control, Direction, HandlerTime, Part, Record, Started, Switch, Timestamp, TraceError,
};

/// Writes the records of a trace. After a [`flush`](Writer::flush), the written records survive a crash.
///
/// Dropping the writer also finishes the file, but hides errors.
pub struct Writer<W: Write> {
    out: Container<W>,
    /// The message that is being encoded. The buffer is reused, so that writing a message does not allocate memory.
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a trace with the record `started` at `time`, and flushes it. Sets the version of the format.
    ///
    /// # Errors
    /// Fails if the sink fails.
    pub fn new(sink: W, started: Started, time: Timestamp) -> Result<Writer<W>, TraceError> {
        let mut writer = Writer {
            out: Container::new(sink)?,
            buffer: Vec::with_capacity(1 << 16),
        };
        let started = Started {
            format: crate::FORMAT,
            ..started
        };
        writer.write_control(time, &Control::Started(started))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Fails if the sink fails, or if a record is inconsistent or longer than 16 MiB.
    pub fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        match record {
            Record::Block(block) => {
                block::check(block.wire_len, &block.gaps, block.bytes.len())
                    .map_err(TraceError::unwritable)?;
                self.write_block(&block.head(), block.parts())
            }
            Record::Control(time, control) => self.write_control(*time, control),
            Record::Schedule(switches) => self.write_schedule(switches),
            Record::HandlerTimes(times) => self.write_handler_times(times),
        }
    }

    /// Writes a block with the borrowed `parts`, such as the result of [`cut`](crate::cut). The writer copies the
    /// recorded bytes once and does not allocate memory.
    ///
    /// # Errors
    /// Fails if the sink fails, or if a block is longer than 16 MiB.
    pub fn write_block<'a, P>(&mut self, head: &BlockHead, parts: P) -> Result<(), TraceError>
    where
        P: IntoIterator<Item = Part<'a>, IntoIter: Clone>,
    {
        block::encode(&mut self.buffer, head, parts.into_iter())?;
        let topic = match head.direction {
            Direction::ToServer => Topic::ToServer,
            Direction::ToClient => Topic::ToClient,
        };
        self.out.message(topic.spec().id, head.time, &self.buffer)
    }

    /// Writes a control record. [`Control::Unknown`] has no content and is not written.
    ///
    /// # Errors
    /// Fails if the sink fails, or if a record is longer than a reader accepts. Such a record is not written.
    pub fn write_control(&mut self, time: Timestamp, control: &Control) -> Result<(), TraceError> {
        if matches!(control, Control::Unknown) {
            return Ok(());
        }
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, control)
            .map_err(|error| TraceError::unwritable(error.to_string()))?;
        if self.buffer.len() > CONTROL_LIMIT {
            return Err(TraceError::unwritable("it is longer than any may be"));
        }
        self.out
            .message(Topic::Control.spec().id, time, &self.buffer)
    }

    /// Writes context switches, ordered by time for each thread. An empty batch is not written; a very long one is
    /// split.
    ///
    /// # Errors
    /// Fails if the sink fails.
    pub fn write_schedule(&mut self, switches: &[Switch]) -> Result<(), TraceError> {
        for batch in switches.chunks(BATCH_LIMIT) {
            let Some(first) = batch.first() else { continue };
            schedule::encode(&mut self.buffer, batch);
            self.out
                .message(Topic::Schedule.spec().id, first.time, &self.buffer)?;
        }
        Ok(())
    }

    /// Writes handler times. An empty batch is not written; a very long one is split.
    ///
    /// # Errors
    /// Fails if the sink fails.
    pub fn write_handler_times(&mut self, times: &[HandlerTime]) -> Result<(), TraceError> {
        for batch in times.chunks(handler_times::BATCH_LIMIT) {
            let Some(first) = batch.first() else { continue };
            handler_times::encode(&mut self.buffer, batch);
            self.out
                .message(Topic::HandlerTimes.spec().id, first.start, &self.buffer)?;
        }
        Ok(())
    }

    /// Closes the open chunk and flushes the sink, so that the written records survive a crash of this program. A chunk
    /// that is closed early compresses worse, so do not flush after every record.
    ///
    /// # Errors
    /// Fails if the sink fails.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.out.flush()
    }

    /// The number of messages in the sink when the last [`flush`](Writer::flush) ended, modulo 2³². Messages are numbered
    /// from 0, so the next message has this number.
    pub fn flushed(&self) -> u32 {
        self.out.flushed
    }

    /// Finishes the file and returns the sink.
    ///
    /// # Errors
    /// Fails if the sink fails.
    pub fn finish(self) -> Result<W, TraceError> {
        self.out.finish()
    }
}

/// The MCAP file of a trace, with its header, its channels, and its numbered messages.
pub(crate) struct Container<W: Write> {
    mcap: mcap::Writer<NoSeek<Counted<W>>>,
    /// The number of bytes in the sink.
    written: Arc<AtomicU64>,
    /// The number of bytes of all messages so far.
    bytes: u64,
    /// The number of bytes of control records so far.
    control: u64,
    /// The MCAP sequence number of the next message.
    sequence: u32,
    /// The value of `sequence` at the last flush.
    flushed: u32,
}

/// A sink that counts its bytes.
struct Counted<W> {
    sink: W,
    written: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.sink.write(bytes)?;
        self.written.fetch_add(n as u64, Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl<W: Write> Container<W> {
    pub(crate) fn new(sink: W) -> Result<Container<W>, TraceError> {
        Container::starting_at(sink, 0)
    }

    /// Starts a file whose messages are numbered from `sequence` on.
    pub(crate) fn starting_at(sink: W, sequence: u32) -> Result<Container<W>, TraceError> {
        let written = Arc::<AtomicU64>::default();
        let sink = Counted {
            sink,
            written: Arc::clone(&written),
        };
        let mut mcap = WriteOptions::new()
            .profile(PROFILE)
            .library(LIBRARY)
            .compression(Some(Compression::Zstd))
            .compression_level(1)
            // The default, a thread per core, would disturb the measured program.
            .compression_threads(0)
            .chunk_size(Some(CHUNK_SIZE))
            .emit_message_indexes(false)
            .disable_seeking(true)
            .create(NoSeek::new(sink))
            .map_err(TraceError::from_writer)?;
        for topic in Topic::ALL {
            let spec = topic.spec();
            let schema = mcap
                .add_schema(
                    spec.schema_name,
                    spec.schema_encoding,
                    spec.schema.as_bytes(),
                )
                .map_err(TraceError::from_writer)?;
            mcap.add_channel_with_id(
                spec.id,
                schema,
                spec.name,
                spec.message_encoding,
                &BTreeMap::new(),
            )
            .map_err(TraceError::from_writer)?;
        }
        Ok(Container {
            mcap,
            written,
            bytes: 0,
            control: 0,
            sequence,
            flushed: sequence,
        })
    }

    /// Declares a channel that this version does not support. Returns its id in this file.
    pub(crate) fn other_channel(
        &mut self,
        name: &str,
        message_encoding: &str,
    ) -> Result<u16, TraceError> {
        self.mcap
            .add_channel(0, name, message_encoding, &BTreeMap::new())
            .map_err(TraceError::from_writer)
    }

    pub(crate) fn message(
        &mut self,
        channel_id: u16,
        time: Timestamp,
        data: &[u8],
    ) -> Result<(), TraceError> {
        if data.len() > MESSAGE_LIMIT {
            return Err(TraceError::too_long(data.len()));
        }
        let header = MessageHeader {
            channel_id,
            sequence: self.sequence,
            log_time: time.as_nanos(),
            publish_time: time.as_nanos(),
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.mcap
            .write_to_known_channel(&header, data)
            .map_err(TraceError::from_writer)?;
        self.bytes += data.len() as u64;
        if channel_id == Topic::Control.spec().id {
            self.control += data.len() as u64;
        }
        // The open chunk is not in the sink yet.
        match self.missing() > 2 * CHUNK_SIZE / MESSAGES_RATIO {
            true => self.pad(),
            false => Ok(()),
        }
    }

    /// Returns the number of padding bytes that the file lacks, so that readers accept its messages. Readers accept
    /// some bytes of control records in a file of any length. Half of this allowance is reserved for the open chunk.
    fn missing(&self) -> u64 {
        let control = self.control.saturating_sub(CONTROL_FREE / 2) / CONTROL_RATIO;
        let needed = control.max(self.bytes / MESSAGES_RATIO);
        needed.saturating_sub(self.written.load(Relaxed))
    }

    /// Closes the open chunk, and pads a file that compresses too well: readers limit the messages by the length of the file.
    fn pad(&mut self) -> Result<(), TraceError> {
        self.mcap.flush().map_err(TraceError::from_writer)?;
        let padding = vec![0; usize::try_from(self.missing()).unwrap_or(0)];
        if padding.is_empty() {
            return Ok(());
        }
        self.mcap
            .write_private_record(PADDING, &padding, Default::default())
            .map_err(TraceError::from_writer)
    }

    pub(crate) fn flush(&mut self) -> Result<(), TraceError> {
        self.mcap.flush().map_err(TraceError::from_writer)?;
        self.flushed = self.sequence;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<W, TraceError> {
        self.mcap.finish().map_err(TraceError::from_writer)?;
        let mut sink = self.mcap.into_inner().into_inner().sink;
        sink.flush().map_err(TraceError::Write)?;
        Ok(sink)
    }
}
