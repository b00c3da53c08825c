//! The constants of the trace format (docs/FORMAT.md, "Versions", "Container", "Channels").

/// The version of the trace format that this crate writes, and the highest version that it reads.
pub const FORMAT: u32 = 1;

/// The field `profile` in the MCAP header of a trace.
pub(crate) const PROFILE: &str = "x11prof";

/// The field `library` in the MCAP header of a trace.
pub(crate) const LIBRARY: &str = concat!("x11prof/", env!("CARGO_PKG_VERSION"));

/// The field `compression` in every MCAP chunk of a trace.
pub(crate) const COMPRESSION: &str = "zstd";

/// The number of uncompressed bytes after which a chunk is closed.
pub(crate) const CHUNK_SIZE: u64 = 1 << 20;

/// The maximum length of a message in bytes.
pub(crate) const MESSAGE_LIMIT: usize = 16 << 20;

/// The maximum length of a control record in bytes. Only `started` may be longer.
pub(crate) const CONTROL_LIMIT: usize = 1 << 20;

/// The number of bytes of control records that are allowed in a file of any length.
pub(crate) const CONTROL_FREE: u64 = 4 << 20;

/// The maximum number of bytes of control records for each byte of the file, because readers keep these records in
/// memory. Real stacks and names compress by a factor of fifteen.
pub(crate) const CONTROL_RATIO: u64 = 64;

/// The number of bytes of messages that are allowed in a file of any length. The writer pads the file only after a full
/// chunk and the longest message.
pub(crate) const MESSAGES_FREE: u64 = 20 << 20;

/// The maximum number of bytes of messages for each byte of the file. The time and the memory of an analysis grow with
/// the messages, and a few bytes could contain any number of equal messages. In nine of ten recordings the ratio is 3
/// to 16; in recordings of terminals that scroll it is 40.
pub(crate) const MESSAGES_RATIO: u64 = 16;

/// The opcode of the MCAP records that pad a file up to `MESSAGES_RATIO`. Readers skip all opcodes of this range.
pub(crate) const PADDING: u8 = 0x80;

/// The maximum length of a chunk or other MCAP record in bytes: an almost full chunk plus the longest message.
pub(crate) const RECORD_LIMIT: usize = 32 << 20;

/// A channel of the trace format, for one kind of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    ToServer,
    ToClient,
    Control,
    Schedule,
    HandlerTimes,
}

/// The contents of an MCAP channel record and of its schema record.
pub(crate) struct ChannelSpec {
    pub(crate) id: u16,
    pub(crate) name: &'static str,
    pub(crate) message_encoding: &'static str,
    pub(crate) schema_name: &'static str,
    pub(crate) schema_encoding: &'static str,
    pub(crate) schema: &'static str,
}

impl Topic {
    pub(crate) const ALL: [Topic; 5] = [
        Topic::ToServer,
        Topic::ToClient,
        Topic::Control,
        Topic::Schedule,
        Topic::HandlerTimes,
    ];

    /// The topic of the channel with this name; `None` for channels that this version does not support.
    pub(crate) fn from_name(name: &str) -> Option<Topic> {
        Topic::ALL
            .into_iter()
            .find(|topic| topic.spec().name == name)
    }

    pub(crate) const fn spec(self) -> ChannelSpec {
        match self {
            Topic::ToServer => ChannelSpec {
                id: 1,
                name: "to-server",
                message_encoding: "x11prof-block",
                schema_name: "x11prof.Block",
                schema_encoding: "",
                schema: "",
            },
            Topic::ToClient => ChannelSpec {
                id: 2,
                name: "to-client",
                message_encoding: "x11prof-block",
                schema_name: "x11prof.Block",
                schema_encoding: "",
                schema: "",
            },
            Topic::Control => ChannelSpec {
                id: 3,
                name: "control",
                message_encoding: "json",
                schema_name: "x11prof.Control",
                schema_encoding: "jsonschema",
                schema: r#"{"type":"object","properties":{"kind":{"type":"string"}},"required":["kind"]}"#,
            },
            Topic::Schedule => ChannelSpec {
                id: 4,
                name: "schedule",
                message_encoding: "x11prof-schedule",
                schema_name: "x11prof.Schedule",
                schema_encoding: "",
                schema: "",
            },
            Topic::HandlerTimes => ChannelSpec {
                id: 5,
                name: "handler-times",
                message_encoding: "x11prof-handler-times",
                schema_name: "x11prof.HandlerTimes",
                schema_encoding: "",
                schema: "",
            },
        }
    }
}
