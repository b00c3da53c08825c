//! The properties of an emulated network, and a model of the times at which it transmits bytes. The recorder, the
//! analysis of a recording and forecasts use the same model.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The properties of an emulated network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EmulatedNetwork {
    /// The speed in each direction, in bytes per second; `None` for unlimited speed. The mean speed of a varying link.
    pub bytes_per_second: Option<f64>,
    /// The round-trip time in nanoseconds. A packet arrives half of this time after it was sent.
    pub round_trip_ns: u64,
    /// The longest additional delay of a packet, in nanoseconds. All shorter delays are equally frequent.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_ns: u64,
    /// The share of packets that are lost and sent again, from 0 to 1.
    #[serde(skip_serializing_if = "is_none")]
    pub loss: f64,
    /// Maximum number of bytes in flight to a client; `None` if only TCP limits them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_window: Option<u64>,
    /// For a varying link, the times in milliseconds at which the line transmits a packet. The sequence of times
    /// repeats after the last time. Empty for a link of constant speed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities_ms: Vec<u32>,
}

fn is_zero(jitter: &u64) -> bool {
    *jitter == 0
}

fn is_none(loss: &f64) -> bool {
    *loss == 0.0
}

/// The number of bytes that a varying link transmits at each of its times, including packet headers (mahimahi's
/// mm-link).
const OPPORTUNITY: u64 = 1500;
/// The maximum length of a varying link's file, in bytes. The times of the link must fit into one control record.
const LONGEST_FILE: usize = 1_000_000;
/// Maximum number of unacknowledged bytes: Linux's largest `net.ipv4.tcp_wmem`.
const LARGEST_WINDOW: u64 = 4 << 20;
/// The shortest time after which Linux sends a packet again (TCP_RTO_MIN), in nanoseconds.
const RESENT_AFTER: u64 = 200_000_000;

impl EmulatedNetwork {
    /// Maximum payload of one packet in bytes: Ethernet's 1500 minus the headers.
    pub const PACKET: usize = 1448;
    /// Maximum number of bytes that TCP sends before the first acknowledgement (RFC 6928).
    pub const FIRST_WINDOW: u64 = 10 * Self::PACKET as u64;
    /// Bytes in flight to a client through ssh: the window of sshd's X11 channel (OpenSSH, CHAN_X11_WINDOW_DEFAULT).
    pub const SSH_WINDOW: u64 = 64 << 10;
    /// The number of bytes of headers in a packet: 20 of IP, 20 of TCP, and 12 of TCP's timestamps.
    pub const HEADERS: usize = 52;
    /// The number of bytes that a sender can write before it waits, in addition to the bytes in flight: about Linux's
    /// `net.core.wmem_default`.
    pub const SEND_BUFFER: u64 = 256_000;

    /// The time in nanoseconds for which `bytes` bytes that are sent together occupy a line of constant speed, including
    /// packet headers.
    pub fn occupies(&self, bytes: usize) -> u64 {
        // The cast saturates.
        self.bytes_per_second.map_or(0, |speed| {
            (with_headers(bytes as u64) as f64 / speed * 1e9) as u64
        })
    }

    /// The time in nanoseconds in which the line transmits `SEND_BUFFER` bytes, which a sender can write before it
    /// waits; `None` if bytes take no time.
    pub fn buffered(&self) -> Option<u64> {
        let speed = self.bytes_per_second?;
        // The cast saturates.
        Some((Self::SEND_BUFFER as f64 / speed * 1e9) as u64)
    }

    /// The shortest time in nanoseconds between the sending and the arrival of a packet.
    pub fn latency(&self) -> u64 {
        self.round_trip_ns / 2
    }

