//! Names the functions in a recording's call stacks, from the program files or from names that the recording contains.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::geteuid;
use x11prof_analyzer::{
    Blocked, By, Callers, CallersReport, CodeStacks, EpisodeReport, FunctionReport, MessageContext,
    NowReport, Observation, Profile, Resources, RoundTrips, RoundTripsReport, Running,
    RunningReport, StackNames, program_functions,
};
use x11prof_stacks::{Frame, Functions, Names, build_id, is_perf_map};
use x11prof_trace::{ConnectionId, Control, StackFrame, SymbolFunction, Timestamp};

use x11prof_collection::EpisodeRow;
use x11prof_views::callers::{
    asks_most, function_names, group_names, longest_wait, main_wait, named_functions,
};

use crate::error::{CommandError, shown};

/// The kinds of blame for a wait outside of X, of which the stacks of blocked threads show the object.
const OUTSIDE: [&str; 3] = ["elsewhere", "lock", "sleep"];
/// The maximum number of files without symbols that messages list.
const TOLD: usize = 5;
/// The maximum number of addresses whose function names are read from a recording.
const SYMBOLS: usize = 1_000_000;
/// The maximum number of functions at an address, including inlined ones. A report repeats their names for each stack.
const MOST_INLINED: usize = 64;
/// The maximum number of characters of the name of a function or file, or of a source location.
const LONGEST_NAME: usize = 4096;
/// The maximum number of bytes of the names of functions in one result.
const MOST_RETURNED: usize = 128 << 20;

/// Collects the call stacks of a recording and names their functions.
#[derive(Debug, Default)]
pub(crate) struct NamedCallers {
    callers: Callers,
    running: Running,
    blocked: Blocked,
    names: FunctionNames,
}

/// Names the functions in a recording's stacks from the program files, if the files have not changed since the
/// recording.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames {
    stacks: CodeStacks,
    recorded: Option<SystemTime>,
    /// The build ids of the program files when they were recorded.
    build_ids: HashMap<String, String>,
    /// True if the recording has call stacks of requests (`record --stacks=requests`).
    of_requests: bool,
    /// The function names that the recording contains (`record --keep-symbols`), by file and address.
    symbols: HashMap<(String, u64), Vec<FunctionReport>>,
    known: RefCell<KnownNames>,
    /// Files without symbols for which a message has been printed, with the reasons.
    reported: RefCell<BTreeSet<(String, &'static str)>>,
}

