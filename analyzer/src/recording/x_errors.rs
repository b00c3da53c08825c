//! X errors: the number of each kind, an example, and the client that destroyed the resource which the example names.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, Symbol};
use x11prof_session::{ResourceChange, Session};
use x11prof_trace::{ConnectionId, Timestamp};

use crate::clients::ClientChoice;
use crate::pipeline::{MessageContext, Observation};
use crate::text::units::duration_ms;

/// Maximum number of destroyed resources that are kept (the latest), and of clients whose errors are counted.
const MAX_GONE: usize = 4096;
/// Maximum number of kinds of errors that the description names.
const SHOWN: usize = 4;

/// The end of a resource.
#[derive(Debug, Clone, Copy)]
struct Gone {
    time: Timestamp,
    /// The client that destroyed the resource, and its request; `None` if the resource was freed because its client
    /// disconnected.
    by: Option<(ConnectionId, Symbol)>,
}

/// An X error, and the end of the resource that it is about if that was destroyed.
#[derive(Debug, Clone, Copy)]
struct XError {
    name: Symbol,
    time: Timestamp,
    client: ConnectionId,
    request: Symbol,
    resource: u32,
    gone: Option<Gone>,
}

/// The number of a client's X errors of each kind, and the first error about a resource that was destroyed before, or else the
/// first error.
type Kinds = BTreeMap<Symbol, (u64, XError)>;

fn add(kinds: &mut Kinds, one: XError) {
    let kind = kinds.entry(one.name).or_insert((0, one));
    let rank = |one: &XError| (one.gone.is_none(), one.time);
    *kind = (kind.0 + 1, std::cmp::min_by_key(kind.1, one, rank));
}

/// The X errors of a recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct XErrors {
    clients: FxHashMap<ConnectionId, Kinds>,
    gone: FxHashMap<u32, Gone>,
    order: VecDeque<u32>,
}