    /// The network with the mean delay of jitter and loss in its round trip, so that forecasts do not depend on chance.
    pub fn expected(&self) -> EmulatedNetwork {
        // The cast saturates. A packet waits for half of the longest jitter, in each direction.
        let lost = 2.0 * self.loss * self.lost(true) as f64;
        let late = self.jitter_ns.saturating_add(lost as u64);
        EmulatedNetwork {
            round_trip_ns: self.round_trip_ns.saturating_add(late),
            jitter_ns: 0,
            loss: 0.0,
            ..self.clone()
        }
    }

    /// The additional time of a lost packet in nanoseconds: TCP sends the last packet again after two round trips and
    /// `RESENT_AFTER` (RFC 8985, 7.2; Linux), and an earlier one after a round trip.
    fn lost(&self, is_last: bool) -> u64 {
        if is_last {
            self.round_trip_ns
                .saturating_mul(2)
                .saturating_add(RESENT_AFTER)
        } else {
            self.round_trip_ns
        }
    }

    /// The time in nanoseconds by which packets that arrive at `time` (nanoseconds after the first bytes of their
    /// direction) may be later than the latency and speed of the network require.
    pub fn varies_by(&self, time: u64) -> u64 {
        let lost = if self.loss > 0.0 { self.lost(true) } else { 0 };
        let opportunities = &self.opportunities_ms;
        let gap = opportunities.last().map_or(0, |last| {
            let millis = time / 1_000_000 % u64::from(*last).max(1);
            let next = opportunities.partition_point(|one| u64::from(*one) < millis);
            let before = next
                .checked_sub(1)
                .and_then(|before| opportunities.get(before));
            let before = before.copied().unwrap_or(0);
            (millis - u64::from(before) + 1) * 1_000_000
        });
        self.jitter_ns.saturating_add(lost).saturating_add(gap)
    }

    /// Parses a file of mahimahi's mm-link, which describes a link of varying speed: each line is a time, in milliseconds
    /// from the start, at which the link transmits 1,500 bytes.
    ///
    /// # Errors
    /// Returns the reason as a sentence without a period.
    pub fn parse_opportunities(text: &str) -> Result<Vec<u32>, String> {
        if text.len() > LONGEST_FILE {
            return Err(format!(
                "a link's file has at most {LONGEST_FILE} bytes: use its beginning"
            ));
        }
        let mut times: Vec<u32> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let at = |why: &str| Err(format!("line {}: {why}", number + 1));
            let Ok(time) = line.trim().parse() else {
                return at("expected a time in whole milliseconds");
            };
            if times.last().is_some_and(|last| *last > time) {
                return at("the time is before that of the previous line");
            }
            times.push(time);
        }
        match times.last() {
            None => Err("the file has no times".to_owned()),
            Some(0) => Err("the last time must be after 0".to_owned()),
            Some(_) => Ok(times),
        }
    }

    /// The mean speed of a varying link in bytes per second; `None` if `opportunities_ms` has no time after 0.
    pub fn mean_speed(opportunities_ms: &[u32]) -> Option<f64> {
        let last = opportunities_ms.last().filter(|last| **last > 0)?;
        let bytes = opportunities_ms.len() as f64 * OPPORTUNITY as f64;
        Some(bytes / f64::from(*last) * 1e3)
    }
}

/// The number of bytes on the line, including the headers of the packets.
fn with_headers(bytes: u64) -> u64 {
    let packets = bytes.div_ceil(EmulatedNetwork::PACKET as u64);
    bytes.saturating_add(packets.saturating_mul(EmulatedNetwork::HEADERS as u64))
}

/// The times of bytes on a line, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// The time at which the first byte enters the line.
    pub begin: u64,
    /// The time at which the last byte has entered the line.
    pub end: u64,
    /// The time at which the last byte arrives.
    pub arrives: u64,
}

