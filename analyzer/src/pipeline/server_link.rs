//! The link between the recorder and the server. It computes when the server received the bytes that the recorder read
//! from a client, and when the server sent the bytes that the recorder read later. The recorder emulated the link
//! (`record --net`), or measured it.

use rustc_hash::FxHashMap;
use x11prof_trace::{Block, ConnectionId, Control, Direction, EmulatedNetwork, Line, Timestamp};

/// The number of bytes of a full packet (Ethernet's MTU without the headers of IP and TCP). If a read fills its last
/// packet, more bytes of the reply may follow.
const FULL: u32 = 1448;
/// Maximum lateness of the recorder's timers, in nanoseconds, in addition to the time of a few packets on the line.
const LATE: u64 = 500_000;
const LATE_PACKETS: u64 = 4;

/// The link between the recorder and the server: all connections share each direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerLink {
    /// The line to the server, with the emulated and the measured round trip; `None` without a link.
    there: Option<Line>,
    /// The emulated network's round trip in nanoseconds.
    emulated_trip: u64,
    /// The measured link's round trip, and the additional time of a connection setup.
    measured: Option<(u64, u64)>,
    /// The time at which the line from the server was free again, and the time at which the server sent the bytes
    /// that occupied the line until then.
    free_back: u64,
    sent_back: u64,
    /// The last bytes of each connection over a link whose round trips vary.
    last: FxHashMap<ConnectionId, LastBytes>,
}

/// The last bytes of a connection.
#[derive(Debug, Clone, Copy)]
struct LastBytes {
    /// The time at which the server received or sent the bytes, and the time by the link's round trip alone.
    at: u64,
    on_time: u64,
    /// True if more bytes of the same reply may follow.
    continues: bool,
    /// The number of bytes of the reply so far.
    reply: u64,
}

impl ServerLink {
    /// Processes a control record, which may describe the link.
    pub(crate) fn control(&mut self, control: &Control) {
        match control {
            Control::Network(network) => {
                self.emulated_trip = network.round_trip_ns;
                self.there = Some(Line::new(network.clone()));
                self.set_round_trip();
            }
            Control::Link(link) if link.is_remote() => {
                self.measured = link.round_trip_ns().map(|trip| (trip, link.connect_ns()));
                self.set_round_trip();
                let trip = self.measured_trip().unwrap_or(0);
                if let Some(line) = &mut self.there {
                    let speed = &mut line.network_mut().bytes_per_second;
                    *speed = speed.or(link.to_server.bytes_per_second(trip));
                    let is_ssh = link
                        .relay
                        .as_deref()
                        .is_some_and(|relay| relay.starts_with("sshd"));
                    line.network_mut().reply_window = is_ssh.then_some(EmulatedNetwork::SSH_WINDOW);
                }
            }
            Control::Closed { connection, .. } => drop(self.last.remove(connection)),
            _ => {}
        }
    }

    /// Notes that the reply to a request arrived this many nanoseconds after the request: a measured link's round trip
    /// is not longer.
    pub(crate) fn replied_after(&mut self, nanos: u64) {
        if let Some((trip, connect)) = &mut self.measured {
            let less = trip.saturating_sub(nanos);
            *trip -= less;
            *connect = connect.saturating_add(less);
            if less > 0 {
                self.set_round_trip();
            }
        }
    }

    fn set_round_trip(&mut self) {
        let trip = self.measured_trip().unwrap_or(0);
        let line = self
            .there
            .get_or_insert_with(|| Line::new(EmulatedNetwork::default()));
        line.network_mut().round_trip_ns = self.emulated_trip.saturating_add(trip);
    }

    /// The network of the link: the emulated network, with the measured round trip and speed.
    pub(crate) fn network(&self) -> Option<&EmulatedNetwork> {
        self.there.as_ref().map(Line::network)
    }

    /// The round trip of a measured link in nanoseconds.
    pub(crate) fn measured_trip(&self) -> Option<u64> {
        self.measured.map(|(trip, _)| trip)
    }

