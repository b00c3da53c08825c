//! The stacks of a recording, with the trace's numbers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use x11prof_trace::{Control, StackFrame, Timestamp};

use crate::tap::Tap;

/// Distinct stacks in a recording.
const STACKS: usize = 50_000;

/// Frames, the innermost first, and whether the last one is the thread's first.
type Stack = (Vec<StackFrame>, bool);

/// Numbers stacks, whoever tells of them.
#[derive(Debug)]
pub(crate) struct StackNumbers {
    tap: Tap,
    known: Mutex<HashMap<Stack, u32>>,
}

impl StackNumbers {
    pub(crate) fn new(tap: Tap) -> StackNumbers {
        StackNumbers {
            tap,
            known: Mutex::default(),
        }
    }

    /// The stack's number. A new stack is written, at a time before all that names it; `None` where there are too many.
    pub(crate) fn of(&self, stack: Stack, at: Timestamp) -> Option<u32> {
        // Every change is one step.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.get(&stack) {
            return Some(*number);
        }
        let number = u32::try_from(known.len()).ok()?;
        if known.len() >= STACKS {
            return None;
        }
        let (frames, whole) = stack.clone();
        let new = Control::Stack {
            stack: number,
            frames,
            whole,
        };
        self.tap.control(at, new);
        known.insert(stack, number);
        Some(number)
    }
}
