//! Errors while reading and writing a trace. Callers prepend the file's name.

use std::io;

use mcap::McapError;

use crate::format::{COMPRESSION, FORMAT, MESSAGE_LIMIT};

/// The reason why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file is empty.
    #[error("the file is empty, not an x11prof trace")]
    Empty,
    /// The file is not an MCAP file.
    #[error("not an x11prof trace (x11prof record makes one)")]
    NotATrace,
    /// The MCAP file belongs to another program.
    #[error("an MCAP file, but not an x11prof trace: its profile is {profile:?}")]
    OtherProfile {
        /// The profile in the header of the file.
        profile: String,
    },
    /// The file ends before the first record.
    #[error("nothing was recorded: the trace is cut off before its first record")]
    NoRecords,
    /// The trace has a later version of the format.
    #[error(
        "the trace has format version {found}, this x11prof reads up to {FORMAT}: \
         take the x11prof that recorded it, or a newer one"
    )]
    NewerFormat {
        /// The version of the trace's format.
        found: u32,
    },
    /// The bytes of the file were changed after the recording.
    #[error(
        "the trace is damaged before byte {position}: {what} \
         (x11prof recover copies what precedes the damage)"
    )]
    Damaged {
        /// The number of bytes that were read before the damage was found.
        position: u64,
        /// A description of the damage.
        what: String,
    },
    /// A record cannot be represented in the format.
    #[error("a record cannot be written to the trace: {what}")]
    Unwritable {
        /// The reason why the record cannot be written, as text.
        what: String,
    },
    /// The source of the trace could not be read.
    #[error("the trace cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The trace could not be written to its sink.
    #[error("the trace cannot be written: {0}")]
    Write(#[source] io::Error),
}

impl TraceError {
    /// Converts an error of the MCAP writer to a trace error.
    pub(crate) fn from_writer(error: McapError) -> TraceError {
        match error {
            McapError::Io(error) => TraceError::Write(error),
            error => TraceError::Write(io::Error::other(error)),
        }
    }

    pub(crate) fn too_long(len: usize) -> TraceError {
        TraceError::unwritable(format!(
            "it has {len} bytes, and the longest may have {MESSAGE_LIMIT}"
        ))
    }

    pub(crate) fn unwritable(what: impl Into<String>) -> TraceError {
        TraceError::Unwritable { what: what.into() }
    }
}

/// A description of an error of the MCAP reader.
pub(crate) fn damage(error: &McapError) -> String {
    match error {
        McapError::BadChunkCrc { .. } => "the checksum of a chunk does not match".to_owned(),
        McapError::BadDataCrc { .. } | McapError::BadSummaryCrc { .. } => {
            "the checksum of the file does not match".to_owned()
        }
        McapError::DecompressionError(what) => format!("a chunk cannot be decompressed ({what})"),
        McapError::UnsupportedCompression(name) => {
            format!("the compression of a chunk is {name:?}, not {COMPRESSION:?}")
        }
        McapError::ChunkTooLarge(_) | McapError::RecordTooLarge { .. } => {
            "a record claims to be longer than any is".to_owned()
        }
        McapError::UnexpectedEof => "a length leads past the end of the file".to_owned(),
        McapError::UnexpectedEoc | McapError::BadChunkLength { .. } => {
            "lengths in a chunk contradict each other".to_owned()
        }
        error => error.to_string().to_lowercase(),
    }
}