/// One direction of a network, which all connections share, as in a tunnel. The line transmits one packet after the
/// other, and TCP's window limits the bytes in flight.
#[derive(Debug, Clone, Default)]
pub struct Line {
    network: EmulatedNetwork,
    free: u64,
    /// The time at which the latest bytes arrive. Later bytes never arrive earlier, because TCP delivers bytes in their
    /// order.
    arrived: u64,
    /// The number of bytes that may be in flight now (TCP's congestion window).
    window: u64,
    /// The upper limit of `window`, in bytes.
    largest: u64,
    in_flight: u64,
    /// The parts of the bytes in flight, each with the time of its acknowledgement and its number of bytes.
    flights: VecDeque<(u64, u64)>,
    /// The time of the last acknowledgement that enlarges the window. Only a window that limited the sender grows.
    limited: u64,
    sent: u64,
    /// The time of the first bytes on a varying link, at which the link's times begin.
    first: Option<u64>,
    /// The current time of a varying link: the number of completed repetitions, and the index in `opportunities_ms`.
    at: (u64, usize),
    /// The number of bytes that a varying link can still transmit at its current time.
    room: u64,
    random: u64,
}

impl Line {
    /// Creates the line for data to a client. No data was sent over it yet.
    pub fn to_client(network: EmulatedNetwork) -> Line {
        let largest = network
            .reply_window
            .unwrap_or(LARGEST_WINDOW)
            .max(EmulatedNetwork::FIRST_WINDOW);
        Line {
            largest,
            ..Line::new(network)
        }
    }

    /// Creates the line for data to a server. No data was sent over it yet.
    pub fn new(network: EmulatedNetwork) -> Line {
        Line {
            network,
            window: EmulatedNetwork::FIRST_WINDOW,
            largest: LARGEST_WINDOW,
            room: OPPORTUNITY,
            // Equal for all lines, so that recordings and forecasts are repeatable.
            random: 0x9E37_79B9_7F4A_7C15,
            ..Line::default()
        }
    }

    /// The network of the line.
    pub fn network(&self) -> &EmulatedNetwork {
        &self.network
    }

    /// The network of the line, for changes.
    pub fn network_mut(&mut self) -> &mut EmulatedNetwork {
        &mut self.network
    }

    /// The time in nanoseconds by which packets that arrive at `time` may be later than latency and speed require.
    pub fn varies_by(&self, time: u64) -> u64 {
        self.network
            .varies_by(time.saturating_sub(self.first.unwrap_or(time)))
    }

    /// Sends bytes at `time` (nanoseconds), after all bytes that were sent before.
    pub fn send(&mut self, time: u64, bytes: u64) -> Transmission {
        let start = time.max(self.free);
        if bytes == 0 {
            let arrives = start.saturating_add(self.network.latency());
            return Transmission {
                begin: start,
                end: start,
                arrives,
            };
        }
        self.restart(time);
        let (mut left, mut at, mut begin, mut parts) = (bytes, start, None, 0);
        while left > 0 {
            self.acknowledge(at);
            let packet = left.min(EmulatedNetwork::PACKET as u64);
            let room = self.window.saturating_sub(self.in_flight);
            if room < packet
                && let Some((acknowledged, _)) = self.flights.front()
            {
                at = *acknowledged;
                continue;
            }
            begin.get_or_insert(at);
            // A window is sent in several parts, so that acknowledgements of the first parts arrive early. After 256
            // parts the window has grown to its largest size, and whole windows are sent at once.
            parts += 1;
            let windows = (left / self.window).saturating_sub(4);
            let mut least = 0;
            let part = if self.network.latency() == 0 {
                left
            } else if windows > 0 && parts > 256 {
                self.flights.clear();
                self.in_flight = 0;
                least = windows.saturating_mul(self.network.round_trip_ns);
                windows * self.window
            } else {
                (self.window / 16 / packet * packet).max(packet).min(left)
            };
            left -= part;
            self.free = self.transmit(at, part).max(at.saturating_add(least));
            if least > 0 {
                at = self.free;
                continue;
            }
            self.arrive(part, left == 0);
            at = self.free;
        }
        Transmission {
            begin: begin.unwrap_or(start),
            end: self.free,
            arrives: self.arrived,
        }
    }

