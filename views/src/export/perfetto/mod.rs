//! A trace as native track events for Perfetto (ui.perfetto.dev).
//!
//! The format is defined in github.com/google/perfetto (protos/perfetto/trace/perfetto_trace.proto) and
//! perfetto.dev/docs/reference/synthetic-track-event. Packets are written in the order in which they are complete,
//! because Perfetto sorts them by time.

mod names;
mod proto;
mod tracks;

use std::collections::{HashMap, HashSet};
use std::io;

use prost::Message;
use x11prof_analyzer::{Episode, EpisodeChild, Observation, component_name};
use x11prof_trace::{ConnectionId, Timestamp};

use super::timeline::{Lanes, SentRequest, Timeline, TimelineEntry, named_mark};
use crate::plain;
use names::Names;
use proto::{
    DebugAnnotation, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE, Trace, TracePacket,
    TrackEvent, Type,
};
use tracks::Track;

/// The id of the packet sequence to which all packets belong.
const SEQUENCE: u32 = 1;
/// The maximum number of tracks that are known to be described in the file. Above this limit, all tracks are described
/// again.
const TRACKS_LIMIT: usize = 1 << 16;

/// Writes a trace as Perfetto packets.
#[derive(Default)]
pub struct Perfetto {
    timeline: Timeline,
    packets: Packets,
}

impl Perfetto {
    /// Creates an export that has written nothing.
    pub fn new() -> Perfetto {
        Perfetto::default()
    }

    /// Writes the entries that the next observation completes to `out`.
    pub fn observe(
        &mut self,
        observation: &Observation<'_>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let Perfetto { timeline, packets } = self;
        timeline.observe(observation, &mut |entry| packets.entry(entry));
        packets.write(out)
    }

    /// Writes the remaining entries and the episodes to `out`.
    pub fn end(mut self, episodes: &[&Episode], out: &mut dyn io::Write) -> io::Result<()> {
        let Perfetto { timeline, packets } = &mut self;
        timeline.end(&mut |entry| packets.entry(entry));
        packets.write(out)?;
        let mut lanes: HashMap<ConnectionId, Lanes> = HashMap::new();
        packets.flows = flows(episodes);
        for episode in episodes {
            let lanes = lanes.entry(episode.client).or_default();
            let lane = lanes.take(episode.start);
            lanes.free(lane, episode.end());
            let name = timeline.summary().client_name(episode.client);
            packets.describe(Track::Client(episode.client), &name);
            packets.episode(Track::Episodes(episode.client, lane), episode);
            packets.write(out)?;
        }
        Ok(())
    }
}

/// The Perfetto packets that have not been written yet.
#[derive(Default)]
struct Packets {
    bytes: Vec<u8>,
    names: Names,
    described: HashSet<Track>,
    begun: bool,
    /// The ids of flows from an episode to an episode that it caused in another client.
    flows: HashSet<u64>,
}

