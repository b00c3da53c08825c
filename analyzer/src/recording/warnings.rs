//! Caveats about a result, each with its count and a remedy.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_cost_model::Caveat;
use x11prof_protocol::Symbol;

/// Maximum number of different warnings. Beyond it, further warnings of a malicious trace are counted without a name.
const MAX_WARNINGS: usize = 10_000;

/// The kind of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The cost table has no cost for some requests, which count as zero time.
    #[serde(rename = "no-cost-data")]
    NoCost,
    /// The cost of the attribute value `to` was used, because the cost of the value `from` was not measured.
    Substituted,
    /// The size of requests is outside the measured sizes: `from` is `larger` or `smaller`.
    Extrapolated,
    /// Requests with several items were counted as one item, because the fixed part of their cost is unknown.
    OneItem,
    /// The costs of some requests were measured by another clock than most costs.
    OtherClock,
    /// The cost table has no transport costs: transport counts as zero server time.
    NoTransport,
    /// Some requests failed too late for a correction of their estimated cost.
    Uncorrected,
    /// The trace contains replies to requests that are not in the trace.
    UnpairedReply,
    /// The trace contains replies to later requests than its last request.
    MissingRequest,
    /// The trace contains bytes that are not X11 messages.
    Malformed,
    /// The trace contains bytes of connections whose beginning is missing.
    LostBytes,
    /// The recording did not end properly, so its end may be missing.
    Incomplete,
    /// The costs come from another machine and could not be rescaled to this machine; `from` has the reason.
    OtherMachine,
    /// The recorder changed requests for an experiment (`record --try`); `from` names the experiment.
    Tried,
    /// There are no costs of the recorded server, so the costs of the server `to` were used.
    OtherServer,
    /// The recorder emulated a network, which `from` names.
    EmulatedNetwork,
    /// The recording is what the server's RECORD extension reported (`record --attach`): what was read when,
    /// descriptors and XKB events are not known.
    Attached,
    /// Some connections began before the recording, so that their earlier state is only partly known.
    Joined,
    /// The server's context switches and its CPU clock give different times for the same interval; `from` has both
    /// times.
    ClocksDiffer,
    /// The server sent X errors; `from` has the number of each kind and an example with its time and request, and the
    /// client that destroyed the resource.
    Errors,
    /// The recorder reported a problem, whose text is in `from`.
    Trouble,
}

/// The key of a count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    kind: WarningKind,
    request: Option<Symbol>,
    doubt: Option<Caveat>,
}

/// A warning with the number of times that it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind of the warning.
    pub kind: WarningKind,
    /// The name of the request; null if the warning is not about a request.
    pub request: Option<String>,
    /// The name of the attribute; null if the warning is not about an attribute.
    pub attribute: Option<String>,
    /// The value in the trace, or another detail (see `WarningKind`); null if there is none.
    pub from: Option<String>,
    /// The value that was used instead; null if there is none.
    pub to: Option<String>,
    /// The number of requests, messages or bytes that the warning is about.
    pub count: u64,
}

impl Warning {
    /// Creates the warning that the costs come from another machine, and were not rescaled for the reason `why`.
    pub fn other_machine(why: String) -> Warning {
        Warning::general(WarningKind::OtherMachine, Some(why), 1)
    }

    /// Creates the warning that the costs of server `from` are missing, so the costs of server `to` were used.
    pub fn other_server(from: String, to: String) -> Warning {
        Warning {
            to: Some(to),
            ..Warning::general(WarningKind::OtherServer, Some(from), 1)
        }
    }

    /// Creates a warning that is not about a request.
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

/// The caveats about costs, with their counts.
#[derive(Debug, Clone, Default)]
pub struct Warnings(FxHashMap<Key, u64>);

impl Warnings {
    /// Adds the caveat `doubt` about the costs of `times` requests.
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

    /// Adds a failed request whose estimated cost could not be corrected.
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

    /// The warnings, ordered by kind, and the most frequent first.
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
