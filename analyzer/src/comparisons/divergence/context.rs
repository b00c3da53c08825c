//! The messages of each client around its first difference, in both recordings side by side.

use std::iter::once;

use rustc_hash::FxHashSet;

use super::alignment::align;
use super::details::{MessageDetails, Place};
use super::findings::line;
use super::report::{ClientDivergence, DivergenceReport};
use super::streams::DisplayStreams;
use super::{Divergence, request_hashes};
use crate::text::units::duration_ms;

/// The number of messages before the first difference and after it.
const BEFORE: u32 = 30;
const AFTER: u32 = 10;

/// A message of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextMessage {
    /// Milliseconds from the start of the recording.
    pub since_ms: f64,
    /// The kind of message: `request`, `setup`, `reply`, `event` or `error`.
    pub kind: &'static str,
    /// The name of the request, event or error, or of the request that a reply belongs to.
    pub name: &'static str,
    /// The fields in text form.
    pub fields: String,
    place: Place,
    hash: u64,
}

/// A message in each recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextRow {
    /// The messages of the reference and of the other recording; `None` if only one recording has the message here.
    pub sides: [Option<ContextMessage>; 2],
    /// True if the messages differ, and not only in their position.
    pub differs: bool,
}

/// The messages around the first difference of each client of a report.
#[derive(Debug)]
pub struct DivergenceContext(Vec<Vec<ContextRow>>);

impl DivergenceContext {
    /// Creates the collectors of the messages' fields, for another pass over each of the two recordings.
    pub fn details(&self) -> [MessageDetails; 2] {
        [0, 1].map(|side| {
            let rows = self.0.iter().flatten();
            let messages = rows.filter_map(|row| row.sides[side].as_ref());
            MessageDetails::new(messages.map(|message| message.place))
        })
    }

    /// Returns the rows of each client of the report, with the fields in `details`.
    pub fn rows(mut self, details: &[MessageDetails; 2]) -> Vec<Vec<ContextRow>> {
        for row in self.0.iter_mut().flatten() {
            for (message, details) in row.sides.iter_mut().zip(details) {
                if let Some(message) = message {
                    message.fields = line(details.get(message.place));
                }
            }
        }
        self.0
    }
}

impl Divergence {
    /// Finds the messages around the first difference of each client of the `report`, without their fields.
    pub fn context(
        &self,
        report: &DivergenceReport,
        displays: [&DisplayStreams; 2],
    ) -> DivergenceContext {
        let mut steps = self.alignment_steps;
        let clients = report.clients.iter();
        let rows = clients.map(|one| self.rows(one, displays, &mut steps));
        DivergenceContext(rows.collect())
    }

    fn rows(
        &self,
        client: &ClientDivergence,
        displays: [&DisplayStreams; 2],
        steps: &mut u64,
    ) -> Vec<ContextRow> {
        let pair = &self.pairs[client.pair];
        let indices = [pair.reference, pair.other];
        let clients = [0, 1].map(|side| &displays[side].clients[indices[side]]);
        let received = client.received.iter().map(|one| one.requests_before);
        let requests = client.first_request.iter();
        let requests = requests.map(|one| one.requests_before);
        let first = requests.chain(received).min();
        let request = first.map_or(clients[0].requests.len(), |first| first as usize);
        let [left, right] = clients.map(request_hashes);
        let equal = align(&left, &right, steps).equal;
        let next = equal.partition_point(|(at, _)| *at < request);
        let partner = match equal.get(next) {
            Some((at, partner)) if *at == request => *partner,
            _ => next.checked_sub(1).map_or(0, |last| equal[last].1 + 1),
        };
        let windows = [
            displays[0].window(indices[0], request),
            displays[1].window(indices[1], partner),
        ];
        let all = clients.map(|client| {
            let received = client.received.iter().map(|(_, entry)| entry.hash);
            let requests = client.requests.iter().map(|entry| entry.hash);
            requests.chain(received).collect::<FxHashSet<u64>>()
        });
        let rows = side_by_side(windows, &all);
        // The two windows may begin at different messages.
        let is_equal = |row: &ContextRow| !row.differs && row.sides.iter().all(Option::is_some);
        let start = rows.iter().position(is_equal).unwrap_or_default();
        rows.into_iter().skip(start).collect()
    }
}

impl DisplayStreams {
    /// The messages of a client around the request with this index, in order.
    fn window(&self, client: usize, request: usize) -> Vec<ContextMessage> {
        let stream = &self.clients[client];
        let received = stream.received.iter();
        let received = received.map(|(kind, entry)| (kind.name(), entry));
        let requests = stream.requests.iter().map(|entry| ("request", entry));
        let at = stream.requests.get(request);
        let at = at.map_or(stream.messages, |entry| entry.number);
        let range = at.saturating_sub(BEFORE)..at.saturating_add(AFTER);
        let near = requests.chain(received);
        let near = near.filter(|(_, entry)| range.contains(&entry.number));
        let mut near: Vec<ContextMessage> = near
            .map(|(kind, entry)| ContextMessage {
                since_ms: duration_ms(entry.time.since(self.start.unwrap_or(entry.time))),
                kind,
                name: entry.name.as_str(),
                fields: String::new(),
                place: (client, entry.number),
                hash: entry.hash,
            })
            .collect();
        near.sort_by_key(|message| message.place);
        near
    }
}

/// Aligns the messages of two recordings. A message that is in `all` messages of the other side has only another position.
fn side_by_side(windows: [Vec<ContextMessage>; 2], all: &[FxHashSet<u64>; 2]) -> Vec<ContextRow> {
    let hashes = windows
        .each_ref()
        .map(|window| -> Vec<u64> { window.iter().map(|message| message.hash).collect() });
    let ends = (hashes[0].len(), hashes[1].len());
    let equal = align(&hashes[0], &hashes[1], &mut 0).equal;
    let mut messages = windows.map(Vec::into_iter);
    let mut rows = Vec::new();
    let mut row = |is_taken: [bool; 2]| {
        let sides = [0, 1].map(|side| is_taken[side].then(|| messages[side].next()).flatten());
        let is_new = |side: usize| {
            let message = sides[side].as_ref();
            message.is_some_and(|message| !all[1 - side].contains(&message.hash))
        };
        let differs = is_new(0) || is_new(1);
        rows.push(ContextRow { sides, differs });
    };
    let (mut i, mut j) = (0, 0);
    for (a, b) in equal.into_iter().chain(once(ends)) {
        while i < a || j < b {
            row([i < a, j < b]);
            (i, j) = (a.min(i + 1), b.min(j + 1));
        }
        if (a, b) != ends {
            row([true, true]);
        }
        (i, j) = (a + 1, b + 1);
    }
    rows
}
