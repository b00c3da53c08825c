//! The call stacks of a recording, with the numbers that the trace uses for them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use x11prof_stacks::{Frame, Names, build_id, debug_file_servers_are_named};
use x11prof_trace::{Control, StackFrame, SymbolFunction, Timestamp};

use crate::notice::Notice;
use crate::recorder::record_queue::RecordSender;

/// The file name of the library that programs load to record the stacks of requests.
pub(crate) const OWN_LIBRARY: &str = "x11prof-stacks.so";
/// The maximum number of distinct stacks in a recording, and of bytes of their frames.
const STACKS: usize = 50_000;
const BYTES: usize = 256 << 20;

/// Frames, the innermost first, and whether the stack is complete up to the thread's first frame.
type Stack = (Vec<StackFrame>, bool);

/// Assigns a number to each different stack, from all sources of stacks.
#[derive(Debug)]
pub(crate) struct StackNumbers {
    sender: RecordSender,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    stacks: HashMap<Stack, u32>,
    bytes: usize,
    /// The build ids of the stacks' files; `None` for a file without a build id.
    files: HashMap<String, Option<String>>,
}

impl StackNumbers {
    pub(crate) fn new(sender: RecordSender) -> StackNumbers {
        StackNumbers {
            sender,
            known: Mutex::default(),
        }
    }

    /// Returns the number of a stack of process `pid`, without the frames of [`OWN_LIBRARY`]. `None` if there are too
    /// many stacks. Writes a record of a new stack, with the time `at`. Records that refer to the stack must follow.
    pub(crate) fn of(&self, mut stack: Stack, pid: Option<u32>, at: Timestamp) -> Option<u32> {
        let is_own = |frame: &StackFrame| frame.file.rsplit('/').next() == Some(OWN_LIBRARY);
        stack.0.retain(|frame| !is_own(frame));
        let mut known = self.known();
        if let Some(number) = known.stacks.get(&stack) {
            return Some(*number);
        }
        let number = u32::try_from(known.stacks.len()).ok()?;
        let length = |text: &String| text.len();
        let bytes = stack.0.iter().map(|frame| {
            let function = frame.function.as_ref().map_or(0, length);
            size_of::<StackFrame>() + length(&frame.file) + function
        });
        known.bytes += bytes.sum::<usize>();
        if known.stacks.len() >= STACKS || known.bytes > BYTES {
            return None;
        }
        for frame in stack.0.iter().filter(|frame| frame.function.is_none()) {
            if known.files.contains_key(&frame.file) || !frame.file.starts_with('/') {
                continue;
            }
            // The process may be in a container.
            let root = pid.map_or_else(String::new, |pid| format!("/proc/{pid}/root"));
            let build_id = build_id(Path::new(&format!("{root}{}", frame.file)));
            known.files.insert(frame.file.clone(), build_id.clone());
            if let Some(build_id) = build_id {
                let file = frame.file.clone();
                self.sender.control(at, Control::BuildId { file, build_id });
            }
        }
        let (frames, whole) = stack.clone();
        let new = Control::Stack {
            stack: number,
            frames,
            whole,
        };
        self.sender.control(at, new);
        known.stacks.insert(stack, number);
        Some(number)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Every change is one step, so the data is consistent even after a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the functions of all stacks, with the symbols in the programs' files and, if `downloads`, debug files of
    /// servers, as records of time `at`, until `stop` is true. Calls `on` for notices.
    pub(crate) fn keep_symbols(
        &self,
        at: Timestamp,
        stop: Arc<AtomicBool>,
        downloads: bool,
        mut on: impl FnMut(Notice),
    ) {
        let known = self.known();
        let downloads = downloads && debug_file_servers_are_named();
        if downloads && !known.stacks.is_empty() {
            on(Notice::DebugFiles);
        }
        let frames = known.stacks.keys().flat_map(|(frames, _)| frames);
        // Frames of interpreted programs already have function names.
        let places = frames.filter(|frame| frame.function.is_none() && !frame.file.is_empty());
        let places: BTreeSet<(&str, u64)> = places
            .map(|frame| (frame.file.as_str(), frame.address))
            .collect();
        let mut names = Names::stopped_by(stop, downloads);
        let mut changed: HashMap<&str, bool> = HashMap::new();
        for (file, address) in places {
            let is_changed = changed.entry(file).or_insert_with(|| {
                let recorded = known.files.get(file).and_then(Option::as_ref);
                recorded
                    .is_some_and(|recorded| build_id(Path::new(file)).as_ref() != Some(recorded))
            });
            if *is_changed {
                continue;
            }
            if names.is_stopped() {
                on(Notice::Trouble(
                    "a signal ended the reading of symbols: other functions have no names"
                        .to_owned(),
                ));
                break;
            }
            let frame = Frame {
                file: file.into(),
                address,
            };
            let found = names.of(&frame);
            let functions = found.functions.iter().map(|one| SymbolFunction {
                name: one.name.clone(),
                line: one.line.clone(),
                inlined: one.is_inlined,
            });
            let symbol = Control::Symbol {
                file: file.to_owned(),
                address,
                functions: functions.collect(),
                start: found.start,
            };
            self.sender.control(at, symbol);
        }
        let failed: Vec<&str> = names.failed().collect();
        if !failed.is_empty() {
            on(Notice::Trouble(format!(
                "functions have no names: the symbols of {} cannot be read",
                failed.join(", ")
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::record_queue::record_queue;

    #[test]
    fn stacks_are_bounded_by_their_bytes() {
        let (sender, _drain) = record_queue(1 << 20, false);
        let numbers = StackNumbers::new(sender);
        let stack = |length: usize| {
            let frame = StackFrame {
                file: "a".repeat(length),
                address: 1,
                function: None,
            };
            numbers.of((vec![frame], true), None, Timestamp::default())
        };
        assert_eq!(stack(10), Some(0));
        numbers.known().bytes = BYTES - 1000;
        assert_eq!(stack(20), Some(1));
        assert_eq!(stack(1000), None);
        // The number of a known stack is still found.
        assert_eq!(stack(10), Some(0));
    }
}
