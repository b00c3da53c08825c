//! An episode as a row of a table: its landmark, times and components. The row contains no title, and no key that
//! writes text.

use serde::{Deserialize, Serialize};
use x11prof_analyzer::{Blamed, Episode, LatencyBreakdown, Thresholds, component_name};
use x11prof_protocol::Chord;
use x11prof_trace::{ConnectionId, Timestamp};

/// The number of parts into which a latency is divided.
pub(crate) const PARTS: usize = LatencyBreakdown::OWNERS.len();

/// The names of the columns for the parts of a latency, in the order of [`LatencyBreakdown::OWNERS`].
pub const PART_NAMES: [&str; PARTS] = [
    "waiting_ns",
    "client_ns",
    "processor_ns",
    "sleeping_ns",
    "lock_ns",
    "file_ns",
    "poll_ns",
    "elsewhere_ns",
    "reply_ns",
    "grabbed_ns",
    "drawing_ns",
    "server_processor_ns",
    "network_ns",
    "other_clients_ns",
    "awaited_ns",
];

/// An episode as a row of a table. Texts have the type `T`, and times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EpisodeRow<T = String> {
    /// The name of the program whose client handled the episode; `None` if unknown.
    pub program: Option<T>,
    /// The number of the connection of the client that handled the episode.
    pub client: u32,
    /// The kind of action, and the class of the window in which it occurred. A key that writes no text is named, such as
    /// `Ctrl+S in Notes`. A slow release of a key or button has the landmark of its press.
    pub landmark: T,
    /// The kind of cause that began the episode: `input`, `output` or `asynchronous`.
    pub trigger: T,
    /// The tree of the episode's intervals as text, without their times.
    pub pattern: T,
    /// The largest cause of the latency: a request's round trips, a wait, or another client. Empty if unknown.
    pub blame: T,
    /// The beginning of the episode, in nanoseconds since the session's first record.
    pub start: u64,
    /// The latency in nanoseconds, up to the end of all episodes that this episode caused.
    pub latency: u64,
    /// The minimum latency of a perceptible episode, in nanoseconds.
    pub threshold: u64,
    /// The parts of the latency in nanoseconds, in the order of `PART_NAMES`. Their sum is the latency. The time of
    /// other clients counts only after the end of this client's own work.
    pub parts: [u64; PARTS],
    /// The number of the client's waits for a reply during the episode.
    pub round_trips: u64,
    /// The number of requests that the client sent during the episode.
    pub requests: u64,
    /// The size in bytes of the requests that the client sent during the episode.
    pub bytes: u64,
    /// The reason why the end of the episode is uncertain; `None` if the end is certain.
    pub unsure: Option<T>,
    /// The name of the request with which another client caused the episode; `None` if no other client caused it.
    pub led_to_by: Option<T>,
    /// The call site of the client's longest wait; `None` unless the recording has stacks. No table contains this
    /// field.
    pub waited_in: Option<T>,
    /// The function in which the client used the most CPU time; `None` unless the recording has samples of running
    /// clients. No table contains this field.
    pub ran_in: Option<T>,
}

impl<T> EpisodeRow<T> {
    /// Returns the row with each text replaced by the result of `text`.
    pub fn map<U>(self, mut text: impl FnMut(T) -> U) -> EpisodeRow<U> {
        EpisodeRow {
            program: self.program.map(&mut text),
            client: self.client,
            landmark: text(self.landmark),
            trigger: text(self.trigger),
            pattern: text(self.pattern),
            blame: text(self.blame),
            start: self.start,
            latency: self.latency,
            threshold: self.threshold,
            parts: self.parts,
            round_trips: self.round_trips,
            requests: self.requests,
            bytes: self.bytes,
            unsure: self.unsure.map(&mut text),
            led_to_by: self.led_to_by.map(&mut text),
            waited_in: self.waited_in.map(&mut text),
            ran_in: self.ran_in.map(&mut text),
        }
    }
}

impl EpisodeRow {
    /// Converts an episode of `program` to a row. `first` is the time of the session's first record; `name` returns the
    /// name of a client.
    pub(crate) fn of<'a>(
        episode: &Episode,
        program: Option<&str>,
        name: impl Fn(ConnectionId) -> Option<&'a str>,
        first: Timestamp,
        thresholds: &Thresholds,
        names_all_keys: bool,
    ) -> EpisodeRow {
        let threshold = thresholds.of(episode.trigger, episode.landmark.as_str());
        let threshold = (threshold * 1e6).round() as u64;
        let latency = episode.latency();
        let mut parts = [0; PARTS];
        for (part, owner) in parts.iter_mut().zip(LatencyBreakdown::OWNERS) {
            *part = episode.parts.of(owner);
        }
        EpisodeRow {
            program: program.map(str::to_owned),
            client: episode.client.0,
            landmark: action(
                episode.group.as_str(),
                episode.landmark.as_str(),
                latency >= threshold,
                names_all_keys,
            ),
            trigger: episode.trigger.name().to_owned(),
            pattern: episode.shape(),
            blame: Blamed::of(episode)
                .map(|blamed| words(&blamed, name))
                .unwrap_or_default(),
            start: episode.start.as_nanos().saturating_sub(first.as_nanos()),
            latency,
            threshold,
            parts,
            round_trips: episode.round_trips,
            requests: episode.requests,
            bytes: episode.bytes,
            unsure: episode.unsure.map(|why| why.why().to_owned()),
            led_to_by: episode.asked().map(|request| request.to_string()),
            waited_in: None,
            ran_in: None,
        }
    }
}