impl NamedCallers {
    /// Processes the next observation of a trace pass. `counts` selects the messages whose round trips count.
    pub(crate) fn observe(
        &mut self,
        observation: &Observation<'_>,
        counts: impl Fn(&MessageContext<'_>) -> bool,
    ) {
        self.names.observe(observation);
        self.running.observe(observation);
        self.blocked.observe(observation);
        self.callers.observe(observation, counts);
    }

    /// Returns the report on the round trips `found` in the trace at `path`, with the call sites of the waits.
    /// Functions in files that have changed since the recording have no names.
    pub(crate) fn report(&self, found: RoundTrips, path: &str) -> RoundTripsReport {
        let stacks = &self.names.stacks;
        self.names.named(|name| {
            let mut report = found.finish_with(path, |client, requests| {
                self.callers.asking(client, requests, stacks, &mut *name)
            });
            report.callers = self.callers.report(stacks, name);
            report
        })
    }

    /// Adds the call sites of the longest waits to the `rows` of episodes. `first` is the time of the trace's first
    /// record.
    pub(crate) fn name_rows(&self, rows: &mut [EpisodeRow], first: Timestamp) {
        if self.names.stacks.is_empty() {
            return;
        }
        let stacks = &self.names.stacks;
        let functions = self.run_names();
        let blocked_names = match self.blocked.is_empty() {
            true => StackNames::default(),
            false => self.names.by(By::Function),
        };
        let known = &mut *self.names.known.borrow_mut();
        for row in rows {
            let start = first.as_nanos().saturating_add(row.start);
            // In its first part, the event was queued, and the client handled another one.
            let handled = start.saturating_add(row.parts[0]);
            let span = (handled, start.saturating_add(row.latency));
            let name = |frame: &_| known.of(frame, &self.names);
            let client = ConnectionId(row.client);
            let callers = self.callers.between(client, span, stacks, name);
            let replied = callers.first().map_or(0.0, |one| one.waited_ms);
            let blocked = self.blocked.longest(client, span, &blocked_names);
            row.waited_in = match blocked.filter(|(_, ms)| *ms > replied) {
                Some((location, _)) => Some(location),
                None => longest_wait(&callers),
            };
            let ran_in = self.running.between(client, span, &functions);
            row.ran_in = ran_in.into_iter().next().map(|one| one.place);
        }
    }

    /// Returns the function names for the CPU samples of clients.
    fn run_names(&self) -> StackNames {
        match self.running.is_empty() {
            true => StackNames::default(),
            false => self.names.chains(),
        }
    }

    /// Adds the call site from which each client polls to `report`. `window` is the reported interval, in nanoseconds
    /// of the trace's clock.
    pub(crate) fn name_polls(&self, report: &mut NowReport, window: (u64, u64)) {
        if self.names.stacks.is_empty() {
            return;
        }
        self.names.named(|name| {
            for client in &mut report.clients {
                if let (Some(polls), Some(id)) = (&client.polls, client.client) {
                    let stacks = &self.names.stacks;
                    let (id, name) = (ConnectionId(id), &mut *name);
                    let callers = self.callers.between(id, window, stacks, name);
                    client.polls_in = asks_most(&callers, &polls.request);
                }
            }
        });
    }

    /// Returns the CPU time of the clients during `episodes`, by library and by function.
    pub(crate) fn running_in(&self, episodes: &[EpisodeReport]) -> Vec<RunningReport> {
        let within = |by: By| {
            let spans = episodes
                .iter()
                .map(|one| (ConnectionId(one.client), one.handled));
            let names = self.names.of_running(by);
            self.running.within(spans, &names, by.name())
        };
        [By::Library, By::Function]
            .into_iter()
            .filter_map(within)
            .collect()
    }

    /// Adds the call sites of waits and of CPU time to the `episodes` of a trace.
    pub(crate) fn name_in(&self, episodes: &mut [EpisodeReport]) {
        let places = self.run_names();
        let lines = match self.blocked.is_empty() {
            true => StackNames::default(),
            false => self.names.by(By::Line),
        };
        self.names.named(|name| {
            for one in episodes {
                let span = one.handled;
                let client = ConnectionId(one.client);
                let stacks = &self.names.stacks;
                one.callers = self.callers.between(client, span, stacks, &mut *name);
                one.ran_in = self.running.between(client, span, &places);
                one.blocked_in = self.blocked.within(client, &one.off_cpu_spans, &lines);
                let mut blame = one.blame.as_mut();
                if let Some(blame) = blame.take_if(|blame| OUTSIDE.contains(&blame.kind))
                    && let Some(wait) = main_wait(&one.blocked_in, blame.ms / 2.0)
                {
                    blame.sentence = format!("{} {wait}.", blame.client);
                }
            }
        });
    }
}

impl FunctionNames {
    /// Processes the next observation of a trace pass.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        self.stacks.observe(observation);
        let Observation::Control(_, control) = observation else {
            return;
        };
        match control {
            Control::Started(started) => {
                self.recorded = UNIX_EPOCH.checked_add(Duration::from_nanos(started.wall_clock_ns));
            }
            Control::BuildId { file, build_id } => {
                let first = self.build_ids.entry(file.clone());
                first.or_insert_with(|| build_id.clone());
            }
            Control::RequestStacks { runs, .. } => self.of_requests |= !runs.is_empty(),
            Control::Symbol {
                file,
                address,
                functions,
                start,
            } if self.symbols.len() < SYMBOLS => {
                let reported = reported(file, functions.clone(), start.unwrap_or(*address));
                self.symbols.insert((file.clone(), *address), reported);
            }
            _ => {}
        }
    }

    /// Returns true if the recording has call stacks of requests (`record --stacks=requests`).
    pub(crate) fn are_of_requests(&self) -> bool {
        self.of_requests
    }

    /// Fails if the recording at `path` has no stacks of requests, no CPU samples and, if `blocked` is given, no
    /// stacks of blocked threads.
    pub(crate) fn needed(
        &self,
        path: &Path,
        running: &Running,
        blocked: Option<&Blocked>,
    ) -> Result<(), CommandError> {
        if blocked.is_some_and(|blocked| !blocked.is_empty()) {
            return Ok(());
        }
        let why = match running.has_sampled() {
            _ if self.of_requests || !running.is_empty() => return Ok(()),
            true => "none of its CPU samples is of these clients in this time",
            false => {
                "it has no stacks of requests (record --stacks=requests) or of CPU time (--stacks=cpu)"
            }
        };
        Err(CommandError::file(path, why))
    }

