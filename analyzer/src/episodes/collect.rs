//! Converts the pipeline's observations to timeline events.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Chord, Message, SequenceNumber, Symbol};
use x11prof_session::Session;
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use super::cross_client::causal_keys::{Watched, server_time};
use super::crossings::Crossings;
use super::episode::{Trigger, add_times};
use super::keyboard::Keyboard;
use super::kinds::Kinds;
use super::obstacles::Obstacle;
use super::present;
use super::stimulus::{Detail, Shape, Stimulus};
use super::timeline_event::{Arrival, Delivery, EpisodeLabel, Place, SentRequests, TimelineEvent};
use super::user::definition::EventDefinitions;
use super::user::matching::Matcher;
use super::windows;
use crate::pipeline::open_requests::{OpenRequestChange, OpenStep};
use crate::pipeline::{MessageContext, Observation};
use crate::text::label::Label;

/// Length of an error in bytes (the core protocol, section 1).
const ERROR: u64 = 32;

/// Converts the pipeline's observations to timeline events.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    newest: u64,
    keyboard: Keyboard,
    watched: Watched,
    crossings: Crossings,
    matcher: Matcher,
    delivery: Delivery,
    sent: SentRequests,
    /// The connection and the direction of the current block.
    block: Option<(ConnectionId, Direction)>,
    /// For each client, the nanoseconds that the server's handlers used since the client's last block, by request.
    handled: FxHashMap<ConnectionId, Vec<(Symbol, u64)>>,
    /// The window of the last drawing since a block began, and its name.
    drawn: Option<(u32, Option<String>)>,
}

impl Collector {
    /// Creates a collector that also matches the user-defined events of `definitions`.
    pub(crate) fn new(definitions: EventDefinitions) -> Collector {
        Collector {
            matcher: Matcher::new(definitions),
            ..Collector::default()
        }
    }

