//! The report: the differences with their values, and without those that vary between recordings of one server.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::Timestamp;

use super::details::{Field, MessageDetails, Place};
use super::meaning::Meaning;
use super::report::{
    ClientDivergence, DivergenceReport, MissingReply, ReceivedDifference, RepeatedRequest,
    RequestDifference, RequestSide, UnequalRequests,
};
use super::streams::{DisplayStreams, Received};
use super::{ClientPair, Divergence, ReceivedPair, RequestHunk};
use crate::text::units::duration_ms;

/// The maximum length in bytes of a request's text in which values are searched, to limit the time.
const LONG_REQUEST: usize = 4096;

/// The kinds of differences between two recordings.
#[derive(Debug, Clone, Default)]
pub struct DifferenceKinds(BTreeSet<Varying>);

/// A kind of difference that also occurs between two recordings of the same server. So it does not show a difference
/// between servers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Varying {
    Request(String, Symbol),
    Field(String, Symbol, String),
    Message(String, Symbol),
}

impl Varying {
    /// True if this kind of difference is the `other` one in another run. Of two events in another order either may be the
    /// moved one.
    fn repeats(&self, other: &Varying) -> bool {
        match (self, other) {
            (Varying::Field(client, _, path), Varying::Field(of, _, moved))
                if path == ReceivedDifference::MOVED && moved == ReceivedDifference::MOVED =>
            {
                client == of
            }
            _ => self == other,
        }
    }
}

impl Divergence {
    /// Creates the report. `details` are the fields of the differing messages. Left out are differences of the kinds in
    /// `again`, those of further recordings of the reference, and of kinds that any of `other_again` lacks, those of further
    /// recordings on the other server.
    pub fn report(
        &self,
        reference: &DisplayStreams,
        details: &[MessageDetails; 2],
        again: &[DifferenceKinds],
        other_again: &[DifferenceKinds],
    ) -> DivergenceReport {
        let varying = again.iter().flat_map(|kinds| &kinds.0);
        let mut varying: BTreeSet<Varying> = varying.cloned().collect();
        for repeated in other_again {
            let all = self.kinds(details).0.into_iter();
            varying.extend(all.filter(|kind| !repeated.0.iter().any(|one| one.repeats(kind))));
        }
        // The numbers of differences that vary, and of requests in them.
        let mut left_out = (0, 0);
        let client = |index| self.client(index, reference, details, &varying, &mut left_out);
        let mut clients: Vec<ClientDivergence> = (0..self.pairs.len()).filter_map(client).collect();
        clients.sort_by(|a, b| a.since_ms.total_cmp(&b.since_ms));
        DivergenceReport {
            format: 1,
            clients,
            only_reference: self.only_reference.clone(),
            only_other: self.only_other.clone(),
            drivers: self.drivers.clone(),
            requests: self.requests,
            equal_requests: self.pairs.iter().map(|pair| pair.equal).sum(),
            unequal_requests: UnequalRequests {
                varying: left_out.1,
                ..self.unequal.clone()
            },
            answers: self.answers(),
            varying: (!again.is_empty() || !other_again.is_empty()).then_some(left_out.0),
            left_out: self.left_out,
        }
    }

    /// Returns the kinds of all differences. `details` are the fields of the differing messages.
    pub fn kinds(&self, details: &[MessageDetails; 2]) -> DifferenceKinds {
        let mut all = BTreeSet::new();
        for pair in &self.pairs {
            let requests = pair.requests.iter().flat_map(|hunk| &hunk.names);
            all.extend(requests.map(|name| Varying::Request(pair.name.clone(), *name)));
            for one in &pair.received {
                for (path, _) in self.fields(one, details) {
                    all.insert(one.varying(pair, path.as_deref()));
                }
            }
        }
        DifferenceKinds(all)
    }

