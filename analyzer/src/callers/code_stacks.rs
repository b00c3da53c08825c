//! The stacks of a program's code, and their names. Stacks with equal names are coalesced.

use std::collections::{BTreeMap, HashMap};

use x11prof_trace::{Control, StackFrame};

use crate::pipeline::Observation;

/// Maximum number of stacks of a recording, and of frames of each stack.
pub(crate) const STACKS: usize = 50_000;
const FRAMES: usize = 256;

/// The stacks of a recording by their numbers.
#[derive(Debug, Default)]
pub struct CodeStacks {
    stacks: BTreeMap<u32, CodeStack>,
}

/// A call stack in the recording.
#[derive(Debug)]
pub(crate) struct CodeStack {
    /// The frames of the stack, the innermost first.
    pub(crate) frames: Vec<StackFrame>,
    /// True if the stack ends with the thread's first function.
    pub(crate) is_whole: bool,
}

impl CodeStacks {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(
            _,
            Control::Stack {
                stack,
                frames,
                whole,
            },
        ) = observation
            && self.stacks.len() < STACKS
        {
            let frames = frames.iter().take(FRAMES).cloned().collect();
            let is_whole = *whole;
            self.stacks.insert(*stack, CodeStack { frames, is_whole });
        }
    }

    /// True if the recording has no stacks.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Returns the stacks that have a value in `of`, which contains values by stack number, each with its value.
    pub(crate) fn with<'a, T>(&'a self, of: &'a BTreeMap<u32, T>) -> Vec<(&'a CodeStack, &'a T)> {
        let known = of.iter();
        let known = known.filter_map(|(stack, of)| Some((self.stacks.get(stack)?, of)));
        known.collect()
    }

    /// Names all stacks. `name` returns one or more names for the frames of a stack, the innermost first.
    pub fn named(&self, mut name: impl FnMut(&[StackFrame]) -> Vec<String>) -> StackNames {
        let mut known: HashMap<Vec<String>, u32> = HashMap::new();
        let mut first = HashMap::new();
        for (stack, of) in &self.stacks {
            let mut names = name(&of.frames);
            names.truncate(4 * FRAMES);
            first.insert(*stack, *known.entry(names).or_insert(*stack));
        }
        let names = known.into_iter().map(|(name, stack)| (stack, name));
        StackNames {
            names: names.collect(),
            first,
        }
    }
}

/// The function names of a recording's stacks.
#[derive(Debug, Default)]
pub struct StackNames {
    /// The names of the functions of each stack. If several stacks have equal names, only the first of them has an
    /// entry.
    names: HashMap<u32, Vec<String>>,
    /// For each stack, the number of the first stack with equal names, which may be the stack itself.
    first: HashMap<u32, u32>,
}

impl StackNames {
    /// Returns the number of the first stack with the same names as `stack`; `stack` itself if its names are unknown.
    pub(crate) fn first_alike(&self, stack: u32) -> u32 {
        self.first.get(&stack).copied().unwrap_or(stack)
    }

    /// The names of a stack's functions, the innermost first; `None` if the stack has no names.
    pub fn of(&self, stack: u32) -> Option<&[String]> {
        let names = self.names.get(&self.first_alike(stack));
        names.map(Vec::as_slice)
    }
}