    /// Halves the window for each interval without bytes, as TCP does (Linux's `tcp_cwnd_restart`).
    fn restart(&mut self, time: u64) {
        self.acknowledge(time);
        let interval = self.network.round_trip_ns.saturating_add(RESENT_AFTER);
        let halved = time.saturating_sub(self.sent.max(self.free)) / interval;
        let window = self
            .window
            .checked_shr(u32::try_from(halved).unwrap_or(u32::MAX));
        self.window = window.unwrap_or(0).max(EmulatedNetwork::FIRST_WINDOW);
        self.sent = time;
    }

    fn acknowledge(&mut self, time: u64) {
        while let Some((at, bytes)) = self.flights.front().copied().filter(|(at, _)| *at <= time) {
            self.flights.pop_front();
            self.in_flight -= bytes;
            if at <= self.limited {
                self.window = (self.window + bytes).min(self.largest);
            }
        }
    }

    /// Computes the arrival of `bytes` bytes, the last of which enters the line at the time `free`. `is_last` is true
    /// for the last bytes of a write.
    fn arrive(&mut self, bytes: u64, is_last: bool) {
        let latency = self.network.latency();
        let mut late = 0;
        if self.network.jitter_ns > 0 {
            late = (self.next() * self.network.jitter_ns as f64) as u64;
        }
        if self.network.loss > 0.0 {
            let packets = bytes.div_ceil(EmulatedNetwork::PACKET as u64);
            let all_arrive = (1.0 - self.network.loss).powf(packets as f64);
            if self.next() >= all_arrive {
                late = late.saturating_add(self.network.lost(is_last));
            }
        }
        let arrives = self.free.saturating_add(latency).saturating_add(late);
        self.arrived = self.arrived.max(arrives);
        if latency > 0 {
            let acknowledged = self.arrived.saturating_add(latency);
            self.flights.push_back((acknowledged, bytes));
            self.in_flight += bytes;
            if self.in_flight >= self.window / 2 {
                self.limited = acknowledged;
            }
        }
    }

    /// Returns the time in nanoseconds at which the line has transmitted `bytes` bytes that enter the line at `time`.
    fn transmit(&mut self, time: u64, bytes: u64) -> u64 {
        let times = &self.network.opportunities_ms;
        let Some(period) = times
            .last()
            .map(|last| u64::from(*last))
            .filter(|last| *last > 0)
        else {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            return time.saturating_add(self.network.occupies(bytes));
        };
        let first = *self.first.get_or_insert(time);
        let since = time.saturating_sub(first).div_ceil(1_000_000);
        // The last time of a period is the start of the next period.
        let periods = since.saturating_sub(1) / period;
        let in_period = since - periods * period;
        let next = times.partition_point(|one| u64::from(*one) < in_period);
        let next = (periods, next);
        if next > self.at {
            (self.at, self.room) = (next, OPPORTUNITY);
        }
        let mut left = with_headers(bytes);
        while left > self.room {
            left -= self.room;
            self.room = OPPORTUNITY;
            self.at.1 += 1;
            let all = OPPORTUNITY * times.len() as u64;
            if self.at.1 == times.len() {
                self.at = (self.at.0.saturating_add(1 + left / all), 0);
                left %= all;
            }
        }
        self.room -= left;
        let millis = self.at.0.saturating_mul(period);
        let within = times.get(self.at.1).map_or(period, |one| u64::from(*one));
        let millis = millis.saturating_add(within);
        first
            .saturating_add(millis.saturating_mul(1_000_000))
            .max(time)
    }

