//! The stacks of a program's code, those of one name taken together.

use std::collections::HashMap;

use x11prof_trace::StackFrame;

/// Stacks kept at most, and frames of each.
const STACKS: usize = 50_000;
const FRAMES: usize = 256;

/// The stacks of a recording, and their names once they are asked for.
#[derive(Debug, Default)]
pub(crate) struct CodeStacks {
    frames: HashMap<u32, Vec<StackFrame>>,
    /// The name of each stack that is the first of its name.
    names: HashMap<u32, String>,
    /// The first stack with the name of another.
    first: HashMap<u32, u32>,
}

impl CodeStacks {
    pub(crate) fn add(&mut self, stack: u32, frames: &[StackFrame]) {
        if self.frames.len() < STACKS {
            let frames = frames.iter().take(FRAMES).cloned();
            self.frames.insert(stack, frames.collect());
        }
    }

    /// Names all stacks.
    pub(crate) fn name_all(&mut self, mut name: impl FnMut(&[StackFrame]) -> String) {
        let mut stacks: Vec<(&u32, &Vec<StackFrame>)> = self.frames.iter().collect();
        stacks.sort_unstable_by_key(|(stack, _)| **stack);
        let mut known: HashMap<String, u32> = HashMap::new();
        for (stack, frames) in stacks {
            let first = *known.entry(name(frames)).or_insert(*stack);
            self.first.insert(*stack, first);
        }
        let names = known.into_iter();
        self.names = names.map(|(name, stack)| (stack, name)).collect();
    }

    /// The first stack of the same name: a stack itself before it has a name.
    pub(crate) fn first_alike(&self, stack: u32) -> u32 {
        self.first.get(&stack).copied().unwrap_or(stack)
    }

    /// The name of a stack, once it has one.
    pub(crate) fn name(&self, stack: u32) -> Option<String> {
        self.names.get(&self.first_alike(stack)).cloned()
    }
}
