//! A trace in the processed profile format of the Firefox Profiler (profiler.firefox.com).
//!
//! samply's crate writes the format. A profile is one JSON object and remains in memory until the end, so its size is
//! limited.

mod markers;
mod stacks;

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use fxprof_processed_profile::{
    MarkerHandle, MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, ThreadHandle,
    Timestamp as ProfileTime,
};
use x11prof_analyzer::{
    ClientSample, Episode, EpisodeChild, Observation, StackNames, component_name,
};
use x11prof_trace::{ConnectionId, Timestamp};

use crate::EscapedJson;

use super::timeline::{SentRequest, Timeline, TimelineEntry, named_mark};
use markers::{Kind, Kinds, Marked};
use stacks::Stacks;

/// Maximum number of clients with a thread.
const CLIENTS_LIMIT: usize = 1000;
/// The maximum number of requests and events in the profile. Each takes about 150 bytes of JSON.
const MESSAGES_LIMIT: usize = 500_000;
/// The maximum number of round trips and server runs in the profile.
const STRETCHES_LIMIT: usize = 500_000;

/// Collects a trace as a profile for the Firefox Profiler.
pub struct Firefox {
    timeline: Timeline,
    contents: Contents,
}

struct Contents {
    profile: Profile,
    kinds: Kinds,
    /// The beginning of the trace.
    start: Option<Timestamp>,
    /// The threads of the clients.
    clients: HashMap<ConnectionId, ThreadHandle>,
    server: Option<ThreadHandle>,
    stacks: Stacks,
    messages: usize,
    stretches: usize,
    left_out: u64,
}

impl Default for Firefox {
    fn default() -> Firefox {
        Firefox::new()
    }
}

impl Firefox {
    /// Creates an empty Firefox profile.
    pub fn new() -> Firefox {
        let epoch = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
        // The interval determines the highest zoom level of the Firefox Profiler.
        let interval = SamplingInterval::from_nanos(1000);
        let mut profile = Profile::new("x11prof", epoch, interval);
        let kinds = Kinds::new(&mut profile);
        Firefox {
            timeline: Timeline::default(),
            contents: Contents {
                profile,
                kinds,
                start: None,
                clients: HashMap::new(),
                server: None,
                stacks: Stacks::default(),
                messages: 0,
                stretches: 0,
                left_out: 0,
            },
        }
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        let Firefox { timeline, contents } = self;
        timeline.observe(observation, &mut |entry| contents.entry(entry));
        if contents.start.is_none() {
            contents.start = timeline.summary().first();
        }
    }

    /// Adds the remaining entries, the episodes, and the CPU samples with the names of their stacks. Writes the profile
    /// to `out`. Returns the number of omitted entries.
    pub fn end(
        mut self,
        episodes: &[&Episode],
        (samples, names): (impl Iterator<Item = ClientSample>, &StackNames),
        out: &mut dyn io::Write,
    ) -> io::Result<u64> {
        let Firefox { timeline, contents } = &mut self;
        timeline.end(&mut |entry| contents.entry(entry));
        for episode in episodes {
            contents.episode(episode);
        }
        for sample in samples {
            contents.sample(&sample);
        }
        std::mem::take(&mut contents.stacks).write(&mut contents.profile, names);
        if let Some(started) = timeline.summary().started() {
            let epoch = Duration::from_nanos(started.wall_clock_ns);
            let epoch = ReferenceTimestamp::from_duration_since_unix_epoch(epoch);
            contents.profile.set_reference_timestamp(epoch);
        }
        serde_json::to_writer(EscapedJson::plain(out), &contents.profile)
            .map_err(io::Error::from)?;
        Ok(contents.left_out)
    }
}

impl Contents {
    fn time(&self, time: Timestamp) -> ProfileTime {
        let start = self.start.unwrap_or(time);
        ProfileTime::from_nanos_since_reference(time.as_nanos().saturating_sub(start.as_nanos()))
    }

