//! The properties of a connection to a display and their likely causes, from measurements (`trace::Link`).

mod steps;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use x11prof_trace::Link;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// A connection with shorter round trips than this, in milliseconds, counts as within one machine.
const LOCAL: f64 = 2.0;
/// A connection with longer round trips than this, in milliseconds, counts as far: a few round trips take 100 ms, which
/// a person notices.
const FAR: f64 = 5.0;
/// A connection with fewer bytes per second than this counts as narrow: at 100 Mbit/s, a window of 1920×1080 pixels (8
/// MB) takes 0.7 s.
const NARROW: f64 = 12.5e6;
/// The additional time of two writes over one, in milliseconds, that shows a delayed acknowledgement. Linux delays
/// acknowledgements by 40 ms (tcp(7), TCP_QUICKACK; TCP_DELACK_MIN), other systems by up to 200 ms; RFC 1122 allows 500
/// ms.
const DELAYED: f64 = 25.0;

/// The measured properties of a connection to a display. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// The version of this document's layout.
    pub format: u32,
    /// The name of the display, such as `:0`.
    pub display: String,
    /// The kind of socket: `unix` or `tcp`.
    pub transport: String,
    /// The process that listens for the display instead of an X server; null if the listener is an X server or unknown.
    #[serde(default)]
    pub relay: Option<String>,
    /// The round-trip time of the TCP connection below, in milliseconds, of which X11's round trips consist in addition
    /// to the time of the tunnel and the server; null if unknown.
    #[serde(default)]
    pub network_ms: Option<f64>,
    /// The times of consecutive round trips.
    pub round_trips: SpreadReport,
    /// The times of round trips after pauses of random length.
    pub paced: SpreadReport,
    /// The median time of a round trip whose two requests are in separate writes, in milliseconds; null if not
    /// measured.
    pub two_writes_ms: Option<f64>,
    /// The period of a timer that delays replies, in milliseconds; null if there is none.
    pub step_ms: Option<f64>,
    /// The speed of data to the server, in bytes per second; null if the data took no longer than a round trip.
    pub to_server_bytes_per_second: Option<f64>,
    /// The speed of data to the client, in bytes per second; null if the data took no longer than a round trip.
    pub to_client_bytes_per_second: Option<f64>,
    /// The findings, the gravest first.
    pub findings: Vec<LinkFinding>,
}

/// The distribution of a set of measured times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpreadReport {
    /// The number of measured times.
    pub count: usize,
    /// The smallest time in milliseconds; null without measurements.
    pub min_ms: Option<f64>,
    /// The median time in milliseconds; null without measurements.
    #[serde(rename = "p50_ms")]
    pub median_ms: Option<f64>,
    /// The 95th percentile of the times in milliseconds; null without measurements.
    pub p95_ms: Option<f64>,
    /// The greatest time in milliseconds; null without measurements.
    pub max_ms: Option<f64>,
}

/// A finding: a property of the connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkFinding {
    /// The kind of the finding about the connection.
    pub kind: LinkKind,
    /// The finding as a sentence.
    pub what: String,
    /// The remedy as a sentence; null if none is needed.
    pub advice: Option<Cow<'static, str>>,
    /// The document that explains the finding; null if there is none.
    pub source: Option<Cow<'static, str>>,
}

/// The kind of a finding about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Replies arrive in steps, at the ticks of a timer.
    Steps,
    /// A small request after another one waits for an acknowledgement.
    DelayedAcknowledgement,
    /// The speed of the connection is low.
    Narrow,
    /// Round trips on the connection take long.
    Far,
    /// Round-trip times vary: some are much longer than others.
    Uneven,
    /// The connection stays within the machine.
    Local,
    /// The link has no problem.
    Good,
}

impl SpreadReport {
    fn of(times: impl Iterator<Item = u64>) -> SpreadReport {
        let mut ms: Vec<f64> = times.map(|ns| ns as f64 / 1e6).collect();
        ms.sort_by(f64::total_cmp);
        let at = |part: f64| ms.get((part * ms.len().saturating_sub(1) as f64).round() as usize);
        SpreadReport {
            count: ms.len(),
            min_ms: at(0.0).copied(),
            median_ms: at(0.5).copied(),
            p95_ms: at(0.95).copied(),
            max_ms: at(1.0).copied(),
        }
    }
}

