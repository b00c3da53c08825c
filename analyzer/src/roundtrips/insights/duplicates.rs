//! Finds repeated requests with the same reply, if nothing in between could have changed the reply.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Message, Request, Symbol};
use x11prof_trace::ConnectionId;

use super::{AvoidableTrips, Context, Finding, Groups, Insight, topic};
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::{CompletedRequest, PendingRequest};
use crate::text::units::counted;

/// Maximum number of stored replies of all clients; beyond it, earlier ones are dropped.
const REMEMBERED: usize = 1 << 16;

/// The state that a reply depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    /// The reply is constant for the whole connection.
    Fixed,
    /// The reply depends on the state of this resource: a window, a colormap or a font.
    Resource(u32),
    /// The reply depends on the state of all windows, or of an extension, of this name.
    Whole(Symbol),
}

/// Requests whose reply changes without a request or an event that the client can see: input devices, the focus,
/// pixels, selections, counters and timers. Sources: the protocol, sections on these requests; XI 2, SYNC,
/// MIT-SCREEN-SAVER, Present, DRI2, DRI3, GLX, RECORD and X-Resource, whose replies are about other clients, buffers or
/// time.
const CHANGES_UNSEEN: [&str; 20] = [
    "GetInputFocus",
    "QueryPointer",
    "GetMotionEvents",
    "QueryKeymap",
    "GetSelectionOwner",
    "GetImage",
    "ListHosts",
    "MIT-SHM:GetImage",
    "XInputExtension:XIQueryPointer",
    "XInputExtension:XIGetFocus",
    "XInputExtension:GetDeviceMotionEvents",
    "XInputExtension:QueryDeviceState",
    "SYNC:",
    "MIT-SCREEN-SAVER:",
    "Present:",
    "DRI",
    "GLX:",
    "RECORD:",
    "X-Resource:",
    "DPMS:",
];
/// Prefixes of the names of requests that have a reply and also change state.
const CHANGES: [&str; 4] = ["Grab", "Alloc", "Set", "Create"];

/// An earlier request and its reply.
#[derive(Debug)]
struct Known {
    answer: u64,
    at: u64,
    /// The number of repetitions without a change of the state in between.
    repeated: u64,
    /// The time at which the reply arrived, in nanoseconds.
    time: u64,
}

#[derive(Debug, Default)]
struct Repeated {
    count: u64,
    bytes: u64,
    waits: AvoidableTrips,
    /// The name that was repeated most often, and the number of repetitions.
    most: Option<(Symbol, u64)>,
}

/// Finds requests that repeat an earlier request with the same reply.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    known: FxHashMap<(ConnectionId, u64), Known>,
    /// The last change of each subject, by the number of the message.
    changed: FxHashMap<Subject, u64>,
    now: u64,
    repeated: Groups<Symbol, Repeated>,
}

/// The state that the reply to a request depends on; `None` if it may change unseen. A reply of the core protocol
/// depends on the resource that the request names first, a reply of an extension on the extension's whole state.
fn subject(question: &PendingRequest) -> Option<Subject> {
    let name = question.name.as_str();
    if CHANGES_UNSEEN.iter().any(|begin| name.starts_with(begin)) {
        return None;
    }
    let (extension, request) = name.split_once(':').unwrap_or(("", name));
    if CHANGES.iter().any(|begin| request.starts_with(begin)) {
        return None;
    }
    Some(match (extension, request) {
        ("", "InternAtom" | "GetAtomName" | "QueryExtension" | "ListExtensions" | "ListFonts")
        | ("RENDER", "QueryPictFormats")
        | (_, "QueryVersion" | "XIQueryVersion" | "GetExtensionVersion") => Subject::Fixed,
        ("", "QueryTree" | "TranslateCoordinates") => Subject::Whole(Symbol::new("QueryTree")),
        ("", "GetKeyboardMapping" | "GetModifierMapping" | "GetKeyboardControl") => {
            Subject::Whole(Symbol::new("XKEYBOARD"))
        }
        ("", _) => Subject::Resource(question.u32(0)?),
        (extension, _) => Subject::Whole(Symbol::new(extension)),
    })
}

