//! Replies that took far longer than other replies, and the probable cause: another client's grab, a request that is
//! inherently slow, another client's work, or the client's own earlier requests.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control};

use super::catalogue;
use super::{Context, Finding, GROUPS, Groups, Insight, Saving, remember};
use crate::clients::PerClient;
use crate::pipeline::grab_history::GrabHistory;
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::CompletedRequest;
use crate::statistics::distribution::Distribution;
use crate::text::label::client_name;
use crate::text::units::counted;

/// The minimum time of a slow reply, in nanoseconds: about a frame.
const SLOW: u64 = 10_000_000;
/// A slow reply also takes at least this many times the usual time.
const TIMES: u64 = 10;
/// Maximum number of open requests, and of slow replies, kept for a client; further ones are ignored.
const OPEN: usize = 4096;
const REPLIES: usize = 4096;

/// Why a reply was slow, the most certain cause first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    /// This client had grabbed the server.
    Grab(ConnectionId),
    /// The catalogue of slow requests contains the request.
    Itself,
    /// The server's handler of the request itself took most of the time.
    Handler,
    /// The server was working on the requests of this client.
    Other(ConnectionId),
    /// The server was working on earlier requests of the client itself.
    Own,
    Unknown,
}

#[derive(Debug, Default)]
struct ClientTraffic {
    /// The nanoseconds of the server's handlers for the client's requests so far.
    handled: f64,
    /// Open requests, with the handlers' times for other clients when each was sent.
    open: VecDeque<OpenRequest>,
    /// The nanoseconds of the last handler.
    last_handler: f64,
}

/// A request without its reply, and the nanoseconds of the server's handlers for each client when it was sent.
#[derive(Debug, Default)]
struct OpenRequest {
    sequence: SequenceNumber,
    own: f64,
    others: Vec<(ConnectionId, f64)>,
}

#[derive(Debug, Default)]
struct Replies {
    count: u64,
    waited: u64,
    longest: u64,
    /// Nanoseconds of the server's handlers for the cause.
    handled: f64,
    requests: Vec<SequenceNumber>,
}

impl Replies {
    fn add(&mut self, request: SequenceNumber, waited: u64) {
        self.count += 1;
        self.waited = self.waited.saturating_add(waited);
        self.longest = self.longest.max(waited);
        remember(&mut self.requests, [request]);
    }
}

/// Finds slow replies and their causes.
#[derive(Debug, Default)]
pub(super) struct SlowReplies {
    clients: PerClient<ClientTraffic>,
    grab: GrabHistory,
    usual: Distribution,
    kinds: HashMap<Symbol, Distribution>,
    slow: Groups<(Symbol, Cause), Replies>,
    names: PerClient<String>,
    kept: usize,
}

impl SlowReplies {
    fn message(&mut self, seen: &MessageContext<'_>) {
        let Message::Request(request) = seen.message else {
            return;
        };
        let others = request.has_reply.then(|| self.others(seen.connection));
        let Some(client) = self.clients.entry(seen.connection) else {
            return;
        };
        if let Some(others) = others {
            if client.open.len() >= OPEN {
                client.open.pop_front();
            }
            client.open.push_back(OpenRequest {
                sequence: request.sequence,
                own: client.handled,
                others,
            });
        }
    }

    /// Returns the handlers' times of up to 16 other clients.
    fn others(&self, client: ConnectionId) -> Vec<(ConnectionId, f64)> {
        let others = self.clients.iter().filter(|(id, _)| *id != client);
        let others = others.take(16).map(|(id, other)| (id, other.handled));
        others.collect()
    }

    /// The cause of a slow reply according to the server's handler times during the wait, and the nanoseconds of the
    /// cause; `None` if the handlers took less than half of the wait.
    fn by_handlers(
        &self,
        answer: &CompletedRequest<'_>,
        sent: &OpenRequest,
        waited: u64,
    ) -> Option<(Cause, f64)> {
        let client = self.clients.get(answer.client)?;
        let others = sent.others.iter().filter_map(|(id, then)| {
            let nanos = self.clients.get(*id)?.handled - then;
            Some((Cause::Other(*id), nanos))
        });
        let own = client.handled - sent.own;
        // The handler of the request was the client's last one before the reply.
        let itself = client.last_handler.min(own);
        let name = answer.question.name.as_str();
        let handler = match catalogue::slow(name) {
            Some(_) => Cause::Itself,
            None => Cause::Handler,
        };
        let all = others.chain([(handler, itself), (Cause::Own, own - itself)]);
        let most = all.max_by(|a, b| a.1.total_cmp(&b.1));
        most.filter(|(_, nanos)| nanos * 2.0 >= waited as f64)
    }

    /// Returns the median time in nanoseconds of replies to requests of this name if there are enough, otherwise of all
    /// replies.
    fn usual(&self, name: Symbol) -> u64 {
        let kind = self.kinds.get(&name).filter(|kind| kind.number() >= 5);
        kind.unwrap_or(&self.usual).median().unwrap_or(0)
    }