    fn client(
        &self,
        index: usize,
        reference: &DisplayStreams,
        details: &[MessageDetails; 2],
        varying: &BTreeSet<Varying>,
        left_out: &mut (u64, u64),
    ) -> Option<ClientDivergence> {
        let pair = &self.pairs[index];
        let since = |time: Timestamp| duration_ms(time.since(reference.start.unwrap_or(time)));
        let varies = |name: Symbol| varying.contains(&Varying::Request(pair.name.clone(), name));
        let is_new = |hunk: &&RequestHunk| !hunk.names.iter().all(|name| varies(*name));
        let differences = pair.requests.iter().filter(is_new).count() as u64;
        let count = |hunk: &RequestHunk| hunk.hunk.reference.len() as u64;
        let varying_hunks = pair.requests.iter().filter(|hunk| !is_new(hunk));
        left_out.1 += varying_hunks.map(count).sum::<u64>();
        left_out.0 += pair.requests.len() as u64 - differences;
        let first = pair.requests.iter().find(is_new);
        let end = first.map_or(u64::MAX, |hunk| hunk.hunk.reference.start as u64);

        let repeated = |side: usize| {
            let repeated = pair.repeated[side].clone();
            repeated.filter(|one| !varies(Symbol::new(&one.request)))
        };
        let first_request = first.map(|hunk| RequestDifference {
            requests_before: end,
            since_ms: since(hunk.time),
            reference: hunk.side(0, details, repeated(0)),
            other: hunk.side(1, details, repeated(1)),
        });
        // Keeps the order of the fields.
        let mut received: Vec<ReceivedDifference> = Vec::new();
        // By kind, and by the sides that have a value.
        let mut groups: BTreeMap<(Varying, [bool; 2]), usize> = BTreeMap::new();
        let closed = pair.closed_by_server.as_ref().map(|closed| closed.since_ms);
        let mut since_ms: Option<f64> = first.map(|hunk| since(hunk.time)).or(closed);
        for one in &pair.received {
            if u64::from(one.requests_before) > end {
                continue;
            }
            for (path, [value, other]) in self.fields(one, details) {
                let kind = one.varying(pair, path.as_deref());
                if varying.contains(&kind) {
                    left_out.0 += 1;
                    continue;
                }
                let group = (kind, [value.is_some(), other.is_some()]);
                let at = since(one.time);
                since_ms = Some(since_ms.map_or(at, |before| before.min(at)));
                let before = u64::from(one.requests_before);
                let values = [value.as_deref(), other.as_deref()];
                let in_request = first_request.as_ref().is_some_and(|one| one.names(values));
                let difference = ReceivedDifference {
                    kind: one.kind.name().to_owned(),
                    message: one.name.as_str().to_owned(),
                    field: path,
                    reference: value,
                    other,
                    count: 1 + one.more,
                    requests_between: first.map(|_| end.saturating_sub(before)),
                    requests_before: before,
                    in_request,
                };
                match groups.get(&group) {
                    None => {
                        groups.insert(group, received.len());
                        received.push(difference);
                    }
                    // The message nearest to the first request difference, or the first message if there is none.
                    Some(index) => {
                        let known = &mut received[*index];
                        let count = known.count + 1 + one.more;
                        let rank = |one: &ReceivedDifference| (one.in_request, one.requests_before);
                        if first.is_some() && rank(&difference) > rank(known) {
                            *known = difference;
                        }
                        known.count = count;
                    }
                }
            }
        }
        received.sort_by_key(|one| match one.requests_between {
            Some(between) => (!one.in_request, between, one.requests_before),
            None => (false, one.requests_before, 0),
        });
        let waits_for = pair.waits_for.map(|(request, since_ms)| MissingReply {
            request: request.as_str().to_owned(),
            since_ms,
        });
        Some(ClientDivergence {
            client: pair.name.clone(),
            pair: index,
            since_ms: since_ms?,
            first_request,
            request_differences: differences,
            received,
            waits_for,
            closed_by_server: pair.closed_by_server.clone(),
        })
    }