    /// Processes an observation, and returns its timeline events with their times in nanoseconds.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) -> Vec<(u64, TimelineEvent)> {
        let (time, timeline_event) = match observation {
            Observation::BlockStart(block) => {
                self.block = Some((block.connection, block.direction));
                self.delivery = Delivery::default();
                self.sent = SentRequests::default();
                self.drawn = None;
                return Vec::new();
            }
            Observation::Message(seen) => {
                self.message(seen);
                return Vec::new();
            }
            Observation::OpenRequest(change) => match self.open_request(change) {
                Some(event) => (change.time.as_nanos(), event),
                None => return Vec::new(),
            },
            Observation::Grabbed(time, by) => (time.as_nanos(), TimelineEvent::Grabbed(*by)),
            Observation::BlockEnd(block, is_unfinished) => {
                let client = block.connection;
                let timeline_event = match block.direction {
                    Direction::ToServer => {
                        let drawn = self.drawn.take().and_then(|(_, name)| name);
                        self.sent.drawn = drawn.map(|window| Label::new(&window));
                        self.sent.is_unfinished = *is_unfinished;
                        TimelineEvent::Sent(client, std::mem::take(&mut self.sent))
                    }
                    Direction::ToClient => {
                        let handled = self.handled.remove(&client).unwrap_or_default();
                        self.delivery.handled_for = handled;
                        TimelineEvent::Delivered(client, std::mem::take(&mut self.delivery))
                    }
                };
                (block.time.as_nanos(), timeline_event)
            }
            Observation::Control(time, control) => match self.control(*time, control) {
                Some(event) => event,
                None => return Vec::new(),
            },
            Observation::Switches(steps) => {
                let steps = steps.iter();
                let events = steps.map(|step| (self.passed(step.time), TimelineEvent::Step(*step)));
                return events.collect();
            }
            Observation::HandledRequest(handled) => {
                let sums = self.handled.entry(handled.connection).or_default();
                add_times(sums, &[(handled.request, handled.nanos as u64)]);
                return Vec::new();
            }
            Observation::Lost(_)
            | Observation::Handled(_)
            | Observation::HandledUnrecorded(..)
            | Observation::ServerRan(_)
            | Observation::Closed { .. }
            | Observation::Started(_)
            | Observation::DeviceGrab { .. } => return Vec::new(),
        };
        vec![(self.passed(time), timeline_event)]
    }

    /// Adds a change of an open request to the block of its own client's messages. Any other change becomes a separate
    /// event.
    fn open_request(&mut self, change: &OpenRequestChange) -> Option<TimelineEvent> {
        let own = self
            .block
            .filter(|(client, _)| *client == change.request.client);
        match (change.step, own) {
            (OpenStep::Opened, Some((_, Direction::ToServer))) => {
                self.sent.opened.push(change.request);
            }
            (OpenStep::Answered, Some((_, Direction::ToClient))) => {
                if let Some(last) = self.delivery.events.last_mut() {
                    last.answers = true;
                }
                self.delivery.answered_requests.push(change.request);
            }
            _ => return Some(TimelineEvent::OpenRequest(*change)),
        }
        None
    }

    /// The latest time of an observation so far, in nanoseconds.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Advances to `time` (nanoseconds), and returns the latest time so far: time never decreases.
    fn passed(&mut self, time: u64) -> u64 {
        self.newest = self.newest.max(time);
        self.newest
    }

    fn control(&mut self, time: Timestamp, control: &Control) -> Option<(u64, TimelineEvent)> {
        let now = time.as_nanos();
        Some(match control {
            Control::Opened(opened) => (
                now,
                TimelineEvent::Opened {
                    client: opened.connection,
                    pid: opened.pid,
                },
            ),
            Control::Moved { connection, pid } => (
                now,
                TimelineEvent::Moved {
                    client: *connection,
                    pid: *pid,
                },
            ),
            Control::Joined(joined) if !joined.setup => {
                (now, TimelineEvent::Joined(joined.connection))
            }
            Control::Closed { connection, .. } => {
                self.crossings.closed(*connection);
                self.handled.remove(connection);
                (now, TimelineEvent::Closed(*connection))
            }
            Control::Capture { pid, capture, .. } => (
                now,
                TimelineEvent::Captured {
                    pid: *pid,
                    switches: capture == "switches",
                },
            ),
            Control::Waiting(waiting) => (
                waiting.since_ns,
                TimelineEvent::Waits {
                    pid: waiting.pid,
                    tid: waiting.tid,
                    since: waiting.since_ns,
                    place: Place::of(waiting),
                    obstacle: Obstacle::of(waiting),
                },
            ),
            _ => {
                // A client may still work when the recording ends.
                self.passed(now);
                return None;
            }
        })
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        self.keyboard.observe(seen);
        if seen.answer.is_some_and(|answer| answer.how.is_round_trip()) {
            self.delivery.round_trips += 1;
            let received = match seen.message {
                Message::Reply(reply) => reply.wire_len,
                _ => ERROR,
            };
            self.delivery.received = self.delivery.received.saturating_add(received);
        }
        match seen.message {
            Message::Request(_) | Message::ClientSetup(_) => {
                self.sent.arrived_at = seen.at_server.as_nanos();
            }
            Message::Reply(_) | Message::Error(_) | Message::ServerSetup(_) => {
                self.delivery.left_at = Some(seen.at_server.as_nanos());
            }
            Message::Event(_) | Message::Malformed(_) => {}
        }
        match seen.message {
            Message::Request(request) => {
                let sent = &mut self.sent;
                let bytes = request.wire_len.saturating_mul(seen.times);
                sent.requests += seen.times;
                sent.bytes = sent.bytes.saturating_add(bytes);
                sent.first.get_or_insert(request.sequence);
                if request.has_reply {
                    sent.questions.push((request.sequence, request.name));
                }
                self.watched
                    .request(seen, request, &mut sent.causal_requests);
                let time = seen.time.as_nanos();
                self.crossings.request(time, seen.connection, request);
                present::request(request, sent);
                sent.tags.add(&self.matcher.request(seen, request));
                let kind = Kinds::of(request.name);
                sent.kinds.add(kind);
                if kind.draws() {
                    let number = request.sequence;
                    let last = SequenceNumber(number.0 + seen.times - 1);
                    sent.drawing.get_or_insert((number, last)).1 = last;
                    sent.hidden = true;
                }
                if windows::shows(seen, request) {
                    sent.draws = true;
                    sent.hidden = false;
                    sent.shows |= windows::is_own(seen);
                    self.drew_on(seen);
                }
            }
            Message::Reply(reply) if reply.last => {
                self.delivery.answered.push(reply.sequence);
                self.delivery.handled = Some(reply.sequence);
            }
            Message::Error(error) => {
                self.delivery.answered.push(error.sequence);
                self.delivery.handled = Some(error.sequence);
            }
            Message::Event(event) => {
                self.delivery.handled = event.sequence.or(self.delivery.handled);
                if let Some(landed) = present::landed(event) {
                    self.delivery.landed.push(landed);
                    self.delivery.landed_at = seen.at_server.as_nanos();
                }
                // The end of the client's own copy: no client waits for its handling.
                if event.name.as_str() == "NoExposure" {
                    return;
                }
                let mut stimulus = Stimulus::of(event);
                let time = seen.time.as_nanos();
                let own = self.crossings.made(time, seen.connection, event.sequence);
                if let Detail::Key(code) = stimulus.detail {
                    stimulus.modifier = self.keyboard.is_modifier(code);
                }
                if own && stimulus.is_crossing() {
                    stimulus.trigger = Trigger::Asynchronous;
                }
                let causal_keys = match event.name.as_str() {
                    // The client caused this event by showing another window over this one.
                    "VisibilityNotify" if own => Vec::new(),
                    _ => self.watched.event(seen.session, event),
                };
                let about = EpisodeLabel {
                    landmark: self.landmark(seen.session, &stimulus),
                    group: self.group(seen.session, &stimulus),
                };
                let tags = self.matcher.event(seen, event, &stimulus, &self.keyboard);
                self.delivery.events.push(Arrival {
                    tags,
                    stimulus,
                    about,
                    causal_keys,
                    millis: server_time(event),
                    answers: false,
                });
            }
            _ => {}
        }
    }

    /// Stores the window that a request drew on. The name is looked up now, because the window may be destroyed later.
    fn drew_on(&mut self, seen: &MessageContext<'_>) {
        if let Some(id) = windows::target(seen)
            && self.drawn.as_ref().is_none_or(|(known, _)| *known != id)
        {
            self.drawn = Some((id, windows::name(seen.session, id)));
        }
    }

    /// Returns the landmark of a stimulus: the trigger, the key or button, and the window.
    fn landmark(&self, session: &Session, stimulus: &Stimulus) -> Label {
        // XInput 2 names crossings like a key.
        let mut text = match stimulus.name.as_str() {
            name @ ("Enter" | "Leave") => format!("{name}Notify"),
            name => name.to_owned(),
        };
        match stimulus.detail {
            Detail::None | Detail::Touch(_) => {}
            Detail::Key(code) => {
                let key = self.keyboard.pressed(code, stimulus.modifiers);
                text.push_str(&format!(" {key}"));
            }
            Detail::Button(button) => text.push_str(&format!(" button {button}")),
            Detail::Atom(atom) => text.push_str(&format!(" {}", session.atom_label(atom))),
        }
        if let Some(window) = stimulus.window.and_then(|id| windows::name(session, id)) {
            text.push_str(" in ");
            text.push_str(&window);
        }
        Label::new(&text)
    }

    /// Returns the group of a stimulus: the kind of action and the class of the window.
    fn group(&self, session: &Session, stimulus: &Stimulus) -> Symbol {
        let action = match (stimulus.shape, stimulus.detail) {
            (Shape::Press, Detail::Key(code)) if self.keyboard.is_modifier(code) => "Modifier keys",
            (Shape::Press, Detail::Key(code)) => {
                let key = self.keyboard.pressed(code, stimulus.modifiers);
                match Chord::is_command(&key) {
                    true => "Other keys",
                    false => "Typing",
                }
            }
            (Shape::Release, Detail::Key(_)) => "Keys released",
            // A step of a wheel (XI2 protocol, "Smooth scrolling": buttons 4 to 7).
            (Shape::Press, Detail::Button(4..=7)) => "Scrolling",
            (Shape::Press, Detail::Button(_)) => "Clicks",
            (Shape::Release, Detail::Button(_)) => "Buttons released",
            (_, Detail::Touch(_)) => "Touches",
            (Shape::Motion, _) => "Pointer moved",
            _ if stimulus.is_crossing() => "Pointer crossings",
            _ => match stimulus.name.as_str() {
                // A grab or the client's own windows caused it.
                "EnterNotify" | "LeaveNotify" | "Enter" | "Leave" => "Crossings without motion",
                name => name,
            },
        };
        let class = stimulus.window.and_then(|id| windows::class(session, id));
        class.map_or_else(
            || Symbol::new(action),
            |class| Symbol::new(&format!("{action} in {class}")),
        )
    }
}