impl Duplicates {
    fn change(&mut self, subject: Subject) {
        if self.changed.len() >= REMEMBERED {
            // Any known reply may have changed since.
            self.changed.clear();
            self.known.clear();
        }
        self.changed.insert(subject, self.now);
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        self.now += 1;
        match seen.message {
            Message::Request(request) => self.request(request),
            Message::Event(event) => {
                if let Some((extension, _)) = event.name.as_str().split_once(':') {
                    return self.change(Subject::Whole(Symbol::new(extension)));
                }
                // MappingNotify; CreateNotify to PropertyNotify (protocol, encoding of events).
                match event.code {
                    34 => self.change(Subject::Whole(Symbol::new("XKEYBOARD"))),
                    16..=28 => {
                        for at in [4, 8] {
                            if let Some(window) = event.order.u32(event.bytes, at) {
                                self.change(Subject::Resource(window));
                            }
                        }
                        self.change(Subject::Whole(Symbol::new("QueryTree")));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        if request.has_reply {
            return;
        }
        let body = Body::of(request);
        if let Some((extension, _)) = request.name.as_str().split_once(':') {
            self.change(Subject::Whole(Symbol::new(extension)));
            if let Some(resource) = body.u32(0) {
                self.change(Subject::Resource(resource));
            }
            return;
        }
        // ClearArea to ImageText16 only change pixels; ChangeKeyboardMapping, ChangeKeyboardControl.
        match request.major {
            61..=77 => return,
            100 | 102 => return self.change(Subject::Whole(Symbol::new("XKEYBOARD"))),
            _ => {}
        }
        if let Some(resource) = body.u32(0) {
            self.change(Subject::Resource(resource));
        }
        // Parents of CreateWindow and ReparentWindow.
        if matches!(request.major, 1 | 7)
            && let Some(parent) = body.u32(4)
        {
            self.change(Subject::Resource(parent));
        }
        // CreateWindow to CirculateWindow, except for their attributes.
        if matches!(request.major, 1 | 3..=13) {
            self.change(Subject::Whole(Symbol::new("QueryTree")));
        }
    }
}

impl Insight for Duplicates {
    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Message(seen) = observation {
            self.message(seen);
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>) {
        let question = &answer.question;
        let (Some(subject), Some(reply)) = (subject(question), answer.reply) else {
            return;
        };
        // If the atom or property does not exist, another client may create it unseen. A property that the read deletes
        // is different at the next read.
        let none = reply.order.u32(reply.bytes, 8) == Some(0);
        let name = question.name.as_str();
        if name == "InternAtom" && none || name == "GetProperty" && question.minor != 0 {
            return;
        }
        let changed = self.changed.get(&subject).copied().unwrap_or(0);
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let same = answer.same();
        let key = (answer.client, question.same);
        let earlier = self.known.get(&key);
        let again = earlier.filter(|known| known.answer == same && changed < known.at);
        let times = again.map_or(0, |known| known.repeated + 1);
        // A client that repeats a request before the first reply waits for the first reply anyway.
        let was_known = earlier.is_some_and(|known| known.time <= question.requested_at);
        let known = Known {
            answer: same,
            at: self.now,
            repeated: times.max(earlier.map_or(0, |known| known.repeated)),
            time: answer.time,
        };
        self.known.insert(key, known);
        if times > 0
            && let Some(repeated) = self.repeated.of(answer.client, question.name)
        {
            repeated.count += 1;
            if was_known {
                repeated.waits.add(answer);
            }
            repeated.bytes += question.body.len() as u64 + 4 + reply.wire_len;
            if repeated.most.is_none_or(|(_, most)| times > most)
                && let Some(topic) = topic(context.session, question)
            {
                repeated.most = Some((topic, times));
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let alone = |topic: Symbol, times, count| {
            let asked = match times {
                all if all == count => format!("all are for {topic}"),
                1 => format!("1 of them is for {topic}"),
                times => format!("{times} of them are for {topic}"),
            };
            match topic.as_str() {
                // The Extended Window Manager Hints: GTK 3 checks for each hint before it uses the hint.
                "_NET_SUPPORTING_WM_CHECK" => {
                    format!("{asked}, as toolkits send if no window manager runs")
                }
                _ => asked,
            }
        };
        let found = |(client, name, repeated): (ConnectionId, Symbol, &Repeated)| Finding {
            kind: "duplicates",
            client,
            request: name,
            count: repeated.count,
            action: format!(
                "Store the replies to {name}: {} had the same reply as before",
                counted(repeated.count, "request"),
            ),
            why: match repeated.most {
                Some((topic, times)) => format!(
                    "nothing recorded in between could have changed the reply; {}",
                    alone(topic, times, repeated.count)
                ),
                None => "nothing recorded in between could have changed the reply".to_owned(),
            },
            saves: repeated.waits.saving(repeated.bytes),
        };
        self.repeated.all().map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Duplicates;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    const WINDOW: u32 = BASE + 9;

    fn get_property() -> Vec<u8> {
        request(20, 0, &[WINDOW, 39, 0, 0, 100])
    }

    fn intern_atom(name: &[u8; 4]) -> Vec<u8> {
        request(16, 0, &[4, u32::from_le_bytes(*name)])
    }

    fn atom(sequence: u16, atom: u8) -> Vec<u8> {
        let mut bytes = reply(sequence);
        bytes[8] = atom;
        bytes
    }

    #[test]
    fn repeated_intern_of_existing_atom_is_a_duplicate() {
        let mut trace = Synthetic::new();
        for number in 1..=3 {
            trace.wait(10).client_sends(&[intern_atom(b"ABCD")]);
            trace.wait(50).server_sends(&[atom(number, 70)]);
        }
        // Another client may create a missing atom or property.
        for number in 4..=5 {
            trace.wait(10).client_sends(&[intern_atom(b"NONE")]);
            trace.wait(50).server_sends(&[atom(number, 0)]);
        }
        let found = findings(&trace, Duplicates::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (2, 2));
        assert!(found[0].why.contains("all are for ABCD"), "{found:?}");
    }

    #[test]
    fn request_repeated_before_the_first_reply_saves_no_round_trip() {
        let mut trace = Synthetic::new();
        let both = [get_property(), get_property()];
        trace.wait(10).client_sends(&both);
        trace.wait(50).server_sends(&[reply(1), reply(2)]);
        let found = findings(&trace, Duplicates::default());
        assert_eq!((found[0].count, found[0].saves.round_trips), (1, 0));
    }

    #[test]
    fn repeated_request_after_a_change_is_no_duplicate() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[get_property()]);
        trace.wait(50).server_sends(&[reply(1)]);
        // ChangeProperty of that window.
        trace.client_sends(&[request(18, 0, &[WINDOW, 39, 31, 8, 0]), get_property()]);
        trace.wait(50).server_sends(&[reply(3)]);
        assert_eq!(findings(&trace, Duplicates::default()), []);
        trace.client_sends(&[get_property()]);
        trace.wait(50).server_sends(&[reply(4)]);
        let found = findings(&trace, Duplicates::default());
        assert_eq!((found.len(), found[0].count), (1, 1));
        assert!(found[0].why.contains("WM_NAME"), "{found:?}");
    }

    #[test]
    fn duplicate_rule_covers_unlisted_requests() {
        let query_colors = || request(91, 0, &[BASE + 5, 7]);
        let mut trace = Synthetic::new();
        for number in [1, 3, 5] {
            trace.wait(10).client_sends(&[query_colors()]);
            trace.wait(50).server_sends(&[reply(number)]);
            // PolyText8 draws, but changes no colour.
            trace.client_sends(&[request(74, 0, &[WINDOW, BASE + 2, 0])]);
        }
        let found = findings(&trace, Duplicates::default());
        assert_eq!((found.len(), found[0].count), (1, 2));
        // StoreColors changes the colours.
        trace.client_sends(&[request(89, 0, &[BASE + 5, 7, 0, 0]), query_colors()]);
        trace.wait(50).server_sends(&[reply(8)]);
        assert_eq!(findings(&trace, Duplicates::default())[0].count, 2);
    }
}