    /// Names the call stacks of the resources in `held`, and of the profile's groups if `groups` groups by function,
    /// line or stack.
    pub(crate) fn name_stacks(
        &self,
        groups: Option<(&mut Profile, By)>,
        held: Option<&mut Resources>,
    ) {
        let mut has_lines = groups.as_ref().is_none_or(|(_, by)| *by != By::Line);
        self.named(|name| {
            let mut names = |by| {
                self.stacks.named(|frames| {
                    let functions = program_functions(frames, &mut *name);
                    let first = functions.first();
                    has_lines |= first.is_some_and(|one| one.line.is_some())
                        || functions.iter().any(|one| one.interpreted);
                    group_names(&functions, by)
                })
            };
            if let Some((profile, by)) = groups.filter(|(_, by)| by.is_of_code()) {
                profile.name_stacks(names(by));
            }
            if let Some(held) = held {
                held.name_stacks(names(By::Function));
            }
        });
        if !has_lines {
            say!(
                "no source lines: the program files have no debug symbols. Install them, or use --by function"
            );
        }
    }

    /// Returns the names of all call stacks, in the form of the group key `by` (function, line, library or stack).
    pub(crate) fn by(&self, by: By) -> StackNames {
        self.named(|name| {
            let names = |frames: &[_]| group_names(&program_functions(frames, &mut *name), by);
            self.stacks.named(names)
        })
    }

    /// Returns the names of the call stacks of running threads by the key `by`. The key `library` names the file that
    /// contains the running function; for requests and waits, the X libraries and libc are skipped.
    pub(crate) fn of_running(&self, by: By) -> StackNames {
        match by {
            By::Function => self.chains(),
            By::Library => self.named(|name| {
                self.stacks.named(|frames| {
                    let innermost = frames.first().map(&mut *name);
                    group_names(&innermost.unwrap_or_default(), by)
                })
            }),
            _ => self.by(by),
        }
    }

    /// Returns the named functions of each call stack, without source lines.
    pub(crate) fn chains(&self) -> StackNames {
        self.named(|name| {
            let names = |frames: &[_]| named_functions(&program_functions(frames, &mut *name));
            self.stacks.named(names)
        })
    }

    /// Returns the report on the call sites of waits for replies; `None` if the recording has no stacks.
    pub(crate) fn waits(&self, callers: &Callers) -> Option<CallersReport> {
        self.named(|name| callers.report(&self.stacks, name))
    }

    /// Returns all functions of each call stack, named or not.
    pub(crate) fn whole(&self) -> StackNames {
        self.named(|name| {
            let functions = |frames: &[_]| function_names(&program_functions(frames, &mut *name));
            self.stacks.named(functions)
        })
    }

    /// Calls `act` with a function that names the functions of a stack frame. Then prints a message for each file
    /// without symbols.
    fn named<R>(
        &self,
        act: impl FnOnce(&mut dyn FnMut(&StackFrame) -> Vec<FunctionReport>) -> R,
    ) -> R {
        let known = &mut *self.known.borrow_mut();
        known.returned = 0;
        let result = act(&mut |frame| known.of(frame, self));
        const CHANGED: &str = "the file is missing, or has changed since the recording";
        const NO_MAP: &str = "the program wrote no names of its generated code (java -XX:+PreserveFramePointer \
                              -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, node --perf-basic-prof)";
        const OTHER_MAP: &str =
            "it is no regular file of yours or root's that was written since the recording began";
        const FAILED: &str = "reading its symbols failed, or took too much memory or time";
        let changed = known.files.iter();
        let changed =
            changed.filter(|(file, is_unchanged)| !**is_unchanged && file.starts_with('/'));
        let failed = known.names.failed().map(|file| (file, FAILED));
        let why = |file: &str| match is_perf_map(file) {
            true if Path::new(file).symlink_metadata().is_ok() => OTHER_MAP,
            true => NO_MAP,
            false => CHANGED,
        };
        let nameless = changed
            .map(|(file, _)| (file.as_str(), why(file)))
            .chain(failed);
        let nameless: BTreeSet<_> = nameless
            .map(|(file, why)| (shown(Path::new(file)), why))
            .collect();
        if known.returned > MOST_RETURNED {
            say!(
                "the names of functions are longer than {} MB; the last stacks have none",
                MOST_RETURNED >> 20
            );
        }
        let mut reported = self.reported.borrow_mut();
        let new: Vec<_> = nameless.difference(&reported).collect();
        for (file, why) in new.iter().take(TOLD) {
            say!("no function names from {file}: {why}");
        }
        if new.len() > TOLD {
            say!("no function names from {} more files", new.len() - TOLD);
        }
        reported.extend(nameless);
        result
    }

    fn is_unchanged(&self, file: &str) -> bool {
        // Pipes and devices in a trace must not be opened. Recorders write absolute paths; a relative path would refer
        // to the current folder.
        let path = Some(Path::new(file)).filter(|path| path.is_absolute());
        if let Some(recorded) = self.build_ids.get(file) {
            return path.and_then(build_id).as_ref() == Some(recorded);
        }
        let about = path.and_then(|path| path.metadata().ok());
        let about = about.filter(std::fs::Metadata::is_file);
        about.is_some_and(|about| {
            let (modified, owner) = (about.modified().ok(), about.uid());
            modified.is_some_and(|modified| match (self.recorded, is_perf_map(file)) {
                // The program writes it during the recording. An older one is of another process.
                (recorded, true) => {
                    let is_ours = owner == 0 || owner == geteuid().as_raw();
                    is_ours && recorded.is_none_or(|recorded| modified >= recorded)
                }
                (recorded, false) => recorded.is_none_or(|recorded| modified <= recorded),
            })
        })
    }
}