    fn client(&self, id: ConnectionId) -> String {
        client_name(self.names.get(id).map(String::as_str), id)
    }

    fn finding(
        &self,
        client: ConnectionId,
        name: Symbol,
        cause: Cause,
        replies: &Replies,
    ) -> Finding {
        let usual = self.usual(name);
        let known = catalogue::slow(name.as_str());
        let (action, because) = match (cause, known) {
            (Cause::Itself, Some(known)) => (
                format!("Use {}, not {name}: {}", known.instead, known.because),
                known.sources.first().cloned().unwrap_or_default(),
            ),
            (Cause::Grab(by), _) => (
                format!(
                    "Do not let {} hold the server (GrabServer)",
                    self.client(by)
                ),
                format!("{} had grabbed the server meanwhile", self.client(by)),
            ),
            (Cause::Other(by), _) => (
                format!("Reduce the server's work for {}", self.client(by)),
                format!(
                    "the server handled requests of {} for {:.1} ms of it",
                    self.client(by),
                    replies.handled / 1e6
                ),
            ),
            (Cause::Handler, _) => (
                format!("Send fewer or smaller {name}, or profile the server"),
                format!(
                    "the server itself worked {:.1} ms on {}",
                    replies.handled / 1e6,
                    counted(replies.count, "request")
                ),
            ),
            (Cause::Own, _) => (
                format!(
                    "Send {name} before the drawing, or later: the server first handles all earlier requests"
                ),
                format!(
                    "the server handled the client's earlier requests for {:.1} ms of it",
                    replies.handled / 1e6
                ),
            ),
            _ => (
                format!("Profile the server while it handles {name}"),
                "nothing in the recording explains the wait".to_owned(),
            ),
        };
        Finding {
            kind: "slow",
            client,
            request: name,
            count: replies.count,
            action,
            why: format!(
                "{} took {:.0} ms, the slowest {:.0} ms ({:.2} ms is usual): {because}",
                counted(replies.count, "reply"),
                replies.waited as f64 / 1e6,
                replies.longest as f64 / 1e6,
                usual as f64 / 1e6,
            ),
            saves: Saving {
                // The server's work stays if the client does not wait for it: only a simulation shows the saving.
                round_trips: if cause == Cause::Own {
                    replies.count
                } else {
                    0
                },
                // A delay without a known cause is no promise.
                nanos: match cause {
                    Cause::Unknown => 0,
                    _ => replies.waited.saturating_sub(usual * replies.count),
                },
                waits: replies.requests.clone(),
                ..Saving::default()
            },
        }
    }
}