    fn stretch(&self, from: Timestamp, to: Timestamp) -> MarkerTiming {
        MarkerTiming::Interval(self.time(from), self.time(to))
    }

    fn instant(&self, at: Timestamp) -> MarkerTiming {
        MarkerTiming::Instant(self.time(at))
    }

    fn entry(&mut self, entry: TimelineEntry) {
        match entry {
            TimelineEntry::Client(id, name) => self.client(id, &name),
            TimelineEntry::Request(request, client) => {
                let numbers = [request.bytes, request.sequence, 0];
                let (timing, kind) = (self.instant(request.at), self.kinds.request);
                let marker = self.message(client, timing, kind, (request.name.as_str(), numbers));
                self.stack(client, marker, &request);
            }
            TimelineEntry::Event {
                client,
                at,
                name,
                bytes,
                ..
            } => {
                let (timing, kind) = (self.instant(at), self.kinds.event);
                self.message(client, timing, kind, (name.as_str(), [bytes, 0, 0]));
            }
            TimelineEntry::RoundTrip {
                client,
                request,
                answered,
                received,
                error,
                ..
            } => {
                let Some(thread) = self.room_for_stretch(client) else {
                    return;
                };
                let timing = self.stretch(request.at, answered);
                let answer = error.map_or("reply", |error| error.as_str());
                let numbers = [request.bytes, request.sequence, received];
                let kind = self.kinds.round_trip;
                let what = (request.name.as_str(), numbers);
                let marker = self.mark(thread, timing, kind, what, answer);
                self.stack(client, Some(marker), &request);
            }
            TimelineEntry::Mark(at, text) => {
                let (thread, kind) = (self.server(), self.kinds.mark);
                let timing = self.instant(at);
                self.mark(thread, timing, kind, (named_mark(&text), [0; 3]), "");
            }
            TimelineEntry::Run(from, to) => {
                if self.stretches == STRETCHES_LIMIT {
                    self.left_out += 1;
                    return;
                }
                self.stretches += 1;
                let (thread, kind) = (self.server(), self.kinds.run);
                let timing = self.stretch(from, to.max(from));
                self.mark(thread, timing, kind, ("runs", [0; 3]), "");
            }
            // The profiler would show these bytes as network traffic, and print carbon dioxide emissions for them.
            TimelineEntry::Count(..) => {}
        }
    }

    fn client(&mut self, id: ConnectionId, name: &str) {
        if self.clients.contains_key(&id) || self.clients.len() == CLIENTS_LIMIT {
            return;
        }
        let begin = ProfileTime::from_nanos_since_reference(0);
        let process = self.profile.add_process(name, id.0, begin);
        let thread = self.profile.add_thread(process, id.0, begin, true);
        self.profile.set_thread_name(thread, name);
        self.profile.add_initial_visible_thread(thread);
        self.clients.insert(id, thread);
    }

    fn server(&mut self) -> ThreadHandle {
        let profile = &mut self.profile;
        *self.server.get_or_insert_with(|| {
            let begin = ProfileTime::from_nanos_since_reference(0);
            let process = profile.add_process("X server", 0, begin);
            let thread = profile.add_thread(process, 0, begin, true);
            profile.set_thread_name(thread, "X server");
            profile.add_initial_visible_thread(thread);
            thread
        })
    }

    fn message(
        &mut self,
        client: ConnectionId,
        timing: MarkerTiming,
        kind: Kind,
        what: (&str, [u64; 3]),
    ) -> Option<MarkerHandle> {
        match self.clients.get(&client).copied() {
            Some(thread) if self.messages < MESSAGES_LIMIT => {
                self.messages += 1;
                Some(self.mark(thread, timing, kind, what, ""))
            }
            _ => {
                self.left_out += 1;
                None
            }
        }
    }

