//! A server's parameters as data: `calibrate` writes them, and costs are computed from them (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Micros, Rescaled};

/// The newest version of the file format.
pub const FORMAT: u32 = 1;

/// The parameters of one display server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerParameters {
    /// The file format's version: 1.
    pub format: u32,
    /// The server's identity.
    pub server: ServerIdentity,
    /// The machine that the server ran on.
    #[serde(default)]
    pub host: Host,
    /// The method of the measurement.
    #[serde(default)]
    pub method: Method,
    /// The costs of messages in addition to their operations; `None` for files from before this model.
    pub transport: Option<TransportCosts>,
    /// Costs of requests: one table for each request and set of attributes.
    #[serde(default, rename = "request")]
    pub requests: Vec<RequestCosts>,
}

/// The identity of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// The name by which users select the file.
    pub name: String,
    /// The server's executable: `Xvfb`.
    pub executable: Option<String>,
    /// The executable's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Vendor string of the setup.
    pub vendor: Option<String>,
    /// Release number of the setup.
    pub release: Option<u32>,
    /// Depth of the root window.
    pub depth: Option<u8>,
    /// Width and height of the screen in pixels.
    pub screen: Option<(u16, u16)>,
}

/// The machine that the server ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Number of processors.
    pub cpus: Option<u32>,
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// A hash of the machine id.
    pub machine: Option<String>,
    /// The time of a fixed computation that needs no memory, in nanoseconds: it shows the processor's clock speed.
    pub step_ns: Option<f64>,
}

/// Machines whose clock speeds differ by more than this ratio are different machines.
const CLOCK_SPEED: f64 = 0.2;

impl Host {
    /// True if costs measured on one machine hold on the other: same machine id, processor model, kernel and clock
    /// speed, as far as both are known. `None` if a processor model is not known.
    pub fn is_same_machine(&self, other: &Host) -> Option<bool> {
        let differ = |one: &Option<String>, other: &Option<String>| {
            one.as_ref()
                .zip(other.as_ref())
                .map(|(one, other)| one != other)
        };
        let models = differ(&self.cpu_model, &other.cpu_model)?;
        let others = differ(&self.machine, &other.machine).unwrap_or(false)
            || differ(&self.kernel, &other.kernel).unwrap_or(false);
        let steps = self.step_ns.zip(other.step_ns);
        let faster = steps.is_some_and(|(one, other)| (one / other).ln().abs() > CLOCK_SPEED);
        Some(!models && !others && !faster)
    }
}

/// The method of a measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The tool and its version, or the publication.
    pub source: Option<String>,
    /// The date, `2026-11-20`.
    pub date: Option<String>,
    /// Further remarks.
    pub notes: Option<String>,
    /// Requests that were not completely measured within the time limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// The machine from which the costs were rescaled to `host`; null if they were measured there.
    pub brought: Option<Rescaled>,
}

impl Method {
    /// How the costs were measured: `handler times` or `saturated loops`, else `published`.
    pub fn way(&self) -> &'static str {
        let source = self.source.as_deref().unwrap_or_default();
        let notes = self.notes.as_deref().unwrap_or_default();
        match (
            source.starts_with("x11prof"),
            notes.contains("handler times"),
        ) {
            (false, _) => "published",
            (true, true) => "handler times",
            (true, false) => "saturated loops",
        }
    }

    /// True if the notes show that the calibration was made with `--quick`.
    pub fn is_quick(&self) -> bool {
        let notes = self.notes.as_deref();
        notes.is_some_and(|notes| notes.starts_with("quick plan"))
    }
}

/// A measured time on the two clocks; at least one is present.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Processor time of the server, in microseconds.
    pub cpu_us: Option<Micros>,
    /// Wall time, in microseconds.
    pub wall_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval, relative to the time: 0.03 for ± 3 %.
    pub spread: Option<f64>,
}

/// The server's costs of messages in addition to their operations (docs/CONCEPTS.md).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportCosts {
    /// A wakeup: the server was asleep, and goes back to sleep.
    pub wakeup: Measured,
    /// Reading one byte of requests.
    pub byte_read: Measured,
    /// Making one reply and putting it into the client's output.
    pub reply: Measured,
    /// Writing one byte of a reply.
    pub byte_written: Option<Measured>,
    /// Making one event and putting it into the client's output, as for a reply.
    pub event: Measured,
    /// The costs of emptied caches after the server's sleep, by its length, in ascending order; empty if not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_sleep: Vec<AfterSleep>,
}

/// The extra costs after a sleep of some length. Processor times of the server, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterSleep {
    /// The length of the sleep, in microseconds.
    pub asleep_us: Micros,
    /// The cost of a wakeup, in place of `wakeup`.
    pub wakeup_us: Micros,
    /// The cost of connecting and disconnecting a client in addition to one wakeup: accepting it, its setup, and
    /// freeing its resources.
    pub connection_us: Micros,
    /// The additional cost of drawing a million pixels that were not accessed for that long; `None` if not measured.
    pub megapixel_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval of the wakeup, relative to it.
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
    /// The fixed part, which does not depend on the items. If it is unknown, a request is estimated as one item with
    /// the total op-size, as in the paper.
    pub fixed: Option<Measured>,
    /// Measured sizes of one item, in ascending order; each time includes the fixed part.
    pub points: Vec<Point>,
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
    pub cpu_us: Option<Micros>,
    /// Wall time, in microseconds.
    pub wall_us: Option<Micros>,
    /// Operations per second, in place of the wall time: Xprof's own unit (equation 8).
    pub per_second: Option<f64>,
    /// Half the width of the 95 % confidence interval, relative to the time.
    pub spread: Option<f64>,
    /// The time of a request after different requests divided by its time after equal requests; `None` if not
    /// measured. No estimate uses the ratio.
    pub cold: Option<f64>,
}
