//! Reasons to doubt a result, counted, and what can be done about each.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_cost_model::Doubt;
use x11prof_protocol::Symbol;

/// Different warnings kept at most; a trace made to have more gets the rest under no name.
const MAX_WARNINGS: usize = 10_000;

/// The subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The parameter file has no cost for these requests; they count as no time.
    #[serde(rename = "no-cost-data")]
    Unpriced,
    /// The value `to` of an attribute stood in for `from`, which was not measured.
    Substituted,
    /// Sizes outside the measured ones: `from` is `larger` or `smaller`.
    Extrapolated,
    /// Requests of several items were priced as one item, for want of a fixed part.
    OneItem,
    /// Priced on the server's other clock than the rest.
    OtherClock,
    /// The parameter file has no transport costs: transport counts as no server time.
    NoTransport,
    /// Requests that failed too late for a correction of their cost.
    Uncorrected,
    /// Replies to requests that the trace does not show.
    UnpairedReply,
    /// Answers to later requests than the trace shows.
    MissingRequest,
    /// Bytes that are no X11 messages.
    Malformed,
    /// Bytes of connections whose beginning is missing in the trace.
    LostBytes,
    /// The recording did not end properly: its last moments may be missing.
    Incomplete,
    /// The parameters are of another machine and could not be brought to the recorded one; `from` says
    /// why.
    OtherMachine,
    /// The recorder changed requests to try what a change of the program would gain; `from` says which
    /// change.
    Tried,
    /// Parameters of the recorded server are not known; those of another one, `to`, stand in.
    OtherServer,
    /// The recorder emulated a network; `from` names it.
    EmulatedNetwork,
    /// The recording is what the server's RECORD extension told (`record --attach`): what was read when,
    /// descriptors and XKB events are not known.
    Attached,
    /// Connections that began before the recording: what they had set up by then is known in part.
    Joined,
    /// The server's context switches and its clock tell different times of the same stretch; `from` says
    /// which.
    ClocksDiffer,
    /// X errors that the server sent; `from` has the number of each, and the first one with its resource and who destroyed it.
    Errors,
    /// The recorder reported a problem; `from` has its text.
    Trouble,
}

/// The key of a count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    kind: WarningKind,
    request: Option<Symbol>,
    doubt: Option<Doubt>,
}

/// A warning with its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The subject.
    pub kind: WarningKind,
    /// The request; null if the warning concerns none.
    pub request: Option<String>,
    /// The attribute; null if the warning concerns none.
    pub attribute: Option<String>,
    /// The value in the trace.
    pub from: Option<String>,
    /// The value used instead.
    pub to: Option<String>,
    /// The number.
    pub count: u64,
}

impl Warning {
    /// Parameters are still another machine's, for the reason given.
    pub fn other_machine(why: String) -> Warning {
        Warning::general(WarningKind::OtherMachine, Some(why), 1)
    }

    /// A warning that parameters of the server `from` are missing; those of `to` are in their place.
    pub fn other_server(from: String, to: String) -> Warning {
        Warning {
            to: Some(to),
            ..Warning::general(WarningKind::OtherServer, Some(from), 1)
        }
    }

    /// A warning that is about no request.
    pub fn general(kind: WarningKind, from: Option<String>, count: u64) -> Warning {
        Warning {
            kind,
            request: None,
            attribute: None,
            from,
            to: None,
            count,
        }
    }
}

/// Warnings about prices, summed up.
#[derive(Debug, Clone, Default)]
pub struct Warnings(FxHashMap<Key, u64>);

impl Warnings {
    /// Counts a doubt about the prices of so many requests.
    pub fn doubt(&mut self, request: Symbol, doubt: &Doubt, times: u64) {
        let kind = match doubt {
            Doubt::Substituted { .. } => WarningKind::Substituted,
            Doubt::Extrapolated { .. } => WarningKind::Extrapolated,
            Doubt::OneItem => WarningKind::OneItem,
            Doubt::Unpriced => WarningKind::Unpriced,
        };
        self.count(
            Key {
                kind,
                request: Some(request),
                doubt: Some(doubt.clone()),
            },
            times,
        );
    }

    /// Counts a failed request whose price could not be corrected.
    pub fn uncorrected(&mut self, request: Symbol) {
        let kind = WarningKind::Uncorrected;
        self.count(
            Key {
                kind,
                request: Some(request),
                doubt: None,
            },
            1,
        );
    }

    fn count(&mut self, mut key: Key, times: u64) {
        if self.0.len() >= MAX_WARNINGS && !self.0.contains_key(&key) {
            key = Key {
                kind: key.kind,
                request: None,
                doubt: None,
            };
        }
        *self.0.entry(key).or_default() += times;
    }

    /// The warnings, by kind and the most frequent first.
    pub fn list(&self) -> Vec<Warning> {
        let mut counts: Vec<(&Key, &u64)> = self.0.iter().collect();
        counts.sort();
        let mut list: Vec<Warning> = counts
            .into_iter()
            .map(|(key, count)| warning(key, *count))
            .collect();
        list.sort_by_key(|warning| (warning.kind, std::cmp::Reverse(warning.count)));
        list
    }
}

fn warning(key: &Key, count: u64) -> Warning {
    let (attribute, from, to) = match &key.doubt {
        Some(Doubt::Substituted {
            attribute,
            from,
            to,
        }) => (
            Some(attribute.to_string()),
            from.map(|value| value.to_string()),
            Some(to.to_string()),
        ),
        Some(Doubt::Extrapolated { beyond }) => {
            let side = if *beyond { "larger" } else { "smaller" };
            (Some("op-size".to_owned()), Some(side.to_owned()), None)
        }
        _ => (None, None, None),
    };
    let request = key.request.map(|request| request.to_string());
    Warning {
        kind: key.kind,
        request,
        attribute,
        from,
        to,
        count,
    }
}
