//! The network of the Xprof paper: a speed and a round-trip time (equation 7), and a compression factor.

use std::fmt;

use crate::Micros;

/// A network between client and server. The default network takes no time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Network {
    /// The speed in bytes per second; `None` for unlimited speed.
    pub bytes_per_second: Option<f64>,
    /// The round-trip time, for which a client waits at each round trip.
    pub rtt: Micros,
    /// The longest additional delay of a packet. All shorter delays are equally frequent.
    pub jitter: Micros,
    /// The share of packets that are lost and sent again, from 0 to 1.
    pub loss: f64,
    /// True if ssh forwards the connection, whose window limits the bytes of replies and events in flight.
    pub ssh: bool,
    /// The factor by which compression reduces the number of bytes, as ssh `-C` may do; `None` without compression.
    pub compression: Option<f64>,
}

/// The error for a text that does not describe a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no network{why}\n\
     names: {}, none\n\
     or SPEED,RTT: 10Mbit/s,20ms or none,50ms\n\
     then ,ssh ,jitter=5ms ,loss=1% ,compress=3 as needed",
    Network::presets().collect::<Vec<_>>().join(", ")
)]
pub struct NetworkError {
    text: String,
    why: String,
}

/// Speeds by unit, in bytes per second. Units are decimal: KB is 1000 bytes, in agreement with the paper's Table 2.
const SPEEDS: [(&str, f64); 9] = [
    ("B/s", 1.0),
    ("KB/s", 1e3),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("kbit/s", 1e3 / 8.0),
    ("Kbit/s", 1e3 / 8.0),
    ("Mbit/s", 1e6 / 8.0),
    ("Gbit/s", 1e9 / 8.0),
];

/// Times by their unit, in microseconds.
const TIMES: [(&str, f64); 4] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];

/// Networks by name. All but the last are conventions, not measurements (docs/REFERENCE.md).
const PRESETS: [(&str, f64, f64); 5] = [
    // Gigabit Ethernet, and the round trip that is commonly counted with inside one building.
    ("lan", 1e9 / 8.0, 500.0),
    // Firefox's developer tools, throttling profile Wi-Fi: 30 Mbit/s down, 2 ms.
    ("wifi", 30e6 / 8.0, 2e3),
    // WebPageTest's connectivity profiles DSL (1.5 Mbit/s down, 50 ms) and LTE (12, 70 ms): a
    // remote program's requests come down the line to the display.
    ("dsl", 1.5e6 / 8.0, 50e3),
    ("lte", 12e6 / 8.0, 70e3),
    // The paper's Table 2.
    ("xprof-1993", 100e3, 10e3),
];

impl Network {
    /// The network that takes no time.
    pub const NONE: Network = Network {
        bytes_per_second: None,
        rtt: Micros::ZERO,
        jitter: Micros::ZERO,
        loss: 0.0,
        ssh: false,
        compression: None,
    };

    /// The default network of forecasts: DSL as defined by WebPageTest.
    pub const USUAL: Network = Network {
        bytes_per_second: Some(1.5e6 / 8.0),
        rtt: Micros(50e3),
        ..Network::NONE
    };

    /// The number of uncompressed bytes that are transferred per second; `None` for unlimited speed.
    pub fn effective_speed(&self) -> Option<f64> {
        let factor = self.compression.unwrap_or(1.0);
        self.bytes_per_second.map(|speed| speed * factor)
    }