impl XErrors {
    /// Processes the next observation of a pass.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Closed { time, session } => self.changes(session, *time, None),
            _ => {}
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        match seen.message {
            Message::Request(request) => {
                let by = Some((seen.connection, request.name));
                self.changes(seen.session, seen.time, by);
            }
            Message::Error(error) => {
                let client = seen.connection;
                if self.clients.len() >= MAX_GONE && !self.clients.contains_key(&client) {
                    return;
                }
                let of = self.clients.entry(client).or_default();
                let one = XError {
                    name: error.name,
                    time: seen.time,
                    client,
                    request: error.request,
                    resource: error.bad_value,
                    gone: self.gone.get(&error.bad_value).copied(),
                };
                add(of, one);
            }
            _ => {}
        }
    }

    fn changes(&mut self, session: &Session, time: Timestamp, by: Option<(ConnectionId, Symbol)>) {
        for change in session.resource_changes() {
            let (ResourceChange::Freed(resource) | ResourceChange::Closed(resource)) = change
            else {
                continue;
            };
            if self.gone.insert(resource.id, Gone { time, by }).is_none() {
                self.order.push_back(resource.id);
            }
            if self.order.len() > MAX_GONE
                && let Some(oldest) = self.order.pop_front()
            {
                self.gone.remove(&oldest);
            }
        }
    }

    /// Resets the counts. The known destroyed resources are kept.
    pub(crate) fn start_afresh(&mut self) {
        self.clients.clear();
    }

    fn chosen(&self, choice: &ClientChoice) -> impl Iterator<Item = &(u64, XError)> {
        let clients = self.clients.iter();
        let clients = clients.filter(|(id, _)| choice.holds(**id));
        clients.flat_map(|(_, kinds)| kinds.values())
    }

    /// The number of X errors of the chosen clients.
    pub(crate) fn count(&self, choice: &ClientChoice) -> u64 {
        self.chosen(choice).map(|(count, _)| count).sum()
    }

    /// The number of each kind of error of each chosen client, at most [`SHOWN`] of them, with an example of the first.
    /// `start` is the beginning of the recording; `client_name` returns the name of a client.
    pub(crate) fn describe(
        &self,
        choice: &ClientChoice,
        start: Timestamp,
        client_name: impl Fn(ConnectionId) -> String,
    ) -> String {
        let mut all: Vec<_> = self.chosen(choice).copied().collect();
        all.sort_by_key(|(count, one)| (std::cmp::Reverse(*count), one.client, one.name));
        let more = all.split_off(all.len().min(SHOWN));
        let at = |time: Timestamp| format!("at {:.3} s", duration_ms(time.since(start)) / 1e3);
        let mut texts = Vec::new();
        for (count, one) in all {
            let mut text = format!("{count} {} of {}", one.name, client_name(one.client));
            // Only the most frequent kind has an example.
            if texts.is_empty() {
                let such = ["", " such as"][usize::from(count > 1)];
                text.push_str(&format!(",{such} {} {}", one.request, at(one.time)));
                text.push_str(&one.gone.map_or_else(String::new, |gone| {
                    let time = at(gone.time);
                    let end = match gone.by {
                        Some((client, request)) => {
                            format!(
                                "which {} had destroyed {time} ({request})",
                                client_name(client)
                            )
                        }
                        None => format!("which went with its client {time}"),
                    };
                    format!(" on {:#x}, {end}", one.resource)
                }));
            }
            texts.push(text);
        }
        let more: u64 = more.iter().map(|(count, _)| count).sum();
        texts.extend((more > 0).then(|| format!("{more} more")));
        texts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::XErrors;
    use crate::clients::ClientChoice;
    use crate::pipeline::Pipeline;
    use crate::testing::{BASE, ROOT, Synthetic, bad_window, map_window, request};
    use x11prof_trace::Timestamp;

    /// CreateWindow 20 by 10, and DestroyWindow.
    fn window(id: u32) -> [Vec<u8>; 2] {
        let size = 20 | 10 << 16;
        let create = request(1, 0, &[id, ROOT, 0, size, 1 << 16, 0, 0]);
        [create, request(4, 0, &[id])]
    }

    fn described(trace: &Synthetic) -> String {
        let mut errors = XErrors::default();
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            errors.observe(observation);
        });
        errors.describe(
            &ClientChoice::default(),
            Timestamp::from_nanos(0),
            |client| format!("client {}", client.0),
        )
    }

    #[test]
    fn error_without_a_destroyed_resource_names_its_request() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[
            map_window(BASE + 1),
            map_window(BASE + 1),
            request(3, 0, &[0]),
        ]);
        let mut value = bad_window(3, 3);
        value[1] = 2;
        trace.server_sends(&[bad_window(1, 8), bad_window(2, 8), value]);
        let text = described(trace.end());
        let kinds: Vec<_> = text.split("; ").collect();
        let [window, value] = kinds.as_slice() else {
            panic!("{text}")
        };
        let such = "2 BadWindow of client 1, such as MapWindow at ";
        assert!(window.starts_with(such), "{text}");
        assert_eq!(*value, "1 BadValue of client 1");
    }

    #[test]
    fn an_error_names_who_destroyed_its_window() {
        let mut trace = Synthetic::new();
        let window_id = BASE + 1;
        let [create, destroy] = window(window_id);
        trace.client_sends(&[create, destroy, map_window(window_id)]);
        let mut error = bad_window(3, 8);
        error[4..8].copy_from_slice(&window_id.to_le_bytes());
        trace.server_sends(&[error]).end();
        let mut errors = XErrors::default();
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            errors.observe(observation);
        });
        let all = ClientChoice::default();
        assert_eq!(errors.count(&all), 1);
        assert_eq!(errors.count(&ClientChoice::new(Some("another"))), 0);
        let text = errors.describe(&all, Timestamp::from_nanos(0), |client| {
            format!("client {}", client.0)
        });
        assert!(
            text.starts_with("1 BadWindow of client 1, MapWindow at "),
            "{text}"
        );
        let named = format!(" on {window_id:#x}, which client 1 had destroyed");
        assert!(
            text.contains(&named) && text.ends_with("(DestroyWindow)"),
            "{text}"
        );
    }
}
