//! Server time and bytes by client, window (or program function) and request: the data of flame graphs.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Micros;
use x11prof_protocol::Symbol;
use x11prof_server_model::{Charge, ClientId, RepeatedRequests, TransportPart};
use x11prof_trace::ConnectionId;

use super::groups::{GroupKey, Groups};
use super::measuring::Key;
use crate::recording::trace_summary::TraceSummary;
use crate::server_time::{Rate, Share};

/// Maximum number of stacks. Further stacks are summed by client and request, and beyond twice as many by request alone.
const STACKS_LIMIT: usize = 100_000;

/// The sums over one client's requests of one name on one window, or from one program stack.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// The client's name; `(server)` for unattributed work.
    pub client: String,
    /// The name of the window (`(no window)` without one), or the program's functions, the outermost first.
    pub place: Vec<String>,
    /// The name of the request, the event, or the part of transport that belongs to neither.
    pub request: String,
    /// The number of requests with this stack.
    pub count: u64,
    /// The number of bytes of the requests on the wire.
    pub sent: u64,
    /// The number of bytes that the server sent in reply to the requests, and of events.
    pub returned: u64,
    /// The server's time for the requests and events, in microseconds.
    pub server: Micros,
    /// The CPU time of the client, in microseconds.
    pub ran: Micros,
}

/// The key of a sum: a client, a window (or a stack), and the kind of work for the client on the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StackKey {
    pub(crate) client: Option<ConnectionId>,
    pub(crate) window: GroupKey,
    pub(crate) what: WorkKind,
    /// The period in which the work arrived.
    pub(crate) period: u32,
}

/// A kind of the server's work: a request, an event, or a part of transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WorkKind {
    Request(Symbol),
    Event(Symbol),
    Part(TransportPart),
}

impl WorkKind {
    fn of(request: Option<Symbol>, event: Option<Symbol>, part: TransportPart) -> WorkKind {
        match (request, event) {
            (Some(request), _) => WorkKind::Request(request),
            (None, Some(event)) => WorkKind::Event(event),
            (None, None) => WorkKind::Part(part),
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            WorkKind::Request(name) => name.to_string(),
            WorkKind::Event(name) => format!("{name} (event)"),
            WorkKind::Part(part) => match part {
                TransportPart::Wakeup => "(server wakeup)",
                TransportPart::Read => "(read)",
                TransportPart::Cold => "(cold caches)",
                TransportPart::Reply => "(reply)",
                TransportPart::Event => "(event)",
                TransportPart::Error => "(error)",
                TransportPart::Setup => "(connection setup)",
                TransportPart::Own => "(the server's own work)",
            }
            .to_owned(),
        }
    }
}

/// The sums over the work under one key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StackSum {
    pub(crate) count: u64,
    pub(crate) sent: u64,
    pub(crate) returned: u64,
    modelled: Micros,
    measured: Share,
}

impl StackSum {
    fn add(&mut self, other: &StackSum) {
        self.count += other.count;
        self.sent = self.sent.saturating_add(other.sent);
        self.returned = self.returned.saturating_add(other.returned);
        self.modelled += other.modelled;
        self.measured += other.measured;
    }

    /// True if the sum contains no messages and no bytes.
    pub(crate) fn is_nothing(&self) -> bool {
        self.count == 0 && self.sent == 0 && self.returned == 0
    }

    /// The server's time in microseconds: measured at this rate, or modelled without a rate.
    pub(crate) fn server(&self, rate: Option<Rate>) -> Micros {
        rate.map_or(self.modelled, |rate| rate.time(self.measured))
    }
}

/// The sums of all keys: client, window (or stack) and kind of work. Server time is attributed again while more runs
/// arrive, so the difference of two sums is not the time between them: each period has separate sums.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// The period of the work that arrives now.
    period: u32,
    sums: FxHashMap<StackKey, StackSum>,
    /// The cost of the wakeups that a request caused.
    blamed: Micros,
}

impl Stacks {
    /// Resets the sums.
    pub(super) fn start_afresh(&mut self) {
        let period = self.period;
        *self = Stacks {
            period,
            ..Stacks::default()
        };
    }

    /// Begins a period, drops the sums of the periods before `oldest`, and returns the number of the new period.
    pub(super) fn begin_period(&mut self, oldest: u32) -> u32 {
        self.sums.retain(|key, _| key.period >= oldest);
        self.period += 1;
        self.period
    }

    /// The sums of all periods from `first` on.
    pub(crate) fn since(&self, first: u32) -> FxHashMap<StackKey, StackSum> {
        let mut sums: FxHashMap<StackKey, StackSum> = FxHashMap::default();
        for (key, sum) in self.sums.iter().filter(|(key, _)| key.period >= first) {
            let key = StackKey { period: 0, ..*key };
            sums.entry(key).or_default().add(sum);
        }
        sums
    }

    fn sum(&mut self, key: StackKey) -> &mut StackSum {
        let others = StackKey {
            window: GroupKey::Others,
            ..key
        };
        let keys = [(key, STACKS_LIMIT), (others, 2 * STACKS_LIMIT)].into_iter();
        let mut kept =
            keys.filter(|(key, limit)| self.sums.len() < *limit || self.sums.contains_key(key));
        let key = kept.next().map_or(
            StackKey {
                client: None,
                ..others
            },
            |(key, _)| key,
        );
        self.sums.entry(key).or_default()
    }