impl Packets {
    fn write(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn entry(&mut self, entry: TimelineEntry) {
        match entry {
            TimelineEntry::Client(client, name) => self.describe(Track::Client(client), &name),
            TimelineEntry::Request(request, client) => {
                let mut event = self.request(Track::Requests(client), &request);
                event.r#type = Some(Type::Instant as i32);
                self.event(request.at, event);
            }
            TimelineEntry::RoundTrip {
                client,
                request,
                lane,
                answered,
                received,
                error,
            } => {
                let track = Track::RoundTrips(client, lane);
                let begin = self.request(track, &request);
                self.event(
                    request.at,
                    TrackEvent {
                        flow_ids: vec![request.number],
                        ..begin
                    },
                );
                self.end_slice(track, answered);
                let name = match error {
                    Some(error) => format!("{error} ({})", request.name),
                    None => format!("reply to {}", request.name),
                };
                let reply = TrackEvent {
                    r#type: Some(Type::Instant as i32),
                    terminating_flow_ids: vec![request.number],
                    ..self.named(Track::FromServer(client), &name, &[("bytes", received)])
                };
                self.event(answered, reply);
            }
            TimelineEntry::Event {
                client,
                at,
                name,
                bytes,
                led_to,
            } => {
                let event = TrackEvent {
                    r#type: Some(Type::Instant as i32),
                    flow_ids: led_to.into_iter().collect(),
                    ..self.named(
                        Track::FromServer(client),
                        name.as_str(),
                        &[("bytes", bytes)],
                    )
                };
                self.event(at, event);
            }
            TimelineEntry::Mark(at, text) => {
                let mark = TrackEvent {
                    r#type: Some(Type::Instant as i32),
                    ..self.named(Track::Marks, named_mark(&text), &[])
                };
                self.event(at, mark);
            }
            TimelineEntry::Run(from, to) => {
                let run = self.named(Track::Runs, "runs", &[]);
                self.event(from, run);
                self.end_slice(Track::Runs, to.max(from));
            }
            TimelineEntry::Count(counted, at, value) => {
                let track = Track::Count(counted);
                self.describe(track, "");
                let count = TrackEvent {
                    r#type: Some(Type::Counter as i32),
                    track_uuid: Some(track.uuid()),
                    counter_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
                    ..TrackEvent::default()
                };
                self.event(at, count);
            }
        }
    }

    fn episode(&mut self, track: Track, episode: &Episode) {
        let counts = [
            ("requests", episode.requests),
            ("round trips", episode.round_trips),
            ("bytes", episode.bytes),
            ("events", episode.events),
        ];
        let mut begin = self.named(track, episode.landmark.as_str(), &counts);
        begin.debug_annotations.push(DebugAnnotation {
            name_iid: Some(self.names.argument("most of it")),
            string_value: Some(component_name(episode.parts.culprit()).to_owned()),
            ..DebugAnnotation::default()
        });
        // The flow leads from the cause to the effect in another client. Each client has a separate track.
        let led_to = made(episode).filter(|flow| self.flows.contains(flow));
        begin.flow_ids.extend(led_to);
        let own = flow(episode.client, episode.start);
        begin
            .terminating_flow_ids
            .extend(self.flows.contains(&own).then_some(own));
        self.event(episode.start, begin);
        self.children(track, (episode.start, episode.end()), &episode.children);
        self.end_slice(track, episode.end());
    }

    /// Writes the nested episodes `children` as slices. Each slice is limited to the remaining part of its parent,
    /// because slices of a track must nest.
    fn children(
        &mut self,
        track: Track,
        (mut from, to): (Timestamp, Timestamp),
        children: &[EpisodeChild],
    ) {
        for child in children.iter().filter(|child| child.client.is_none()) {
            let end = child.start.as_nanos().saturating_add(child.latency);
            let start = child.start.clamp(from, to);
            let end = Timestamp::from_nanos(end).clamp(start, to);
            let begin = self.named(track, child.landmark.as_str(), &[]);
            self.event(start, begin);
            self.children(track, (start, end), &child.children);
            self.end_slice(track, end);
            from = end;
        }
    }

    fn request(&mut self, track: Track, request: &SentRequest) -> TrackEvent {
        let counts = [("sequence", request.sequence), ("bytes", request.bytes)];
        TrackEvent {
            terminating_flow_ids: request.responds_to.into_iter().collect(),
            ..self.named(track, request.name.as_str(), &counts)
        }
    }

    /// Creates the event that begins a slice called `name`, with `counts` as arguments.
    fn named(&mut self, track: Track, name: &str, counts: &[(&str, u64)]) -> TrackEvent {
        let name = &*plain(name);
        self.describe(track, "");
        let arguments = counts.iter().map(|(name, value)| DebugAnnotation {
            name_iid: Some(self.names.argument(name)),
            uint_value: Some(*value),
            ..DebugAnnotation::default()
        });
        let debug_annotations = arguments.collect();
        let interned = self.names.event(name);
        TrackEvent {
            debug_annotations,
            r#type: Some(Type::SliceBegin as i32),
            name_iid: interned,
            name: interned.is_none().then(|| name.to_owned()),
            track_uuid: Some(track.uuid()),
            ..TrackEvent::default()
        }
    }

    fn end_slice(&mut self, track: Track, at: Timestamp) {
        let end = TrackEvent {
            r#type: Some(Type::SliceEnd as i32),
            track_uuid: Some(track.uuid()),
            ..TrackEvent::default()
        };
        self.event(at, end);
    }

    /// Describes a track and its parent before their first use. `name` is the client's name.
    fn describe(&mut self, track: Track, name: &str) {
        if self.described.contains(&track) {
            return;
        }
        if let Some(parent) = track.within()
            && parent == Track::Server
        {
            self.describe(parent, "");
        }
        if self.described.len() >= TRACKS_LIMIT {
            self.described.clear();
        }
        self.described.insert(track);
        self.packet(TracePacket {
            track_descriptor: Some(track.descriptor(&plain(name))),
            ..TracePacket::default()
        });
    }

    fn event(&mut self, at: Timestamp, event: TrackEvent) {
        self.packet(TracePacket {
            timestamp: Some(at.as_nanos()),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn packet(&mut self, packet: TracePacket) {
        let flags = match std::mem::replace(&mut self.begun, true) {
            true => NEEDS_INCREMENTAL_STATE,
            false => INCREMENTAL_STATE_CLEARED | NEEDS_INCREMENTAL_STATE,
        };
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(flags),
            interned_data: self.names.take_new(),
            ..packet
        };
        // Concatenated files are a valid file, so each packet is encoded as a file.
        let file = Trace {
            packet: vec![packet],
        };
        // Only a buffer that cannot grow can be too short.
        let _ = file.encode(&mut self.bytes);
    }
}

/// Returns the ids of the flows from an episode to the episodes of other clients that it caused.
fn made(episode: &Episode) -> impl Iterator<Item = u64> {
    let children = episode.children.iter();
    children.filter_map(|child| Some(flow(child.client?, child.start)))
}

/// Returns the ids of the flows whose two ends are in `episodes`.
fn flows(episodes: &[&Episode]) -> HashSet<u64> {
    let begun: HashSet<u64> = episodes.iter().flat_map(|one| made(one)).collect();
    let led_to = episodes.iter().filter(|one| one.is_led_to());
    let ended = led_to.map(|one| flow(one.client, one.start));
    ended.filter(|flow| begun.contains(flow)).collect()
}

/// Returns the id of the flow to the episode of `client` that begins at `start`. The ids of flows between messages
/// count from 1.
fn flow(client: ConnectionId, start: Timestamp) -> u64 {
    1 << 63 | (u64::from(client.0) << 48 ^ start.as_nanos())
}

#[cfg(test)]
mod tests;
