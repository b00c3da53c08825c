//! The call sites that waited for replies, as a document (docs/REFERENCE.md).

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, StackFrame};

use super::{Callers, Met, Waits};
use crate::callers::code_stacks::{CodeStack, CodeStacks, StackNames};
use crate::recording::trace_summary::TraceSummary;

/// Libraries that send requests on behalf of their callers: the callers are reported instead.
const LIBRARIES: [&str; 19] = [
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
    "libXft",
    "libXpm",
    "libcairo",
    "libxkbcommon-x11",
    "libc",
    "libpthread",
];

/// Rust crates that send requests on behalf of their callers, as part of the program.
const CRATES: [&str; 7] = [
    "x11rb",
    "x11rb_protocol",
    "xcb",
    "rustix",
    "std",
    "core",
    "alloc",
];

/// A function on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FunctionReport {
    /// The name of the function; null if no symbol table contains it.
    pub name: Option<String>,
    /// The file name of the code, without its folder; empty for code that was generated at run time.
    pub module: String,
    /// The source file and the line of the code; null without debug information.
    pub line: Option<String>,
    /// True if the call was inlined into the next function.
    pub inlined: bool,
    /// True for a function of an interpreted program (Python) that the interpreter ran.
    pub interpreted: bool,
}

/// The number of waits at a call site for the replies to one kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// The name of the request.
    pub request: String,
    /// The number of waits for the replies to this request.
    pub waits: u64,
}

/// A call site at which a client waited for replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallerReport {
    /// The number of waits whose stacks were sampled.
    pub waits: u64,
    /// The total time that clients waited at this call site, in milliseconds.
    pub waited_ms: f64,
    /// The kinds of request that were waited for, the most frequent first.
    pub requests: Vec<RequestCount>,
    /// The functions of the stack with the longest waits, from the innermost function outside of the X libraries, libc
    /// and Rust's own crates outwards. All stacks of the call site share the first function and the next interpreted
    /// one, or the next named one if there is no interpreted function.
    pub functions: Vec<FunctionReport>,
    /// True if the stack of `functions` ends with the thread's first function.
    #[serde(rename = "complete")]
    pub whole: bool,
}

/// The call sites at which clients waited for replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallersReport {
    /// The number of all round trips, with and without a stack.
    pub round_trips: u64,
    /// The total time of all round trips, in milliseconds.
    pub round_trips_ms: f64,
    /// The number of round trips whose stacks were copied. Other stacks were skipped to limit the overhead.
    #[serde(rename = "sampled")]
    pub looked_at: u64,
    /// The number of copied stacks that reach the thread's first function.
    #[serde(rename = "complete")]
    pub whole: u64,
    /// The time by which copying stacks delayed replies, in milliseconds.
    #[serde(rename = "sampling_ms")]
    pub looking_ms: f64,
    /// The call sites at which clients waited for replies, the longest waits first.
    pub callers: Vec<CallerReport>,
}

/// The waits of a client for replies to one kind of request, sent with one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackWaits {
    /// The client's name and number.
    pub client: String,
    /// The functions of the program on the stack, the outermost first.
    pub place: Vec<String>,
    /// The name of the request.
    pub request: String,
    /// The number of replies that the client waited for.
    pub round_trips: u64,
}

impl Callers {
    /// Creates the report. `name` returns the functions of a frame, the innermost first. `None` for a recording without
    /// stacks.
    pub fn report(
        &self,
        stacks: &CodeStacks,
        mut name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
    ) -> Option<CallersReport> {
        if stacks.is_empty() {
            return None;
        }
        let known = stacks.with(&self.by_stack);
        let looked_at = known.iter().map(|(_, waits)| waits.waits).sum();
        let whole = known.iter().filter(|(stack, _)| stack.is_whole);
        let whole = whole.map(|(_, waits)| waits.waits).sum();
        let callers = places(known, &mut name);
        Some(CallersReport {
            round_trips: self.round_trips,
            round_trips_ms: self.nanos as f64 / 1e6,
            looked_at,
            whole,
            looking_ms: self.looking as f64 / 1e6,
            callers,
        })
    }

    /// The waits by client, stack and request, as long as the waits are kept individually. `names` has the functions of
    /// the stacks.
    pub fn stacks(&self, names: &StackNames, summary: &TraceSummary) -> Vec<StackWaits> {
        let mut waits: BTreeMap<(ConnectionId, u32, Symbol), u64> = BTreeMap::new();
        for met in self.met.values() {
            let key = (met.id.0, names.first_alike(met.stack), met.wait.request);
            *waits.entry(key).or_default() += 1;
        }
        let waits = waits.into_iter();
        let waits = waits.filter_map(|((client, stack, request), round_trips)| {
            Some(StackWaits {
                client: summary.client_name(client),
                place: names.of(stack)?.iter().rev().cloned().collect(),
                request: request.to_string(),
                round_trips,
            })
        });
        waits.collect()
    }

    /// The call sites at which a client waited between two times of the trace, in nanoseconds; the longest waits first.
    pub fn between(
        &self,
        client: ConnectionId,
        (from, to): (u64, u64),
        stacks: &CodeStacks,
        name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
    ) -> Vec<CallerReport> {
        let until = ((client, to.max(from)), usize::MAX);
        let within = self.met.range(((client, from), 0)..=until);
        Self::of(within.map(|(_, met)| met), stacks, name)
    }

    /// The call sites at which a client waited for the replies to these requests; the longest waits first.
    pub fn asking(
        &self,
        client: ConnectionId,
        requests: &[SequenceNumber],
        stacks: &CodeStacks,
        name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
    ) -> Vec<CallerReport> {
        let requests: HashSet<&SequenceNumber> = requests.iter().collect();
        let is_one = |met: &&Met| met.id.0 == client && requests.contains(&met.wait.sequence);
        Self::of(self.met.values().filter(is_one), stacks, name)
    }