    /// Sets the call stack of the marker for the request `of`, if the stack of the request was recorded.
    fn stack(&mut self, client: ConnectionId, marker: Option<MarkerHandle>, of: &SentRequest) {
        let thread = self.clients.get(&client).copied();
        if let (Some(thread), Some(marker), Some(stack)) = (thread, marker, of.stack) {
            let at = self.time(of.at);
            self.stacks.request(thread, marker, at, stack);
        }
    }

    fn sample(&mut self, sample: &ClientSample) {
        if let Some(thread) = self.clients.get(&sample.client).copied() {
            let at = self.time(sample.at);
            self.stacks.run(thread, at, sample.stack, sample.nanos);
        }
    }

    /// Returns the client's thread if another round trip or server run is within the limit.
    fn room_for_stretch(&mut self, client: ConnectionId) -> Option<ThreadHandle> {
        let thread = self.clients.get(&client).copied();
        match thread.filter(|_| self.stretches < STRETCHES_LIMIT) {
            Some(_) => self.stretches += 1,
            None => {
                self.left_out += 1;
                return None;
            }
        }
        thread
    }

    fn mark(
        &mut self,
        thread: ThreadHandle,
        timing: MarkerTiming,
        kind: Kind,
        (name, numbers): (&str, [u64; 3]),
        text: &str,
    ) -> MarkerHandle {
        let text = self.profile.intern_string(text);
        let marked = Marked {
            kind,
            name,
            numbers,
            text,
        };
        self.profile.add_marker(thread, timing, marked)
    }

    fn episode(&mut self, episode: &Episode) {
        let Some(thread) = self.clients.get(&episode.client).copied() else {
            self.left_out += 1;
            return;
        };
        let timing = self.stretch(episode.start, episode.end());
        let numbers = [episode.bytes, episode.requests, episode.round_trips];
        let what = (episode.landmark.as_str(), numbers);
        let culprit = component_name(episode.parts.culprit());
        self.mark(thread, timing, self.kinds.episode, what, culprit);
        self.children(thread, &episode.children);
    }

    fn children(&mut self, thread: ThreadHandle, children: &[EpisodeChild]) {
        // Spans of other clients are in their own threads.
        for child in children.iter().filter(|child| child.client.is_none()) {
            let end = child.start.as_nanos().saturating_add(child.latency);
            let timing = self.stretch(child.start, Timestamp::from_nanos(end));
            let what = (child.landmark.as_str(), [0; 3]);
            self.mark(thread, timing, self.kinds.child, what, "");
            self.children(thread, &child.children);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Firefox;
    use x11prof_analyzer::testing::{Synthetic, expose, get_input_focus, no_operation, reply};
    use x11prof_analyzer::{Pipeline, StackNames};

    #[test]
    fn client_is_a_thread_with_markers() {
        let mut trace = Synthetic::new();
        trace
            .client_sends(&[get_input_focus(), no_operation(1)])
            .wait(10)
            .server_sends(&[reply(1), expose(2)])
            .end();
        let (mut firefox, mut pipeline) = (Firefox::new(), Pipeline::new());
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            firefox.observe(observation)
        });
        let mut file = Vec::new();
        let none = (std::iter::empty(), &StackNames::default());
        assert_eq!(firefox.end(&[], none, &mut file).unwrap(), 0);
        let profile: Value = serde_json::from_slice(&file).unwrap();
        let thread = &profile["threads"][0];
        let markers = &thread["markers"];
        let strings = thread["stringArray"]
            .as_array()
            .or_else(|| profile["shared"]["stringArray"].as_array())
            .unwrap();
        let names: Vec<&str> = markers["name"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| strings[name.as_u64().unwrap() as usize].as_str().unwrap())
            .collect();
        assert_eq!(names, ["NoOperation", "GetInputFocus", "Expose"]);
        assert_eq!(markers["data"][1]["type"], "X11RoundTrip");
        assert_eq!(markers["data"][1]["received"], 32.0);
        let took =
            markers["endTime"][1].as_f64().unwrap() - markers["startTime"][1].as_f64().unwrap();
        assert!((took - 0.01).abs() < 1e-6, "{took} ms");
    }
}