    /// Adds a charge for work on `window`; `event` is the name of the charged event, if any.
    pub(super) fn charge(&mut self, charge: &Charge<'_>, event: Option<Symbol>, window: GroupKey) {
        let what = match charge {
            Charge::Request { operation, .. }
            | Charge::RepeatedRequests(RepeatedRequests { operation, .. }) => {
                WorkKind::Request(operation.request)
            }
            Charge::Failed { request, .. } | Charge::Blame { request, .. } => {
                WorkKind::Request(*request)
            }
            Charge::Transport { request, part, .. } if !charge.is_wakeup() => {
                WorkKind::of(*request, event, *part)
            }
            Charge::Transport { .. } => return,
        };
        let sum = self.sum(StackKey {
            client: Some(connection(charge.client())),
            window,
            what,
            period: self.period,
        });
        sum.modelled += charge.server().time;
        match charge {
            Charge::Request { bytes, .. } => {
                sum.count += 1;
                sum.sent = sum.sent.saturating_add(*bytes);
            }
            Charge::RepeatedRequests(alike) => {
                sum.count += alike.times;
                let bytes = alike.bytes.saturating_mul(alike.times);
                sum.sent = sum.sent.saturating_add(bytes);
            }
            Charge::Transport { bytes, .. } => sum.returned = sum.returned.saturating_add(*bytes),
            Charge::Blame { server, .. } => {
                sum.modelled += server.time;
                self.blamed += server.time;
            }
            Charge::Failed { .. } => {}
        }
    }

    /// Adds a share of the server's measured time to the sum that `key` belongs to.
    pub(super) fn credit(&mut self, key: Key, share: Share) {
        let part = key.part.unwrap_or(TransportPart::Own);
        self.sum(StackKey {
            client: key.client.map(connection),
            window: key.group.unwrap_or(GroupKey::None),
            what: WorkKind::of(key.request, key.event, part),
            period: key.period,
        })
        .measured += share;
    }

    /// The sums with the names of their keys. `wakeups` is the total cost of wakeups, including wakeups without a
    /// request, and `own` the unattributed time.
    pub(super) fn named(
        &self,
        groups: &Groups,
        summary: &TraceSummary,
        rate: Option<Rate>,
        (wakeups, own): (Micros, Micros),
    ) -> Vec<Stack> {
        let mut named: BTreeMap<(String, Vec<String>, String), Stack> = BTreeMap::new();
        let client_name = |id| summary.client_name(id);
        for (key, sum) in &self.sums {
            let client = key.client.map_or(SERVER.to_owned(), client_name);
            let window = match groups.ends_in(key.window) {
                GroupKey::Pixmap(_) => GroupKey::None,
                window => window,
            };
            let window = groups.labels(window, client_name);
            let stack = named.entry((client, window, key.what.name())).or_default();
            stack.count += sum.count;
            stack.sent = stack.sent.saturating_add(sum.sent);
            stack.returned = stack.returned.saturating_add(sum.returned);
            stack.server += sum.server(rate);
        }
        let unblamed = Micros((wakeups.0 - self.blamed.0).max(0.0));
        for (part, time) in [(TransportPart::Wakeup, unblamed), (TransportPart::Own, own)] {
            if time.0 > 0.0 {
                let window = groups.labels(GroupKey::None, client_name);
                let key = (SERVER.to_owned(), window, WorkKind::Part(part).name());
                let stack = named.entry(key).or_default();
                stack.server += time;
            }
        }
        let named = named
            .into_iter()
            .map(|((client, window, request), stack)| Stack {
                client,
                place: window.into_iter().rev().collect(),
                request,
                ..stack
            });
        named.collect()
    }
}

/// The name for work without a client.
const SERVER: &str = "(server)";

fn connection(client: ClientId) -> ConnectionId {
    ConnectionId(client.0)
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters, Substitutions};

    use super::{GroupKey, STACKS_LIMIT, StackKey, Stacks, WorkKind};
    use crate::testing::{Synthetic, no_operation};
    use crate::{By, Pipeline, Profile, TraceSummary};
    use x11prof_protocol::Symbol;
    use x11prof_trace::ConnectionId;

    #[test]
    fn windows_beyond_the_limit_are_one_stack_of_their_client() {
        let mut stacks = Stacks::default();
        let key = |client: u32, window: u32| StackKey {
            client: Some(ConnectionId(client)),
            window: GroupKey::Drawable((window, None)),
            what: WorkKind::Request(Symbol::new("NoOperation")),
            period: 0,
        };
        for n in 0..2 * STACKS_LIMIT as u32 {
            stacks.sum(key(n % 2, n)).count += 1;
        }
        let of = |client| {
            let sums = stacks.sums.iter();
            let own = sums.filter(|(key, _)| key.client == client);
            own.map(|(_, sum)| sum.count).sum::<u64>()
        };
        assert_eq!(of(Some(ConnectionId(0))), STACKS_LIMIT as u64);
        assert_eq!(of(Some(ConnectionId(1))), STACKS_LIMIT as u64);
        assert_eq!(stacks.sums.len(), STACKS_LIMIT + 2);
    }

    #[test]
    fn request_without_a_window_is_listed_with_its_cost() {
        let parameters = ServerParameters::from_toml(
            "format = 1\n[server]\nname = \"it\"\n[[request]]\nname = \"NoOperation\"\n\
             points = [{ size = 0.0, cpu_us = 2.0 }]\n",
        );
        let (parameters, rules) = (parameters.unwrap(), Substitutions::default());
        let mut trace = Synthetic::new();
        trace
            .client_sends(&[no_operation(1), no_operation(1)])
            .end();
        let mut profile = Profile::new(&parameters, &rules).stacked(By::Window);
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            summary.observe(observation);
            profile.observe(observation);
        });
        profile.end();
        let stacks = profile.stacks(&summary);
        let found = stacks.iter().find(|stack| stack.request == "NoOperation");
        let found = found.unwrap();
        assert_eq!(found.place, ["(no window)"]);
        assert_eq!((found.count, found.sent), (2, 8));
        assert_eq!(found.server, Micros(4.0));
    }
}