    /// Parses a network: `SPEED,RTT` (such as `100KB/s,10ms`, `10Mbit/s,1ms` or `none,10ms`), a preset, or `none`. Each
    /// may be followed by `,jitter=TIME`, `,loss=PERCENT%`, `,ssh` and `,compress=RATIO`.
    pub fn parse(text: &str) -> Result<Network, NetworkError> {
        let text = text.trim();
        let error = |why: String| NetworkError {
            text: text.to_owned(),
            why: format!(": {why}"),
        };
        if let Some(rest) = text.strip_suffix(",ssh") {
            let network = Network::parse(rest)?;
            return Ok(Network {
                ssh: true,
                ..network
            });
        }
        if let Some((rest, (name, value))) = text
            .rsplit_once(',')
            .and_then(|(rest, last)| Some((rest, last.split_once('=')?)))
        {
            let network = Network::parse(rest)?;
            let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
            return match (name.trim(), value.trim()) {
                ("compress", _) if network.bytes_per_second.is_none() => {
                    Err(error("bytes that take no time need no compression".into()))
                }
                ("compress", ratio) => match number(ratio).filter(|ratio| *ratio >= 1.0) {
                    Some(ratio) => Ok(Network {
                        compression: Some(ratio),
                        ..network
                    }),
                    None => Err(error("a ratio of compression is a number from 1 on".into())),
                },
                ("jitter", time) => {
                    match quantity(time, &TIMES).filter(|time| *time <= LONGEST_TRIP) {
                        Some(jitter) => Ok(Network {
                            jitter: Micros(jitter),
                            ..network
                        }),
                        None => Err(error(format!("'{time}' is no jitter of up to 3600s"))),
                    }
                }
                ("loss", share) => match share.strip_suffix('%').and_then(number) {
                    Some(share) if (0.0..=50.0).contains(&share) => Ok(Network {
                        loss: share / 100.0,
                        ..network
                    }),
                    _ => Err(error(format!("'{share}' is no loss from 0% to 50%"))),
                },
                (name, _) => Err(error(format!("'{name}' is not compress, jitter or loss"))),
            };
        }
        if text == "none" {
            return Ok(Network::NONE);
        }
        if let Some((_, speed, rtt)) = PRESETS.iter().find(|(name, ..)| *name == text) {
            return Ok(Network {
                bytes_per_second: Some(*speed),
                rtt: Micros(*rtt),
                ..Network::NONE
            });
        }
        let Some((speed, rtt)) = text.split_once(',') else {
            let why = quantity(text.trim(), &SPEEDS).map(|_| ": its round-trip time is missing");
            return Err(NetworkError {
                text: text.to_owned(),
                why: why.unwrap_or_default().to_owned(),
            });
        };
        let bytes_per_second = match speed.trim() {
            "none" => None,
            speed => match quantity(speed, &SPEEDS) {
                Some(speed) if speed >= SLOWEST => Some(speed),
                Some(_) => return Err(error("the slowest speed is 0.001B/s".into())),
                None => {
                    let units = "B/s, KB/s, MB/s, GB/s, kbit/s, Mbit/s or Gbit/s";
                    return Err(error(format!(
                        "'{speed}' is neither a speed in {units} nor, for `record`, a file of a link"
                    )));
                }
            },
        };
        match quantity(rtt.trim(), &TIMES) {
            Some(rtt) if rtt > LONGEST_TRIP => Err(error("the longest round trip is 3600s".into())),
            Some(rtt) => Ok(Network {
                bytes_per_second,
                rtt: Micros(rtt),
                ..Network::NONE
            }),
            None => Err(error(format!("'{}' is no time in us, ms or s", rtt.trim()))),
        }
    }

    /// The names of the preset networks.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, ..)| *name)
    }

    /// Returns the time on the network by equation 7: the time to transmit `bytes` bytes, and to wait for `blocking`
    /// round trips.
    pub fn time(&self, bytes: u64, blocking: u64) -> Micros {
        let wire = self
            .bytes_per_second
            .map_or(0.0, |speed| bytes as f64 / speed * 1e6);
        let wire = wire / self.compression.unwrap_or(1.0);
        Micros(wire) + self.rtt * blocking as f64
    }
}

/// Minimum speed in bytes per second, so that the time of many bytes remains finite.
const SLOWEST: f64 = 1e-3;
/// Maximum round-trip time in microseconds.
const LONGEST_TRIP: f64 = 3600e6;
/// Maximum speed in bytes per second, and maximum time in microseconds.
const GREATEST: f64 = 1e18;

/// Parses a number with one of `units`. `None` if the text is not such a number, or if the amount exceeds `GREATEST`.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    let amount = number.parse::<f64>().ok()? * factor;
    (amount <= GREATEST).then_some(amount)
}