/// A cache of function names, and of whether each program file is unchanged since the recording.
#[derive(Debug, Default)]
struct KnownNames {
    names: Names,
    files: HashMap<String, bool>,
    /// The number of bytes of the names that were returned for the current result.
    returned: usize,
}

impl KnownNames {
    /// Returns the functions at a stack frame of a recording: the function itself and those inlined there. `recorded`
    /// has the names that the recording contains.
    ///
    /// A small file can contain many stacks of long names, so later frames of a large result have no names.
    fn of(&mut self, frame: &StackFrame, recorded: &FunctionNames) -> Vec<FunctionReport> {
        if self.returned > MOST_RETURNED {
            return reported(&frame.file, Vec::new(), frame.address);
        }
        let functions = self.functions_of(frame, recorded);
        let texts = functions.iter().flat_map(|one| [&one.name, &one.line]);
        self.returned += texts.flatten().map(String::len).sum::<usize>();
        functions
    }

    fn functions_of(
        &mut self,
        frame: &StackFrame,
        recorded: &FunctionNames,
    ) -> Vec<FunctionReport> {
        if let Some(name) = &frame.function {
            return vec![interpreted(frame, name)];
        }
        let place = (frame.file.clone(), frame.address);
        if let Some(kept) = recorded.symbols.get(&place) {
            return kept.clone();
        }
        let known = self.files.entry(place.0);
        let is_unchanged = *known.or_insert_with(|| recorded.is_unchanged(&frame.file));
        functions(frame, is_unchanged.then_some(&mut self.names))
    }
}

fn functions(frame: &StackFrame, names: Option<&mut Names>) -> Vec<FunctionReport> {
    let place = Frame {
        file: frame.file.as_str().into(),
        address: frame.address,
    };
    let Some(names) = names else {
        return reported(&frame.file, Vec::new(), frame.address);
    };
    let Functions { functions, start } = names.of(&place).clone();
    let found = functions.into_iter().map(|one| SymbolFunction {
        name: one.name,
        line: one.line,
        inlined: one.is_inlined,
    });
    reported(&frame.file, found.collect(), start.unwrap_or(frame.address))
}

/// Converts the `functions` found at an address in `file` to reports. If there are none, the report identifies the
/// function by the file's name and its start address `start`.
fn reported(file: &str, functions: Vec<SymbolFunction>, start: u64) -> Vec<FunctionReport> {
    let module = match is_perf_map(file) {
        true => String::new(),
        false => cut(file.rsplit('/').next().unwrap_or_default()),
    };
    if functions.is_empty() {
        let module = match module.as_str() {
            "" => String::new(),
            module => format!("{module}+{start:#x}"),
        };
        return vec![FunctionReport {
            module,
            ..FunctionReport::default()
        }];
    }
    let report = |one: SymbolFunction| FunctionReport {
        name: Some(cut(&one.name)),
        module: module.clone(),
        line: one.line.as_deref().map(cut),
        inlined: one.inlined,
        interpreted: false,
    };
    let functions = functions.into_iter().take(MOST_INLINED);
    functions.map(report).collect()
}

/// Returns the function `name` of an interpreted program, such as a Python function.
fn interpreted(frame: &StackFrame, name: &str) -> FunctionReport {
    FunctionReport {
        name: Some(cut(name)),
        module: cut(frame.file.rsplit('/').next().unwrap_or_default()),
        line: Some(format!("{}:{}", cut(&frame.file), frame.address)),
        interpreted: true,
        ..FunctionReport::default()
    }
}

fn cut(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, MOST_INLINED, SymbolFunction, reported};

    #[test]
    fn names_of_an_address_are_bounded() {
        let function = SymbolFunction {
            name: "f".repeat(2 * LONGEST_NAME),
            line: Some("l".repeat(2 * LONGEST_NAME)),
            inlined: true,
        };
        let file = "m".repeat(2 * LONGEST_NAME);
        let all = reported(&file, vec![function; 2 * MOST_INLINED], 0);
        assert_eq!(all.len(), MOST_INLINED);
        let first = &all[0];
        let names = [
            first.name.as_ref(),
            first.line.as_ref(),
            Some(&first.module),
        ];
        assert!(
            names
                .iter()
                .all(|one| one.is_some_and(|one| one.len() == LONGEST_NAME))
        );
    }
}
