//! The parameters of a server as data: `calibrate` writes them, and costs are computed from them (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Micros, Rescaled};

/// The newest version of the parameter file's format.
pub const FORMAT: u32 = 1;

/// The parameters of one display server: the contents of a parameter file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerParameters {
    /// The version of the file's format: 1.
    pub format: u32,
    /// The identity of the calibrated server.
    pub server: ServerIdentity,
    /// The machine on which the server ran.
    #[serde(default)]
    pub host: Host,
    /// The method by which the costs were measured.
    #[serde(default)]
    pub method: Method,
    /// The costs of messages in addition to their operations; absent for files without transport costs.
    pub transport: Option<TransportCosts>,
    /// The costs of requests, with an entry for each request and set of attributes.
    #[serde(default, rename = "request")]
    pub requests: Vec<RequestCosts>,
}

/// The identity of a display server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// The name by which users select the file.
    pub name: String,
    /// The name of the server's executable, such as `Xvfb`; absent if unknown.
    pub executable: Option<String>,
    /// The arguments of the executable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The vendor in the server's setup; absent if unknown.
    pub vendor: Option<String>,
    /// The release number in the server's setup; absent if unknown.
    pub release: Option<u32>,
    /// The depth of the root window in bits; absent if unknown.
    pub depth: Option<u8>,
    /// The width and height of the screen in pixels; absent if unknown.
    pub screen: Option<(u16, u16)>,
}

/// The machine on which a server ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The model of the processor; absent if unknown.
    pub cpu_model: Option<String>,
    /// The number of processors; absent if unknown.
    pub cpus: Option<u32>,
    /// The name and release of the kernel; absent if unknown.
    pub kernel: Option<String>,
    /// A hash of the machine id; absent if unknown.
    pub machine: Option<String>,
    /// The time of one step of a fixed computation that needs no memory, in nanoseconds. The time depends on the
    /// processor's clock speed. Absent if unknown.
    pub step_ns: Option<f64>,
}

/// Machines whose clock speeds differ by more than this ratio are different machines.
const CLOCK_SPEED: f64 = 0.2;

impl Host {
    /// True if costs measured on one machine are valid on the other. The processor models must be equal, and also the
    /// machine ids, the kernels and the clock speeds that are known for both. `None` if a processor model is unknown.
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

/// The method by which the costs in a parameter file were measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The name and version of the tool, or the publication; absent if unknown.
    pub source: Option<String>,
    /// The date of the measurement, such as `2026-11-20`; absent if unknown.
    pub date: Option<String>,
    /// Further remarks; absent if there are none.
    pub notes: Option<String>,
    /// The requests that were not completely measured within the time limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// Sentences about disturbances of the calibration, such as other clients of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The machine from which the costs were rescaled to `host`; absent if they were measured there.
    pub brought: Option<Rescaled>,
}

impl Method {
    /// The method of measurement: `handler times` or `saturated loops`, otherwise `published`.
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

    /// True if the costs are from a publication or another program.
    pub(crate) fn is_published(&self) -> bool {
        self.way() == "published"
    }

    /// True if the server timed its request handlers, which is more exact than loops.
    pub(crate) fn is_by_handlers(&self) -> bool {
        self.way() == "handler times"
    }

    /// True if the notes show that the calibration was made with `--quick`.
    pub fn is_quick(&self) -> bool {
        let notes = self.notes.as_deref();
        notes.is_some_and(|notes| notes.starts_with("quick plan"))
    }
}

/// A time that was measured by one or both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The CPU time of the server in microseconds; absent if not measured.
    pub cpu_us: Option<Micros>,
    /// The wall-clock time in microseconds; absent if not measured.
    pub wall_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval, relative to the time (0.03 for ± 3 %); absent if unknown.
    pub spread: Option<f64>,
}

/// The costs of messages in the server, in addition to their operations (docs/CONCEPTS.md).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportCosts {
    /// The cost of waking the server from a sleep, including the cost of going back to sleep.
    pub wakeup: Measured,
    /// The cost of reading one byte of requests.
    pub byte_read: Measured,
    /// The cost of making one reply and adding it to the client's output.
    pub reply: Measured,
    /// The cost of writing one byte of a reply; absent if not measured.
    pub byte_written: Option<Measured>,
    /// The cost of making one event and adding it to the client's output.
    pub event: Measured,
    /// The extra costs after a sleep of the server, because its caches are cold, by length of the sleep in ascending
    /// order; empty if not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_sleep: Vec<AfterSleep>,
}

/// The costs after a sleep of one length. Times are CPU times of the server, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterSleep {
    /// The length of the sleep, in microseconds.
    pub asleep_us: Micros,
    /// The cost of a wakeup, instead of `TransportCosts::wakeup`, in microseconds.
    pub wakeup_us: Micros,
    /// The cost of connecting and disconnecting a client, in addition to one wakeup, in microseconds: accepting it, its
    /// setup, and freeing its resources.
    pub connection_us: Micros,
    /// The extra cost of drawing a million pixels that were not accessed during the sleep, in microseconds; absent if
    /// not measured.
    pub megapixel_us: Option<Micros>,
    /// Half the width of the 95 % confidence interval of the wakeup's cost, relative to the cost; absent if unknown.
    pub spread: Option<f64>,
}

/// The costs of one request with one set of attributes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCosts {
    /// The name of the request, such as `PolyLine` or `RENDER:Composite`.
    pub name: String,
    /// The attributes with their values (names or numbers).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, AttributeValue>,
    /// The fixed part of the cost, which does not depend on the items. If it is absent, a request is estimated as one
    /// item with the total size (op-size) of its items, as Xprof (Gupta and Hwu, 1993) does.
    pub fixed: Option<Measured>,
    /// The measured costs of one item at several sizes, in ascending order; each includes the fixed part.
    pub points: Vec<Point>,
}

/// The value of an attribute in a parameter file: a name or a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// A number, such as `0`.
    Number(u32),
    /// A name, such as `"GXcopy"`.
    Name(String),
}

/// The cost of a request with one item of one size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The op-size of the item.
    pub size: f64,
    /// The CPU time of the server in microseconds; absent if not measured.
    pub cpu_us: Option<Micros>,
    /// The wall-clock time in microseconds; absent if not measured.
    pub wall_us: Option<Micros>,
    /// The rate in operations per second, instead of the wall-clock time: Xprof's unit (equation 8). Absent if there is
    /// none.
    pub per_second: Option<f64>,
    /// Half the width of the 95 % confidence interval, relative to the time; absent if unknown.
    pub spread: Option<f64>,
    /// The time of a request after different requests divided by its time after equal requests; absent if not measured.
    /// No estimate uses the ratio.
    pub cold: Option<f64>,
}