    /// The time at which the server received or sent the bytes of `block`. Without a link, this is the time at which
    /// the recorder read them.
    pub(crate) fn at_server(&mut self, block: &Block) -> Timestamp {
        let Some(line) = &mut self.there else {
            return block.time;
        };
        let (trip, connect) = self.measured.unwrap_or_default();
        let time = block.time.as_nanos();
        let at = match block.direction {
            Direction::ToServer => {
                // Connecting takes a round trip on an emulated link, and the measured time on a measured link.
                let connects = if block.offset == 0 {
                    self.emulated_trip.saturating_add(connect)
                } else {
                    0
                };
                let sent = line.send(time, u64::from(block.wire_len));
                let arrived = sent.arrives.saturating_add(connects);
                let last = LastBytes {
                    at: arrived,
                    on_time: arrived,
                    continues: true,
                    reply: 0,
                };
                self.last.insert(block.connection, last);
                arrived
            }
            Direction::ToClient => {
                let network = line.network();
                let round_trip = network.round_trip_ns;
                let occupies = network.occupies(block.wire_len as usize);
                let free = time.saturating_sub(network.latency());
                let from = free.saturating_sub(occupies);
                let varies = trip.saturating_add(line.varies_by(time));
                // A packet directly behind another one had to wait for the line. A packet with a late timer does not
                // delay the next one, whose slot on the line is known.
                let late = LATE.saturating_add(LATE_PACKETS.saturating_mul(occupies));
                self.free_back = if from > self.free_back.saturating_add(late) {
                    self.sent_back = from;
                    free
                } else {
                    free.min(self.free_back.saturating_add(occupies))
                };
                // Round trips of a measured link vary, and its speed and the server's time are unknown: the link
                // delayed a reply, or more bytes of a reply, that are late by less than a round trip. An emulated
                // link may vary by less. The next window of a long reply is a round trip later.
                let on_time = self.sent_back;
                let last = self.last.get(&block.connection).copied();
                let within = last.filter(|last| {
                    let window = match last.reply >= EmulatedNetwork::FIRST_WINDOW {
                        true => round_trip.saturating_add(LATE),
                        false => 0,
                    };
                    let late = varies.saturating_add(window);
                    let late = last.on_time..=last.on_time.saturating_add(late);
                    last.continues && late.contains(&on_time)
                });
                let at = within.map_or(on_time, |last| last.at);
                // The client may have sent more before it read these bytes.
                if last.is_none_or(|last| last.on_time <= on_time) {
                    let reply = within.map_or(0, |last| last.reply);
                    let last = LastBytes {
                        at,
                        on_time,
                        continues: block.wire_len >= FULL,
                        reply: reply.saturating_add(u64::from(block.wire_len)),
                    };
                    self.last.insert(block.connection, last);
                }
                at
            }
        };
        Timestamp::from_nanos(at)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use x11prof_cost_model::{Network, Substitutions};
    use x11prof_trace::{
        Block, ConnectionId, Control, Direction, EmulatedNetwork, Link, Record, Server, Switch,
        SwitchKind, Timestamp, Transfer,
    };

    use super::ServerLink;
    use crate::episodes::{
        EpisodeOptions, Episodes, EpisodesReport, LatencyComponent, ServerCause, Trigger,
    };
    use crate::pipeline::Pipeline;
    use crate::recording::trace_summary::TraceSummary;
    use crate::roundtrips::{RoundTripOptions, RoundTrips};
    use crate::stalls::{FRAME_MS, Stalls};
    use crate::testing::*;
    use crate::testing_display::costs;

    fn block(direction: Direction, millis: u64, wire_len: u32) -> Block {
        Block {
            time: Timestamp::from_nanos(millis * 1_000_000),
            connection: ConnectionId(1),
            direction,
            offset: 100,
            wire_len,
            fds: 0,
            gaps: Vec::new(),
            bytes: Bytes::new(),
        }
    }

    #[test]
    fn link_delay_is_half_a_round_trip_plus_transfer() {
        let mut link = ServerLink::default();
        let asks = block(Direction::ToServer, 10, 1448);
        let answer = |millis| block(Direction::ToClient, millis, 1448);
        let at = |link: &mut ServerLink, block| link.at_server(&block).as_nanos() / 1000;
        assert_eq!(at(&mut link, asks.clone()), 10_000);
        // 1500 bytes are a millisecond.
        link.control(&Control::Network(EmulatedNetwork {
            bytes_per_second: Some(1.5e6),
            round_trip_ns: 40_000_000,
            ..EmulatedNetwork::default()
        }));
        assert_eq!(at(&mut link, asks.clone()), 31_000);
        assert_eq!(at(&mut link, asks), 32_000);
        assert_eq!(at(&mut link, answer(60)), 39_000);
        // The line delayed the second packet of a long reply.
        assert_eq!(at(&mut link, answer(61)), 39_000);
        // A packet with a late timer was not sent later by the server; the next packet is on time again.
        assert_eq!(at(&mut link, answer(65)), 39_000);
        assert_eq!(at(&mut link, answer(66)), 39_000);
        assert_eq!(at(&mut link, answer(75)), 54_000);
        let first = Block {
            offset: 0,
            ..block(Direction::ToServer, 100, 1448)
        };
        assert_eq!(at(&mut link, first), 161_000);
    }

    #[test]
    fn windows_of_a_long_reply_are_on_the_link() {
        let mut link = ServerLink::default();
        link.control(&Control::Link(Link {
            relay: Some("sshd".to_owned()),
            round_trips_ns: vec![40_000_000],
            ..Link::default()
        }));
        let at = |link: &mut ServerLink, block| link.at_server(&block).as_nanos() / 1_000_000;
        assert_eq!(at(&mut link, block(Direction::ToServer, 10, 100)), 30);
        // 64 KiB each.
        for millis in [50, 91, 132, 173] {
            assert_eq!(
                at(&mut link, block(Direction::ToClient, millis, 65_536)),
                30
            );
        }
        assert_eq!(at(&mut link, block(Direction::ToClient, 214, 1000)), 30);
        assert_eq!(at(&mut link, block(Direction::ToClient, 255, 1000)), 235);
    }

    #[test]
    fn measured_link_delays_like_an_emulated_link() {
        let mut link = ServerLink::default();
        let local = Link {
            transport: "unix".to_owned(),
            round_trips_ns: vec![40_000],
            ..Link::default()
        };
        link.control(&Control::Link(local.clone()));
        let asks = block(Direction::ToServer, 10, 1448);
        let at = |link: &mut ServerLink, block| link.at_server(&block).as_nanos() / 1000;
        assert_eq!(at(&mut link, asks.clone()), 10_000);
        link.control(&Control::Link(Link {
            relay: Some("sshd".to_owned()),
            setup_ns: Some(81_000_000),
            round_trips_ns: vec![50_000_000, 41_000_000, 42_000_000],
            ..local
        }));
        assert_eq!(link.measured_trip(), Some(41_000_000));
        // A reply arrives sooner than the probe's replies, and later than that.
        link.replied_after(40_000_000);
        link.replied_after(70_000_000);
        assert_eq!(at(&mut link, asks.clone()), 30_000);
        // The reply is late by less than a round trip: the link delayed it. A later one waited for the server.
        assert_eq!(at(&mut link, block(Direction::ToClient, 60, 1448)), 30_000);
        assert_eq!(at(&mut link, block(Direction::ToClient, 75, 1000)), 30_000);
        assert_eq!(at(&mut link, block(Direction::ToClient, 76, 1000)), 56_000);
        // Connection setup took 41 ms more than a round trip.
        let first = Block {
            offset: 0,
            ..asks.clone()
        };
        assert_eq!(at(&mut link, first), 71_000);
        // `record --link` measured 1.5 MB a second.
        let mut link = ServerLink::default();
        link.control(&Control::Link(Link {
            relay: Some("sshd".to_owned()),
            round_trips_ns: vec![40_000_000],
            to_server: Transfer {
                bytes: 1_500_000,
                took_ns: 1_040_000_000,
            },
            ..Link::default()
        }));
        assert_eq!(at(&mut link, asks), 31_000);
    }

    #[test]
    fn link_delay_is_network_time_in_every_report() {
        const WINDOW: u32 = BASE + 9;
        let mut trace = Synthetic::new();
        trace.control(Control::Server(Server::default()));
        trace.control(Control::Network(EmulatedNetwork {
            round_trip_ns: 50_000_000,
            ..EmulatedNetwork::default()
        }));
        // The server handles the requests one after the other, in 0.2 ms each.
        for n in 1..=10 {
            trace.wait(1000).client_sends(&[get_input_focus()]);
            trace.wait(50_200).server_sends(&[reply(n)]);
        }
        let window = request(1, 8, &[WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        let fill = request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16]);
        trace
            .wait(1000)
            .client_sends(&[window, map_window(WINDOW), fill]);
        trace.wait(900_000).end();

        let rules = Substitutions::default();
        let mut stalls = Stalls::new(&costs(), &rules, FRAME_MS);
        let mut summary = TraceSummary::default();
        let mut episodes = Episodes::new(&EpisodeOptions::default());
        let mut round_trips = RoundTrips::new(&RoundTripOptions {
            link: Network::parse("none,50ms").ok(),
            ..RoundTripOptions::default()
        });
        let mut pipeline = Pipeline::new();
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            stalls.observe(observation);
            summary.observe(observation);
            episodes.observe(observation);
            round_trips.observe(observation);
        });
        assert_eq!(stalls.latest().0, 0);
        let found = summary.start_ups();
        let parts = found[0].parts.as_ref().unwrap();
        let near = |left: f64, right: f64| assert!((left - right).abs() < 1e-6, "{left} {right}");
        near(parts.waited_ms, 502.0);
        // The last drawing is in flight for half a round trip.
        near(found[0].network_ms, 525.0);
        near(found[0].of_server_ms(), 2.0);
        let findings = episodes.finish();
        let one = findings.episodes()[0];
        assert_eq!(one.parts.of(LatencyComponent::Network), 525_000_000);
        assert_eq!(one.parts.server(), 2_000_000);
        assert_eq!(one.latency(), 538_000_000);
        let report = round_trips.finish("made up");
        // Another link replaces the recorded one.
        let forecast = report.forecast.unwrap();
        // Connecting and the setup took no time here; ten round trips would be 500 ms.
        let longer = forecast.forecast_ms - forecast.recorded_ms;
        assert!((0.0..=101.0).contains(&longer), "{forecast:?}");
        assert_eq!(forecast.recorded_rtt_ms, Some(50.0));
    }

    /// The server's context switches show how long it had no processor, though its replies arrive later.
    #[test]
    fn server_cpu_wait_is_not_network_time() {
        const WINDOW: u32 = BASE + 9;
        let mut trace = Synthetic::new();
        trace.control(Control::Network(EmulatedNetwork {
            round_trip_ns: 50_000_000,
            ..EmulatedNetwork::default()
        }));
        trace.control(Control::Capture {
            pid: SERVER_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        let began = 1_000_000_000;
        let runs = |trace: &mut Synthetic, from: u64, to: u64| {
            let switch = |micros: u64, kind| Switch {
                time: Timestamp::from_nanos(began + micros * 1000),
                pid: SERVER_PID,
                tid: SERVER_PID,
                cpu: 0,
                kind,
            };
            let run = [
                switch(from, SwitchKind::In),
                switch(to, SwitchKind::Blocked),
            ];
            trace.records.push(Record::Schedule(run.into()));
        };
        runs(&mut trace, 1, 100);
        let window = request(1, 8, &[WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        let fill = request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16]);
        trace
            .wait(1000)
            .client_sends(&[window, map_window(WINDOW), fill.clone()]);
        runs(&mut trace, 26_000, 26_100);
        let mut press = vec![0; 32];
        (press[0], press[1]) = (2, 38);
        trace.wait(999_000).server_sends(&[press]);
        // The request arrives after 25 ms, and the server gets a processor 30 ms later.
        trace.wait(1000).client_sends(&[get_input_focus()]);
        runs(&mut trace, 1_056_000, 1_056_200);
        trace.wait(80_200).server_sends(&[reply(4)]);
        trace.wait(1000).client_sends(&[fill]);
        // The same for drawing: 25 ms on the link, 9 ms without a processor, 3 ms of drawing.
        runs(&mut trace, 1_116_200, 1_119_200);
        trace.wait(900_000).end();

        let mut stalls = Stalls::new(&costs(), &Substitutions::default(), FRAME_MS);
        let mut episodes = Episodes::new(&EpisodeOptions::default());
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            stalls.observe(observation);
            episodes.observe(observation);
        });
        assert_eq!(stalls.latest().0, 0);
        let near = |left: f64, right: f64| assert!((left - right).abs() < 0.01, "{left} {right}");
        let findings = episodes.finish();
        let episodes = findings.episodes();
        let input = episodes.iter().find(|one| one.trigger == Trigger::Input);
        let parts = &input.unwrap().parts;
        let millis = |owner| parts.of(owner) as f64 / 1e6;
        near(millis(LatencyComponent::Network), 75.0);
        near(
            millis(LatencyComponent::Server(ServerCause::Processor)),
            39.0,
        );
        near(millis(LatencyComponent::Server(ServerCause::Reply)), 0.2);
        near(millis(LatencyComponent::Server(ServerCause::Drawing)), 3.0);
    }

    /// By their times, bytes of the server may have been on the link since before the connection.
    #[test]
    fn user_wait_is_within_the_session() {
        let mut trace = Synthetic::new();
        trace.control(Control::Network(EmulatedNetwork {
            round_trip_ns: 2_000_000_000,
            ..EmulatedNetwork::default()
        }));
        let mut press = vec![0; 32];
        (press[0], press[1]) = (2, 38);
        trace.wait(10).server_sends(&[press]);
        trace.wait(10).client_sends(&[no_operation(1)]);
        trace.wait(10).end();
        let mut summary = TraceSummary::default();
        let mut episodes = Episodes::new(&EpisodeOptions::default());
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            summary.observe(observation);
            episodes.observe(observation);
        });
        let report = EpisodesReport::new("made up", &summary, &episodes.finish());
        let waited = report.think_and_wait.wait_ms;
        assert!(waited > 0.0, "{:?}", report.summary);
        assert!(waited <= report.summary.end_to_end_ms, "{waited}");
    }

    /// A process starts before it connects, and its last data may be on the link for longer than any client waits.
    #[test]
    fn in_episode_time_is_within_the_session() {
        const WINDOW: u32 = BASE + 9;
        let mut trace = Synthetic::new();
        for record in &mut trace.records {
            if let Record::Control(_, Control::Opened(opened)) = record {
                opened.started_ns = Some(990_000_000);
            }
        }
        trace.control(Control::Network(EmulatedNetwork {
            bytes_per_second: Some(10e3),
            round_trip_ns: 50_000_000,
            ..EmulatedNetwork::default()
        }));
        let window = request(1, 8, &[WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        let fill = request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16]);
        let drawing = vec![fill; 500];
        trace
            .wait(1000)
            .client_sends(&[vec![window, map_window(WINDOW)], drawing].concat());
        trace.wait(10_000).control(Control::Closed {
            connection: ConnectionId(1),
            by: "client".to_owned(),
            why: None,
        });
        trace.wait(900_000).end();
        let mut summary = TraceSummary::default();
        let mut episodes = Episodes::new(&EpisodeOptions::default());
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            summary.observe(observation);
            episodes.observe(observation);
        });
        let report = EpisodesReport::new("made up", &summary, &episodes.finish());
        let of = report.summary;
        assert!(of.latency_ms > of.end_to_end_ms, "{of:?}");
        assert!(of.in_episode_ms <= of.end_to_end_ms + 1e-6, "{of:?}");
    }
}
