//! The messages of `perfetto_trace.proto` that the export writes, with the field numbers of that file.

/// perfetto.protos.Trace: a file. The encoding of a file with one packet can be appended to another file.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<TracePacket>,
}

/// perfetto.protos.TracePacket: an entry of the file.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TracePacket {
    /// The time of the packet in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

/// TracePacket.SequenceFlags: no strings are interned before this packet.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// TracePacket.SequenceFlags: the packet uses names that earlier packets interned.
pub(super) const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// perfetto.protos.TrackEvent: the beginning or end of a slice, an instant, or a value of a counter.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

/// perfetto.protos.TrackEvent.Type: the kind of a track event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// The message `perfetto.protos.DebugAnnotation`: an argument of a slice.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
}

/// perfetto.protos.InternedData: names that later packets refer to by number.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Interned>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<Interned>,
}

/// perfetto.protos.EventName and DebugAnnotationName: an interned name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Interned {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

/// perfetto.protos.TrackDescriptor: the description of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    /// TrackDescriptor.ChildTracksOrdering: the order of the tracks inside this track.
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
}

/// TrackDescriptor.ChildTracksOrdering: tracks are ordered by `sibling_order_rank`.
pub(super) const EXPLICIT: i32 = 3;

/// perfetto.protos.CounterDescriptor: the description of a counter's track.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct CounterDescriptor {
    /// CounterDescriptor.Unit: the unit of the counter.
    #[prost(int32, optional, tag = "3")]
    pub(super) unit: Option<i32>,
}

/// CounterDescriptor.Unit: the counter is a number.
pub(super) const UNIT_COUNT: i32 = 2;
/// CounterDescriptor.Unit: the counter is a number of bytes.
pub(super) const UNIT_SIZE_BYTES: i32 = 3;
