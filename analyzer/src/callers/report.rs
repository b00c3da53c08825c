//! Callers of waits as data (docs/JSON.md).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use x11prof_trace::StackFrame;

use super::{CallStack, Callers};

/// Libraries that ask for others: their callers are of interest.
const LIBRARIES: [&str; 15] = [
    "libX11",
    "libX11-xcb",
    "libxcb",
    "libXext",
    "libXrender",
    "libXi",
    "libXrandr",
    "libXfixes",
    "libXcursor",
    "libXinerama",
    "libXdamage",
    "libXcomposite",
    "libXtst",
    "libc",
    "libpthread",
];

/// Rust's crates that do the same as part of the program.
const CRATES: [&str; 7] = [
    "x11rb",
    "x11rb_protocol",
    "xcb",
    "rustix",
    "std",
    "core",
    "alloc",
];

/// A function of a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FunctionReport {
    /// The name; null where no table has it.
    pub name: Option<String>,
    /// The file of the code, without its folder; an empty one for code that was made at run time.
    pub module: String,
    /// The source file and the line; null where the program does not have them.
    pub line: Option<String>,
    /// True where the call was inlined into the next function.
    pub inlined: bool,
}

/// The number of waits for replies to one kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// The request.
    pub request: String,
    /// The waits.
    pub waits: u64,
}

/// A place in a program from which waits began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallerReport {
    /// The waits that were looked at.
    pub waits: u64,
    /// Their time.
    pub waited_ms: f64,
    /// Their requests, the most frequent first.
    pub requests: Vec<RequestCount>,
    /// The functions of the stack that waited most, from the innermost one outside of the X libraries, libc and Rust's own
    /// crates outwards.
    pub functions: Vec<FunctionReport>,
    /// True if that stack ends with the thread's first function.
    pub whole: bool,
}

/// The places in the programs from which waits began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallersReport {
    /// All round trips, and their time.
    pub round_trips: u64,
    /// See `round_trips`.
    pub round_trips_ms: f64,
    /// Round trips whose stacks were copied; the others passed by while copying had its share of the time.
    pub looked_at: u64,
    /// Of those, the stacks that end with the thread's first function.
    pub whole: u64,
    /// The time by which copying delayed replies.
    pub looking_ms: f64,
    /// The places, the longest waits first.
    pub callers: Vec<CallerReport>,
}

impl Callers {
    /// The report, with functions named by `name`: those of a frame, the innermost first. `None` of a recording
    /// without stacks.
    pub fn report(
        &self,
        mut name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
    ) -> Option<CallersReport> {
        if self.stacks.is_empty() {
            return None;
        }
        let mut places: BTreeMap<FunctionReport, CallerReport> = BTreeMap::new();
        let mut stacks: Vec<(&u32, &CallStack)> = self.stacks.iter().collect();
        // The stack that waited most stands for its place.
        stacks.sort_by(|(a, first), (b, second)| second.nanos.cmp(&first.nanos).then(a.cmp(b)));
        let (mut looked_at, mut whole) = (0, 0);
        for (_, stack) in stacks.into_iter().filter(|(_, stack)| stack.waits > 0) {
            looked_at += stack.waits;
            whole += u64::from(stack.is_whole) * stack.waits;
            let outside = stack
                .frames
                .iter()
                .position(|frame| !is_library(&frame.file));
            // A stack that ends within the libraries is theirs.
            let frames = &stack.frames[outside.unwrap_or(0)..];
            let mut functions: Vec<FunctionReport> = frames.iter().flat_map(&mut name).collect();
            let of_program = functions.iter().position(|one| !is_of_crate(one));
            functions.drain(..of_program.unwrap_or(0));
            let Some(first) = functions.first().cloned() else {
                continue;
            };
            let caller = match places.entry(first) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(room) => room.insert(CallerReport {
                    waits: 0,
                    waited_ms: 0.0,
                    requests: Vec::new(),
                    functions,
                    whole: stack.is_whole,
                }),
            };
            caller.waits += stack.waits;
            caller.waited_ms += stack.nanos as f64 / 1e6;
            for (request, waits) in &stack.requests {
                let request = request.as_str();
                let known = caller
                    .requests
                    .iter_mut()
                    .find(|one| one.request == request);
                match known {
                    Some(known) => known.waits += waits,
                    None => caller.requests.push(RequestCount {
                        request: request.to_owned(),
                        waits: *waits,
                    }),
                }
            }
        }
        let mut callers: Vec<CallerReport> = places.into_values().collect();
        callers.sort_by(|a, b| b.waited_ms.total_cmp(&a.waited_ms));
        for caller in &mut callers {
            caller
                .requests
                .sort_by_key(|one| std::cmp::Reverse(one.waits));
        }
        Some(CallersReport {
            round_trips: self.round_trips,
            round_trips_ms: self.nanos as f64 / 1e6,
            looked_at,
            whole,
            looking_ms: self.looking as f64 / 1e6,
            callers,
        })
    }
}

/// True for a function of [`CRATES`]: `x11rb::…::flush`, `<x11rb::… as …>::flush`.
fn is_of_crate(function: &FunctionReport) -> bool {
    let name = function.name.as_deref().unwrap_or_default();
    let path = name.trim_start_matches(['<', '&']);
    path.split_once("::")
        .is_some_and(|(first, _)| CRATES.contains(&first))
}

/// True for the X libraries and libc.
fn is_library(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    let name = name.split(".so").next().unwrap_or_default();
    LIBRARIES.contains(&name) || name.starts_with("ld-linux")
}