    fn of<'a>(
        wanted: impl Iterator<Item = &'a Met>,
        stacks: &CodeStacks,
        mut name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
    ) -> Vec<CallerReport> {
        let mut waits: BTreeMap<u32, Waits> = BTreeMap::new();
        for met in wanted {
            waits.entry(met.stack).or_default().add(met.wait);
        }
        places(stacks.with(&waits), &mut name)
    }
}

/// Returns the call sites of stacks with their waits, the longest waits first.
fn places(
    mut stacks: Vec<(&CodeStack, &Waits)>,
    mut name: &mut dyn FnMut(&StackFrame) -> Vec<FunctionReport>,
) -> Vec<CallerReport> {
    let mut places: BTreeMap<Vec<FunctionReport>, CallerReport> = BTreeMap::new();
    // The stack with the longest waits represents its call site.
    stacks.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.nanos));
    for (stack, waits) in stacks {
        let functions = program_functions(&stack.frames, &mut name);
        let place: Vec<FunctionReport> = place_of(&functions).cloned().collect();
        if place.is_empty() {
            continue;
        }
        let caller = places.entry(place).or_insert_with(|| CallerReport {
            waits: 0,
            waited_ms: 0.0,
            requests: Vec::new(),
            functions,
            whole: stack.is_whole,
        });
        caller.waits += waits.waits;
        caller.waited_ms += waits.nanos as f64 / 1e6;
        for (request, count) in &waits.requests {
            let request = request.as_str();
            let known = caller
                .requests
                .iter_mut()
                .find(|one| one.request == request);
            match known {
                Some(known) => known.waits += count,
                None => caller.requests.push(RequestCount {
                    request: request.to_owned(),
                    waits: *count,
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
    callers
}

/// The functions that represent a call site: the first function of `functions`, and then the program's interpreted
/// function or, without one, the next named function.
pub fn place_of(functions: &[FunctionReport]) -> impl Iterator<Item = &FunctionReport> {
    let (first, callers) = functions.split_at(functions.len().min(1));
    let named = interpreted(callers).or_else(|| callers.iter().find(|one| one.name.is_some()));
    first.iter().chain(named)
}

/// Returns the innermost interpreted function that is not in the standard library or python-xlib. If there is none,
/// returns the last interpreted function of the stack.
pub fn interpreted(functions: &[FunctionReport]) -> Option<&FunctionReport> {
    let mut all = functions.iter().filter(|one| one.interpreted);
    let own = all.clone().find(|one| !is_of_python(one));
    own.or_else(|| all.next())
}

/// True for a function of python-xlib or of Python's standard library: `/usr/lib/python3.11/tkinter/__init__.py`,
/// `<frozen importlib._bootstrap>`.
fn is_of_python(function: &FunctionReport) -> bool {
    let file = function.line.as_deref().unwrap_or_default();
    let folder = |part: &str| {
        part.strip_prefix("python3.")
            .is_some_and(|minor| minor.parse::<u8>().is_ok())
    };
    file.starts_with("<frozen ")
        || file.contains("-packages/Xlib/")
        || (file.split('/').any(folder) && !file.split('/').any(|part| part.ends_with("-packages")))
}

/// The functions of a stack, from the innermost one outside of the X libraries, libc and Rust's own crates outwards.
/// `name` returns the functions of a frame, the innermost first.
pub fn program_functions(
    frames: &[StackFrame],
    name: impl FnMut(&StackFrame) -> Vec<FunctionReport>,
) -> Vec<FunctionReport> {
    let outside = frames.iter().position(|frame| !is_library(&frame.file));
    // A stack that ends within the libraries belongs to the libraries.
    let frames = &frames[outside.unwrap_or(0)..];
    let mut functions: Vec<FunctionReport> = frames.iter().flat_map(name).collect();
    let of_program = functions.iter().position(|one| !is_of_crate(one));
    functions.drain(..of_program.unwrap_or(0));
    // A compiler may split a function, and inline one part into the other.
    functions.dedup_by(|outer, inner| {
        inner.inlined && (&outer.name, &outer.module) == (&inner.name, &inner.module)
    });
    functions
}

/// True for a function of [`CRATES`]: `x11rb::…::flush`, `<x11rb::… as …>::flush`; or a function whose debug symbols
/// contain only its last name and the file: `…/x11rb-0.14.0/src/lib.rs`, `/rustc/…/library/std/src/thread/mod.rs`.
fn is_of_crate(function: &FunctionReport) -> bool {
    let name = function.name.as_deref().unwrap_or_default();
    let path = name.trim_start_matches(['<', '&']);
    let is_named = path
        .split_once("::")
        .is_some_and(|(first, _)| CRATES.contains(&first));
    let file = function.line.as_deref().unwrap_or_default();
    let folder = match file.strip_prefix("/rustc/") {
        Some(library) => library.split_once("/library/"),
        None => file
            .split_once("/registry/src/")
            .and_then(|(_, of)| of.split_once('/')),
    };
    let folder = folder.and_then(|(_, of)| of.split('/').next());
    // A crate's folder has its version.
    let of = folder.map(|of| match of.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => name,
        _ => of,
    });
    is_named || of.is_some_and(|of| CRATES.contains(&of.replace('-', "_").as_str()))
}

/// True for the X libraries, libraries that draw with them, and libc.
fn is_library(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    let name = name.split(".so").next().unwrap_or_default();
    let prefixes = ["libxcb-", "ld-linux"];
    LIBRARIES.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}