/// What precedes the key in the landmark of a key that writes text.
pub(crate) const TYPING: &str = "Typing ";

/// Returns the action of a group of stimuli, from the landmark of one of them. A slow release of a key or button belongs
/// to the action of its press. A fast one is no further use of the key, so it keeps its own name. A key that writes text
/// is only named with `names_all_keys`, because a table must not contain what a user typed.
fn action(group: &str, landmark: &str, is_slow: bool, names_all_keys: bool) -> String {
    let kinds = [
        ("Buttons released", "Clicks"),
        ("Clicks", "Clicks"),
        ("Keys released", "Typing"),
        ("Typing", "Typing"),
        ("Other keys", "Typing"),
        ("Modifier keys", "Typing"),
    ];
    let kind = kinds.into_iter().find_map(|(name, press)| {
        let window = group.strip_prefix(name)?;
        (is_slow || !name.ends_with("released")).then_some((press, window))
    });
    let Some((press, window)) = kind else {
        return group.to_owned();
    };
    let (_, what) = landmark.split_once(' ').unwrap_or_default();
    let what = what.split_once(" in ").map_or(what, |(what, _)| what);
    match press {
        "Clicks" if what.starts_with("button") && what != "button 1" => {
            format!("Clicks of {what}{window}")
        }
        "Typing" if Chord::is_command(what) => format!("{what}{window}"),
        "Typing" if names_all_keys && !what.is_empty() => format!("{TYPING}{what}{window}"),
        _ => format!("{press}{window}"),
    }
}

/// Returns the blame as text for the tables. Equal causes have equal texts, without connection numbers.
fn words<'a>(blamed: &Blamed, name: impl Fn(ConnectionId) -> Option<&'a str>) -> String {
    let who = name(blamed.client).unwrap_or("another client");
    match (blamed.kind, blamed.request) {
        ("other_client", Some(request)) => format!("waiting for {who} ({request})"),
        ("other_client", None) => format!("waiting for {who}"),
        ("grab", _) => format!("grab by {who}"),
        ("server", Some(request)) => format!("waiting for the server ({request})"),
        ("server", None) => "drawing".to_owned(),
        ("awaited", Some(request)) => format!("waiting for the reply to {request}"),
        ("queue", _) => "an earlier action".to_owned(),
        ("sleep", _) => "sleep or timer".to_owned(),
        ("disk", _) => "waiting for a file".to_owned(),
        (kind, _) => component_name(kind).to_owned(),
    }
}

#[test]
fn slow_release_belongs_to_the_action_of_its_press() {
    let (group, landmark) = (
        "Buttons released in Notes",
        "ButtonRelease button 1 in Notes",
    );
    assert_eq!(action(group, landmark, true, false), "Clicks in Notes");
    assert_eq!(action(group, landmark, false, false), group);
    assert_eq!(
        action("Keys released", "KeyRelease a", true, false),
        "Typing"
    );
    assert_eq!(action("Expose", "Expose", true, true), "Expose");
}

#[test]
fn keys_that_write_no_text_are_named() {
    let typed = |key: &str, all: bool| {
        let landmark = format!("KeyPress {key} in Notes \"a in b\"");
        action("Typing in Notes", &landmark, false, all)
    };
    for key in [
        "Ctrl+S",
        "Alt+Shift+x",
        "Super+1",
        "Return",
        "F5",
        "Delete",
        "Left",
    ] {
        assert_eq!(typed(key, false), format!("{key} in Notes"));
        let landmark = format!("KeyPress {key} in Notes \"a in b\"");
        let other = action("Other keys in Notes", &landmark, false, false);
        assert_eq!(other, typed(key, false));
    }
    for key in [
        "a",
        "A",
        "space",
        "eacute",
        "Shift+a",
        "KP_1",
        "+",
        "keycode 38",
    ] {
        assert_eq!(typed(key, false), "Typing in Notes");
    }
    assert_eq!(typed("a", true), "Typing a in Notes");
    // A table has no sign of capital letters.
    let shift = action(
        "Modifier keys in Notes",
        "KeyPress Shift_L in Notes",
        false,
        false,
    );
    assert_eq!(shift, "Typing in Notes");
    let click = action(
        "Clicks in Notes",
        "ButtonPress button 3 in Notes",
        true,
        false,
    );
    assert_eq!(click, "Clicks of button 3 in Notes");
}

#[test]
fn network_blame_names_no_client() {
    let blamed = Blamed {
        client: ConnectionId(1),
        kind: "network",
        request: None,
    };
    assert_eq!(words(&blamed, |_| Some("xterm")), "network");
    // The request may have no reply.
    let server = Blamed {
        kind: "server",
        request: Some(x11prof_protocol::Symbol::new("OpenFont")),
        ..blamed
    };
    let said = "waiting for the server (OpenFont)";
    assert_eq!(words(&server, |_| Some("xterm")), said);
}