impl Insight for SlowReplies {
    fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => self.message(seen),
            Observation::Control(_, Control::Opened(opened)) => {
                if let Some(name) = &opened.name {
                    self.names.insert(opened.connection, name.clone());
                }
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.clients.remove(*connection);
            }
            Observation::HandledRequest(one) => {
                if let Some(client) = self.clients.get_mut(one.connection) {
                    client.handled += one.nanos;
                    client.last_handler = one.nanos;
                }
            }
            Observation::Grabbed(time, by) => self.grab.change(time.as_nanos(), *by),
            _ => {}
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let question = &answer.question;
        let sent = self.clients.get_mut(answer.client).and_then(|client| {
            let at = client
                .open
                .partition_point(|one| one.sequence < question.sequence);
            let mut old = client
                .open
                .drain(..=at.min(client.open.len().checked_sub(1)?));
            old.next_back()
                .filter(|one| one.sequence == question.sequence)
        });
        if !answer.how.is_round_trip() {
            return;
        }
        // Reading the pixels takes time in proportion to the image.
        let waited = answer.began.saturating_sub(question.requested_at);
        let waited = waited.min(answer.waited_locally());
        self.usual.add(waited);
        if self.kinds.len() < GROUPS || self.kinds.contains_key(&question.name) {
            self.kinds.entry(question.name).or_default().add(waited);
        }
        let known = catalogue::slow(question.name.as_str()).is_some();
        if waited < SLOW || self.kept >= REPLIES {
            return;
        }
        self.kept += 1;
        let grab = self
            .grab
            .most_of(answer.client, question.requested_at, answer.time);
        let by_handlers = sent.and_then(|sent| self.by_handlers(answer, &sent, waited));
        let mut handled = 0.0;
        let cause = if let Some(by) = grab {
            Cause::Grab(by)
        } else if let Some((cause, nanos)) = by_handlers {
            handled = nanos;
            cause
        } else if known {
            Cause::Itself
        } else {
            Cause::Unknown
        };
        if let Some(replies) = self.slow.of(answer.client, (question.name, cause)) {
            replies.handled += handled;
            replies.add(question.sequence, waited);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let far = |name: Symbol, replies: &Replies| {
            // A reply of a rare kind is compared with the usual time of all kinds.
            let usual = self.usual(name);
            replies.longest >= usual.saturating_mul(TIMES)
                || catalogue::slow(name.as_str()).is_some()
        };
        let all = self.slow.all();
        let slow = all.filter(|(_, (name, _), replies)| far(*name, replies));
        slow.map(|(client, (name, cause), replies)| self.finding(client, name, cause, replies))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SlowReplies;
    use crate::roundtrips::insights::testing::{findings, findings_in, findings_of};
    use crate::testing::*;
    use crate::testing_display::Display;

    fn questions(trace: &mut Synthetic) {
        for number in 1..=5 {
            trace.wait(10).client_sends(&[query_font()]);
            trace.wait(100).server_sends(&[reply(number)]);
        }
    }

    #[test]
    fn slow_reply_after_many_requests_has_no_cause_without_handler_times() {
        let mut trace = Synthetic::new();
        questions(&mut trace);
        let mut many = vec![poly_fill_rectangle(1); 300];
        many.push(query_font());
        trace.wait(10).client_sends(&many);
        trace.wait(40_000).server_sends(&[reply(306)]);
        let found = findings(&trace, SlowReplies::default());
        assert_eq!(found.len(), 1);
        assert!(
            found[0].why.contains("nothing in the recording"),
            "{found:?}"
        );
        assert_eq!(found[0].saves.nanos, 0);
    }

    #[test]
    fn known_slow_requests_are_explained() {
        let mut trace = Synthetic::new();
        questions(&mut trace);
        // ListFonts.
        trace.wait(10).client_sends(&[request(49, 0, &[0])]);
        trace.wait(40_000).server_sends(&[reply(6)]);
        let found = findings(&trace, SlowReplies::default());
        assert_eq!(found.len(), 1);
        assert!(found[0].action.contains("all its fonts"), "{found:?}");
        // A fast reply to the same request costs nothing here.
        let mut trace = Synthetic::new();
        trace.client_sends(&[request(49, 0, &[0])]);
        trace.wait(100).server_sends(&[reply(1)]);
        assert!(findings(&trace, SlowReplies::default()).is_empty());
    }

    #[test]
    fn reply_delayed_by_grab_blames_the_grab_holder() {
        let (grab, ungrab) = (|| request(36, 0, &[]), || request(37, 0, &[]));
        for second in [false, true] {
            let mut trace = Display::new();
            for number in 1..=5_u16 {
                let ms = f64::from(number);
                trace.sends(1, ms, query_font());
                trace.gets(1, ms + 0.1, reply(number));
            }
            trace.sends(3, 10.0, grab());
            // During the grab, another GrabServer waits and succeeds afterwards.
            if second {
                trace.sends(2, 10.1, grab());
                trace.sends(3, 10.2, ungrab());
            }
            trace.sends(1, 11.0, query_font());
            trace.sends(if second { 2 } else { 3 }, 50.9, ungrab());
            trace.gets(1, 51.0, reply(6));
            let found = findings_in(&trace.records, SlowReplies::default());
            let [one] = found.as_slice() else {
                panic!("{found:?}")
            };
            let by = if second { "panel" } else { "editor" };
            assert!(
                one.action.starts_with(&format!("Do not let {by} ")),
                "{one:?}"
            );
            assert_eq!(one.saves.nanos, 39_900_000);
        }
    }

    /// With handler times, the reply waits for another client's request, for the client's own drawing, for the request
    /// itself, or for none of them.
    #[test]
    fn handler_times_show_the_cause_of_a_slow_reply() {
        let causes = [
            (
                (2, 1, 39_000_017),
                "handled requests of panel (client 2) for 39.0 ms",
            ),
            ((1, 6, 39_000_017), "earlier requests for 39.0 ms"),
            ((1, 7, 39_000_017), "the server itself worked 39.0 ms"),
            (
                (1, 7, 1_000_000),
                "nothing in the recording explains the wait",
            ),
        ];
        for ((client, sequence, nanos), because) in causes {
            let mut trace = Display::timed();
            for number in 1..=5_u16 {
                let ms = f64::from(number);
                trace.sends(1, ms, query_font());
                trace.gets(1, ms + 0.1, reply(number));
            }
            trace.sends(2, 10.0, poly_fill_rectangle(1));
            trace.sends(1, 10.0, poly_fill_rectangle(1));
            trace.sends(1, 11.0, query_font());
            trace.handled(client, 11.1, sequence, nanos);
            if (client, sequence) != (1, 7) {
                trace.handled(1, 50.5, 7, 1000);
            }
            trace.gets(1, 51.0, reply(7));
            let mut slow = SlowReplies::default();
            let found = findings_of(&trace.records, &mut slow);
            assert!(found[0].why.contains(because), "{found:?}");
            let handled: f64 = slow.slow.all().map(|(_, _, replies)| replies.handled).sum();
            let expected = if nanos > 20_000_000 {
                nanos as f64
            } else {
                0.0
            };
            assert_eq!(handled, expected);
        }
    }
}
