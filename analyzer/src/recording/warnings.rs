//! Caveats about a result, counted, and how to resolve each one.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_cost_model::Caveat;
use x11prof_protocol::Symbol;

/// Maximum number of different warnings. Beyond it, further warnings of a malicious trace are counted without a name.
const MAX_WARNINGS: usize = 10_000;

/// The subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The cost table has no cost for these requests, which count as zero time.
    #[serde(rename = "no-cost-data")]
    NoCost,
    /// The cost for attribute value `to` was used, because the cost for `from` was not measured.
    Substituted,
    /// Sizes outside the measured range: `from` is `larger` or `smaller`.
    Extrapolated,
    /// Requests with several items counted as one item, because the fixed part of the cost is unknown.
    OneItem,
    /// Costs on the server's other clock than most costs.
    OtherClock,
    /// The cost table has no transport costs: transport counts as zero server time.
    NoTransport,
    /// Requests that failed too late for a correction of their cost.
    Uncorrected,
    /// Replies to requests that are not in the trace.
    UnpairedReply,
    /// Replies to later requests than those in the trace.
    MissingRequest,
    /// Bytes that are not X11 messages.
    Malformed,
    /// Bytes of connections whose beginning is missing in the trace.
    LostBytes,
    /// The recording did not end properly: its end may be missing.
    Incomplete,
    /// The costs come from another machine and could not be rescaled to the recorded one; `from` has the reason.
    OtherMachine,
    /// The recorder changed requests to test a possible program change; `from` names the change.
    Tried,
    /// There are no costs of the recorded server; the costs of another server, `to`, were used.
    OtherServer,
    /// The recorder emulated a network; `from` names it.
    EmulatedNetwork,
    /// The recording is what the server's RECORD extension reported (`record --attach`): what was read when,
    /// descriptors and XKB events are not known.
    Attached,
    /// Connections that began before the recording: their earlier state is only partly known.
    Joined,
    /// The server's context switches and its clock give different times for the same interval; `from` has the times.
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
    doubt: Option<Caveat>,
}

/// A warning with its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The subject.
    pub kind: WarningKind,
    /// The request; null if the warning is not about a request.
    pub request: Option<String>,
    /// The attribute; null if the warning is not about an attribute.
    pub attribute: Option<String>,
    /// The value in the trace.
    pub from: Option<String>,
    /// The value used instead.
    pub to: Option<String>,
    /// The number.
    pub count: u64,
}

impl Warning {
    /// The costs come from another machine, and were not rescaled for the given reason.
    pub fn other_machine(why: String) -> Warning {
        Warning::general(WarningKind::OtherMachine, Some(why), 1)
    }

    /// A warning that costs of the server `from` are missing and those of `to` were used.
    pub fn other_server(from: String, to: String) -> Warning {
        Warning {
            to: Some(to),
            ..Warning::general(WarningKind::OtherServer, Some(from), 1)
        }
    }

    /// A warning that is not about a request.
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

/// Warnings about costs, summed.
#[derive(Debug, Clone, Default)]
pub struct Warnings(FxHashMap<Key, u64>);

impl Warnings {
    /// Counts a caveat about the costs of `times` requests.
    pub fn doubt(&mut self, request: Symbol, doubt: &Caveat, times: u64) {
        let kind = match doubt {
            Caveat::Substituted { .. } => WarningKind::Substituted,
            Caveat::Extrapolated { .. } => WarningKind::Extrapolated,
            Caveat::OneItem => WarningKind::OneItem,
            Caveat::NoCost => WarningKind::NoCost,
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

    /// Counts a failed request whose cost could not be corrected.
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
        Some(Caveat::Substituted {
            attribute,
            from,
            to,
        }) => (
            Some(attribute.to_string()),
            from.map(|value| value.to_string()),
            Some(to.to_string()),
        ),
        Some(Caveat::Extrapolated { beyond }) => {
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