impl LinkReport {
    /// Creates the report with the findings that follow from the measurements.
    pub fn new(link: &Link) -> LinkReport {
        let round_trips = SpreadReport::of(link.round_trips_ns.iter().copied());
        let lengths = link.paced.iter();
        let lengths = lengths.map(|trip| trip.came_ns.saturating_sub(trip.sent_ns));
        let two_writes = SpreadReport::of(link.two_writes_ns.iter().copied());
        let shortest = link.round_trip_ns().unwrap_or(0);
        let mut report = LinkReport {
            format: FORMAT,
            display: link.display.clone(),
            transport: link.transport.clone(),
            relay: link.relay.clone(),
            network_ms: link.tcp_round_trip_ns.map(|nanos| nanos as f64 / 1e6),
            paced: SpreadReport::of(lengths),
            two_writes_ms: two_writes.median_ms,
            step_ms: steps::step(&link.paced),
            to_server_bytes_per_second: link.to_server.bytes_per_second(shortest),
            to_client_bytes_per_second: link.to_client.bytes_per_second(shortest),
            round_trips,
            findings: Vec::new(),
        };
        report.findings = report.judge();
        report
    }

    fn judge(&self) -> Vec<LinkFinding> {
        let median = self.round_trips.median_ms.unwrap_or(0.0);
        let paced = self.paced.median_ms.unwrap_or(median);
        let mut found = Vec::new();
        let mut add = |kind, what, advice: Option<&'static str>, source: Option<&'static str>| {
            found.push(LinkFinding {
                kind,
                what,
                advice: advice.map(Cow::Borrowed),
                source: source.map(Cow::Borrowed),
            });
        };
        if let Some(step) = self.step_ms {
            let what = format!("replies come in steps of {step:.1} ms, as if a timer sent them");
            // OpenSSH's default interval is 20 ms.
            match (18.0..=23.0).contains(&step) {
                true => add(
                    LinkKind::Steps,
                    format!("{what}: so does OpenSSH's ObscureKeystrokeTiming, from 9.5 on"),
                    Some("ssh -o ObscureKeystrokeTiming=no, or a newer ssh where the screen is"),
                    Some("https://bugzilla.mindrot.org/show_bug.cgi?id=3655; ssh_config(5)"),
                ),
                false => add(
                    LinkKind::Steps,
                    what,
                    Some("find what polls in the link: a tunnel, a proxy, a remote desktop"),
                    None,
                ),
            }
        }
        let alone = median.max(paced);
        if let Some(two) = self
            .two_writes_ms
            .filter(|two| self.step_ms.is_none() && two - alone >= DELAYED)
        {
            add(
                LinkKind::DelayedAcknowledgement,
                format!(
                    "a request right after another takes {two:.0} ms, a single one {alone:.0}: a tunnel or proxy delays \
                     small packets until the previous one is acknowledged (Nagle's algorithm and delayed acknowledgement)"
                ),
                Some("set TCP_NODELAY in the tunnel or proxy"),
                Some("RFC 896; RFC 1122, 4.2.3.2 and 4.2.3.4; tcp(7)"),
            );
        }
        if median >= FAR && self.step_ms.is_none() {
            let through = self.relay.as_deref();
            let through = through.map_or_else(String::new, |relay| format!(" through {relay}"));
            add(
                LinkKind::Far,
                format!("a round trip takes {median:.1} ms{through}"),
                Some("fewer round trips: `x11prof network` names them"),
                None,
            );
        }
        let speeds = [
            ("to the server", self.to_server_bytes_per_second),
            ("back", self.to_client_bytes_per_second),
        ];
        for (way, speed) in speeds {
            if let Some(speed) = speed.filter(|speed| *speed < NARROW) {
                let screen = 1920.0 * 1080.0 * 4.0 / speed;
                add(
                    LinkKind::Narrow,
                    format!(
                        "{:.2} Mbit/s {way}: an image of 1920×1080 takes {screen:.1} s",
                        8.0 * speed / 1e6
                    ),
                    Some("send fewer pixels; ssh -C compresses images that are not photographs"),
                    Some("ssh(1), -C"),
                );
            }
        }
        let late = self.paced.p95_ms.unwrap_or(0.0);
        if self.step_ms.is_none() && late > 3.0 * paced && late - paced > 20.0 {
            add(
                LinkKind::Uneven,
                format!(
                    "one round trip in twenty takes over {late:.0} ms, half of them under {paced:.0}"
                ),
                Some(
                    "a busy line or processor, or a radio that sleeps (iw dev DEVICE set power_save off)",
                ),
                Some("iw(8)"),
            );
        }
        if found.is_empty() {
            let local = self.transport == "unix" && self.relay.is_none() && median < LOCAL;
            let (kind, what) = match local {
                true => (LinkKind::Local, "local: no relay before the X server"),
                false => (LinkKind::Good, "nothing wrong with it"),
            };
            found.push(LinkFinding {
                kind,
                what: what.to_owned(),
                advice: None,
                source: None,
            });
        }
        found
    }
}