/// The network as text that can be parsed again: `100KB/s,10ms`.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes_per_second {
            None if *self == Network::NONE => return f.write_str("none"),
            None => f.write_str("none")?,
            Some(speed) if speed >= 1e9 => write!(f, "{}GB/s", speed / 1e9)?,
            Some(speed) if speed >= 1e6 => write!(f, "{}MB/s", speed / 1e6)?,
            Some(speed) if speed >= 1e3 => write!(f, "{}KB/s", speed / 1e3)?,
            Some(speed) => write!(f, "{speed}B/s")?,
        }
        write!(f, ",{}ms", self.rtt.as_ms())?;
        if self.jitter > Micros::ZERO {
            write!(f, ",jitter={}ms", self.jitter.as_ms())?;
        }
        if self.loss > 0.0 {
            write!(f, ",loss={}%", self.loss * 100.0)?;
        }
        if self.ssh {
            f.write_str(",ssh")?;
        }
        match self.compression {
            Some(ratio) => write!(f, ",compress={ratio}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, PRESETS};
    use crate::Micros;

    /// The network part of the paper's Table 2, from the counts and bytes of its Table 5.
    #[test]
    fn paper_table_2_is_reproduced_exactly() {
        let network = Network::parse("100KB/s,10ms").unwrap();
        assert_eq!(Network::parse("xprof-1993"), Ok(network));
        let ms = |bytes, blocking| format!("{:.2}", network.time(bytes, blocking).as_ms());
        assert_eq!(ms(21_368, 0), "213.68"); // 508 PolyFillRectangle
        assert_eq!(ms(168_964, 0), "1689.64"); // 7389 PolyText8
        assert_eq!(ms(128, 16), "161.28"); // 16 QueryFont, a round trip each
    }

    #[test]
    fn units_are_decimal() {
        let speed = |text: &str| Network::parse(text).unwrap().bytes_per_second.unwrap();
        assert_eq!(speed("1.5 MB/s, 1ms"), 1.5e6);
        assert_eq!(speed("8Mbit/s,1ms"), 1e6);
        assert_eq!(speed("1Gbit/s,1ms"), 125e6);
        assert_eq!(speed("56kbit/s,1ms"), 7e3);
        assert_eq!(speed("300B/s,1ms"), 300.0);
        let rtt = |text: &str| Network::parse(text).unwrap().rtt;
        assert_eq!(rtt("1MB/s,250us"), Micros(250.0));
        assert_eq!(rtt("1MB/s,250µs"), Micros(250.0));
        assert_eq!(rtt("1MB/s,0.5s"), Micros(500_000.0));
    }

    #[test]
    fn network_none_adds_no_time() {
        assert_eq!(Network::parse("none"), Ok(Network::NONE));
        assert_eq!(Network::NONE.time(u64::MAX, u64::MAX), Micros::ZERO);
        assert_eq!(
            Network::parse("none,10ms").unwrap().time(1000, 2),
            Micros(20_000.0)
        );
    }

    #[test]
    fn compression_speeds_up_bytes_but_not_round_trips() {
        let network = Network::parse("100KB/s,10ms,compress=4").unwrap();
        assert_eq!(network.time(100_000, 1), Micros(260_000.0));
    }

    #[test]
    fn jitter_and_loss_are_read_and_written() {
        let text = "1MB/s,10ms,jitter=5ms,loss=1%,ssh,compress=2";
        let network = Network::parse(text).unwrap();
        assert_eq!((network.jitter, network.loss), (Micros(5000.0), 0.01));
        assert!(network.ssh && !Network::USUAL.ssh);
        assert_eq!(network.to_string(), text);
        for text in [
            "dsl,loss=60%",
            "dsl,loss=1",
            "dsl,jitter=5",
            "dsl,jitter=4000s",
            "dsl,speed=1",
        ] {
            let error = Network::parse(text).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn network_parse_error_shows_a_valid_example() {
        for text in [
            "",
            "fast",
            "100KB/s",
            "100,10ms",
            "100KB,10ms",
            "-1KB/s,10ms",
            "0KB/s,10ms",
            "100KB/s,10",
            "100KB/s,",
            "100KB/s,-1ms",
            "100KB/s,3601s",
            "1.2.3KB/s,1ms",
            "100kb/s,1ms",
            "infB/s,1ms",
            "dsl,compress=0.5",
            "dsl,compress=",
            "none,compress=2",
            "compress=2",
        ] {
            let error = Network::parse(text).unwrap_err().to_string();
            assert!(error.contains("10Mbit/s,20ms"), "{text}: {error}");
        }
    }

    #[test]
    fn networks_round_trip_through_text() {
        for (name, ..) in PRESETS {
            let network = Network::parse(name).unwrap();
            assert_eq!(
                Network::parse(&network.to_string()),
                Ok(network),
                "{network}"
            );
        }
        for text in [
            "1KB/s,1ms,compress=2.5",
            "none",
            "none,10ms",
            "100KB/s,10ms",
            "12B/s,0ms",
        ] {
            assert_eq!(Network::parse(text).unwrap().to_string(), text);
        }
    }
}
