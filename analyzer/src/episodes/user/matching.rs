//! Matches messages to the starts and ends of user-defined events.

use x11prof_protocol::{Event, Request, Symbol};
use x11prof_session::{ResourceChange, Session};

use super::definition::{EventDefinitions, MessageMatch, MessageName};
use super::tag::{Made, Tag, Tags};
use crate::episodes::keyboard::Keyboard;
use crate::episodes::stimulus::{Detail, Stimulus};
use crate::episodes::windows;
use crate::pipeline::MessageContext;
use crate::text::pattern::{holds, matches};

/// Matches messages to definitions of user-defined events.
#[derive(Debug, Default)]
pub(crate) struct Matcher(EventDefinitions);

impl Matcher {
    pub(crate) fn new(definitions: EventDefinitions) -> Matcher {
        Matcher(definitions)
    }

    fn tagged(
        &self,
        time: u64,
        window: Option<u32>,
        holds: impl Fn(&MessageMatch) -> bool,
    ) -> Vec<Tag> {
        let all = self.0.0.iter().enumerate();
        let tags = all.flat_map(|(of, definition)| {
            let both = [
                (false, Some(&definition.start)),
                (true, definition.end.as_ref()),
            ];
            both.map(|(ends, when)| (of, ends, when))
        });
        let held = tags.filter(|(_, _, when)| when.is_some_and(&holds));
        held.map(|(of, ends, _)| Tag {
            of,
            ends,
            window,
            time,
        })
        .collect()
    }

    /// The tags of an X event: the user-defined events that it starts and ends.
    pub(crate) fn event(
        &self,
        seen: &MessageContext<'_>,
        event: &Event<'_>,
        stimulus: &Stimulus,
        keyboard: &Keyboard,
    ) -> Tags {
        let Matcher(definitions) = self;
        if definitions.0.is_empty() {
            return Tags::default();
        }
        let holds = |when: &MessageMatch| {
            let MessageName::Event(name) = &when.of else {
                return false;
            };
            let named = matches(name, event.name.as_str()) || matches(name, stimulus.name.as_str());
            let key = |key: &String| match stimulus.detail {
                Detail::Key(code) => {
                    let names = [false, true].map(|shifted| keyboard.key(code, shifted));
                    let mut names = names.into_iter().flatten();
                    names.any(|name| name.as_str() == key) || code.to_string() == *key
                }
                _ => false,
            };
            named
                && when.key.as_ref().is_none_or(key)
                && when
                    .button
                    .is_none_or(|button| stimulus.detail == Detail::Button(button))
                && when.atom.as_ref().is_none_or(|atom| match stimulus.detail {
                    Detail::Atom(of) => seen.session.atom_name(of) == Some(atom),
                    _ => false,
                })
                && in_window(when, seen.session, stimulus.window)
        };
        Tags {
            tags: self.tagged(seen.time.as_nanos(), stimulus.window, holds),
            made: Vec::new(),
        }
    }

    /// The tags of a request: the user-defined events that it starts and ends, and the resources that it creates.
    pub(crate) fn request(&self, seen: &MessageContext<'_>, request: &Request<'_>) -> Tags {
        let Matcher(definitions) = self;
        if definitions.0.is_empty() {
            return Tags::default();
        }
        let window = windows::target(seen);
        let atom = || seen.session.subject_atom(request);
        let holds = |when: &MessageMatch| {
            let MessageName::Request(name) = &when.of else {
                return false;
            };
            let about = |name: &String| atom().is_some_and(|atom: Symbol| atom.as_str() == name);
            matches(name, request.name.as_str())
                && when.atom.as_ref().is_none_or(about)
                && in_window(when, seen.session, window)
        };
        let changes = seen.session.resource_changes().iter();
        let made = changes.filter_map(|change| match change {
            ResourceChange::Created(resource) => Some(Made {
                id: resource.id,
                sequence: resource.sequence.0,
                bytes: resource.bytes,
            }),
            _ => None,
        });
        Tags {
            tags: self.tagged(seen.time.as_nanos(), window, holds),
            made: made.collect(),
        }
    }
}

/// True if the window meets the conditions on its class and name.
fn in_window(when: &MessageMatch, session: &Session, window: Option<u32>) -> bool {
    let class = |wanted: &String| {
        let class = window.and_then(|window| windows::class(session, window));
        class.is_some_and(|class| class.eq_ignore_ascii_case(wanted))
    };
    let named = |wanted: &String| {
        let name = window.and_then(|window| windows::name(session, window));
        name.is_some_and(|name| holds(&name, wanted))
    };
    when.class.as_ref().is_none_or(class) && when.window.as_ref().is_none_or(named)
}