    /// The next random number from 0 to 1 (Marsaglia's xorshift, 2003).
    fn next(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = EmulatedNetwork::PACKET as u64;
    const MS: u64 = 1_000_000;

    fn network(bytes_per_second: Option<f64>, round_trip_ms: u64) -> EmulatedNetwork {
        EmulatedNetwork {
            bytes_per_second,
            round_trip_ns: round_trip_ms * MS,
            ..EmulatedNetwork::default()
        }
    }

    fn varying(opportunities_ms: &[u32]) -> Line {
        Line::new(EmulatedNetwork {
            bytes_per_second: EmulatedNetwork::mean_speed(opportunities_ms),
            opportunities_ms: opportunities_ms.to_vec(),
            ..network(None, 20)
        })
    }

    /// The arrivals of bytes that are sent at the same time, in milliseconds.
    fn arrivals(line: &mut Line, time_ms: u64, bytes: &[u64]) -> Vec<u64> {
        let sent = bytes.iter().map(|bytes| line.send(time_ms * MS, *bytes));
        sent.map(|sent| sent.arrives / MS).collect()
    }

    #[test]
    fn packets_queue_and_arrive_half_a_round_trip_later() {
        // 1500 bytes, including headers, take a millisecond.
        let mut line = Line::new(network(Some(1.5e6), 20));
        assert_eq!(arrivals(&mut line, 0, &[2 * PACKET]), [12]);
        assert_eq!(arrivals(&mut line, 50, &[PACKET, PACKET]), [61, 62]);
        let sent = line.send(90 * MS, 8);
        assert_eq!(
            (sent.begin, sent.end, sent.arrives),
            (90 * MS, 90_040_000, 100_040_000)
        );
        // Without a speed there is only the latency.
        assert_eq!(
            arrivals(&mut Line::new(network(None, 20)), 0, &[2 * PACKET]),
            [10]
        );
        // Without a network, bytes take no time.
        assert_eq!(
            arrivals(&mut Line::new(network(None, 0)), 7, &[1 << 40]),
            [7]
        );
    }

    #[test]
    fn window_doubles_with_each_round_trip() {
        let mut line = Line::new(network(None, 100));
        // Packets 1 to 10 are sent at 0, 11 to 30 at 100 ms, 31 to 70 at 200 ms.
        let all = arrivals(&mut line, 0, &[PACKET; 70]);
        let at = |time| all.iter().filter(|one| **one == time).count();
        assert_eq!([at(50), at(150), at(250)], [10, 20, 40]);
        // A window of 4 MiB passes in each round trip of a very long write.
        let sent = Line::new(network(None, 100)).send(0, 4 << 40);
        assert_eq!((sent.end / MS).abs_diff(104_857_600) / 1000, 0);
        // One write of all bytes takes as long.
        let mut line = Line::new(network(None, 100));
        assert_eq!(arrivals(&mut line, 0, &[70 * PACKET]), [250]);
        // After a long pause, the window is as small as at the beginning.
        let all = arrivals(&mut line, 60_000, &[PACKET; 11]);
        assert_eq!((all[9], all[10]), (60_050, 60_150));
        // Single packets do not enlarge it.
        let mut line = Line::new(network(None, 100));
        for number in 0..50 {
            line.send(number * 101 * MS, PACKET);
        }
        assert_eq!(line.window, EmulatedNetwork::FIRST_WINDOW);
    }

    #[test]
    fn ssh_limits_the_bytes_to_a_client() {
        let network = EmulatedNetwork {
            reply_window: Some(EmulatedNetwork::SSH_WINDOW),
            ..network(None, 100)
        };
        // 10, 20, 40 and then 45 packets are in flight.
        let all = arrivals(&mut Line::to_client(network.clone()), 0, &[PACKET; 160]);
        let at = |time| all.iter().filter(|one| **one == time).count();
        assert_eq!(
            [at(50), at(150), at(250), at(350), at(450)],
            [10, 20, 40, 45, 45]
        );
        let all = arrivals(&mut Line::new(network), 0, &[PACKET; 160]);
        assert_eq!(all.last(), Some(&450));
    }

    #[test]
    fn a_line_that_transmits_is_not_limited_by_its_window() {
        // 5 ms of bytes are in flight; the first window is 10 ms.
        let mut line = Line::new(network(Some(1.5e6), 5));
        let sent = line.send(0, 10_000 * PACKET);
        assert_eq!(sent.arrives.div_ceil(MS), 10_003);
    }

    #[test]
    fn jitter_delays_without_changing_the_order() {
        let mut line = Line::new(EmulatedNetwork {
            jitter_ns: 30 * MS,
            ..network(None, 20)
        });
        let all: Vec<u64> = (0..1000)
            .map(|n| line.send(n * 100 * MS, 100).arrives - n * 100 * MS)
            .collect();
        let mean = all.iter().sum::<u64>() / 1000;
        assert!(all.iter().all(|one| (10 * MS..=40 * MS).contains(one)));
        assert!((24 * MS..=26 * MS).contains(&mean), "{mean}");
        let mut line = Line::new(line.network);
        let all = arrivals(&mut line, 0, &[100; 100]);
        assert!(all.is_sorted());
    }

    #[test]
    fn lost_packets_arrive_after_they_are_sent_again() {
        let mut line = Line::new(EmulatedNetwork {
            loss: 0.1,
            ..network(None, 50)
        });
        let all: Vec<u64> = (0..1000)
            .map(|n| (line.send(n * 1000 * MS, 100).arrives - n * 1000 * MS) / MS)
            .collect();
        let lost = all.iter().filter(|one| **one == 25 + 300).count();
        assert_eq!(all.iter().filter(|one| **one == 25).count(), 1000 - lost);
        assert!((80..120).contains(&lost), "{lost}");
        // 10 % of 300 ms in each direction.
        let network = EmulatedNetwork {
            jitter_ns: 7 * MS,
            ..line.network
        };
        assert_eq!(network.expected(), self::network(None, 50 + 7 + 60));
    }

    #[test]
    fn varying_link_transmits_at_its_times_and_repeats_them() {
        let mut line = varying(&[10, 10, 40, 100]);
        // Two packets at 10 ms, one at 40, one at 100, two at 110.
        line.send(0, PACKET);
        assert_eq!(
            arrivals(&mut line, 1, &[PACKET; 5]),
            [20, 50, 110, 120, 120]
        );
        // Small packets share a time.
        assert_eq!(arrivals(&mut line, 150, &[448, 448, 448]), [210, 210, 210]);
        // A link that stalls for a minute.
        let mut line = varying(&[1, 60_001]);
        line.send(0, PACKET);
        assert_eq!(arrivals(&mut line, 5, &[PACKET; 2]), [60_011, 60_012]);
    }

    #[test]
    fn many_bytes_on_a_varying_link_take_its_mean_speed() {
        let mut line = varying(&[1, 2, 3, 4]);
        let sent = line.send(0, 1_000_000 * PACKET);
        assert!(
            (1_000_000 * MS..1_000_200 * MS).contains(&sent.arrives),
            "{sent:?}"
        );
        let huge = line.send(0, u64::MAX / 4);
        assert!(huge.arrives > sent.arrives);
    }

    #[test]
    fn a_file_of_a_varying_link_is_checked() {
        let parse = EmulatedNetwork::parse_opportunities;
        assert_eq!(parse("0\n5\n5\n1000\n"), Ok(vec![0, 5, 5, 1000]));
        assert_eq!(EmulatedNetwork::mean_speed(&[0, 5, 5, 1000]), Some(6000.0));
        for (text, why) in [
            ("", "the file has no times"),
            ("0\n0\n", "the last time must be after 0"),
            ("1\nfast\n", "line 2: expected a time in whole milliseconds"),
            ("1\n-2\n", "line 2: expected a time in whole milliseconds"),
            ("7\n\n", "line 2: expected a time in whole milliseconds"),
            (
                "9\n3\n",
                "line 2: the time is before that of the previous line",
            ),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()));
        }
    }
}
