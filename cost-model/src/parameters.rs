//! A server's parameters as data: what `measure` writes and the prices are computed from
//! (docs/PARAMETERS.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Brought, Deferred, Micros, Pace, Reference};

/// The newest version of the file format.
pub const FORMAT: u32 = 1;

/// The parameters of one display server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerParameters {
    /// The file format's version: 1.
    pub format: u32,
    /// Which server.
    pub server: ServerIdentity,
    /// The machine that it ran on.
    #[serde(default)]
    pub host: Host,
    /// How the figures were measured.
    #[serde(default)]
    pub method: Method,
    /// What a message costs beside its operation; `None` for files from before this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportCosts>,
    /// Costs of requests: one table for each request and set of attributes.
    #[serde(default, rename = "request")]
    pub requests: Vec<RequestCosts>,
}

/// Which server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// The name to ask for the file by.
    pub name: String,
    /// The server's executable: `Xvfb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Vendor string of the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Release number of the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u32>,
    /// Depth of the root window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u8>,
    /// Width and height of the screen in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<(u16, u16)>,
    /// Whether a viewer takes what is shown, of a server whose encoder runs only then (Xvnc).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewed: Option<bool>,
}

/// The machine that the server ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processor model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Number of processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Kernel name and release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

/// How the figures were measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The tool and its version, or the publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The date, `2026-11-20`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What there is to know beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What a few loads took at the beginning and at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// Requests of which something was left out when the time was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// How fast the processor worked meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// From which machine they were brought to `host`; `None` where they were measured there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought: Option<Brought>,
}

impl Method {
    /// True for a calibration that was made with `--quick`, by its notes.
    pub fn is_quick(&self) -> bool {
        let notes = self.notes.as_deref();
        notes.is_some_and(|notes| notes.starts_with("quick plan"))
    }
}

/// A measured time on the two clocks; at least one is there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Processor time of the server, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Micros>,
    /// Wall time, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval, relative to the time: 0.03 for ± 3 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// What messages cost the server beside the operations in them (DESIGN, section 4).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportCosts {
    /// One wakeup: the server was asleep, and goes back to sleep.
    pub wakeup: Measured,
    /// The same where server and client run on different processors, where both were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeup_other_cpu: Option<Measured>,
    /// Reading one byte of requests.
    pub byte_read: Measured,
    /// Making one reply and putting it into the client's output; with the write that carries it
    /// where the file has no `flush`.
    pub reply: Measured,
    /// Writing what a client's output holds, whatever it is; `None` where `reply` and `event`
    /// have it in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Measured>,
    /// Writing one byte of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_written: Option<Measured>,
    /// Making one event and putting it into the client's output, as for a reply.
    pub event: Measured,
    /// What has gone out of the caches while the server slept, by how long it slept, in ascending
    /// order; empty where that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_sleep: Vec<AfterSleep>,
    /// What has gone out of the caches because others ran on the server's processor while it
    /// slept, by how long they ran, in ascending order; empty where that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_work: Vec<AfterWork>,
    /// What the server does later for what has changed on its screen; `None` where it does
    /// nothing, or that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Deferred>,
}

/// What costs more where others have run on the server's processor for some time while it slept,
/// beyond what the sleep alone costs. Processor times of the server, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterWork {
    /// For how long they ran, in microseconds.
    pub worked_us: Micros,
    /// One wakeup.
    pub wakeup_us: Micros,
    /// A request where none of its name and attributes has run in that time.
    pub first_us: Micros,
    /// A client's coming and going.
    pub connection_us: Micros,
    /// Half the width of the 95 % confidence interval of the wakeup, relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// What costs more after a sleep of some length. Processor times of the server, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterSleep {
    /// How long it slept, in microseconds.
    pub asleep_us: Micros,
    /// One wakeup, in place of `wakeup`.
    pub wakeup_us: Micros,
    /// What a request costs beyond its price where none of its name and attributes has run for that long.
    pub first_us: Micros,
    /// A client's coming and going beyond the one wakeup: accepting it, its setup, and freeing
    /// what it had.
    pub connection_us: Micros,
    /// What drawing a million pixels costs beyond its price that were not touched for that long;
    /// `None` where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megapixel_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval of the wakeup, relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// The costs of one request with one set of attributes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCosts {
    /// The request's name: `PolyLine`, `RENDER:Composite`.
    pub name: String,
    /// Attributes and their values, names or numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, AttributeValue>,
    /// The fixed part: what the request costs whatever its items. Where it is not known a
    /// request is priced as one item of the whole op-size, as the paper does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Measured>,
    /// What a blank character counts as; as any other where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<Blank>,
    /// How many times `first_us` it costs beyond its price, with all that the server does after it, where
    /// none of its name and attributes has run for a while; once where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_uses: Option<f64>,
    /// Measured sizes of one item, in ascending order; each time includes the fixed part.
    pub points: Vec<Point>,
}

/// What a blank character counts as, beside any other.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blank {
    /// The part of any other character: 0 where it costs nothing, 1 where it costs the same.
    pub share: f64,
    /// Half the width of the 95 % confidence interval, relative to the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// The value of an attribute in a file: a name or a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// `0`
    Number(u32),
    /// `"GXcopy"`
    Name(String),
}

/// The cost of a request of one item of a size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The op-size.
    pub size: f64,
    /// Processor time of the server, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Micros>,
    /// Wall time, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_us: Option<Micros>,
    /// Operations per second, in place of the wall time: Xprof's own unit (equation 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Half the width of the 95 % confidence interval, relative to the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The part of the wall time in which the server was at work: near 1 where what was measured
    /// is the server, less where it waited for the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}