    /// The fields in which two received messages differ, with both values; no path if only one recording has the
    /// message.
    fn fields(
        &self,
        one: &ReceivedPair,
        details: &[MessageDetails; 2],
    ) -> Vec<(Option<String>, [Option<String>; 2])> {
        if let Some(kinds) = one.replaced {
            let text = kinds.map(|(kind, name)| match kind {
                Received::Error => Some(format!("error {}", name.as_str())),
                kind => Some(kind.name().to_owned()),
            });
            return vec![(None, text)];
        }
        if let ([Some(a), Some(b)], true) = (one.places, one.is_moved) {
            let numbers = [a, b].map(|(_, number)| Some(number.to_string()));
            return vec![(Some(ReceivedDifference::MOVED.to_owned()), numbers)];
        }
        let [Some(a), Some(b)] = one.places else {
            let text = |side: usize| {
                let place = one.places[side]?;
                Some(line(details[side].get(place)))
            };
            return vec![(None, [text(0), text(1)])];
        };
        let (Some(first), Some(second)) = (details[0].get(a), details[1].get(b)) else {
            return Vec::new();
        };
        // A field beyond the limit of one side's fields may exist on both sides. Only the name of the checksum of such
        // fields contains a space.
        let last = [first, second].map(|fields| fields.last());
        let is_cut = last.iter().flatten().any(|(path, _)| path.contains(' '));
        let [known, others] = [first, second].map(|fields| {
            let fields = fields.iter().map(|(path, field)| (path.as_str(), field));
            fields.collect::<FxHashMap<&str, &Field>>()
        });
        let added = second
            .iter()
            .filter(|(path, _)| !known.contains_key(path.as_str()));
        let both = first.iter().chain(added).filter_map(|(path, _)| {
            let sides = [&known, &others].map(|fields| fields.get(path.as_str()));
            let differs = match sides {
                [Some(a), Some(b)] => !self.same(a.meaning, b.meaning),
                _ => !is_cut,
            };
            let texts = sides.map(|field| Some(field?.text.clone()));
            differs.then(|| (Some(path.clone()), texts))
        });
        both.collect()
    }

    fn same(&self, a: Meaning, b: Meaning) -> bool {
        match (a, b) {
            (Meaning::Server(a), Meaning::Server(b)) => self.ids.can_be_same(a, b),
            _ => a == b,
        }
    }
}

impl RequestDifference {
    /// True if the requests of each side have a field with that side's value.
    fn names(&self, values: [Option<&str>; 2]) -> bool {
        let [Some(reference), Some(other)] = values else {
            return false;
        };
        let has = |side: &RequestSide, value: &str| {
            let is_field = |text: &str, at: usize| {
                let after = text[at + value.len()..].chars().next();
                text[..at].ends_with('=') && after.is_none_or(|next| next == ' ')
            };
            let mut texts = side
                .requests
                .iter()
                .filter(|text| text.len() <= LONG_REQUEST);
            texts.any(|text| text.match_indices(value).any(|(at, _)| is_field(text, at)))
        };
        reference != other && has(&self.reference, reference) && has(&self.other, other)
    }
}

impl RequestHunk {
    fn side(
        &self,
        side: usize,
        details: &[MessageDetails; 2],
        repeated: Option<RepeatedRequest>,
    ) -> RequestSide {
        let of = &self.sides[side];
        let text = |(name, place): &(Symbol, Place)| {
            let fields = line(details[side].get(*place));
            match fields.as_str() {
                "" => name.as_str().to_owned(),
                fields => format!("{} {fields}", name.as_str()),
            }
        };
        RequestSide {
            requests: of.shown.iter().map(text).collect(),
            count: of.count,
            repeated,
        }
    }
}

impl ReceivedPair {
    fn varying(&self, pair: &ClientPair, path: Option<&str>) -> Varying {
        let client = pair.name.clone();
        match path {
            Some(path) => Varying::Field(client, self.name, without_indices(path)),
            None => Varying::Message(client, self.name),
        }
    }
}

impl Received {
    pub(super) fn name(self) -> &'static str {
        match self {
            Received::Setup => "setup",
            Received::Reply => "reply",
            Received::Event => "event",
            Received::Error => "error",
        }
    }
}

/// Returns the fields of a message in one line of text, without those that differ from run to run.
pub(super) fn line(fields: Option<&[(String, Field)]>) -> String {
    let fields = fields.unwrap_or_default().iter();
    let fields =
        fields.filter(|(path, field)| !path.ends_with("[]") && field.meaning != Meaning::Varies);
    let fields = fields.map(|(path, field)| format!("{path}={}", field.text));
    fields.collect::<Vec<_>>().join(" ")
}

/// Removes the list indices from the path of a field: `modes[3].width` becomes `modes[].width`.
fn without_indices(path: &str) -> String {
    let parts = path.split('[');
    let parts = parts.map(|part| part.find(']').map_or(part, |end| &part[end..]));
    parts.collect::<Vec<_>>().join("[")
}
